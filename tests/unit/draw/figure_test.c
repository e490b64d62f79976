#include "draw/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "../rigs/canvas_witness.h"
#include "../rigs/report_fixture.h"
#include "base/memory.h"
#include "draw/canvas.h"
#include "lens/report.h"

/* Draw a report and check all shapes. */
static void draw(const struct report *report, const struct style *style)
{
    struct arena arena = {0};
    struct figure figure;
    struct err err = {0};
    ck_assert_msg(figure_plan(&figure, report, style, &arena, &err) == 0, "%s", err.text);
    canvas_witness_begin(figure.page.width, figure.page.height);
    ck_assert_double_le(figure.page.width, 504.01);
    ck_assert_msg(figure_draw(&figure, &witness.canvas, &err) == 0, "%s", err.text);
    canvas_witness_check();
    arena_release(&arena);
}

TEST(every_view_draws_inside_the_page_without_overlaps)
{
    const struct report *const reports[] = {&fixture_plain,    &fixture_odd,   &fixture_layers,
                                            &fixture_selected, &fixture_cross, NULL};
    for (size_t i = 0; reports[i]; i++)
        for (int view = VIEW_MATRIX; view <= VIEW_BARS; view++)
            for (int range = RANGE_ALL; range <= RANGE_ROW; range++) {
                struct style style = {.view = (enum style_view)view,
                                      .range = (enum style_range)range};
                draw(reports[i], &style);
            }
}

TEST(every_view_keeps_the_width_of_a_figure)
{
    static const double widths[] = {170, 234, 396};
    const struct report *const reports[] = {&fixture_plain,    &fixture_odd,   &fixture_layers,
                                            &fixture_selected, &fixture_cross, NULL};
    for (size_t i = 0; reports[i]; i++)
        for (int view = VIEW_MATRIX; view <= VIEW_BARS; view++)
            for (size_t w = 0; w < COUNT(widths); w++) {
                struct style style = {.view = (enum style_view)view,
                                      .form = {.width = widths[w], .font_size = 7}};
                draw(reports[i], &style);
                ck_assert_double_eq(witness.width, widths[w]);
            }
}

TEST(texts_of_every_length_fit)
{
    for (size_t tokens = 1; tokens <= FIXTURE_LONG_MAX; tokens++)
        for (int view = VIEW_MATRIX; view <= VIEW_BARS; view++) {
            struct report report = fixture_long(tokens);
            struct style style = {.view = (enum style_view)view};
            draw(&report, &style);
        }
}

TEST(a_computed_array_without_labels_has_numbers)
{
    static const float cells[2 * 2 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct report report = {.model = "life", .text = fixture_plain.text};
    const struct array bare = {.name = "distance",
                               .layer = -1,
                               .heads = {.name = "head", .size = 2},
                               .rows = {.size = 2},
                               .columns = {.name = "distance", .size = 3, .first = 7},
                               .data = cells};
    struct arena arena = {0};
    struct err err = {0};
    ck_assert(!report_add_array(&report, &bare, &arena, &err));
    for (int view = VIEW_MATRIX; view <= VIEW_BARS; view++) {
        struct style style = {.view = (enum style_view)view};
        draw(&report, &style);
    }
    draw(&report, &style_default);
    ck_assert_uint_eq(canvas_witness_texts("1"), 1); /* the heads share their rows */
    ck_assert_uint_eq(canvas_witness_texts("8"), 2);
    arena_release(&arena);
}

TEST(one_head_is_one_panel_with_numbers)
{
    draw(&fixture_plain, &style_default);
    ck_assert_uint_eq(witness.part_count, 1);
    ck_assert_uint_eq(canvas_witness_texts("life · Life is Life"), 1);
    ck_assert_uint_eq(canvas_witness_texts("weights · L0H0 · rows: query, columns: key"), 1);
    ck_assert_uint_eq(canvas_witness_texts("0.75"), 1);
    ck_assert_uint_eq(canvas_witness_texts("0.00"), 0); /* masked cells have no number */
    ck_assert_uint_eq(canvas_witness_texts("is"), 2);
    ck_assert(witness.inked);
    ck_assert_uint_eq(witness.hatch_count, 1);
}

TEST(numbers_and_colours_can_be_switched_off)
{
    struct style style = {.cells = CELLS_HEAT};
    draw(&fixture_plain, &style);
    ck_assert_uint_eq(canvas_witness_texts("0.75"), 0);
    style.cells = CELLS_NUMBERS;
    draw(&fixture_plain, &style);
    ck_assert_uint_eq(canvas_witness_texts("0.75"), 1);
    ck_assert(!witness.inked);
    ck_assert_uint_eq(witness.cell_count, 0); /* and no colour bar */
}

TEST(layers_and_heads_make_a_grid)
{
    draw(&fixture_layers, &style_default);
    ck_assert_uint_eq(canvas_witness_texts("layer 0"), 1);
    ck_assert_uint_eq(canvas_witness_texts("head 0"), 1); /* above the grid */
    ck_assert_uint_eq(canvas_witness_texts("L0H0") + canvas_witness_texts("L1H0"), 2);
    ck_assert_uint_eq(witness.part_count, 1 + 2 + 2 + 4);
}

TEST(lines_are_drawn_only_for_attention)
{
    struct style style = {.view = VIEW_LINES};
    draw(&fixture_layers, &style);
    ck_assert_uint_gt(witness.stroke_count, 10);
    ck_assert_uint_gt(witness.cell_count, 3 * 2); /* the embedding and keys are cells */
    draw(&fixture_plain, &style);
    ck_assert_uint_eq(canvas_witness_texts("lines below 3 % of the scale are not drawn"), 1);
    ck_assert_uint_eq(canvas_witness_texts("weights · L0H0 · left: query, right: key"), 1);
}

TEST(a_figure_is_wide_enough_for_its_title)
{
    struct report report = fixture_plain;
    report.about = "logit of is less is after Life: 1.2";
    draw(&report, &style_default);
    ck_assert_double_eq(witness.width, 252);
    report.about = "logit of a long answer less another long answer after a token that is as long: "
                   "clean 1.2345, corrupt -12.3456";
    draw(&report, &style_default);
    ck_assert_double_gt(witness.width, 252);
    for (size_t i = 0; i < witness.text_count; i++)
        ck_assert_ptr_null(strstr(witness.texts[i].text, "…"));
}

TEST(bars_have_names_and_numbers)
{
    struct style style = {.view = VIEW_BARS};
    draw(&fixture_plain, &style);
    ck_assert_uint_eq(canvas_witness_texts("is from Life"), 1); /* the subtitle has the head */
    ck_assert_uint_eq(canvas_witness_texts("weights · L0H0 · the 6 farthest from 0"), 1);
    ck_assert_uint_eq(canvas_witness_texts("0.7500"), 1);
}

TEST(parts_of_a_sum_are_bars_by_default)
{
    static const float values[] = {2, -0.5f};
    static const struct label labels[] = {{"0", "0", "0"}, {"mlp", "mlp", "mlp"}};
    const struct array array = {.name = "parts",
                                .layer = -1,
                                .data = values,
                                .rows = {"layer", 1, labels, 0},
                                .columns = {"part", 2, labels, 0},
                                .display.parts = true};
    struct report report = fixture_plain;
    struct style style = {.view = VIEW_MATRIX};
    report.arrays = &array;
    report.array_count = 1;
    draw(&report, &style_default);
    ck_assert_uint_eq(canvas_witness_texts("L0.mlp"), 1);
    ck_assert_uint_eq(canvas_witness_texts("-0.5000"), 1);
    draw(&report, &style);
    ck_assert_uint_eq(canvas_witness_texts("L0.mlp"), 0);
}

TEST(an_overlay_has_a_legend_of_heads)
{
    struct report report = fixture_long(5);
    struct style style = {.view = VIEW_OVERLAY};
    draw(&report, &style);
    ck_assert_uint_eq(witness.part_count, 1);
    ck_assert_uint_eq(canvas_witness_texts("L0H0"), 1);
    ck_assert_uint_eq(canvas_witness_texts("L0H1"), 1);
}

TEST(pooled_cells_have_a_note)
{
    struct report report = fixture_long(FIXTURE_LONG_MAX);
    static const size_t heads[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static float values[12 * FIXTURE_LONG_MAX * FIXTURE_LONG_MAX];
    struct array kept = report.arrays[0];
    struct array layers[2];
    kept.heads.size = 12;
    kept.data = values;
    kept.heads.numbers = heads;
    layers[0] = layers[1] = kept;
    layers[1].layer = 1;
    report.arrays = layers;
    report.array_count = 2;
    draw(&report, &style_default);
    ck_assert_uint_eq(canvas_witness_texts("each cell shows the largest of 2 × 2 numbers"), 1);
}

TEST(large_panels_have_fewer_labels)
{
    struct report report = fixture_long(FIXTURE_LONG_MAX);
    draw(&report, &style_default);
    ck_assert_uint_eq(canvas_witness_texts(report.text.labels[0].text),
                      1 + 2); /* rows, and columns */
    ck_assert_uint_eq(canvas_witness_texts(report.text.labels[1].text), 0);
    struct style style = {.view = VIEW_LINES}; /* which may be taller */
    draw(&report, &style);
    ck_assert_uint_eq(canvas_witness_texts(report.text.labels[1].text), 2);
}

TEST(a_title_can_be_given)
{
    struct style style = {.title = "Figure 1"};
    draw(&fixture_plain, &style);
    ck_assert_uint_eq(canvas_witness_texts("Figure 1"), 1);
}

TEST(a_long_title_has_at_most_three_lines)
{
    struct style style = {
        .title = "A title that is much longer than the picture of three words is wide, by far"};
    draw(&fixture_plain, &style);
    ck_assert_uint_eq(canvas_witness_texts("A title that is much longer than the"), 1);
    ck_assert_uint_eq(canvas_witness_texts("picture of three words is wide, by far"), 1);
    style.title = "A title that is much longer than the picture of three words is wide, by far, "
                  "which goes on";
    draw(&fixture_plain, &style);
    ck_assert_uint_eq(canvas_witness_texts("picture of three words is wide, by far,"), 1);
    ck_assert_uint_eq(canvas_witness_texts("which goes on"), 1);
    style.title = "A title that is much longer than the picture of three words is wide, by far, "
                  "which goes on and on beyond all that anybody reads";
    draw(&fixture_plain, &style);
    ck_assert_uint_eq(canvas_witness_texts("picture of three words is wide, by far,"), 1);
    ck_assert_uint_eq(canvas_witness_texts("which goes on and on beyond all that anybody reads"),
                      0);
}

TEST(hidden_tokens_and_ranges_have_notes)
{
    struct report report = fixture_layers;
    struct style style = {.range = RANGE_HEAD};
    draw(&report, &style);
    ck_assert_uint_eq(canvas_witness_texts("each head has its own range"), 3);
    style.range = RANGE_ROW;
    draw(&report, &style);
    ck_assert_uint_eq(canvas_witness_texts("each row has its own range"), 4);
    struct arena arena = {0};
    struct err err = {0};
    struct derivation how = {.hide_first = true};
    report = fixture_plain;
    ck_assert_int_eq(derive(&report, &how, NULL, &arena, &err), 0);
    draw(&report, &style_default);
    ck_assert_uint_eq(canvas_witness_texts("the first token is hidden"), 1);
    arena_release(&arena);
}

TEST(every_failed_allocation_is_an_error)
{
    struct starve starve = {0};
    while (starve_next(&starve)) {
        struct arena arena = {0};
        struct figure figure;
        struct err err = {0};
        struct style style = {.view = starve.nth % 2 ? VIEW_LINES : VIEW_MATRIX};
        canvas_witness_begin(1e9, 1e9);
        int failed = figure_plan(&figure, &fixture_layers, &style, &arena, &err) ||
                     figure_draw(&figure, &witness.canvas, &err);
        starve_check(&starve, failed, &err);
        arena_release(&arena);
    }
}
