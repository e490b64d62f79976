#include "draw/drawing_process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/platform.h"
#include "base/transfer.h"

/* --- there ------------------------------------------------------------------------------------ */

/* A key that interrupts goes to all processes of a terminal; ours decides what comes of it. */
static void answer_no_signals(void)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* our handlers would remove the files that we are writing */
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* No file of ours stays open there, no word of a library's is seen, no core is left. What they say
 * goes into a pipe without a reader: there may be no /dev/null. */
static bool settle_in(int orders)
{
    const struct rlimit no_core = {0, 0};
    int silence[2];
    if (pipe(silence) || dup2(orders, STDIN_FILENO) < 0 || dup2(silence[1], STDOUT_FILENO) < 0 ||
        dup2(silence[1], STDERR_FILENO) < 0)
        return false;
    platform_close_from(STDERR_FILENO + 1);
    setrlimit(RLIMIT_CORE, &no_core);
    return true;
}

bool drawing_process_read(void *bytes, size_t size)
{
    char *to = bytes;
    while (size > 0) {
        ssize_t got = transfer_read(STDIN_FILENO, to, size);
        if (got <= 0)
            return false;
        to += got;
        size -= (size_t)got;
    }
    return true;
}

bool drawing_process_answer(const void *bytes, size_t size)
{
    return transfer_write(STDIN_FILENO, bytes, size) == 0;
}

static int step_seconds = 120;

void drawing_process_limit(int seconds)
{
    step_seconds = seconds;
}

/* SIGPROF ends it: seconds of all its threads, however busy the machine is. */
void drawing_process_progress(void)
{
    const struct itimerval stretch = {.it_value = {.tv_sec = step_seconds}};
    setitimer(ITIMER_PROF, &stretch, NULL);
}

/* --- here ------------------------------------------------------------------------------------- */

static int cannot_start(struct err *err)
{
    return err_output(err, "cannot start a process to draw png and pdf in: %s; svg needs none",
                      strerror(errno));
}

/* A copy of ours; a signal that comes meanwhile waits until it is known whom it is for. */
static pid_t start(int orders, void (*serve)(void))
{
    sigset_t all;
    sigset_t before;
    pid_t parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        answer_no_signals();
        drawing_process_progress();
        /* It ends with us: by a signal, because a library that spins does not listen. */
        if (platform_end_with(parent) && settle_in(orders))
            serve();
        _exit(0);
    }
    int failure = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return pid;
}

int drawing_process_start(struct drawing_process *process, void (*serve)(void), struct err *err)
{
    int ends[2];
    if (platform_socket_pair(ends))
        return cannot_start(err);
    *process = (struct drawing_process){.socket = ends[0]};
    process->pid = start(ends[1], serve);
    int failed = process->pid < 0 ? cannot_start(err) : 0;
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        process->pid = 0;
    }
    return failed;
}

static void send_all(struct drawing_process *process, const char *bytes, size_t size)
{
    while (size > 0 && !process->failed) {
        ssize_t sent = platform_send(process->socket, bytes, size);
        process->failed = sent < 0 && errno != EINTR;
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
}

static void flush(struct drawing_process *process)
{
    send_all(process, process->buffer, process->used);
    process->used = 0;
}

void drawing_process_send(struct drawing_process *process, const void *bytes, size_t size)
{
    if (process->used + size > sizeof process->buffer)
        flush(process);
    if (size > sizeof process->buffer) {
        send_all(process, bytes, size);
        return;
    }
    if (size)
        memcpy(process->buffer + process->used, bytes, size);
    process->used += size;
}

static int explain_end(int status, struct err *err)
{
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal_number == SIGPROF)
        return err_output(err,
                          "pango and cairo do not finish a picture: expected a step within %d "
                          "seconds of the processor: more memory may help; svg needs none of them",
                          step_seconds);
    if (signal_number == SIGXCPU)
        return err_output(err, "the processor time that 'ulimit -t' allows is used up");
    return err_output(err,
                      "pango and cairo cannot finish a picture: expected more memory, a larger "
                      "stack, more threads or open files for them; svg needs none");
}

/* Give back what is held of it, and learn how it ended. */
static int bury(struct drawing_process *process)
{
    int status = 0;
    pid_t found;
    close(process->socket);
    do
        found = waitpid(process->pid, &status, 0);
    while (found < 0 && errno == EINTR);
    process->pid = 0;
    return status;
}

int drawing_process_receive(struct drawing_process *process, void *answer, size_t size,
                            struct err *err)
{
    char *to = answer;
    flush(process);
    while (size > 0 && !process->failed) {
        ssize_t got = transfer_read(process->socket, to, size);
        process->failed = got <= 0;
        to += got > 0 ? got : 0;
        size -= got > 0 ? (size_t)got : 0;
    }
    return process->failed ? explain_end(bury(process), err) : 0;
}
