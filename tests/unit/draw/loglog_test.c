#include "draw/loglog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/canvas_witness.h"
#include "../rigs/memory_stream.h"
#include "base/heap.h"
#include "draw/drawing.h"

static const size_t places[] = {256, 512, 1024, 2048, 4096};
static const double square[] = {1e-4, 4e-4, 16e-4, 64e-4, 256e-4};
static const double even[] = {1e-4, 2e-4, 4e-4, 8e-4, 16e-4};
static const double level[] = {3, 3, 3, 3, 3};

static const char *seconds(char text[32], double value)
{
    snprintf(text, 32, "%.3g s", value);
    return text;
}

static const struct loglog_line lines[] = {
    {"dense", "n^2.00", square},
    {"window:64", "n^1.00", even},
    {"the same again", "", even},
};
static const struct loglog_line flat[] = {{"linear", "n^0.00", level}};
static const struct loglog_panel panels[] = {
    {"time", lines, COUNT(lines), 10, seconds},
    {"memory", flat, COUNT(flat), 2, seconds},
};

static struct loglog plot_of(size_t place_count, size_t panel_count)
{
    struct loglog plot = {
        .title = "growth",
        .places_name = "tokens",
        .places = places,
        .place_count = place_count,
        .panels = panels,
        .panel_count = panel_count,
    };
    loglog_fit(&plot);
    return plot;
}

static void draw(const struct loglog *plot)
{
    struct err err = {0};
    canvas_witness_begin(plot->width, plot->height);
    ck_assert_int_eq(loglog_draw(plot, &witness.canvas, &err), 0);
    canvas_witness_check();
}

TEST(everything_has_its_place)
{
    for (size_t count = 2; count <= COUNT(places); count++) {
        struct loglog plot = plot_of(count, 2);
        draw(&plot);
        ck_assert_uint_eq(witness.part_count, 2);
        ck_assert_uint_eq(canvas_witness_texts("dense  n^2.00"), 1);
        ck_assert_uint_eq(canvas_witness_texts("the same again"), 1);
        ck_assert_uint_eq(canvas_witness_texts("linear  n^0.00"), 1);
        ck_assert_uint_eq(canvas_witness_texts("tokens"), 2);
        ck_assert_uint_eq(canvas_witness_texts("256"), 2);
    }
    ck_assert_double_le(plot_of(5, 1).width, plot_of(5, 2).width / 1.8);
}

TEST(axes_have_whole_powers)
{
    struct loglog plot = plot_of(5, 2);
    draw(&plot);
    ck_assert_uint_eq(canvas_witness_texts("0.0001 s"), 1);
    ck_assert_uint_eq(canvas_witness_texts("0.001 s"), 1);
    ck_assert_uint_eq(canvas_witness_texts("0.01 s"), 1);
    ck_assert_uint_eq(canvas_witness_texts("0.1 s"), 1);
    ck_assert_uint_eq(canvas_witness_texts("2 s"), 1); /* around 3, all there is */
    ck_assert_uint_eq(canvas_witness_texts("4 s"), 1);
}

/* The points of each path of two, in the order they are drawn. */
static size_t read_paths(const char *svg, double (*found)[4], size_t most)
{
    size_t count = 0;
    for (const char *at = svg; count < most && (at = strstr(at, "<path d=\"M")); at++) {
        double *p = found[count];
        count += sscanf(at, "<path d=\"M%lf %lfL%lf %lf\"", &p[0], &p[1], &p[2], &p[3]) == 4 &&
                 strstr(at, "stroke-width=\"1.2\"") &&
                 strstr(at, "stroke-width=\"1.2\"") < strstr(at, "/>");
    }
    return count;
}

TEST(a_power_is_straight_and_its_slope_is_the_power)
{
    static double found[16][4];
    struct stream out = {0};
    struct canvas svg;
    struct err err = {0};
    struct loglog plot = plot_of(5, 1);
    memory_stream_open(&out);
    svg_begin(
        &svg, &out,
        &(struct drawing_page){.width = plot.width, .height = plot.height, .title = plot.title});
    ck_assert_int_eq(loglog_draw(&plot, &svg, &err), 0);
    svg_end(&svg);
    stream_char(&out, '\0');
    struct file file = memory_stream_take(&out);
    ck_assert_uint_eq(read_paths(file.bytes, found, COUNT(found)), 12);
    for (size_t i = 0; i < 12; i++) {
        double slope = (found[i][1] - found[i][3]) / (found[i][2] - found[i][0]);
        double first = (found[0][1] - found[0][3]) / (found[0][2] - found[0][0]);
        ck_assert_double_gt(slope, 0);
        ck_assert_double_eq_tol(slope, i < 4 ? first : first / 2, 1e-3);
    }
    file_release(&file);
}

TEST(an_allocation_that_fails_is_an_error)
{
    struct loglog plot = plot_of(5, 2);
    int failed = -1;
    for (size_t nth = 1; failed; nth++) {
        struct err err = {0};
        canvas_witness_begin(plot.width, plot.height);
        heap_fail_at(nth, 0);
        failed = loglog_draw(&plot, &witness.canvas, &err);
        heap_fail_at(0, 0);
        ck_assert_uint_eq(witness.depth, 0);
        if (failed)
            ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "'%s'", err.text);
        ck_assert(failed || nth > 3);
    }
}
