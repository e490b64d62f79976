#include "draw/canvas.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "../rigs/report_fixture.h"

/* Draw one thing on a picture of 30 by 20 points. */
typedef void (*drawing)(struct canvas *canvas);

static char drawn[4096];

/* What it makes, without what every picture begins and ends with. */
static const char *draw(drawing put)
{
    static const char ground[] =
        "<rect x=\"0\" y=\"0\" width=\"30\" height=\"20\" fill=\"#ffffff\"/>\n";
    struct stream out = {0};
    struct canvas svg;
    memory_stream_open(&out);
    svg_begin(&svg, &out,
              &(struct drawing_page){.width = 30, .height = 20, .title = "<Life & \"more\">"});
    put(&svg);
    svg_end(&svg);
    struct file file = memory_stream_take(&out);
    ck_assert_uint_lt(file.size, sizeof drawn);
    memcpy(drawn, file.bytes, file.size);
    drawn[file.size] = '\0';
    file_release(&file);
    char *end = strstr(drawn, "</svg>\n");
    char *start = strstr(drawn, ground);
    ck_assert(start && end && end[7] == '\0');
    *end = '\0';
    return start + sizeof ground - 1;
}

static void nothing(struct canvas *canvas)
{
    (void)canvas;
}

TEST(a_picture_has_its_size_in_points_and_a_title)
{
    ck_assert_str_eq(draw(nothing), "");
    ck_assert_ptr_nonnull(strstr(drawn, "width=\"30pt\" height=\"20pt\" viewBox=\"0 0 30 20\""));
    ck_assert_ptr_nonnull(strstr(drawn, "<title>&lt;Life &amp; \"more\"&gt;</title>"));
}

static void a_part(struct canvas *canvas)
{
    canvas->open(canvas, "head 1");
    canvas->rect(canvas, (struct box){1, 2.5, 3.0004, 1.0 / 3}, colour_of_hex(0x0a0b0c));
    canvas->close(canvas);
}

TEST(a_part_has_a_name_and_numbers_three_decimals)
{
    ck_assert_str_eq(draw(a_part),
                     "<g><title>head 1</title>\n"
                     "<rect x=\"1\" y=\"2.5\" width=\"3\" height=\"0.333\" fill=\"#0a0b0c\"/>\n"
                     "</g>\n");
}

static void some_texts(struct canvas *canvas)
{
    struct font level = {.size = 7, .anchor = ANCHOR_END, .bold = true};
    struct font turned = {.size = 6.5, .turn = -45, .colour = {255, 0, 1}};
    canvas->text(canvas, (struct point){10, -2}, "</text><b>&", &level);
    canvas->text(canvas, (struct point){1, 2}, "a\x01\xff\xef\xbf\xbe爱", &turned);
}

TEST(texts_are_texts_whatever_they_say)
{
    ck_assert_str_eq(draw(some_texts),
                     "<text x=\"10\" y=\"-2\" font-size=\"7\" fill=\"#000000\" "
                     "text-anchor=\"end\" font-weight=\"bold\">&lt;/text&gt;&lt;b&gt;&amp;</text>\n"
                     "<text transform=\"translate(1 2) rotate(-45)\" font-size=\"6.5\" "
                     "fill=\"#ff0001\">a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd爱</text>\n");
}

static void two_lines(struct canvas *canvas)
{
    static const struct stroke strokes[] = {{{0, 1}, {10, 1}}, {{0, 1}, {10, 3}}};
    struct pen pen = {{1, 2, 3}, 0.5, 0.25};
    canvas->strokes(canvas, strokes, 2, false, &pen);
    canvas->frame(canvas, (struct box){0, 0, 1, 1}, &(struct pen){{0, 0, 0}, 1, 1});
}

TEST(lines_of_a_pen_are_one_shape)
{
    ck_assert_str_eq(draw(two_lines),
                     "<path d=\"M0 1L10 1M0 1C5 1 5 3 10 3\" fill=\"none\" stroke=\"#010203\" "
                     "stroke-width=\"0.5\" stroke-opacity=\"0.25\"/>\n"
                     "<rect x=\"0\" y=\"0\" width=\"1\" height=\"1\" fill=\"none\" "
                     "stroke=\"#000000\" stroke-width=\"1\"/>\n");
}

static void a_path(struct canvas *canvas)
{
    static const struct point points[] = {{0, 1}, {10, 3.5}, {20, 0}};
    canvas->path(canvas, points, 3, &(struct pen){{1, 2, 3}, 0.5, 1});
}

TEST(a_path_goes_straight_from_point_to_point)
{
    ck_assert_str_eq(draw(a_path), "<path d=\"M0 1L10 3.5L20 0\" fill=\"none\" "
                                   "stroke=\"#010203\" stroke-width=\"0.5\"/>\n");
}

static void some_cells(struct canvas *canvas)
{
    unsigned char levels[] = {2, 0, 0, 2, 2, 9};
    struct cells cells = {.rows = 2, .columns = 3, .levels = levels};
    struct ramp ramp = {0};
    ramp.colours[2] = colour_of_hex(0x222222);
    ramp.colours[9] = colour_of_hex(0x999999);
    canvas->cells(canvas, (struct box){5, 6, 9, 4}, &cells, &ramp);
}

TEST(cells_of_a_colour_are_one_shape_and_empty_ones_none)
{
    ck_assert_str_eq(draw(some_cells),
                     "<g shape-rendering=\"crispEdges\" transform=\"translate(5 6) scale(3 2)\">\n"
                     "<path d=\"M0 0H1V1H0zM0 1H2.3V2H0z\" fill=\"#222222\"/>\n"
                     "<path d=\"M2 1H3V2H2z\" fill=\"#999999\"/>\n"
                     "</g>\n");
}

/* Between neighbours of different levels the ground would shine through. */
static void neighbours(struct canvas *canvas)
{
    unsigned char levels[] = {2, 9, 9, 2};
    struct cells cells = {.rows = 2, .columns = 2, .levels = levels};
    struct ramp ramp = {0};
    canvas->cells(canvas, (struct box){0, 0, 2, 2}, &cells, &ramp);
}

TEST(a_cell_reaches_below_later_neighbours_but_not_across)
{
    ck_assert_str_eq(draw(neighbours),
                     "<g shape-rendering=\"crispEdges\" transform=\"translate(0 0) scale(1 1)\">\n"
                     "<path d=\"M0 0H1.3V1H0zM0 0H1V1.3H0zM0.7 1H2V2H0.7zM1 0.7H2V2H1z\" "
                     "fill=\"#000000\"/>\n"
                     "<path d=\"M1 0H2V1H1zM0 1H1V2H0z\" fill=\"#000000\"/>\n"
                     "</g>\n");
}

static void a_hatching(struct canvas *canvas)
{
    canvas_hatch(canvas, (struct box){10, 20, 6, 3});
}

TEST(lines_of_a_hatching_end_at_its_box)
{
    ck_assert_str_eq(draw(a_hatching),
                     "<rect x=\"10\" y=\"20\" width=\"6\" height=\"3\" fill=\"#f5f5f5\"/>\n"
                     "<path d=\"M11.839 20L10 21.839M15.516 20L12.516 23\" fill=\"none\" "
                     "stroke=\"#d2d2d2\" stroke-width=\"0.5\"/>\n");
}

TEST(a_report_is_a_whole_picture)
{
    const char *text = fixture_written(figure_write_svg, &fixture_odd, &fixture_alone);
    size_t size = fixture_size();
    ck_assert_int_eq(strncmp(text, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 38), 0);
    ck_assert_str_eq(text + size - 7, "</svg>\n");
    ck_assert_ptr_nonnull(strstr(text, ">🍰</text>"));
    fixture_starve(figure_write_svg, &fixture_odd);
}
