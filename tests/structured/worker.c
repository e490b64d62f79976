#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "command_line.h"

enum { NOBODY = 65534 };

static const char kept[] = "what is the user's own\n";

#if defined(__SANITIZE_ADDRESS__)
#define LIMITS_ADDRESSES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIMITS_ADDRESSES 0
#endif
#endif
#ifndef LIMITS_ADDRESSES
#define LIMITS_ADDRESSES 1
#endif

/* What a sanitizer is to do unless ASAN_OPTIONS says otherwise; it wants all addresses, and limits
 * memory by itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:quarantine_size_mb=8:max_allocation_size_mb=2048:"
           "hard_rss_limit_mb=2048";
}

/* --- limits ----------------------------------------------------------------------------------- */

/* What is left after a signal is its number; a core would be large. */
static void limit_process(void)
{
    struct rlimit none = {0, 0};
    struct rlimit addresses = {(rlim_t)LIMIT_MIB << 20, (rlim_t)LIMIT_MIB << 20};
    setrlimit(RLIMIT_CORE, &none);
    if (LIMITS_ADDRESSES)
        setrlimit(RLIMIT_AS, &addresses);
}

/* No handler: the process ends, and its parent knows by which clock. */
static void limit_input(void)
{
    struct itimerval processor = {{0, 0}, {LIMIT_SECONDS, 0}};
    struct itimerval clock = {{0, 0}, {LIMIT_WAITING, 0}};
    setitimer(ITIMER_PROF, &processor, NULL);
    setitimer(ITIMER_REAL, &clock, NULL);
}

/* Names of files are among what is made up: what goes astray must not find anything. A sanitizer
 * looks for leaks as a debugger would, which is not allowed where rights were given up. */
static int become_nobody(void)
{
    if (geteuid() != 0)
        return 0;
    return setgid(NOBODY) || setuid(NOBODY) || prctl(PR_SET_DUMPABLE, 1) ? -1 : 0;
}

/* --- one input -------------------------------------------------------------------------------- */

/* Files beside those of the input, which no command line names. */
static int write_own(struct made *made)
{
    made_text(made, "mine/keep", kept);
    return made_write(made) || symlink("mine", "link") ? -1 : 0;
}

static bool is_kept(const char *path)
{
    static struct err err;
    struct file file = {0};
    bool same = !file_map(&file, path, &err) && file.size == sizeof kept - 1 &&
                memcmp(file.bytes, kept, sizeof kept - 1) == 0;
    err_clear(&err);
    file_release(&file);
    return same;
}

/* What is wrong with how a command line ended; NULL: nothing. */
static const char *judge(const struct kind *kind, int failed, const struct err *err)
{
    if (!failed != (err->kind == ERR_NONE))
        return "a failure without a reason, or a reason without a failure";
    if ((int)err->kind > kind->highest)
        return "a status that is not to be expected";
    if (failed && !err->text[0])
        return "a failure without a word";
    if (!is_kept("mine/keep") || !is_kept("link/keep"))
        return "a file of the user's is lost";
    return NULL;
}

/* The command lines of an input. -1 when one of them broke a promise. */
static int run_lines(const struct kind *kind, const struct made *made, struct counts *counts)
{
    static struct err err;
    for (size_t i = 0; i < made->line_count; i++) {
        err_clear(&err);
        int failed = command_line_run(made->lines[i], &err);
        counts->statuses[(int)err.kind < STATUSES ? err.kind : STATUSES - 1]++;
        fprintf(stderr, "attn-cli %s\n%d %s\n", made->lines[i], (int)err.kind, err.text);
        const char *wrong = judge(kind, failed, &err);
        if (!wrong)
            continue;
        fprintf(stderr, "%s\n", wrong);
        return -1;
    }
    return 0;
}

static int try_input(const struct kind *kind, size_t number, struct counts *counts)
{
    static struct made made;
    limit_input();
    made_begin(&made, kind->name, number);
    kind->make(&made);
    if (write_own(&made)) {
        fprintf(stderr, "cannot write an input: %s\n", strerror(errno));
        return -1;
    }
    return run_lines(kind, &made, counts);
}

int worker_repeat(const struct kind *kind, size_t number)
{
    static struct made made;
    struct counts counts = {0};
    made_begin(&made, kind->name, number);
    kind->make(&made);
    limit_process();
    return become_nobody() ? -1 : try_input(kind, number, &counts);
}

/* --- many ------------------------------------------------------------------------------------- */

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void note_time(struct counts *counts, double seconds)
{
    if (seconds <= counts->slowest_seconds)
        return;
    counts->slowest_seconds = seconds;
    counts->slowest = counts->at;
}

static void try_all(const struct worker *worker)
{
    struct counts *counts = worker->counts;
    for (size_t i = worker->first; i < worker->end; i += worker->step) {
        counts->at = i;
        double begun = processor_seconds();
        if (lseek(STDERR_FILENO, 0, SEEK_SET) || ftruncate(STDERR_FILENO, 0) ||
            try_input(worker->kind, i, counts))
            _exit(EXIT_FAILURE);
        if (made_clear()) {
            fprintf(stderr, "cannot remove an input: %s\n", strerror(errno));
            _exit(EXIT_FAILURE);
        }
        counts->done++;
        note_time(counts, processor_seconds() - begun);
    }
    counts->at = worker->end;
}

/* SCRATCH/log for standard error, SCRATCH/here to be in; nothing is read from standard input, and
 * nothing printed. */
static int settle(const struct worker *worker)
{
    if (chdir(worker->scratch))
        return -1;
    int log = open("log", O_RDWR | O_CREAT | O_TRUNC, 0666);
    int nothing = open("/dev/null", O_RDWR);
    if (log < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(nothing, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
        return -1;
    mkdir("here", 0777);
    if (geteuid() == 0 && chown("here", NOBODY, NOBODY))
        return -1;
    return become_nobody() || chdir("here") || made_clear() ? -1 : 0;
}

pid_t worker_start(const struct worker *worker)
{
    fflush(NULL);
    pid_t child = fork();
    if (child)
        return child;
    limit_process();
    if (settle(worker)) {
        perror(worker->scratch);
        _exit(EXIT_FAILURE);
    }
    try_all(worker);
    exit(EXIT_SUCCESS);
}
