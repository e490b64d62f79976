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

/* Check's own summary goes away; of the results it prints those that failed. */
static int run(SRunner *runner)
{
    srunner_run_all(runner, CK_SILENT);
    int count = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    if (failed)
        srunner_print(runner, CK_NORMAL);
    printf("%d passed, %d failed\n", count - failed, failed);
    return failed || count == 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!is_known(argv[i])) {
            fprintf(stderr, "unit: there is no suite '%s'\n", argv[i]);
            return 2;
        }
    }
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < SUITES; i++)
        if (is_named(suites[i].module, argc - 1, argv + 1))
            srunner_add_suite(runner, suites[i].make());
    int status = run(runner);
    srunner_free(runner);
    return status;
}
