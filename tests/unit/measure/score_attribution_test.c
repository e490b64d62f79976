#include "measure/score_attribution.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../rigs/goldens.h"
#include "../unit.h"
#include "format/json.h"
#include "lens/sheet.h"

/* Scores and their parts in float64, tests/references/golden-why.json: for each a model, the ids of
 * its texts, a head, a query and a key, what the key is compared with, and the parts of both sides;
 * of some contrasts the path, whose steps no other part, source or token comes near. */
enum { GOLDENS = 78, PATHS = 37 };

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct json *root;
static struct text_with_source pair;
static struct report report;
static struct score_attribution found;

static void open_goldens(void)
{
    root = goldens_open("tests/references/golden-why.json");
}

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
    json_free(root);
    root = NULL;
}

FIXTURE(open_goldens, leave)

/* Open the model of a golden, and read its plan. */
static struct score_plan plan_of(const struct json *golden)
{
    const char *part = golden_text(golden, "part"), *against = golden_text(golden, "against");
    struct score_plan plan = {.viewer = &viewer};
    golden_open(&viewer, golden);
    golden_read(&pair, &viewer, golden, &arena);
    plan.head.branch = strcmp(part, "cross") == 0     ? BRANCH_CROSS
                       : strcmp(part, "encoder") == 0 ? BRANCH_SOURCE
                                                      : BRANCH_TEXT;
    ck_assert_int_eq(
        sscanf(golden_text(golden, "head"), "%zu.%zu", &plan.head.layer, &plan.head.head), 2);
    plan.query = (size_t)golden_number(golden, "query");
    plan.key = (size_t)golden_number(golden, "key");
    plan.against = json_is_null(json_member(golden, "against")) ? AGAINST_NOTHING
                   : !against                                   ? AGAINST_KEY
                   : strcmp(against, "mean") == 0               ? AGAINST_MEAN
                                                                : AGAINST_WEIGHTS;
    if (plan.against == AGAINST_KEY)
        plan.other = (size_t)golden_number(golden, "against");
    return plan;
}

static void split(const struct score_plan *plan)
{
    report = (struct report){.text = pair.text, .source = pair.source};
    ck_assert_msg(!score_attribution_make(&found, &report, plan, &pair, &arena, &err), "%s",
                  err.text);
}

/* The value of a part of a side; 0: there is no such part. */
static double value_of(const char *side, const char *part)
{
    const struct table *parts = report.tables;
    for (size_t row = 0; row < parts->rows.size; row++)
        if (strcmp(column_text(table_column(parts, "side"), row, false), side) == 0 &&
            strcmp(column_text(table_column(parts, "part"), row, false), part) == 0)
            return column_float(table_column(parts, "value"), row);
    return 0;
}

TEST_LOOP(parts_agree_with_the_reference, GOLDENS)
{
    static const char *const sides[][2] = {{"query", "query_parts"}, {"key", "key_parts"}};
    const struct json *golden = golden_at(root, _i);
    const struct score_plan plan = plan_of(golden);
    ck_assert_uint_eq(json_count(root), GOLDENS);
    split(&plan);
    double size = fabs(golden_number(golden, "score"));
    for (size_t side = 0; side < 2; side++) {
        const struct json *parts = json_member(golden, sides[side][1]);
        for (const struct json *part = json_first(parts); part; part = json_next(part))
            size += fabs(golden_number(parts, json_key(part)));
    }
    double most = 2e-5 * size + 1e-6, sums[2] = {0, 0};
    for (size_t side = 0; side < 2; side++) {
        const struct json *parts = json_member(golden, sides[side][1]);
        for (const struct json *part = json_first(parts); part; part = json_next(part)) {
            double value = value_of(sides[side][0], json_key(part));
            ck_assert_msg(fabs(value - golden_number(parts, json_key(part))) <= most, "%s %s: %g",
                          sides[side][0], json_key(part), value);
            sums[side] += value;
        }
        ck_assert_double_eq_tol(sums[side], found.score - found.bias, most);
    }
    ck_assert_double_eq_tol(found.score, golden_number(golden, "score"), most);
    ck_assert_double_eq_tol(found.bias, golden_number(golden, "bias"), most);
    ck_assert_double_eq_tol(found.sum, found.score, most);
}

/* --- the path --------------------------------------------------------------------------------- */

static const struct table *table_of(const char *name)
{
    const struct table *table = report.tables;
    while (strcmp(table->name, name) != 0)
        ck_assert_ptr_ne(++table, report.tables + report.table_count);
    return table;
}

/* A step of a model's path: [side, step, part, at, reads, weight, value]. */
static void expect_step(const char *model, const struct json *step, size_t row)
{
    enum { READS = 4 }; /* the last integer */
    static const char *const names[] = {"side", "step", "part", "at", "reads", "weight", "value"};
    const struct table *path = table_of("score_path");
    const struct json *expected = json_first(step);
    for (size_t i = 0; i < COUNT(names); i++, expected = json_next(expected)) {
        const struct column *column = table_column(path, names[i]);
        const char *text = NULL;
        double number = NAN;
        if (json_get_text(expected, &text)) {
            const char *word = column_text(column, row, false);
            ck_assert_msg(strcmp(word, text) == 0, "%s: row %zu: expected %s, found %s", model, row,
                          text, word);
            continue;
        }
        json_get_number(expected, &number);
        const double value =
            i <= READS ? (double)column_integer(column, row) : column_float(column, row);
        ck_assert_msg(isnan(number) ? isnan(value) || value == (double)COLUMN_MISSING
                                    : fabs(value - number) <= 2e-4 * fabs(number) + 1e-6,
                      "%s: row %zu: %s: expected %.9g, found %.9g", model, row, names[i], number,
                      value);
    }
}

TEST(paths_of_contrasts_agree_with_the_reference)
{
    size_t paths = 0;
    for (int i = 0; i < GOLDENS; i++) {
        const struct json *golden = golden_at(root, i), *steps = json_member(golden, "path");
        if (!steps)
            continue;
        struct score_plan plan = plan_of(golden);
        size_t row = 0;
        plan.depth = 3;
        split(&plan);
        for (const struct json *step = json_first(steps); step; step = json_next(step))
            expect_step(golden_text(golden, "model"), step, row++);
        ck_assert_uint_eq(table_of("score_path")->rows.size, row);
        paths++;
        viewer_release(&viewer);
    }
    ck_assert_uint_eq(paths, PATHS);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Queries that grow with their positions; texts with masks that have no embedding; keys of other
 * layers, layers with inputs of their own and numbers that multiply the stream; values that are
 * keys, after experts beside an MLP. */
TEST_LOOP(parts_sum_to_the_score, 9)
{
    static const char *const models[][2] = {
        {"ministral3", "1.1"},     {"esm", "1.1"},       {"gemma4_text", "2.0"},
        {"gemma4_text", "4.1"},    {"gemma4", "3.0"},    {"gemma4", "4.1"},
        {"gemma4-experts", "2.1"}, {"diffllama", "1.0"}, {"diffllama", "1.3"}};
    char text[256];
    int size = snprintf(text, sizeof text,
                        "{\"model\": \"%s\", \"ids\": \"4,5,9,9,10,2\", \"part\": \"text\", "
                        "\"head\": \"%s\", \"query\": 5, \"key\": 3, \"against\": null}",
                        models[_i][0], models[_i][1]);
    struct json *golden = NULL;
    ck_assert(!json_parse(&golden, text, (size_t)size, &err));
    const struct score_plan plan = plan_of(golden);
    split(&plan);
    ck_assert_double_eq_tol(found.sum, found.score, 1e-5);
    json_free(golden);
}

/* A contrast with another key is the difference of two scores, part by part of the query. */
TEST_LOOP(a_contrast_is_a_difference, GOLDENS)
{
    const struct json *golden = golden_at(root, _i);
    const struct json *parts = json_member(golden, "query_parts");
    struct score_plan plan = plan_of(golden);
    if (plan.against != AGAINST_KEY)
        return;
    for (const struct json *part = json_first(parts); part; part = json_next(part)) {
        plan.against = AGAINST_KEY;
        split(&plan);
        double less = value_of("query", json_key(part));
        plan.against = AGAINST_NOTHING;
        split(&plan);
        double one = value_of("query", json_key(part));
        const size_t key = plan.key;
        plan.key = plan.other;
        split(&plan);
        ck_assert_double_eq_tol(less, one - value_of("query", json_key(part)), 1e-5);
        plan.key = key;
    }
}

/* What a head's part adds is the sum over the tokens that the head read. */
static void expect_sums_of_keys(struct score_plan plan)
{
    plan.by = SCORE_BY_KEY;
    split(&plan);
    const struct report by_key = report;
    plan.by = SCORE_BY_PART;
    split(&plan);
    for (size_t i = 0; i < by_key.array_count; i++) {
        const struct array *array = &by_key.arrays[i];
        const char *side = strstr(array->name, "query") ? "query" : "key";
        bool of_source = plan.head.branch == BRANCH_SOURCE ||
                         (plan.head.branch == BRANCH_CROSS && strcmp(side, "key") == 0);
        for (size_t head = 0; head < array->rows.size; head++) {
            char part[64];
            double sum = 0, size = 1e-2;
            snprintf(part, sizeof part, "%sL%d.%sH%zu", of_source ? "enc." : "", array->layer,
                     strncmp(array->name, "cross_", 6) == 0 ? "cross." : "", head);
            for (size_t k = 0; k < array->columns.size; k++) {
                double value = (double)array->data[head * array->columns.size + k];
                sum += value;
                size += fabs(value);
            }
            ck_assert_double_eq_tol(sum, value_of(side, part), 1e-4 * size);
        }
    }
}

TEST_LOOP(keys_sum_to_the_part_of_their_head, GOLDENS)
{
    expect_sums_of_keys(plan_of(golden_at(root, _i)));
}

/* Less the score of another text, the path begins with the largest part of the difference, and a
 * head's part is the sum over its sources. */
TEST_LOOP(the_other_text_is_subtracted_from_paths_and_keys, GOLDENS)
{
    const struct json *golden = golden_at(root, _i);
    const char *ids = golden_text(golden, "ids"), *source = golden_text(golden, "source");
    struct score_plan plan = plan_of(golden);
    struct text_with_source other;
    char text[64];
    snprintf(text, sizeof text, "%s", ids);
    char *last = text + strlen(text) - 1; /* another last id */
    *last = *last == '0' ? '1' : (char)(*last - 1);
    const struct input of_text = {.ids = text}, of_source = {.ids = source};
    ck_assert_msg(!viewer_read(&viewer, &other, &of_text, source ? &of_source : NULL, &arena, &err),
                  "%s", err.text);
    plan.corrupt = &other;
    expect_sums_of_keys(plan);
    plan.depth = 2;
    split(&plan);
    const struct table *path = table_of("score_path"), *parts = report.tables;
    for (size_t row = 0; row < path->rows.size; row++) {
        if (column_integer(table_column(path, "step"), row))
            continue;
        const char *side = column_text(table_column(path, "side"), row, false);
        const double value = column_float(table_column(path, "value"), row);
        double most = 0;
        for (size_t i = 0; i < parts->rows.size; i++)
            if (strcmp(column_text(table_column(parts, "side"), i, false), side) == 0 &&
                strcmp(column_text(table_column(parts, "part"), i, false), "here") != 0)
                most = fmax(most, fabs(column_float(table_column(parts, "value"), i)));
        ck_assert_double_eq_tol(fabs(value), most, 1e-4 * most + 1e-6);
        ck_assert_double_eq_tol(value,
                                value_of(side, column_text(table_column(path, "part"), row, false)),
                                1e-4 * most + 1e-6);
    }
}
