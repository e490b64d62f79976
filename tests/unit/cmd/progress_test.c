/* progress_test.c: progress lines at given times, with a fixed clock in cmd/progress.c. */
#include "base/platform.h"

static double fixed_time = 1000;

static double still_clock(void)
{
    return fixed_time;
}

#define clock_seconds still_clock
#include "../../../cmd/progress.c"

#include "../unit.h"

static char shown[4096];

/* The text that one call writes to standard error. */
static const char *show(struct progress *progress, size_t done, const char *note)
{
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    dup2(fileno(file), STDERR_FILENO);
    progress_show(progress, done, 10000, note);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    shown[fread(shown, 1, sizeof shown - 1, file)] = '\0';
    fclose(file);
    return shown;
}

/* Progress on a terminal that began `seconds` ago with 1000 items done. */
static struct progress begun(double seconds)
{
    struct progress progress;
    progress_begin(&progress, "items");
    progress.before = 1000;
    progress.shows = true;
    fixed_time += seconds;
    return progress;
}

TEST(a_line_has_counts_speed_and_time_left)
{
    struct progress progress = begun(10);
    ck_assert_str_eq(show(&progress, 4000, NULL), "\r\033[K4000 of 10000 items, 300/s, 20 s left");
    ck_assert_str_eq(show(&progress, 4001, NULL), ""); /* too soon after the last one */
}

TEST(there_is_no_line_in_the_first_second)
{
    struct progress progress = begun(0.9);
    ck_assert_str_eq(show(&progress, 4000, NULL), "");
    progress = begun(1.1);
    ck_assert_str_ne(show(&progress, 4000, NULL), "");
}

TEST(a_line_is_not_wider_than_a_terminal)
{
    struct progress progress = begun(100);
    ck_assert_str_eq(show(&progress, 1500, "3 failed"),
                     "\r\033[K1500 of 10000 items, 5.0/s, 28 min 20 s left, 3 failed");
    progress = begun(1000);
    ck_assert_str_eq(show(&progress, 1250, "one thing after the other was not as expected"),
                     "\r\033[K1250 of 10000 items, 0.2/s, 9 h 43 min left, one thing after the "
                     "other was not…");
}
