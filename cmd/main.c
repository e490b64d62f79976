/* main.c: runs the command of argv; turns its error into a line and an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/names.h"
#include "command.h"
#include "say.h"

/* Open /dev/null for each closed standard stream, in a mode in which reading or writing it still
 * fails. Otherwise the first file would get the descriptor, and notes would be written into a
 * result. */
static void hold_standard_streams(void)
{
    /* for each stream, the mode in which its use fails */
    static const int unusable[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", unusable[descriptor]) < 0)
            errno = 0; /* no /dev/null: continue without it */
}

/* Run a command line. Refuse a stack that is too small now, instead of crashing later. The deepest
 * recursion, into all levels of a JSON text, needs half of the limit; arguments and environment may
 * use the other half. */
static int dispatch(char **argv, struct arena *arena, struct err *err)
{
    enum { KIB = 1024, LEAST_KIB = 256 };
    struct rlimit limit;
    struct options options;
    const char *word = name_is_among("--help -h", argv[1]) ? "help" : argv[1];
    if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < LEAST_KIB * KIB)
        return err_set(err, "expected a stack of at least %d KiB, found %llu: 'ulimit -s' sets it",
                       LEAST_KIB, (unsigned long long)limit.rlim_cur / KIB);
    if (name_is_among("--version -V version", word))
        return help_version(err);
    if (word[0] == '-')
        return err_usage(err, "expected a command before '%s': 'attn-cli help' lists them", word);
    const struct command *command = command_find(&all_commands, word, err);
    return err_if(!command ||
                  command_parse(&options, &all_commands, command, argv + 2, arena, err) ||
                  command_start(command, &options, err));
}

int main(int argc, char **argv)
{
    static struct err err;
    struct arena arena = {0};
    (void)argc;
    hold_standard_streams();
    signals_set();
    if (!argv[1]) {
        fputs("Usage: attn-cli COMMAND [options]\n"
              "Try:   attn-cli run \"Life is short, eat dessert first\"\n"
              "More:  attn-cli help, attn-cli help COMMAND\n",
              stderr);
        return ERR_USAGE;
    }
    int failed = dispatch(argv, &arena, &err);
    arena_release(&arena);
    /* closing may be the first call that reports a full disk */
    if (!failed && close(STDOUT_FILENO) && errno != EBADF)
        failed = err_output(&err, "cannot write 'standard output': %s", strerror(errno));
    if (failed && !err.kind) /* the status must not be 0, which means success */
        err_set(&err, "the command failed without a reason: please report its command line");
    if (failed)
        print_failure(err.text);
    return failed ? (int)err.kind : EXIT_SUCCESS;
}
