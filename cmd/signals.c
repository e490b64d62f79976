#include "command.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/stream.h"
#include "progress.h"
#include "text/label.h"

enum { STATUS_OF_SIGNALS = 128 };

static const char *volatile hint = ""; /* the line that tells how to continue, or "" */

/* Let one thread clean up and end the program. Another thread that receives a signal waits here. */
static void begin_to_leave(const char *message)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&begun))
        pause();
    stream_remove_temporaries();
    progress_say(message, strlen(message));
}

/* Functions that end the program. The address sanitizer must leave them alone: before a call that
 * does not return, it looks for the end of the stack and locks mutexes, which its own search for
 * leaks may hold when a signal arrives. */
#define ENDS_THE_PROGRAM __attribute__((no_sanitize("address")))

/* End the program after an interruption, without leaving half-written files. */
ENDS_THE_PROGRAM
static void leave(int signal_number)
{
    begin_to_leave(hint);
    _exit(STATUS_OF_SIGNALS + signal_number);
}

/* Perform the default action of the signal: the parent process sees which signal it was. */
static void take_course(int signal_number)
{
    begin_to_leave("");
    signal(signal_number, SIG_DFL);
    raise(signal_number); /* delivered when this handler returns */
}

/* End quietly if the reader of a result closed the pipe. If the closed pipe was only for notes,
 * continue. */
static void end_at_closed_pipe(int signal_number)
{
    if (transfer_is_writing())
        take_course(signal_number);
}

ENDS_THE_PROGRAM
static void explain_time_limit(int signal_number)
{
    (void)signal_number;
    begin_to_leave("attn-cli: error: the processor time that 'ulimit -t' allows is used up\n");
    _exit(ERR_OUTPUT);
}

/* Print an error about a mapped file that became shorter: the system reports it only by this
 * signal. */
ENDS_THE_PROGRAM
static void explain_bus_error(int signal_number, siginfo_t *info, void *context)
{
    static const char end[] = " became shorter while it was being read\n";
    char message[512] = "attn-cli: error: ";
    const char *path = mapping_list_path(info->si_addr);
    const char *quote = path ? "'" : "";
    size_t size = strlen(strcat(message, quote));
    (void)signal_number;
    (void)context;
    label_fill(message + size, sizeof message - size - sizeof end, path ? path : "a file");
    begin_to_leave(strcat(strcat(message, quote), end));
    _exit(ERR_INPUT);
}

void signals_hint(const char *line)
{
    hint = line;
}

static const struct answer {
    int signal_number;
    void (*handler)(int);
} answers[] = {
    {SIGINT, leave},          {SIGTERM, leave},
    {SIGHUP, leave},          {SIGXCPU, explain_time_limit},
    {SIGQUIT, take_course},   {SIGALRM, take_course},
    {SIGVTALRM, take_course}, {SIGPROF, take_course},
    {SIGUSR1, take_course},   {SIGUSR2, take_course},
    {SIGIO, take_course},     {SIGILL, take_course},
    {SIGFPE, take_course},    {SIGSYS, take_course},
    {SIGTRAP, take_course},   {SIGABRT, take_course},
    {SIGSEGV, take_course},
};

/* Set the handler of a signal. While it runs, all signals are blocked: a second handler on top of
 * the first would wait for the first to end the program. */
static void set_answer(int signal_number, struct sigaction action)
{
    sigfillset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void signals_set(void)
{
    set_answer(SIGBUS,
               (struct sigaction){.sa_sigaction = explain_bus_error, .sa_flags = SA_SIGINFO});
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        /* keep the actions of signals that a sanitizer uses or a parent process ignores */
        struct sigaction now;
        if (sigaction(answers[i].signal_number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            set_answer(answers[i].signal_number,
                       (struct sigaction){.sa_handler = answers[i].handler});
    }
    /* handle SIGPIPE even if the parent process ignores it */
    set_answer(SIGPIPE,
               (struct sigaction){.sa_handler = end_at_closed_pipe, .sa_flags = SA_RESTART});
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large becomes a write error */
}
