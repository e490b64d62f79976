/* memory_faults.c: a command line again and again, each time with another allocation that fails:
 * the first, the second, …, until none is left; once alone, and once for ever after. Then, where
 * libraries draw in a process of their own, those of that process, from one on for ever after.
 *
 *     build/memory_faults FOLDER EVERY COMMAND OPTION...     every EVERY-th allocation
 *
 * The command runs in FOLDER/here, a process each time; FOLDER/whole holds what it does when all
 * goes well. After a fault it must say in one line that there is no memory, with the status for
 * that, and leave nothing but files that are whole; or do without, and then do all of it. In a
 * batch it may be an item that says so, while the others go on. The last line is `N passed, N
 * failed`, a fault each.
 */
int attn_main(int argc, char **argv);

#define main attn_main
#include "../../cmd/main.c"
#undef main

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/heap.h"
#include "base/num.h"
#include "trace_of_run.h"

enum {
    STATUS_SOME_FAILED = 1,
    STATUS_OF_NO_MEMORY = 3,
    NTH_MAX = 1000000,
    FAILURES_SHOWN = 5,
};

struct plan {
    size_t nth;
    bool for_ever;
};

static bool *fault_came; /* shared with the process that runs the command */

/* One run of the command, in `folder`. */
static int run(const char *folder, char **argv, struct plan plan)
{
    *fault_came = false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int argc = 0;
        trace_begin(folder);
        heap_fail_at(plan.nth, plan.for_ever);
        while (argv[argc])
            argc++;
        int status = attn_main(argc, argv);
        *fault_came = heap_has_failed();
        heap_fail_at(0, 0);
        exit(status);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/* What is wrong with a run in which an allocation failed; NULL: nothing. */
static const char *judge(int status, const char *here, const char *whole)
{
    static char text[64];
    if (!WIFEXITED(status)) {
        snprintf(text, sizeof text, "it died of signal %d", WTERMSIG(status));
        return text;
    }
    if (WEXITSTATUS(status) == 0)
        return trace_same(here, whole) ? NULL : "status 0, but not the whole result";
    if (WEXITSTATUS(status) == STATUS_SOME_FAILED)
        return trace_excused(here, whole, "out of memory") ? NULL : "items fail for no reason";
    if (WEXITSTATUS(status) != STATUS_OF_NO_MEMORY) {
        snprintf(text, sizeof text, "status %d", WEXITSTATUS(status));
        return text;
    }
    if (!trace_said(here, "out of memory"))
        return "it does not say so in one line";
    return trace_within(here, whole) ? NULL : "it leaves what is not whole";
}

static void show(const struct plan *plan, const char *what, const char *here)
{
    printf("allocation %zu%s fails: %s\n", plan->nth, plan->for_ever ? " and all after" : "", what);
    trace_show(here);
}

struct counts {
    size_t passed, failed;
};

static void try_all(struct counts *counts, const char *here, const char *whole, char **arguments,
                    bool for_ever, size_t every)
{
    for (struct plan plan = {1, for_ever}; plan.nth < NTH_MAX; plan.nth += every) {
        int status = run(here, arguments, plan);
        if (!*fault_came && WIFEXITED(status))
            return;
        const char *what = judge(status, here, whole);
        if (what && counts->failed < FAILURES_SHOWN)
            show(&plan, what, here);
        *(what ? &counts->failed : &counts->passed) += 1;
    }
}

int main(int argc, char **argv)
{
    struct counts counts = {0};
    long long every = 1;
    char here[4096];
    char whole[4096];
    if (argc < 4 || !num_parse_integer(argv[2], 1, NTH_MAX, &every))
        return EXIT_FAILURE;
    snprintf(here, sizeof here, "%s/here", argv[1]);
    snprintf(whole, sizeof whole, "%s/whole", argv[1]);
    fault_came = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char **arguments = argv + 2; /* the first stands for the program's name */
    if (fault_came == MAP_FAILED || run(whole, arguments, (struct plan){0})) {
        printf("without a fault it fails, too\n");
        trace_show(whole);
        printf("0 passed, 1 failed\n");
        return EXIT_FAILURE;
    }
    try_all(&counts, here, whole, arguments, false, (size_t)every);
    try_all(&counts, here, whole, arguments, true, (size_t)every);
    printf("%zu passed, %zu failed\n", counts.passed, counts.failed);
    return counts.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
