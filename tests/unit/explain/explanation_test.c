#include "explain/explanation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "../rigs/tiny_model.h"
#include "base/memory.h"
#include "lens/viewer.h"
#include "model/layer.h"
#include "model/score_rule.h"

enum { TOKENS = 5 };

static struct tiny_model model;
static struct viewer viewer;
static struct text_with_source pair;
static struct report report;
static const struct chapter *chapter;
static struct arena arena;
static struct err err;

static void prepare(void)
{
    arena = (struct arena){0};
    err = (struct err){0};
    viewer = (struct viewer){0};
    model = (struct tiny_model){0};
}

static void release(void)
{
    viewer_release(&viewer);
    tiny_model_release(&model);
    arena_release(&arena);
}

FIXTURE(prepare, release)

static void read_input(struct input input, const struct input *source)
{
    ck_assert_msg(!viewer_read(&viewer, &pair, &input, source, &arena, &err), "%s", err.text);
}

static void open_bundled(const char *name, const char *sentence)
{
    ck_assert_msg(!viewer_open(&viewer, name, 1, &err), "%s", err.text);
    read_input((struct input){.text = sentence, .size = strlen(sentence)}, NULL);
}

static void open_tiny(const char *config)
{
    tiny_model_make(&model, config);
    ck_assert_msg(!model_open_folder(&viewer.model, &model.folder, &err), "%s", err.text);
    ck_assert_int_eq(machine_open(&viewer.machine, 1, &err), 0);
    struct input source = {.ids = "8,2,2"};
    read_input((struct input){.ids = "3,1,4,1,5"}, model.config.cross ? &source : NULL);
}

static void explain(size_t layer, size_t head, size_t query)
{
    struct explain_request request = {
        .query_count = 1, .layer = layer, .head = head, .query = query, .digits = 4};
    int failed = explanation_make(&report, &viewer, &pair, &request, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    chapter = report_chapter(&report);
}

static const struct table *step_called(const char *name)
{
    for (size_t i = 0; i < report.table_count; i++)
        if (strcmp(report.tables[i].name, name) == 0)
            return &report.tables[i];
    ck_abort_msg("no step '%s'", name);
    return NULL;
}

static const struct column *column_of(const struct table *step, const char *name)
{
    const struct column *column = table_column(step, name);
    ck_assert_msg(column != NULL, "no column '%s' in '%s'", name, step->name);
    return column;
}

static const struct column *column_called(const char *step, const char *name)
{
    return column_of(step_called(step), name);
}

static const float *floats_of(const struct column *column)
{
    return column->values;
}

static void expect_near(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) <= 1e-5 * fmax(1, fabs(expected)),
                  "expected %.9g, found %.9g", expected, found);
}

/* --- formulas that every model satisfies ------------------------------------------------------ */

static double dot(const float *a, const float *b, size_t stride, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i * stride];
    return sum;
}

/* q is x · W_q + b if that is shown. */
static const float *check_query(void)
{
    const struct table *step = step_called("query");
    if (!step->working.total)
        return column_of(step, "q")->values;
    const struct column *x = column_of(step, "x");
    const struct column *matrix = column_of(step, "W_q");
    for (size_t i = 0; i < matrix->width; i++) {
        double sum = 0;
        for (size_t row = 0; row < step->rows.size; row++)
            sum += (isnan(floats_of(x)[row]) ? 1 : (double)floats_of(x)[row]) *
                   (double)floats_of(matrix)[row * matrix->width + i];
        expect_near((double)matrix->total[i], sum);
    }
    return matrix->total;
}

/* Scores are q · k, weights the softmax of the scaled and masked scores. */
static void check_weights(const float *q, double scale)
{
    const struct column *k = column_called("scores", "k");
    const struct column *score = column_called("scores", "score");
    const struct column *masked = column_called("weights", "masked");
    const struct column *power = column_called("weights", "power");
    const struct column *weight = column_called("weights", "weight");
    double sum = 0;
    for (size_t j = 0; j < chapter->key_count; j++) {
        bool seen = !viewer.model.config.causal || j <= chapter->query;
        expect_near((double)floats_of(score)[j], dot(q, floats_of(k) + j * k->width, 1, k->width));
        if (seen)
            expect_near((double)floats_of(masked)[j], scale * (double)floats_of(score)[j]);
        ck_assert((floats_of(masked)[j] == -INFINITY) == !seen);
        sum += (double)floats_of(power)[j];
        expect_near((double)floats_of(weight)[j],
                    (double)floats_of(power)[j] / (double)*power->total);
    }
    expect_near((double)*power->total, sum);
    expect_near((double)*weight->total, 1);
}

/* The context is the sum of weight · v, the output the sum of the heads' outputs and the bias. */
static void check_output(void)
{
    const struct column *weight = column_called("values", "weight");
    const struct column *v = column_called("values", "v");
    const struct column *weighted = column_called("context", "weighted");
    for (size_t i = 0; i < v->width; i++)
        expect_near((double)weighted->total[i],
                    dot(weight->values, floats_of(v) + i, v->width, chapter->key_count));
    const struct table *output = step_called("output");
    if (!viewer.model.config.out_proj)
        return;
    const struct column *share = column_of(output, "share");
    for (size_t c = 0; c < share->width; c++) {
        double sum = 0;
        for (size_t row = 0; row < output->rows.size; row++)
            sum += (double)floats_of(share)[row * share->width + c];
        expect_near((double)share->total[c], sum);
    }
}

static void check_all(void)
{
    const struct config *config = &viewer.model.config;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        for (size_t head = 0; head < config->n_head; head++) {
            for (size_t query = 0; query < pair.text.count; query++) {
                explain(layer, head, query);
                ck_assert_uint_ge(report.table_count, 9);
                check_weights(check_query(),
                              (double)attention_of(config, BRANCH_TEXT, layer)->score.scale);
                check_output();
            }
        }
    }
}

/* clang-format off */
static const char *const configs[] = {
    JSON({"model_type": "attention", "vocab_size": 9, "n_embd": 4, "projections": false}),
    JSON({"model_type": "attention", "vocab_size": 9, "n_embd": 4, "projections": false,
          "n_layer": 3, "scale": 0.25, "causal": true}),
    JSON({"model_type": "attention", "vocab_size": 9, "n_embd": 6, "n_head": 4, "d_k": 3,
          "d_v": 1}),
    JSON({"model_type": "attention", "vocab_size": 9, "n_embd": 12, "n_layer": 2, "n_head": 6,
          "n_kv_head": 2, "d_k": 5, "d_v": 3, "bias": true, "out_proj": true, "causal": true}),
    JSON({"model_type": "attention", "vocab_size": 9, "n_embd": 4, "n_head": 2, "bias": true,
          "attention": "cross", "out_proj": true}),
    JSON({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 12, "n_layer": 3,
          "n_head": 3, "scale_attn_by_inverse_layer_idx": true}),
};
/* clang-format on */

TEST_LOOP(steps_of_every_kind_of_model_follow_from_each_other, COUNT(configs))
{
    open_tiny(configs[_i]);
    check_all();
}

TEST(steps_of_bundled_models_follow_from_each_other)
{
    static const char *const names[][2] = {
        {"tiny", "Life is short"},        {"life", "Life is short"},
        {"life-causal", "Life is short"}, {"life-4-heads", "Life is short"},
        {"journey", "Your journey"},      {"journey-causal", "Your journey"},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        open_bundled(names[i][0], names[i][1]);
        check_all();
        viewer_release(&viewer);
    }
}

static const char *note_of(const char *step)
{
    const char *note = step_called(step)->note;
    return note ? note : "";
}

TEST(the_formula_of_the_scale_has_all_factors)
{
    static const struct {
        size_t config, layer;
        const char *formula;
    } cases[] = {
        {0, 0, "scaled_j = score_j / √d_k = score_j / √4"},
        {1, 0, "scaled_j = score_j × 0.2500"},
        {5, 0, "scaled_j = score_j / √d_k = score_j / √4"},
        {5, 2, "scaled_j = score_j / (√d_k × layer) = score_j / (√4 × 3)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        open_tiny(configs[cases[i].config]);
        explain(cases[i].layer, 0, 0);
        ck_assert_str_eq(step_called("scaled")->working.formulas[0], cases[i].formula);
        viewer_release(&viewer);
        tiny_model_release(&model);
    }
    open_bundled("journey", "Your journey");
    explain(0, 0, 0);
    ck_assert_str_eq(step_called("scaled")->working.formulas[0], "scaled_j = score_j");
    ck_assert_str_eq(note_of("scaled"), "The scale is 1: the scores do not change.");
    ck_assert_uint_eq(step_called("scaled")->rows.size, 0);
}

TEST(the_keys_with_the_largest_weights_are_shown)
{
    struct explain_request request = {.query_count = 1, .query = 1, .digits = 4, .keys = 3};
    open_bundled("life", "Life is short eat dessert first");
    ck_assert_int_eq(explanation_make(&report, &viewer, &pair, &request, &arena, &err), 0);
    chapter = report_chapter(&report);
    ck_assert_uint_eq(chapter->shown_count, 3);
    ck_assert_mem_eq(chapter->shown, ((size_t[]){1, 3, 4}), 3 * sizeof(size_t));
    ck_assert_float_eq_tol(chapter->shown_weight, 0.9180f, 0.0001f);
    ck_assert_uint_eq(chapter->key_count, 6);
    request.keys = 6;
    ck_assert_int_eq(explanation_make(&report, &viewer, &pair, &request, &arena, &err), 0);
    chapter = report_chapter(&report);
    ck_assert_uint_eq(chapter->shown_count, 6);
}

/* Each step of copies of the stream: what its formula makes of its numbers is the tensor of the
 * pass; what leaves a layer enters the next. The second model works on copy 1. */
TEST_LOOP(numbers_that_mix_copies_give_the_copies, 2)
{
    enum { C = 8, MOST = 3 };
    static const char *const names[] = {"gemma3n_text", "gemma3n"};
    static float left[MOST * C];
    const size_t active = (size_t)_i;
    char folder[64];
    snprintf(folder, sizeof folder, "tests/references/golden-families/%s", names[_i]);
    ck_assert_msg(!viewer_open(&viewer, folder, 1, &err), "%s", err.text);
    ck_assert_uint_eq(viewer.model.config.copies.active, active);
    read_input((struct input){.ids = "3,1,4,1,5"}, NULL);
    const size_t N = viewer.model.config.copies.count;
    const size_t last = viewer.model.config.n_layer - 1;
    for (size_t layer = 0; layer <= last; layer++) {
        explain(layer, 1, 3);
        const float *in = floats_of(column_called("predicted", "copy"));
        const float *p = floats_of(column_called("predicted", "p"));
        const float *predicted = floats_of(column_called("predicted", "predicted"));
        const float *c = floats_of(column_called("corrected", "c"));
        const float *corrected = floats_of(column_called("corrected", "corrected"));
        const float *streams = floats_of(column_called("streams", "streams"));
        const float *mlp = column_vector(step_called("resid_mlp")->columns, 2);
        const float *own = column_vector(step_called("per_layer_post")->columns,
                                         step_called("per_layer_post")->rows.size - 1);
        if (layer > 0)
            ck_assert_mem_eq(in, left, N * C * sizeof *left);
        for (size_t i = 0; i < N * C; i++) {
            const size_t at = i % C;
            const float d = mlp[at] - predicted[active * C + at];
            float sum = in[i];
            for (size_t k = 0; k < N; k++)
                sum += p[i / C * N + k] * in[k * C + at];
            expect_near((double)predicted[i], (double)sum);
            expect_near((double)corrected[i], (double)(predicted[i] + (1 + c[i / C]) * d));
            expect_near((double)streams[i], (double)(corrected[i] + (i < C ? 0 : own[at])));
        }
        memcpy(left, streams, N * C * sizeof *left);
    }
    const float *share = floats_of(column_called("merged", "share"));
    const float *merged = column_called("merged", "share")->total;
    for (size_t at = 0; at < C; at++) {
        float sum = 0;
        for (size_t i = 0; i < N; i++)
            sum += share[i * C + at];
        expect_near((double)merged[at], (double)sum);
    }
}

TEST_LOOP(every_allocation_may_fail, 3)
{
    struct explain_request request = {.query_count = 1, .query = 1, .digits = 4, .keys = 2};
    struct starve starve = {.least = 10};
    open_tiny(configs[3 + _i]);
    while (starve_next(&starve)) {
        struct arena starved = {0};
        err_clear(&err);
        starve_check(&starve, explanation_make(&report, &viewer, &pair, &request, &starved, &err),
                     &err);
        arena_release(&starved);
    }
}
