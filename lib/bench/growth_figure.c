/* growth_figure.c: how attention grows, as a figure: time and memory on logarithmic axes. */
#include <math.h>
#include <stdio.h>

#include "base/amount.h"
#include "bench/growth.h"
#include "draw/loglog.h"

enum { PANELS = 2 };

struct figure {
    struct loglog plot;
    struct loglog_panel panels[PANELS];
};

/* 1 ms, 10 ms: powers of ten need no decimals. */
static const char *time_label(char text[AMOUNT_BYTES], double seconds)
{
    static const char *const units[] = {"s", "ms", "µs", "ns"};
    size_t unit = 0;
    for (; seconds < 0.9999 && unit + 1 < sizeof units / sizeof *units; unit++)
        seconds *= 1000;
    snprintf(text, AMOUNT_BYTES, "%.3g %s", seconds, units[unit]);
    return text;
}

static const char *memory_label(char text[AMOUNT_BYTES], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes > 1023.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    snprintf(text, AMOUNT_BYTES, "%.3g %s", bytes, units[unit]);
    return text;
}

static struct loglog_line *make_lines(const struct growth *growth, bool of_time,
                                      struct arena *arena, struct err *err)
{
    struct loglog_line *lines = arena_alloc(arena, growth->way_count, sizeof *lines, err);
    for (size_t i = 0; lines && i < growth->way_count; i++) {
        const struct growth_way *way = &growth->ways[i];
        double exponent = of_time ? way->time_exponent : way->memory_exponent;
        lines[i] = (struct loglog_line){
            .name = way->name,
            .note = arena_format(arena, err, isnan(exponent) ? "" : "n^%.2f", exponent),
            .values = of_time ? way->seconds : way->bytes,
        };
        if (!lines[i].note)
            return NULL;
    }
    return lines;
}

static int make_figure(struct figure *figure, const struct growth *growth, struct arena *arena,
                       struct err *err)
{
    const struct loglog_line *times = make_lines(growth, true, arena, err);
    const struct loglog_line *sizes = make_lines(growth, false, arena, err);
    const char *title = growth_title(growth, " · attention of ", arena, err);
    if (!times || !sizes || !title)
        return -1;
    figure->panels[0] = (struct loglog_panel){"time", times, growth->way_count, 10, time_label};
    figure->panels[1] =
        (struct loglog_panel){"working memory", sizes, growth->way_count, 2, memory_label};
    figure->plot = (struct loglog){
        .title = title,
        .places_name = "tokens",
        .places = growth->lengths,
        .place_count = growth->length_count,
        .panels = figure->panels,
        .panel_count = PANELS,
    };
    loglog_fit(&figure->plot);
    return 0;
}

int growth_figure_write(struct stream *out, enum drawing_form form, const struct growth *growth,
                        struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    struct drawing drawing;
    int failed = make_figure(&figure, growth, &arena, err);
    if (!failed) {
        const struct drawing_page page = {
            .width = figure.plot.width, .height = figure.plot.height, .title = figure.plot.title};
        failed = drawing_begin(&drawing, form, out, &page, err);
    }
    if (!failed) {
        int drawn = loglog_draw(&figure.plot, &drawing.canvas, err);
        failed = drawing_end(&drawing, err) || drawn ? -1 : 0;
    }
    arena_release(&arena);
    return failed;
}
