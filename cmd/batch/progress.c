#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

enum { BAR_COLUMNS = 24 };

static const double BAR_SECONDS = 0.1;
static const double LINE_SECONDS = 5;

void progress_begin(struct progress *progress, size_t count, size_t before, bool silent)
{
    const char *terminal = getenv("TERM");
    double now = clock_seconds();
    *progress = (struct progress){
        .silent = silent,
        .terminal = isatty(STDERR_FILENO) && (!terminal || strcmp(terminal, "dumb") != 0),
        .count = count,
        .before = before,
        .begin = now,
        .shown = now,
    };
}

static void add_bar(struct buf *line, const struct progress *progress, size_t done)
{
    size_t full = progress->count ? done * BAR_COLUMNS / progress->count : BAR_COLUMNS;
    buf_text(line, "\r\033[K[");
    for (size_t i = 0; i < BAR_COLUMNS; i++)
        buf_char(line, i < full ? '#' : '.');
    buf_text(line, "] ");
}

/* 48 s, 3 min 20 s, 2 h 5 min */
static void add_time(struct buf *line, double seconds)
{
    unsigned long long whole = (unsigned long long)(seconds + 0.5);
    if (whole < 60)
        buf_format(line, "%llu s", whole);
    else if (whole < 3600)
        buf_format(line, "%llu min %llu s", whole / 60, whole % 60);
    else
        buf_format(line, "%llu h %llu min", whole / 3600, whole / 60 % 60);
}

static void add_numbers(struct buf *line, const struct progress *progress, size_t done,
                        size_t failed)
{
    double seconds = clock_seconds() - progress->begin;
    double speed = seconds > 0 ? (double)(done - progress->before) / seconds : 0;
    buf_format(line, "%zu of %zu", done, progress->count);
    if (speed > 0) {
        buf_format(line, speed < 10 ? ", %.1f/s, " : ", %.0f/s, ", speed);
        add_time(line, (double)(progress->count - done) / speed);
        buf_text(line, " left");
    }
    if (failed)
        buf_format(line, ", %zu failed", failed);
}

static void send(const struct buf *line)
{
    if (!line->out_of_memory)
        fwrite(line->bytes, 1, line->size, stderr);
}

void progress_show(struct progress *progress, size_t done, size_t failed)
{
    double now = clock_seconds();
    double pause = progress->terminal ? BAR_SECONDS : LINE_SECONDS;
    struct buf line = {0};
    if (progress->silent || now - progress->shown < pause)
        return;
    progress->shown = now;
    if (progress->terminal)
        add_bar(&line, progress, done);
    else
        buf_text(&line, "attn-cli: ");
    add_numbers(&line, progress, done, failed);
    if (!progress->terminal)
        buf_char(&line, '\n');
    send(&line);
    buf_release(&line);
}

void progress_end(struct progress *progress)
{
    if (!progress->silent && progress->terminal)
        fputs("\r\033[K", stderr);
}
