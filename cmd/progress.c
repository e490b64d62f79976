#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/platform.h"
#include "write/text.h"

enum { LINE_COLUMNS = 80 };

/* seconds before the progress line appears; a shorter command shows no line */
static const double FIRST_SECONDS = 1;
static const double NEXT_SECONDS = 0.1;

static volatile sig_atomic_t visible; /* nonzero: the progress line is on the terminal */
static bool quiet;

void progress_set_quiet(bool set)
{
    quiet = set;
}

bool progress_is_quiet(void)
{
    return quiet;
}

static void tell(void *context, size_t done, size_t count, const char *note)
{
    progress_show(context, done, count, note);
}

void progress_begin(struct progress *progress, const char *things)
{
    double now = clock_seconds();
    const char *terminal = getenv("TERM");
    bool has_lines =
        isatty(STDERR_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
    *progress = (struct progress){
        .shows = !quiet && has_lines,
        .things = things,
        .begin = now,
        .shown = now + FIRST_SECONDS - NEXT_SECONDS,
        .sink = {tell, progress},
    };
}

static void add_numbers(struct buf *line, const struct progress *progress, size_t done,
                        size_t count)
{
    double seconds = clock_seconds() - progress->begin;
    size_t rest = count > done ? count - done : 0;
    double speed = seconds > 0 ? (double)(done - progress->before) / seconds : 0;
    if (progress->things)
        buf_format(line, "%zu of %zu %s", done, count, progress->things);
    else
        buf_format(line, "%zu %%", count ? done * 100 / count : 100);
    if (speed > 0 && progress->things)
        buf_format(line, speed < 10 ? ", %.1f/s" : ", %.0f/s", speed);
    if (speed <= 0)
        return;
    /* remaining seconds */
    unsigned long long left = (unsigned long long)((double)rest / speed + 0.5);
    if (left < 60)
        buf_format(line, ", %llu s left", left);
    else if (left < 3600)
        buf_format(line, ", %llu min %llu s left", left / 60, left % 60);
    else
        buf_format(line, ", %llu h %llu min left", left / 3600, left / 60 % 60);
}

void progress_show(struct progress *progress, size_t done, size_t count, const char *note)
{
    struct buf line = {0};
    struct winsize window;
    if (!progress->shows)
        return;
    double now = clock_seconds();
    if (now - progress->shown < NEXT_SECONDS)
        return;
    progress->shown = now;
    add_numbers(&line, progress, done, count);
    if (note)
        buf_format(&line, ", %s", note);
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    /* leave out the last column, where the terminal may begin a new line */
    text_shorten(&line, (known ? window.ws_col : LINE_COLUMNS) - 1);
    if (!line.out_of_memory) {
        visible = 1;
        fprintf(stderr, "\r\033[K%s", line.bytes);
    }
    buf_release(&line);
}

void progress_end(struct progress *progress)
{
    progress->shows = false;
    progress_say("", 0);
}

void progress_say(const char *bytes, size_t size)
{
    static const char wipe[] = "\r\033[K";
    if (visible) {
        visible = 0;
        progress_say(wipe, sizeof wipe - 1);
    }
    while (size && write(STDERR_FILENO, bytes, size) < 0 && errno == EINTR)
        continue; /* try again; other errors of writing cannot be reported */
    errno = 0;
}
