#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mapping_list.h"
#include "base/stream.h"
#include "draw/cairo_library.h"

enum { STATUS_OF_SIGNALS = 128 };

/* Interrupted: no half-written file stays behind. */
static void leave(int signal_number)
{
    stream_remove_temporaries();
    _exit(STATUS_OF_SIGNALS + signal_number);
}

static _Noreturn void leave_with(const char *message, enum err_kind status)
{
    stream_remove_temporaries();
    if (write(STDERR_FILENO, message, strlen(message)) < 0)
        errno = 0; /* there is nobody left to tell */
    _exit((int)status);
}

/* As much of a path as a message has room for; what would disturb a terminal becomes '?'. */
static void add_path(char *message, size_t size, const char *path)
{
    size_t at = strlen(message);
    for (char before = 0; *path && at + 1 < size; before = *path++) {
        unsigned char c = (unsigned char)*path;
        bool control = c < ' ' || c == 0x7f || (before == '\xc2' && c >= 0x80 && c < 0xa0);
        message[at++] = control ? '?' : *path;
    }
    message[at] = '\0';
}

/* A mapped file that is shorter than it was: the system has no other way to say so. */
static void explain_bus_error(int signal_number, siginfo_t *info, void *context)
{
    static const char ending[] = " became shorter while it was being read\n";
    char message[512] = "attn-cli: error: ";
    const char *path = mapping_list_path(info->si_addr);
    (void)signal_number;
    (void)context;
    strcat(message, path ? "'" : "a file");
    if (path) {
        add_path(message, sizeof message - sizeof ending - 1, path);
        strcat(message, "'");
    }
    leave_with(strcat(message, ending), ERR_INPUT);
}

/* Of our own code it is a fault to be looked into: the signal takes its course, now that this
 * handler is gone. */
static void explain_drawing_fault(int signal_number)
{
    if (cairo_library_at_work)
        leave_with(
            "attn-cli: error: pango and cairo cannot finish a picture: expected more memory, "
            "threads or open files for them; svg needs none\n",
            ERR_OUTPUT);
    raise(signal_number);
}

bool signals_is_ignored(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* A sanitizer has a use for some of its own. */
static bool is_default(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

void signals_set(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    static const int drawing[] = {SIGTRAP, SIGABRT, SIGSEGV};
    struct sigaction action = {.sa_handler = leave};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (!signals_is_ignored(ending[i]))
            sigaction(ending[i], &action, NULL);
    action = (struct sigaction){.sa_handler = explain_drawing_fault, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof drawing / sizeof *drawing; i++)
        if (is_default(drawing[i]))
            sigaction(drawing[i], &action, NULL);
    action = (struct sigaction){.sa_sigaction = explain_bus_error, .sa_flags = (int)SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    signal(SIGPIPE, SIG_DFL); /* a closed pipe ends quietly, whatever the parent process ignored */
    signal(SIGXFSZ, SIG_IGN); /* too large a file is a write error */
}
