/* engine.c: shared by all targets: the two functions of libFuzzer, and a timer. */
#include "fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

struct err fuzz_err;

/* The timer counts processor time, because wall time depends on other processes. It fires every
 * second; an input during which it fires twice took more than one. */
static volatile size_t inputs, inputs_at_strike;

static void strike(int signal_number)
{
    static const char text[] = "an input takes more than a second\n";
    (void)signal_number;
    if (inputs == inputs_at_strike && write(STDERR_FILENO, text, sizeof text - 1) > 0)
        abort();
    inputs_at_strike = inputs;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct sigaction action = {.sa_handler = strike, .sa_flags = SA_RESTART};
    struct itimerval second = {{1, 0}, {1, 0}};
    (void)argc;
    (void)argv;
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &second, NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    inputs++;
    fuzz_one((const char *)bytes, size);
    fuzz_check(fuzz_err.kind == ERR_NONE, "a parser that succeeds sets no error");
    inputs++; /* excludes time between two inputs */
    return 0;
}

void fuzz_check(bool holds, const char *promise)
{
    if (holds)
        return;
    fprintf(stderr, "violated: %s%s%s\n", promise, fuzz_err.kind ? ": " : "", fuzz_err.text);
    abort();
}

void fuzz_refused(void)
{
    fuzz_check(fuzz_err.kind == ERR_USAGE || fuzz_err.kind == ERR_INPUT ||
                   fuzz_err.kind == ERR_UNSUPPORTED,
               "an error has a kind");
    fuzz_check(fuzz_err.text[0], "an error has a message");
    err_clear(&fuzz_err);
}

static void add_part(struct fuzz_parts *parts, const char *bytes, size_t size)
{
    char *copy = malloc(size + 1);
    fuzz_check(copy, "memory for a copy");
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    parts->parts[parts->count] = copy;
    parts->sizes[parts->count++] = size;
}

void fuzz_split(struct fuzz_parts *parts, const char *bytes, size_t size)
{
    const char *zero;
    parts->count = 0;
    while (parts->count < FUZZ_PARTS - 1 && size && (zero = memchr(bytes, '\0', size))) {
        size_t part = (size_t)(zero - bytes);
        add_part(parts, bytes, part);
        bytes += part + 1;
        size -= part + 1;
    }
    add_part(parts, size ? bytes : "", size);
}

void fuzz_release(struct fuzz_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->parts[i]);
    parts->count = 0;
}
