/* main.c: from argv to a command, from its error to a line and an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/names.h"
#include "command.h"

/* A stream that was closed before we began leaves its number to the first file we open: a note
 * would be written into a result. /dev/null takes the place, opened so that using it still fails.
 */
static void hold_standard_streams(void)
{
    static const int unusable[] = {O_WRONLY, O_RDONLY, O_RDONLY}; /* by descriptor */
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", unusable[descriptor]) < 0)
            errno = 0; /* a system without it: there is nothing better */
}

/* Sooner than a signal in the middle of the work. Half of it is for a JSON text of all levels that
 * it may have, which goes deepest; as much may be taken by arguments and environment. */
static int check_stack(struct err *err)
{
    enum { KIB = 1024, LEAST_KIB = 256 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= LEAST_KIB * KIB)
        return 0;
    return err_set(err, "expected a stack of at least %d KiB, found %llu: 'ulimit -s' sets it",
                   LEAST_KIB, (unsigned long long)limit.rlim_cur / KIB);
}

static int dispatch(char **argv, struct arena *arena, struct err *err)
{
    static const char *const help_words[] = {"--help", "-h"};
    static const char *const version_words[] = {"--version", "-V", "version"};
    const char *word = argv[1];
    size_t index = 0;
    if (names_find(&index, NAMES_LIST(help_words), word, strlen(word)))
        return command_do("help", argv + 2, arena, err);
    if (names_find(&index, NAMES_LIST(version_words), word, strlen(word)))
        return help_version(err);
    if (word[0] == '-')
        return err_usage(err, "expected a command before '%s': 'attn-cli help' lists them", word);
    return command_do(word, argv + 2, arena, err);
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
    int failed = check_stack(&err) || dispatch(argv, &arena, &err);
    arena_release(&arena);
    if (!failed && close(STDOUT_FILENO) && errno != EBADF) /* a full disk may say so only now */
        failed = err_output(&err, "cannot write 'standard output': %s", strerror(errno));
    if (failed)
        print_failure(err.text);
    return failed ? (int)err.kind : EXIT_SUCCESS;
}
