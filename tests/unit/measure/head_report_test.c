#include <math.h>

#include "../unit.h"
#include "measure/head_scores.h"

/* self, its baseline; of two layers of two heads, and of one layer of three. */
static struct mean values[] = {{0.7, 7}, {0, 0}, {6.3, 7}, {0.7, 7}};
static struct mean baselines[] = {{0, 1}, {0, 1}, {0, 1}, {0.5, 1}};
static struct mean others[] = {{0.2, 1}, {0.3, 1}, {0.4, 1}};
static struct mean no_baselines[] = {{0, 1}, {0, 1}, {0, 1}};
static const struct head_result results[] = {
    {"one", "hash", "1 text", 2, 2, {values, baselines, {0}}},
    {"other", "hush", "1 text", 1, 3, {others, no_baselines, {0}}},
};

static struct score_list scores;
static struct arena arena;
static struct err err;

static void enter(void)
{
    size_t index = 0;
    scores.count = 0;
    ck_assert_int_eq(score_choose(&scores, &index, "--score", "self", 4, &arena, &err), 0);
}

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(enter, leave)

static struct report make(size_t count, bool sorted, size_t top)
{
    struct report report;
    const struct head_results all = {&scores, true,    sorted ? &scores.items[0] : NULL,
                                     top,     results, count};
    ck_assert_int_eq(head_table_report(&report, &all, &arena, &err), 0);
    return report;
}

static const struct column *column_of(const struct frame *frame, const char *name)
{
    for (size_t i = 0; i < frame->count; i++)
        if (strcmp(frame->columns[i].name, name) == 0)
            return &frame->columns[i];
    return NULL;
}

TEST(rows_are_sorted_by_a_score_and_missing_ones_come_last)
{
    static const char *const order[] = {"L1H0", "L0H0", "L1H1", "L0H1"};
    struct report report = make(1, true, 0);
    const struct frame *frame = &report.frames[0];
    ck_assert_uint_eq(report.frame_count, 1);
    for (size_t i = 0; i < COUNT(order); i++)
        ck_assert_str_eq(frame->rows.labels[i].plain, order[i]);
    ck_assert_double_eq_tol(column_float(column_of(frame, "self"), 0), 0.9, 1e-15);
    ck_assert_double_eq(column_float(column_of(frame, "self_baseline"), 2), 0.5);
    ck_assert_str_eq(column_text(column_of(frame, "verdict"), 0, true), "itself");
    ck_assert_ptr_null(column_of(frame, "model"));
    ck_assert_int_eq(column_integer(column_of(report.facts, "self_count"), 0), 7);
}

TEST(models_of_any_shape_share_a_table)
{
    struct report report = make(2, false, 0);
    const struct frame *data = &report.frames[0];
    const struct frame *text = &report.frames[1];
    ck_assert_str_eq(report.model, "one, other");
    ck_assert_uint_eq(report.frame_count, 4); /* rows; two columns, compared; the models */
    ck_assert_uint_eq(data->rows.size, 4 + 3);
    ck_assert_str_eq(column_text(column_of(data, "model"), 4, false), "other");
    ck_assert_uint_eq(text->rows.size, 2 * 3);
    ck_assert_str_eq(text->rows.labels[2].plain, "L0H2");
    ck_assert(isnan(column_float(column_of(text, "one"), 2)));
    ck_assert_double_eq(column_float(column_of(text, "other"), 2), 0.4);
    ck_assert_str_eq(column_text(column_of(&report.frames[3], "weights_sha256"), 1, false), "hush");
}

TEST(the_first_rows_of_each_model_are_shown)
{
    struct report report = make(2, true, 3);
    ck_assert_uint_eq(report.frames[0].rows.size, 3 + 3);
    ck_assert_str_eq(report.frames[0].rows.labels[2].plain, "L1H1");
    ck_assert_str_eq(report.frames[0].rows.labels[3].plain, "L0H2");
    ck_assert_uint_eq(report.frames[1].rows.size, 3); /* by the scores of the last model */
    ck_assert_str_eq(report.frames[1].rows.labels[0].plain, "L0H2");
}

TEST(a_map_has_a_matrix_for_each_column_or_for_one_score)
{
    struct report report;
    const struct head_results one = {&scores, true, NULL, 0, results, 1};
    ck_assert_int_eq(head_map_report(&report, &one, NULL, &arena, &err), 0);
    ck_assert_uint_eq(report.tensor_count, 2);
    ck_assert_str_eq(report.tensors[1].made->tensor, "self_baseline");
    ck_assert_float_eq(sheet_cell(report.tensors[0].made, 1, 0), 0.9F);
    ck_assert_str_eq(report.tensors[0].made->rows.name, "layer");
}
