
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/goldens.h"
#include "../unit.h"
#include "base/names.h"
#include "format/json.h"
#include "measure/saliency.h"
#include "model/layer.h"

/* Numbers in float64, tests/references/golden-saliency.json: for each model a logit, arrays of
 * weights times gradients, each with two indices and their numbers, the larger first, and runs of
 * each rule. */
enum { GOLDENS = 8 };

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct json *root;
static struct text_with_source pair;
static struct report report;
static struct question question;

static void enter(void)
{
    root = goldens_open("tests/references/golden-saliency.json");
    report = (struct report){0};
}

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
    json_free(root);
    root = NULL;
}

FIXTURE(enter, leave)

static const struct json *open_golden(int index)
{
    const struct json *golden = golden_at(root, index);
    golden_open(&viewer, golden);
    golden_read(&pair, &viewer, golden, &arena);
    question = golden_question(golden);
    return golden;
}

TEST_LOOP(weights_times_gradients_are_those_of_float64, GOLDENS)
{
    const struct json *golden = open_golden(_i);
    const struct config *c = &viewer.model.config;
    struct selection selection = {0};
    struct gradient_plan plan = {.viewer = &viewer, .selection = &selection, .question = question};
    const struct json *sites = json_member(golden, "attention_gradient");
    int failed =
        selection_sites(&selection,
                        has_encoder(c)
                            ? "attention_gradient,cross_attention_gradient,enc.attention_gradient"
                            : "attention_gradient",
                        c, &err) ||
        selection_layers(&selection, NULL, c, &arena, &err) ||
        selection_heads(&selection, NULL, c, &arena, &err) ||
        gradients_make(&report, &plan, &pair, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert_double_eq_tol(plan.value, golden_number(golden, "value"), 2e-5);
    for (size_t i = 0; i < report.array_count; i++) {
        char name[SITE_NAME_BYTES];
        golden_expect_two(json_member(sites, array_name(name, &report.arrays[i])),
                          report.arrays[i].data, 1e-7);
    }
    ck_assert_uint_eq(report.array_count, json_count(sites));
}

/* The rows of the table that are of a source or not agree with an array of the golden. */
static void compare(const struct json *run, const char *name, const char *column, bool of_source)
{
    const struct table *table = report.tables;
    const struct column *part = table_column(table, "part");
    const struct json *numbers = json_member(run, name), *number;
    double most = 0, expected = 0;
    for (number = json_first(numbers); number; number = json_next(number))
        if (json_get_number(number, &expected))
            most = fmax(most, fabs(expected));
    number = json_first(numbers);
    for (size_t row = 0; row < table->rows.size; row++) {
        if (of_source != (part && strcmp(column_text(part, row, false), "source") == 0))
            continue;
        ck_assert(json_get_number(number, &expected));
        double found = column_float(table_column(table, column), row);
        ck_assert_msg(fabs(found - expected) <= 5e-5 * most, "%s, row %zu: expected %g, found %g",
                      name, row, expected, found);
        number = json_next(number);
    }
    ck_assert_ptr_null(number);
}

TEST_LOOP(numbers_of_tokens_are_those_of_float64, GOLDENS)
{
    const struct json *golden = open_golden(_i);
    const struct json *run = json_first(json_member(golden, "runs"));
    for (; run; run = json_next(run)) {
        const char *rule = NULL, *baseline = "zero";
        size_t index = 0;
        uint32_t from = 0;
        struct saliency saliency;
        struct saliency_plan plan = {
            .viewer = &viewer, .question = &question, .method = SALIENCY_GRADIENT};
        if (json_get_text(json_member(run, "rule"), &rule)) {
            ck_assert(!names_choose(&index, NAMES_LIST(saliency_rules), "rule", rule, &err));
            json_get_text(json_member(run, "baseline"), &baseline);
            plan.method = SALIENCY_INTEGRATED;
            plan.rule = (enum saliency_rule)index;
            plan.steps = (size_t)golden_number(run, "steps");
            plan.from_mean = strcmp(baseline, "mean") == 0;
            from = (uint32_t)strtoul(baseline, NULL, 10);
            plan.from = from ? &from : NULL;
        }
        report = (struct report){0};
        int failed = saliency_make(&saliency, &report, &plan, &pair, &arena, &err);
        ck_assert_msg(!failed, "%s", err.text);
        ck_assert_double_eq_tol(saliency.value, golden_number(golden, "value"), 2e-5);
        if (rule) {
            ck_assert_double_eq_tol(saliency.baseline, golden_number(run, "from"), 2e-5);
            ck_assert_double_eq_tol(saliency.missing, golden_number(run, "missing"),
                                    5e-5 * fmax(1, fabs(golden_number(run, "missing"))));
        }
        compare(run, "saliency", "saliency", false);
        compare(run, "norm", "norm", false);
        if (pair.source.count) {
            compare(run, "source_saliency", "saliency", true);
            compare(run, "source_norm", "norm", true);
        }
    }
}

/* 50 points are enough for the numbers to sum to what they divide. */
TEST(integrated_gradients_are_complete)
{
    const struct input text = {.text = "lemon cherry apple lemon", .size = 24};
    struct saliency saliency;
    const struct saliency_plan plan = {.viewer = &viewer, .question = &question, .steps = 50};
    question = (struct question){9, -1, -1};
    int failed = viewer_open(&viewer, "tiny", 1, &err) ||
                 viewer_read(&viewer, &pair, &text, NULL, &arena, &err) ||
                 saliency_make(&saliency, &report, &plan, &pair, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert_double_lt(fabs(saliency.missing), 1e-5 * fabs(saliency.value - saliency.baseline));
    ck_assert_int_eq(question.answer, 262); /* the most likely token */
}

/* The only point of Gauss and Legendre's rule is the middle. */
TEST(one_point_is_the_middle)
{
    struct saliency saliency[2];
    const struct input text = {.text = "Life is", .size = 7};
    question = (struct question){1, -1, -1};
    int failed = viewer_open(&viewer, "tiny", 1, &err) ||
                 viewer_read(&viewer, &pair, &text, NULL, &arena, &err);
    for (size_t i = 0; i < 2 && !failed; i++) {
        const struct saliency_plan plan = {.viewer = &viewer,
                                           .question = &question,
                                           .rule = i ? RULE_MIDDLE : RULE_GAUSS_LEGENDRE,
                                           .steps = 1};
        failed = saliency_make(&saliency[i], &report, &plan, &pair, &arena, &err);
    }
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert_double_eq(saliency[0].missing, saliency[1].missing);
}
