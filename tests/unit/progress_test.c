/* The commands are no part of the library: this one's way to show how far it is is built in here.
 */
#include "../../cmd/batch/progress.c"

#include <check.h>

Suite *progress_suite(void);

static char shown[4096];

/* What one call writes to standard error. */
static const char *show(struct progress *progress, size_t done, size_t failed)
{
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    dup2(fileno(file), STDERR_FILENO);
    progress_show(progress, done, failed);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    shown[fread(shown, 1, sizeof shown - 1, file)] = '\0';
    fclose(file);
    return shown;
}

/* A batch that began so many seconds ago and has shown nothing since. */
static struct progress begun(double seconds, bool terminal)
{
    struct progress progress;
    progress_begin(&progress, 10000, 1000, false);
    progress.begin -= seconds;
    progress.shown -= seconds;
    progress.terminal = terminal;
    return progress;
}

START_TEST(a_terminal_has_a_bar)
{
    struct progress progress = begun(10, true);
    ck_assert_str_eq(show(&progress, 4000, 0),
                     "\r\033[K[#########...............] 4000 of 10000, 300/s, 20 s left");
    ck_assert_str_eq(show(&progress, 4001, 0), ""); /* not yet again */
}
END_TEST

START_TEST(elsewhere_there_is_a_line_now_and_then)
{
    struct progress progress = begun(4.9, false);
    ck_assert_str_eq(show(&progress, 1010, 0), "");
    progress = begun(100, false);
    ck_assert_str_eq(show(&progress, 1500, 3),
                     "attn-cli: 1500 of 10000, 5.0/s, 28 min 20 s left, 3 failed\n");
    progress = begun(1000, false);
    ck_assert_str_eq(show(&progress, 1250, 0), "attn-cli: 1250 of 10000, 0.2/s, 9 h 43 min left\n");
}
END_TEST

START_TEST(before_the_first_is_done_nobody_knows_how_long_it_takes)
{
    struct progress progress = begun(100, false);
    ck_assert_str_eq(show(&progress, 1000, 0), "attn-cli: 1000 of 10000\n");
}
END_TEST

START_TEST(quiet_is_quiet)
{
    struct progress progress = begun(100, true);
    progress.silent = true;
    ck_assert_str_eq(show(&progress, 1500, 3), "");
}
END_TEST

Suite *progress_suite(void)
{
    Suite *suite = suite_create("progress");
    TCase *tests = tcase_create("progress");
    tcase_add_test(tests, a_terminal_has_a_bar);
    tcase_add_test(tests, elsewhere_there_is_a_line_now_and_then);
    tcase_add_test(tests, before_the_first_is_done_nobody_knows_how_long_it_takes);
    tcase_add_test(tests, quiet_is_quiet);
    suite_add_tcase(suite, tests);
    return suite;
}
