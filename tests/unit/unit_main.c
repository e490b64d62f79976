/* unit: runs the suites of suites.h, or those named on the command line.
 *
 *     build/unit               all of them
 *     build/unit json utf8     these
 *     CK_FORK=no build/unit    in one process, for a debugger
 */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../stage_progress.h"

#define SUITE(module) Suite *module##_suite(void);
#include "suites.h"
#undef SUITE

#define SUITE(module) {#module, module##_suite},
static const struct {
    const char *module;
    Suite *(*make)(void);
} suites[] = {
#include "suites.h"
};
#undef SUITE

enum { SUITES = sizeof suites / sizeof *suites };

struct counts {
    int run, failed;
};

static bool is_named(const char *module, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], module) == 0)
            return true;
    return count == 0;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < SUITES; i++)
        if (strcmp(suites[i].module, name) == 0)
            return true;
    return false;
}

/* What failed, a line each; of a test's own sentence Check knows the C name. */
static void show_failures(SRunner *runner)
{
    TestResult **failures = srunner_failures(runner);
    for (int i = 0; i < srunner_ntests_failed(runner); i++)
        printf("failed: %s: %s:%d: %s\n", tr_tcname(failures[i]), tr_lfile(failures[i]),
               tr_lno(failures[i]), tr_msg(failures[i]));
    free(failures);
}

/* A suite's failures are shown when it ends, the others' need not be waited for. */
static void run_suite(struct counts *counts, Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_SILENT);
    show_failures(runner);
    counts->run += srunner_ntests_run(runner);
    counts->failed += srunner_ntests_failed(runner);
    srunner_free(runner);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!is_known(argv[i])) {
            fprintf(stderr, "unit: there is no suite '%s'\n", argv[i]);
            return 2;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct counts counts = {0};
    for (size_t i = 0; i < SUITES; i++) {
        if (is_named(suites[i].module, argc - 1, argv + 1))
            run_suite(&counts, suites[i].make());
        tell_progress(i + 1, SUITES);
    }
    printf("%d passed, %d failed\n", counts.run - counts.failed, counts.failed);
    return counts.failed || counts.run == 0;
}
