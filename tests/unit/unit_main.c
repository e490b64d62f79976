/* unit: runs all tests that are registered, or the suites named on the command line.
 *
 *     build/unit               all of them
 *     build/unit json utf8     these
 *     build/unit --list        prints their names
 *     CK_FORK=no build/unit    in one process, for a debugger
 *
 * `make build/unit` builds it. A test may take ten minutes, or CK_DEFAULT_TIMEOUT seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../stage_progress.h"
#include "unit.h"

/* What is registered, sorted by module and line; a suite is what is said for one module. */
static struct registered {
    char *module;
    struct unit_item item;
} * items;
static size_t item_count;

struct counts {
    int run, failed;
};

void unit_register(const struct unit_item *item)
{
    const char *slash = strrchr(item->file, '/');
    const char *name = slash ? slash + 1 : item->file;
    const char *end = strstr(name, "_test.c");
    if ((item_count & (item_count - 1)) == 0) /* little memory, which every test's process gets */
        items = realloc(items, (item_count ? 2 * item_count : 1) * sizeof *items);
    char *module = strndup(name, end ? (size_t)(end - name) : strlen(name));
    if (!items || !module)
        abort();
    items[item_count++] = (struct registered){module, *item};
}

static int compare_items(const void *a, const void *b)
{
    const struct registered *x = a, *y = b;
    int order = strcmp(x->module, y->module);
    return order ? order : x->item.line - y->item.line;
}

/* Where the suite that begins there ends. */
static size_t end_of_suite(size_t first)
{
    size_t end = first + 1;
    while (end < item_count && strcmp(items[end].module, items[first].module) == 0)
        end++;
    return end;
}

static bool is_named(const char *module, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], module) == 0)
            return true;
    return count == 0;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < item_count; i++)
        if (strcmp(items[i].module, name) == 0)
            return true;
    return false;
}

/* --- leaks, where a sanitizer looks for them -------------------------------------------------- */

/* It asks the second of these when a process ends. A look costs more than most tests: it is taken
 * where a test ends with more memory than it began with. */
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);
int __lsan_is_turned_off(void);

static size_t bytes_before; /* the first test of this process; 0: none has begun */

static void note_memory(void)
{
    if (__sanitizer_get_current_allocated_bytes && !bytes_before)
        bytes_before = __sanitizer_get_current_allocated_bytes();
}

int __lsan_is_turned_off(void)
{
    return bytes_before && __sanitizer_get_current_allocated_bytes() <= bytes_before;
}

/* --- suites ----------------------------------------------------------------------------------- */

/* The fixture goes for the tests below it. */
static TCase *add_case(Suite *suite, const char *module, const struct unit_item *fixture)
{
    TCase *tests = tcase_create(module);
    tcase_add_checked_fixture(tests, note_memory, NULL);
    if (fixture)
        fixture->fixture(tests, fixture->setup, fixture->teardown);
    suite_add_tcase(suite, tests);
    return tests;
}

static Suite *make_suite(const struct registered *first, const struct registered *end)
{
    Suite *suite = suite_create(first->module);
    TCase *tests = NULL;
    const struct unit_item *fixture = NULL;
    for (const struct registered *i = first; i < end; i++) {
        if (i->item.wanted && !i->item.wanted()) {
            printf("skipped: %s: %s\n", i->module, i->item.unwanted_because);
            break;
        }
        if (!i->item.test) {
            if (i->item.fixture)
                fixture = &i->item;
            tests = NULL;
            continue;
        }
        if (!tests)
            tests = add_case(suite, i->module, fixture);
        tcase_add_loop_test(tests, i->item.test, 0, i->item.times);
    }
    return suite;
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

static void list_suites(void)
{
    for (size_t i = 0; i < item_count; i = end_of_suite(i))
        puts(items[i].module);
}

static int run_suites(int count, char **names)
{
    struct counts counts = {0};
    for (size_t i = 0, end; i < item_count; i = end) {
        end = end_of_suite(i);
        if (is_named(items[i].module, count, names))
            run_suite(&counts, make_suite(&items[i], &items[end]));
        tell_progress(end, item_count);
    }
    printf("%d passed, %d failed\n", counts.run - counts.failed, counts.failed);
    return counts.failed || counts.run == 0;
}

int main(int argc, char **argv)
{
    qsort(items, item_count, sizeof *items, compare_items);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list_suites();
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        if (!is_known(argv[i])) {
            fprintf(stderr, "unit: there is no suite '%s'\n", argv[i]);
            return 2;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("CK_DEFAULT_TIMEOUT", "600", 0); /* by the clock: a busy machine is no failure */
    return run_suites(argc - 1, argv + 1);
}
