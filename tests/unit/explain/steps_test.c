#include "explain/steps.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/explanation_fixture.h"
#include "../rigs/reference_attention.h"
#include "../rigs/tiny_model.h"
#include "lens/viewer.h"
#include "model/mechanism.h"

enum { TOKENS = 9, WIDTH = 5, HEAD = 4, LAYERS = 2 };

/* clang-format off */
static const char *const configs[] = {
    JSON({"model_type": "attention", "vocab_size": 9, "n_embd": 12, "n_layer": 2, "n_head": 6,
          "n_kv_head": 2, "d_k": 5, "d_v": 3, "bias": true, "out_proj": true, "causal": true}),
    JSON({"model_type": "attention", "vocab_size": 9, "n_embd": 12, "n_layer": 2, "n_head": 6,
          "d_k": 5, "d_v": 2}),
    JSON({"model_type": "gpt2", "vocab_size": 9, "n_positions": 9, "n_embd": 25, "n_layer": 2,
          "n_head": 5, "scale_attn_by_inverse_layer_idx": true}),
    JSON({"model_type": "transformer", "vocab_size": 9, "n_embd": 25, "n_layer": 2,
          "n_encoder_layer": 2, "n_head": 5, "n_inner": 6}),
};
/* clang-format on */

/* What is asked for, and the steps between the query and the values. */
static const struct {
    const char *attention;
    bool renormalise;
    const char *scale;
    float temperature, dropout;
    const char *steps;
} mechanisms[] = {
    {"dense", false, NULL, 0, 0, "scores scaled masked weights"},
    {"dense", false, "sqrt", 0.25f, 0, "scores scaled masked weights"},
    {"window:3", false, NULL, 0, 0, "scores scaled masked weights"},
    {"window:2+global:2+strided:3", false, "0.5", 2, 0, "scores scaled masked weights"},
    {"random:2:7", false, NULL, 0, 0, "scores scaled masked weights"},
    {"blocked:4", false, NULL, 0, 0, "scores scaled masked weights"},
    {"linear", false, NULL, 0, 0, "features keys scores masked weights"},
    {"dense", true, NULL, 0, 0, "scores scaled softmax masked weights"},
    {"dense", false, NULL, 0, 0.4f, "scores scaled masked shares weights"},
    {"strided:2+random:1:3", false, NULL, 0, 0.4f, "scores scaled masked shares weights"},
    {"dense", true, "none", 0, 0.4f, "scores scaled softmax masked shares weights"},
};

static struct tiny_model model;
static struct viewer viewer;
static struct text_pair pair;
static struct explanation explanation;
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

/* Open a model that attends in a way; false: that way is not for it. */
static bool open_model(const char *config, size_t way)
{
    struct mechanism *mechanism = &model.config.mechanism;
    tiny_model_make(&model, config);
    if (mechanisms[way].renormalise && !model.config.causal)
        return false;
    *mechanism = (struct mechanism){
        .temperature = mechanisms[way].temperature,
        .dropout = mechanisms[way].dropout,
        .renormalise = mechanisms[way].renormalise,
        .seed = 2,
    };
    ck_assert(!mechanism_set_attention(mechanism, mechanisms[way].attention, &err));
    if (mechanisms[way].scale)
        ck_assert(!mechanism_set_scale(mechanism, mechanisms[way].scale, &err));
    ck_assert_msg(!model_open_folder(&viewer.model, &model.folder, &err), "%s", err.text);
    ck_assert_int_eq(machine_open(&viewer.machine, 1, &err), 0);
    struct input input = {.ids = "3,1,4,1,5,2,6,5,3"};
    struct input source = {.ids = "2,7,1,8,2,8,1,8,2"};
    ck_assert_msg(!viewer_set_mechanism(&viewer, mechanism, &err), "%s", err.text);
    ck_assert_msg(
        !viewer_read(&viewer, &pair, &input, model.config.cross ? &source : NULL, &arena, &err),
        "%s", err.text);
    return true;
}

static const struct step *find_step(const char *name)
{
    for (size_t i = 0; i < explanation.step_count; i++)
        if (strcmp(explanation.steps[i].name, name) == 0)
            return &explanation.steps[i];
    return NULL;
}

/* A column or vector of a step; NULL: the step has no such one, because it shows no table. */
static const struct block *find_block(const char *step_name, const char *name)
{
    const struct step *step = find_step(step_name);
    ck_assert_msg(step != NULL, "no step '%s'", step_name);
    for (size_t i = 0; i < step->table.block_count; i++)
        if (strcmp(step->table.blocks[i].name, name) == 0)
            return &step->table.blocks[i];
    ck_assert_msg(step->table.row_count == 0, "no block '%s' in '%s'", name, step_name);
    return NULL;
}

static void check_names(const char *expected)
{
    char found[256] = "";
    for (size_t i = 2; strcmp(explanation.steps[i].name, "values") != 0; i++) {
        strcat(found, i > 2 ? " " : "");
        strcat(found, explanation.steps[i].name);
    }
    ck_assert_str_eq(found, expected);
}

static void expect_values(const struct block *block, const double *expected, const char *what)
{
    for (size_t j = 0; block && j < TOKENS; j++) {
        double found = (double)block->values[j];
        double near = 2e-6 * fmax(1, fabs(expected[j]));
        bool same = found == expected[j] || fabs(found - expected[j]) <= near;
        ck_assert_msg(same, "%s of key %zu: expected %.9g, found %.9g", what, j, expected[j],
                      found);
    }
}

/* The row by its definition, from the explained q and k. */
struct expected {
    double q[WIDTH], k[TOKENS * WIDTH];
    double scores[TOKENS], softmax[TOKENS], masked[TOKENS], weights[TOKENS];
};

static void make_expected(struct expected *row, enum site_part part, size_t layer)
{
    bool causal = viewer.model.config.causal && part == PART_SENTENCE;
    bool linear = find_step("features") != NULL;
    const struct block *q = find_block("query", "q");
    const struct block *k = find_block(linear ? "keys" : "scores", "k");
    ck_assert_uint_eq(k->width, WIDTH);
    for (size_t i = 0; i < WIDTH; i++)
        row->q[i] = (double)q->values[i];
    for (size_t i = 0; i < TOKENS * WIDTH; i++)
        row->k[i] = (double)k->values[i];
    reference_attend(&(struct reference_row){
        &viewer.model.config, layer, explanation.query, TOKENS, causal, part == PART_CROSS, row->q,
        row->k, row->scores, row->softmax, row->masked, row->weights, 0});
}

/* A share is a part of its column's sum. */
static void check_shares(const char *step, const char *parts, const char *shares)
{
    const struct block *part = find_block(step, parts);
    const struct block *share = find_block(step, shares);
    double sum = 0;
    for (size_t j = 0; j < TOKENS; j++)
        sum += (double)part->values[j];
    ck_assert_double_eq_tol((double)*part->total, sum, 1e-5 * sum);
    for (size_t j = 0; j < TOKENS; j++)
        ck_assert_double_eq_tol((double)share->values[j], (double)part->values[j] / sum, 1e-6);
    ck_assert_double_eq_tol((double)*share->total, 1, 1e-6);
}

/* What dropout leaves is larger; and something is left and something dropped over all queries. */
static void check_dropout(double dropout, const double *shares, size_t *left, size_t *dropped)
{
    const struct block *share = find_block("weights", "share");
    const struct block *weight = find_block("weights", "weight");
    expect_values(share, shares, "share");
    for (size_t j = 0; j < TOKENS; j++) {
        double found = (double)weight->values[j];
        *dropped += found == 0 && shares[j] > 0;
        *left += found > 0;
        if (found != 0)
            ck_assert_double_eq_tol(found, shares[j] / (1 - dropout), 2e-6);
    }
}

/* One query; what `left` and `dropped` count is of weights. */
static void check_query(size_t way, enum site_part part, size_t layer, size_t *left,
                        size_t *dropped)
{
    static struct expected row;
    const struct mechanism *mechanism = &viewer.model.config.mechanism;
    bool drops = mechanism->dropout > 0;
    bool renormalises = mechanism->renormalise && part == PART_SENTENCE;
    const char *result = drops ? "shares" : "weights";
    const char *share = drops ? "share" : "weight";
    bool after = renormalises || mechanism->kind == ATTENTION_LINEAR;
    check_names(renormalises == mechanism->renormalise ? mechanisms[way].steps
                : drops                                ? "scores scaled masked shares weights"
                                                       : "scores scaled masked weights");
    make_expected(&row, part, layer);
    expect_values(find_block("scores", "score"), row.scores, "score");
    expect_values(find_block("masked", "masked"), row.masked, "masked");
    expect_values(find_block(result, "masked"), row.masked, "masked");
    expect_values(find_block(result, share), row.weights, share);
    check_shares(result, after ? "masked" : "power", share);
    if (renormalises) {
        expect_values(find_block("softmax", "softmax"), row.softmax, "softmax");
        check_shares("softmax", "power", "softmax");
    }
    if (drops)
        check_dropout((double)mechanism->dropout, row.weights, left, dropped);
}

/* All queries of all layers, of the same head of each attention that there is. */
static void check_model(size_t way, size_t *left, size_t *dropped)
{
    static const enum site_part parts[] = {PART_SENTENCE, PART_SOURCE, PART_CROSS};
    size_t part_count = model.config.n_encoder_layer ? COUNT(parts) : 1;
    for (size_t i = 0; i < part_count * LAYERS * TOKENS; i++) {
        enum site_part part = parts[i / TOKENS / LAYERS];
        struct explain_request request = {part, i / TOKENS % LAYERS, HEAD, i % TOKENS, 1, 4, 0};
        int failed = explanation_make(&explanation, &viewer, &pair, &request, &arena, &err);
        ck_assert_msg(!failed, "%s", err.text);
        check_query(way, part, request.layer, left, dropped);
    }
}

TEST_LOOP(every_way_to_attend_follows_its_formulas, COUNT(mechanisms))
{
    size_t left = 0;
    size_t dropped = 0;
    for (size_t c = 0; c < COUNT(configs); c++) {
        if (open_model(configs[c], (size_t)_i))
            check_model((size_t)_i, &left, &dropped);
        release();
        prepare();
    }
    if (mechanisms[_i].dropout > 0)
        ck_assert(left > 20 && dropped > 20);
}

static void explain_last(const char *config, size_t way, size_t query)
{
    struct explain_request request = {PART_SENTENCE, 0, HEAD, query, 1, 4, 0};
    ck_assert(open_model(config, way));
    ck_assert(!explanation_make(&explanation, &viewer, &pair, &request, &arena, &err));
}

TEST(a_pattern_says_which_keys_it_shows)
{
    static const struct {
        size_t config, way, query;
        const char *text, *note;
    } cases[] = {
        {0, 2, 6, "S = {j ≤ 6: 6 - j < 3}", "window:3 shows this query 3 of 7 keys."},
        {1, 2, 6, "S = {j ≤ 8: |6 - j| < 3}", "window:3 shows this query 5 of 9 keys."},
        {0, 3, 7, "S = {j ≤ 7: 7 - j < 2 or (7 - j) mod 3 = 0 or j < 2}",
         "window:2+strided:3+global:2 shows this query 5 of 8 keys."},
        {1, 3, 1, "S = {j ≤ 8}",
         "window:2+strided:3+global:2 shows this query 9 of 9 keys. The first 2 queries see all."},
        {0, 4, 8, "S = {j ≤ 8: j = 8 or j drawn}", "random:2:7 shows this query 3 of 9 keys."},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        explain_last(configs[cases[i].config], cases[i].way, cases[i].query);
        const struct step *step = find_step("masked");
        ck_assert_uint_eq(step->formula_count, 2);
        ck_assert_str_eq(step->formulas[0], "masked_j = scaled_j for j in S, -inf for others");
        ck_assert_str_eq(step->formulas[1], cases[i].text);
        ck_assert_str_eq(step->note, cases[i].note);
        release();
        prepare();
    }
}

TEST(the_temperature_is_a_divisor_of_its_own)
{
    explain_last(configs[0], 1, 0);
    const struct step *step = find_step("scaled");
    ck_assert_str_eq(step->formulas[0], "scaled_j = score_j / √d_k = score_j / √5 / 0.2500");
    ck_assert_str_eq(step->note, "The last divisor is the temperature.");
    release();
    prepare();
    explain_last(configs[0], 3, 0);
    step = find_step("scaled");
    ck_assert_str_eq(step->formulas[0], "scaled_j = score_j · 0.5000 / 2.0000");
}

TEST(parts_that_are_left_out_are_not_explained)
{
    struct explain_request request = {.query_count = 1, .digits = 4};
    ck_assert(open_model(configs[2], 0));
    viewer.model.config.mechanism.without =
        1U << PART_NORM | 1U << PART_POSITIONS | 1U << PART_RESIDUAL;
    ck_assert(!explanation_make(&explanation, &viewer, &pair, &request, &arena, &err));
    const struct step *step = find_step("input");
    ck_assert_str_eq(step->formulas[0], "h = wte[3]");
    ck_assert_str_eq(step->formulas[1], "x = h");
    ck_assert_ptr_null(step->worked);
    ck_assert_uint_eq(step->table.row_count, 3);
    size_t row_bytes = step->table.blocks[0].width * sizeof(float);
    const float *rows = step->table.blocks[0].values;
    ck_assert_mem_eq(rows, rows + step->table.blocks[0].width, row_bytes);
    ck_assert_mem_eq(rows, rows + 2 * step->table.blocks[0].width, row_bytes);
    request.layer = 1;
    ck_assert(!explanation_make(&explanation, &viewer, &pair, &request, &arena, &err));
    ck_assert_str_eq(find_step("input")->note,
                     "h is what the layer before gave: nothing is added up.");
}

TEST_LOOP(every_allocation_may_fail, COUNT(mechanisms))
{
    struct explain_request request = {.query_count = 1, .query = 4, .digits = 4};
    ck_assert(open_model(configs[0], (size_t)_i));
    fixture_starve_explanation(&viewer, &pair, &request);
}
