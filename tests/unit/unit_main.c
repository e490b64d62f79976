/* unit: run all registered tests, or the suites named on the command line.
 *
 *     build/unit               all of them
 *     build/unit json utf8     these
 *     build/unit --list        print their names
 *     CK_FORK=no build/unit    in one process, for a debugger
 *
 * `make build/unit` builds it. A test may take CK_DEFAULT_TIMEOUT seconds, by default HANG
 * (tally.sh), or 600.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../run/stage_progress.h"
#include "unit.h"

/* Registered items, sorted by module and line; the items of a module are a suite. */
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
    if ((item_count & (item_count - 1)) == 0) /* grow in powers of two */
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

/* The index after the suite that begins at `first`. */
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

/* --- leaks, in builds with a sanitizer -------------------------------------------------------- */

/* The sanitizer calls the second function when a process ends. Checking for leaks takes longer than
 * most tests, so it is on only if a test ends with more memory than it had at the beginning. */
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);
int __lsan_is_turned_off(void);

static size_t bytes_before; /* before the first test of this process; 0: none has begun */

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

static TCase *add_case(Suite *suite, const char *module, const struct unit_item *fixture)
{
    TCase *tests = tcase_create(module);
    tcase_add_checked_fixture(tests, note_memory, NULL);
    if (fixture)
        fixture->fixture(tests, fixture->setup, fixture->teardown);
    suite_add_tcase(suite, tests);
    return tests;
}

/* ATTN_UNIT_LOOPS=2: every second case of a loop, not the same of every loop, because many loops go
 * over the same models; with SLICE=1 the other ones. */
static void add_test(TCase *tests, const struct registered *added)
{
    const char *every = getenv("ATTN_UNIT_LOOPS");
    int step = every ? atoi(every) : 1;
    const char *slice = getenv("SLICE");
    int first = (int)((added - items) + (slice ? atol(slice) : 0)) % step;
    for (int i = first < added->item.times ? first : 0; i < added->item.times; i += step)
        tcase_add_loop_test(tests, added->item.test, i, i + 1);
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
        add_test(tests, i);
    }
    return suite;
}

/* Print a line for each failure. */
static void show_failures(SRunner *runner)
{
    TestResult **failures = srunner_failures(runner);
    for (int i = 0; i < srunner_ntests_failed(runner); i++)
        printf("failed: %s: %s:%d: %s\n", tr_tcname(failures[i]), tr_lfile(failures[i]),
               tr_lno(failures[i]), tr_msg(failures[i]));
    free(failures);
}

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
            fprintf(stderr, "unit: no suite '%s'\n", argv[i]);
            return 2;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *hang = getenv("HANG");
    setenv("CK_DEFAULT_TIMEOUT", hang ? hang : "600", 0);
    return run_suites(argc - 1, argv + 1);
}
