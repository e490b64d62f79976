/* file_faults.c: a command line again and again, each time with another call to the system that
 * fails: the first read, the second, …, each write, each rename.
 *
 *     ATTN=build/attn-cli build/file_faults FOLDER EVERY COMMAND OPTION...
 *
 * strace makes them fail. The command runs in FOLDER/here; FOLDER/whole holds what it does when all
 * goes well. After a fault it must say what could not be done, with the status of bad input or of
 * an output that could not be written, and leave nothing but files that are whole; or do without,
 * and then do all of it. The last line is `N passed, N failed`, a fault each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "trace_of_run.h"

enum {
    STATUS_OF_INPUT = 3,
    STATUS_OF_OUTPUT = 5,
    ARGUMENTS_MAX = 64,
    PATH_BYTES = 4096,
    NTH_MAX = 100000,
    FAILURES_SHOWN = 5,
};

/* What fails, and how. The system may break off a read or a write and want to be asked again. What
 * cannot be removed stays: no fault of ours. */
static const struct fault {
    const char *call, *error;
} faults[] = {
    {"openat", "EACCES"},    {"openat", "EMFILE"},  {"read", "EIO"},       {"read", "EINTR"},
    {"write", "ENOSPC"},     {"write", "EIO"},      {"write", "EINTR"},    {"pread64", "EIO"},
    {"fsync", "EIO"},        {"syncfs", "EIO"},     {"close", "EIO"},      {"rename", "EACCES"},
    {"mmap", "ENOMEM"},      {"mkdir", "EACCES"},   {"ftruncate", "EIO"},  {"lseek", "EIO"},
    {"renameat2", "EACCES"}, {"getdents64", "EIO"}, {"newfstatat", "EIO"},
};

struct plan {
    const struct fault *fault; /* NULL: watch all calls */
    size_t nth;
};

struct trial {
    char here[PATH_BYTES], whole[PATH_BYTES], calls[PATH_BYTES];
    char **command; /* the program and what follows, to a NULL */
    size_t passed, failed;
};

/* strace's way of saying it. */
static void add_plan(char inject[PATH_BYTES], const struct plan *plan)
{
    if (plan->fault)
        snprintf(inject, PATH_BYTES, "inject=%s:error=%s:when=%zu", plan->fault->call,
                 plan->fault->error, plan->nth);
    else
        snprintf(inject, PATH_BYTES, "trace=all");
}

static int run(const struct trial *trial, const char *folder, const struct plan *plan)
{
    char inject[PATH_BYTES];
    char *words[ARGUMENTS_MAX] = {"strace", "-qq", "-s", "0", "-o", (char *)trial->calls,
                                  "-e",     inject};
    size_t count = 8;
    add_plan(inject, plan);
    for (size_t i = 0; trial->command[i] && count < ARGUMENTS_MAX - 1; i++)
        words[count++] = trial->command[i];
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        trace_begin(folder);
        execvp(words[0], words);
        abort();
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/* Whether the call came, and failed. */
static bool came(const struct trial *trial)
{
    static const char mark[] = "(INJECTED)";
    struct file file = {0};
    bool found = !file_map(&file, trial->calls, NULL) && file.size &&
                 memmem(file.bytes, file.size, mark, sizeof mark - 1);
    file_release(&file);
    return found;
}

/* How often a call comes before main: the program's first own act is to look at its standard
 * streams. What the system does to start it is not ours to mend. */
static size_t calls_before_main(const struct trial *trial, const char *call)
{
    static const char first[] = "\nfcntl(0, ";
    char sought[64];
    struct file file = {0};
    size_t count = 0;
    if (file_map(&file, trial->calls, NULL))
        return 0;
    const char *end = memmem(file.bytes, file.size, first, sizeof first - 1);
    snprintf(sought, sizeof sought, "\n%s(", call);
    for (const char *at = file.bytes; end && at && at < end; count += at != NULL) {
        at = memmem(at, (size_t)(end - at), sought, strlen(sought));
        at = at ? at + 1 : NULL;
    }
    file_release(&file);
    return count;
}

/* What is wrong with a run in which a call failed; NULL: nothing. */
static const char *judge(const struct trial *trial, int status)
{
    static char text[64];
    if (!WIFEXITED(status)) {
        snprintf(text, sizeof text, "it died of signal %d", WTERMSIG(status));
        return text;
    }
    if (WEXITSTATUS(status) == 0)
        return trace_same(trial->here, trial->whole) ? NULL : "status 0, but not the whole result";
    if (WEXITSTATUS(status) != STATUS_OF_INPUT && WEXITSTATUS(status) != STATUS_OF_OUTPUT) {
        snprintf(text, sizeof text, "status %d", WEXITSTATUS(status));
        return text;
    }
    if (!trace_said(trial->here, "cannot ") && !trace_said(trial->here, "out of memory"))
        return "it does not say so in one line";
    return trace_within(trial->here, trial->whole) ? NULL : "it leaves what is not whole";
}

static void show(const struct trial *trial, const struct plan *plan, const char *what)
{
    printf("%s %zu fails with %s: %s\n", plan->fault->call, plan->nth, plan->fault->error, what);
    trace_show(trial->here);
}

static void try_all(struct trial *trial, const struct fault *fault, size_t before, size_t every)
{
    for (struct plan plan = {fault, before + 1}; plan.nth < NTH_MAX; plan.nth += every) {
        int status = run(trial, trial->here, &plan);
        if (!came(trial))
            return;
        const char *what = judge(trial, status);
        if (what && trial->failed < FAILURES_SHOWN)
            show(trial, &plan, what);
        *(what ? &trial->failed : &trial->passed) += 1;
    }
}

int main(int argc, char **argv)
{
    enum { FAULTS = sizeof faults / sizeof *faults };
    struct trial trial = {.command = argv + 2};
    size_t before[FAULTS];
    long long every = 1;
    char *program = getenv("ATTN");
    if (argc < 4 || !program || !num_parse_integer(argv[2], 1, NTH_MAX, &every))
        return EXIT_FAILURE;
    snprintf(trial.here, sizeof trial.here, "%s/here", argv[1]);
    snprintf(trial.whole, sizeof trial.whole, "%s/whole", argv[1]);
    snprintf(trial.calls, sizeof trial.calls, "%s/calls", argv[1]);
    argv[2] = program;
    if (run(&trial, trial.whole, &(struct plan){0})) {
        printf("without a fault it fails, too\n");
        trace_show(trial.whole);
        printf("0 passed, 1 failed\n");
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < FAULTS; i++)
        before[i] = calls_before_main(&trial, faults[i].call);
    for (size_t i = 0; i < FAULTS; i++)
        try_all(&trial, &faults[i], before[i], (size_t)every);
    printf("%zu passed, %zu failed\n", trial.passed, trial.failed);
    return trial.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
