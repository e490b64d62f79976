#include "explain/explanation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../rigs/explained.h"
#include "../unit.h"
#include "model/layer.h"

enum { TOKENS = 5 };

FIXTURE(explained_prepare, explained_release)

static void expect_near(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) <= 2e-5 * fmax(1, fabs(expected)),
                  "expected %.9g, found %.9g", expected, found);
}

static const struct config *config_of(void)
{
    return &explained.viewer.model.config;
}

/* --- a head by hand --------------------------------------------------------------------------- */

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 4, "n_layer": 2,
          "n_head": 2});
/* clang-format on */

enum { C = 4, D = 2, HEAD = 1, QUERY = 3 };

static double parameter(const char *name, size_t index)
{
    return (double)tiny_model_tensor(&explained.made, name)->values[index];
}

/* Query, key or value (0, 1, 2) of a token: its column of norm(x) · W + b, in one matrix of all. */
static double projected(const double x[C], size_t which, size_t i)
{
    const size_t column = which * C + HEAD * D + i;
    double mean = 0, square = 0, sum = parameter("h.0.attn.c_attn.bias", column);
    for (size_t c = 0; c < C; c++)
        mean += x[c] / C;
    for (size_t c = 0; c < C; c++)
        square += pow(x[c] - mean, 2) / C;
    for (size_t c = 0; c < C; c++) {
        double y = (x[c] - mean) / sqrt(square + 1e-5) * parameter("h.0.ln_1.weight", c) +
                   parameter("h.0.ln_1.bias", c);
        sum += y * parameter("h.0.attn.c_attn.weight", c * 3 * C + column);
    }
    return sum;
}

TEST(the_numbers_of_a_head_follow_from_its_weights)
{
    static const size_t ids[TOKENS] = {3, 1, 4, 1, 5};
    double x[TOKENS][C], q[D], power[TOKENS], context[D] = {0}, sum = 0, most = -INFINITY;
    explained_open(gpt2);
    explained_query(0, HEAD, QUERY);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t c = 0; c < C; c++)
            x[t][c] = parameter("wte.weight", ids[t] * C + c) + parameter("wpe.weight", t * C + c);
    for (size_t c = 0; c < C; c++)
        expect_near((double)step_row("input", "h")[c], x[QUERY][c]);
    for (size_t i = 0; i < D; i++)
        expect_near((double)step_total("query", "W_q")[i], q[i] = projected(x[QUERY], 0, i));
    for (size_t t = 0; t < TOKENS; t++) {
        double score = 0;
        for (size_t i = 0; i < D; i++) {
            double k = projected(x[t], 1, i);
            expect_near((double)step_column("scores", "k")[t * D + i], k);
            expect_near((double)step_column("values", "v")[t * D + i], projected(x[t], 2, i));
            score += q[i] * k;
        }
        expect_near((double)step_column("scores", "score")[t], score);
        expect_near((double)step_column("scaled", "scaled")[t], power[t] = score / sqrt(D));
        if (t <= QUERY)
            most = fmax(most, power[t]);
        expect_near((double)step_column("masked", "scaled")[t], power[t]);
    }
    for (size_t t = 0; t < TOKENS; t++)
        sum += power[t] = t <= QUERY ? exp(power[t] - most) : 0;
    for (size_t t = 0; t < TOKENS; t++) {
        ck_assert((step_column("masked", "masked")[t] == -INFINITY) == (t > QUERY));
        expect_near((double)step_column("weights", "power")[t], power[t]);
        expect_near((double)step_column("weights", "weight")[t], power[t] / sum);
        for (size_t i = 0; i < D; i++) {
            double part = power[t] / sum * projected(x[t], 2, i);
            expect_near((double)step_column("context", "weighted")[t * D + i], part);
            context[i] += part;
        }
    }
    expect_near((double)*step_total("weights", "power"), sum);
    expect_near((double)*step_total("weights", "weight"), 1);
    for (size_t i = 0; i < D; i++)
        expect_near((double)step_total("context", "weighted")[i], context[i]);
}

/* --- variants --------------------------------------------------------------------------------- */

#define GOLDEN(name) "tests/references/golden-families/" name

/* A model with one way of each step, and how many = of its formulas are computed. */
static const struct {
    const char *model;
    struct mechanism mechanism;
} variants[] = {
    {gpt2, {0}},
    {gpt2, {.renormalise = true}},
    {gpt2, {.temperature = 2}},
    {gpt2, {.dropout = 0.5f, .seed = 3}},
    {gpt2, {.dropout = 0.5f, .seed = 3, .renormalise = true}},
    {gpt2, {.kind = ATTENTION_LINEAR}},
    {gpt2, {.kind = ATTENTION_SPARSE, .pattern.window = 2}},
    {gpt2, {.kind = ATTENTION_BLOCKED, .block = 2}},
    {gpt2, {.without = 1 << BLOCK_NORM}},
    {gpt2, {.scale_method = SCALE_NUMBER, .scale = 1}},
    {GOLDEN("gemma2"), {.temperature = 2}}, /* cap, then temperature */
    {GOLDEN("bloom"), {0}},                 /* ALiBi */
    {GOLDEN("bloom"), {.temperature = 2}},
    {GOLDEN("falcon-rw-alibi"), {0}},
    {GOLDEN("bert-alibi"), {0}},
    {GOLDEN("bert"), {0}}, /* without a mask */
    {GOLDEN("t5"), {0}},   /* biases in a table */
    {GOLDEN("deberta-v2"), {0}},
    {GOLDEN("gpt_oss"), {0}}, /* a sink */
    {GOLDEN("gpt_oss"), {.dropout = 0.25f, .seed = 1}},
    {GOLDEN("diffllama"), {0}},        /* differences of two heads */
    {GOLDEN("qwen3"), {0}},            /* norms of heads */
    {GOLDEN("olmo2"), {0}},            /* of all heads together */
    {GOLDEN("hunyuan_v1_dense"), {0}}, /* after the rotary embedding */
    {GOLDEN("llama-rope-yarn"), {0}},
    {GOLDEN("olmo"), {0}},        /* clipped */
    {GOLDEN("gemma3_text"), {0}}, /* windows */
};

/* The sum of a column. */
static double total_of(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i];
    return sum;
}

/* Scores that a softmax reads, in column "masked" of the step, give its powers and results. */
static void check_softmax(const struct table *step, const char *result)
{
    const float *scores = table_column(step, "masked")->values;
    const float *powers = table_column(step, "power")->values;
    const float *results = table_column(step, result)->values;
    double most = -INFINITY, sum = 0;
    for (size_t j = 0; j < step->rows.size; j++)
        most = fmax(most, (double)scores[j]);
    for (size_t j = 0; j < step->rows.size; j++)
        sum += exp((double)scores[j] - most);
    for (size_t j = 0; j < step->rows.size; j++) {
        expect_near((double)powers[j], exp((double)scores[j] - most));
        expect_near((double)results[j], exp((double)scores[j] - most) / sum);
    }
    expect_near((double)*table_column(step, "power")->total, sum);
    expect_near((double)*table_column(step, result)->total, 1);
}

/* From the scores before the mask to the map that multiplies values. */
static void check_weights(const struct mechanism *mechanism, size_t keys)
{
    bool drops = mechanism->dropout > 0, linear = mechanism->kind == ATTENTION_LINEAR;
    const struct table *step = first_step(drops ? "shares" : "weights");
    const char *result = drops ? "share" : "weight";
    if (mechanism->renormalise || linear) { /* divided by their sum */
        const float *masked = table_column(step, "masked")->values;
        for (size_t j = 0; j < keys; j++)
            expect_near((double)((const float *)table_column(step, result)->values)[j],
                        (double)masked[j] / total_of(masked, keys));
    } else {
        check_softmax(step, result);
    }
    for (size_t j = 0; j < keys && drops; j++) {
        double share = (double)step_column("weights", "share")[j];
        double weight = (double)step_column("weights", "weight")[j];
        if (weight != 0)
            expect_near(weight, share / (1 - (double)mechanism->dropout));
    }
    if (drops)
        expect_near((double)*step_total("weights", "weight"),
                    total_of(step_column("weights", "weight"), keys));
}

static void check_context(size_t layer, size_t keys)
{
    const struct head_rule *head = &attention_of(config_of(), BRANCH_TEXT, layer)->head;
    const bool differs = head->differ > 0;
    const size_t width = context_width(head);
    const float *map = step_column("values", differs ? "difference" : "weight");
    const float *v = step_column("values", "v");
    for (size_t i = 0; i < width; i++) {
        double sum = 0;
        for (size_t j = 0; j < keys; j++) {
            double part = (double)map[j] * (double)v[j * width + i];
            expect_near((double)step_column("context", "weighted")[j * width + i], part);
            sum += part;
        }
        expect_near((double)step_total("context", "weighted")[i], sum);
    }
}

/* Formulas and worked lines give the numbers that steps show, and each step follows from the one
 * before it. */
TEST_LOOP(steps_follow_from_each_other_in_each_variant, COUNT(variants))
{
    explained.digits = 9;
    explained_open(variants[_i].model);
    explained_set(variants[_i].mechanism);
    const size_t layer = config_of()->n_layer - 1, heads = config_of()->n_head;
    size_t formulas = 0, lines = 0;
    for (size_t head = 0; head < heads; head += heads - 1) {
        for (size_t query = 1; query < TOKENS; query += 2) {
            explained_query(layer, head, query);
            formulas += explained_check_formulas();
            lines += explained_check_lines();
            check_weights(&variants[_i].mechanism, TOKENS);
            check_context(layer, TOKENS);
        }
    }
    ck_assert_uint_ge(formulas, 4 * 5);
    ck_assert_uint_ge(lines, 4 * 3);
}

/* --- biases of scores ------------------------------------------------------------------------- */

/* ALiBi: the first of six heads has the slope 1/4, the second 1/16; of two heads 1/16, 1/256. */
TEST(biases_of_positions_are_those_of_their_formula)
{
    enum { AS_BLOOM, AS_FALCON, AS_JINA };
    static const struct {
        const char *model;
        int as;
        double slope; /* of head 1 */
        const char *formula;
    } cases[] = {
        {GOLDEN("bloom"), AS_BLOOM, 1. / 16, "moved_j = scaled_j + 0.0625 × j"},
        {GOLDEN("falcon-rw-alibi"), AS_FALCON, 1. / 16, "moved_j = scaled_j + 0.7071 × 0.0625 × j"},
        {GOLDEN("bert-alibi"), AS_JINA, 1. / 256, "moved_j = scaled_j + -0.0039 × |j - 3|"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        explained_open(cases[i].model);
        explained_query(0, 1, 3);
        ck_assert_str_eq(step_formula("moved", 0), cases[i].formula);
        for (size_t j = 0; j < TOKENS; j++) {
            double apart = cases[i].as == AS_JINA ? -fabs((double)j - 3) : (double)j;
            double scale = cases[i].as == AS_FALCON ? sqrt(0.5) : 1;
            expect_near((double)step_column("moved", "bias")[j], scale * cases[i].slope * apart);
            expect_near((double)step_column("moved", "moved")[j],
                        (double)step_column("moved", "scaled")[j] +
                            (double)step_column("moved", "bias")[j]);
        }
        explained_release();
        explained_prepare();
    }
}

/* --- rotation, and norms of heads ------------------------------------------------------------- */

/* Pair i, components i and i + 2, turned by the position times 10000^(-2i / 4). */
TEST(a_query_is_rotated_by_its_position)
{
    explained_open(GOLDEN("llama"));
    explained_query(0, 2, 3);
    const float *pre = step_total("query", "W_q");
    for (size_t i = 0; i < 2; i++) {
        double f = pow(10000, -2. * (double)i / 4), angle = 3 * f;
        double a = (double)pre[i], b = (double)pre[i + 2];
        expect_near((double)step_row("query_rotary", "f")[i], f);
        expect_near((double)step_row("query_rotary", "θ")[i], angle);
        expect_near((double)step_row("query_rotary", "cos θ")[i], cos(angle));
        expect_near((double)step_row("query_rotary", "sin θ")[i], sin(angle));
        expect_near((double)step_row("query_rotary", "a'")[i], a * cos(angle) - b * sin(angle));
        expect_near((double)step_row("query_rotary", "b'")[i], b * cos(angle) + a * sin(angle));
        expect_near((double)step_operand("query_rotary", "frequencies")[i], f);
    }
    expect_near((double)*step_operand("query_rotary", "pair_distance"), 2);
    expect_near((double)*step_operand("query_rotary", "amplitude"), 1);
}

/* q / √(mean(q²) + ε) ⊙ γ, where the mean is of this head. */
TEST(norms_of_heads_come_before_the_rotation)
{
    explained_open(GOLDEN("qwen3"));
    explained_query(0, 1, 2);
    const size_t width = attention_of(config_of(), BRANCH_TEXT, 0)->head.d_k;
    const float *raw = step_row("query_norm", "q_raw"), *scale = step_row("query_norm", "γ");
    const float *pre = step_row("query_norm", "q_pre");
    double square = 0;
    for (size_t i = 0; i < width; i++)
        square += pow((double)raw[i], 2) / (double)width;
    expect_near((double)*step_column("query_norm", "mean_square"), square);
    for (size_t i = 0; i < width; i++)
        expect_near((double)pre[i], (double)raw[i] / sqrt(square + (double)config_of()->epsilon) *
                                        (double)scale[i]);
    ck_assert(first_step("query_norm") < first_step("query_rotary"));
    ck_assert(first_step("key_norm") < first_step("key_rotary"));
}

/* --- formulas and notes ----------------------------------------------------------------------- */

/* A text of a step of query 2 of layer 1: a formula, the note (FIND: a part of it), or no step. */
static const struct {
    const char *model;
    struct mechanism mechanism;
    const char *step;
    enum { FORMULA, FORMULA_2, NOTE, NO_STEP } what;
    const char *text;
} texts[] = {
    {gpt2, {0}, "input", FORMULA, "x = (h - μ) / √(σ² + ε) ⊙ γ + β"},
    {gpt2, {.without = 1 << BLOCK_NORM}, "input", FORMULA, "x = h"},
    {gpt2, {0}, "query", FORMULA, "q = x · W_q + b_q"},
    {GOLDEN("gemma2"), {0}, "query", FORMULA, "q_pre = x · W_q"},
    {GOLDEN("qwen3"), {0}, "query", FORMULA, "q_raw = x · W_q"},
    {GOLDEN("olmo"), {0}, "query", FORMULA, "z = x · W_q"},
    {gpt2, {0}, "scores", FORMULA, "k_j = x_j · W_k + b_k"},
    {gpt2, {0}, "scores", FORMULA_2, "score_j = q · k_j"},
    {GOLDEN("llama"), {0}, "keys", NOTE, "Query heads 0 to 1 share key/value head 0."},
    {gpt2, {0}, "scaled", FORMULA, "scaled_j = score_j / √d_k = score_j / √2"},
    {gpt2,
     {.temperature = 2},
     "scaled",
     FORMULA,
     "scaled_j = score_j / √d_k = score_j / √2 / 2.0000"},
    {gpt2,
     {.scale_method = SCALE_NUMBER, .scale = 1},
     "scaled",
     NOTE,
     "The scale is 1: the scores do not change."},
    {gpt2,
     {.scale_method = SCALE_NUMBER, .scale = 1},
     "masked",
     FORMULA,
     "masked_j = score_j for j ≤ 2, -inf for j > 2"}, /* not scaled_j */
    {GOLDEN("gemma2"),
     {.scale_method = SCALE_NUMBER, .scale = 1},
     "capped",
     FORMULA,
     "capped_j = 4.0000 × tanh(score_j / 4.0000)"},
    {GOLDEN("gemma2"), {.temperature = 2}, "cooled", FORMULA, "cooled_j = capped_j / 2.0000"},
    {GOLDEN("bloom"), {.temperature = 2}, "cooled", FORMULA, "cooled_j = moved_j / 2.0000"},
    {gpt2, {.temperature = 2}, "cooled", NO_STEP, NULL},
    {GOLDEN("bert"), {0}, "masked", FORMULA, "masked_j = scaled_j"},
    {GOLDEN("bert"), {0}, "masked", NOTE, "There is no mask: every query attends to every key."},
    {GOLDEN("bert"),
     {0},
     "weights",
     FORMULA,
     "weight_j = e^(scaled_j - max) / Σ_t e^(scaled_t - max)"},
    {gpt2, {0}, "weights", FORMULA, "weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max)"},
    {GOLDEN("gpt_oss"),
     {0},
     "weights",
     FORMULA,
     "weight_j = e^(masked_j - max) / (Σ_t e^(masked_t - max) + e^(sink - max))"},
    {gpt2,
     {.renormalise = true},
     "softmax",
     FORMULA,
     "softmax_j = e^(scaled_j - max) / Σ_t e^(scaled_t - max)"},
    {gpt2, {.renormalise = true}, "masked", FORMULA, "masked_j = softmax_j for j ≤ 2, 0 for j > 2"},
    {gpt2, {.renormalise = true}, "weights", FORMULA, "weight_j = masked_j / Σ_t masked_t"},
    {gpt2,
     {.dropout = 0.5f, .seed = 3},
     "shares",
     FORMULA,
     "share_j = e^(masked_j - max) / Σ_t e^(masked_t - max)"},
    {gpt2,
     {.dropout = 0.5f, .seed = 3},
     "weights",
     NOTE,
     "Each key is dropped with probability P = 0.5 (seed 3)."},
    {gpt2, {.kind = ATTENTION_LINEAR}, "features", FORMULA, "f = φ(q)"},
    {gpt2, {.kind = ATTENTION_LINEAR}, "scores", FORMULA_2, "score_j = f · g_j"},
    {gpt2, {.kind = ATTENTION_LINEAR}, "scaled", NO_STEP, NULL},
    {gpt2,
     {.kind = ATTENTION_LINEAR},
     "masked",
     FORMULA,
     "masked_j = score_j for j ≤ 2, 0 for j > 2"},
    {gpt2,
     {.kind = ATTENTION_BLOCKED, .block = 2},
     "weights",
     NOTE,
     "The pass takes 2 keys at a time"},
    {gpt2,
     {.kind = ATTENTION_SPARSE, .pattern.window = 2},
     "masked",
     FORMULA,
     "masked_j = scaled_j for visible keys, -inf for others"},
    {gpt2,
     {.kind = ATTENTION_SPARSE, .pattern.window = 2},
     "masked",
     NOTE,
     "window:2 lets this query attend to 2 of 3 keys."},
    {GOLDEN("diffllama"), {0}, "context", FORMULA, "context = Σ_j difference_j × v_j"},
    {GOLDEN("diffllama"), {0}, "difference", FORMULA, "difference_j = weight_j - λ × other_j"},
    {GOLDEN("t5"), {0}, "moved", FORMULA, "moved_j = score_j + bias(j - 2)"}, /* no scale */
};

TEST_LOOP(formulas_and_notes_say_what_a_model_does, COUNT(texts))
{
    explained_open(texts[_i].model);
    explained_set(texts[_i].mechanism);
    explained_query(1, 0, 2);
    const char *step = texts[_i].step;
    if (texts[_i].what == NO_STEP)
        ck_assert_ptr_null(first_step(step));
    else if (texts[_i].what == NOTE)
        ck_assert_msg(strstr(step_note(step), texts[_i].text), "%s", step_note(step));
    else
        ck_assert_str_eq(step_formula(step, texts[_i].what == FORMULA_2), texts[_i].text);
}

TEST(a_window_hides_earlier_keys)
{
    explained_open(GOLDEN("gemma3_text")); /* layer 0: a window of four keys */
    explained_query(0, 0, 4);
    ck_assert_str_eq(step_formula("masked", 0),
                     "masked_j = scaled_j for 1 ≤ j ≤ 4, -inf for others");
    ck_assert_ptr_nonnull(
        strstr(step_note("masked"), "This layer has a sliding window: the last 4 keys."));
    ck_assert(isinf(step_column("masked", "masked")[0]) &&
              !isinf(step_column("masked", "masked")[1]));
    ck_assert_int_eq(strncmp(step_worked("weights"), "weight_1 = ", 11), 0); /* visible */
    ck_assert_ptr_null(strstr(step_worked("context"), " 0.0000"));
}

/* Worked lines are of the key that is asked for, if the query attends to it. */
TEST(worked_lines_have_the_chosen_key)
{
    explained_open(gpt2);
    explained.key = 2;
    explained_query(1, 0, 3);
    ck_assert_int_eq(strncmp(step_worked("scores"), "score_2 = ", 10), 0);
    ck_assert_int_eq(strncmp(step_worked("weights"), "weight_2 = ", 11), 0);
    ck_assert_int_eq(strncmp(step_worked("values"), "weight_2 × v_2 = [", 18), 0);
    explained_query(1, 0, 1); /* hidden */
    ck_assert_int_eq(strncmp(step_worked("scores"), "score_0 = ", 10), 0);
}

/* Two heads make one context: λ is e^(q1 · k1) - e^(q2 · k2) + its beginning. */
TEST(differences_are_of_the_weights_of_two_heads)
{
    static const char *const names[] = {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"};
    explained_open(GOLDEN("diffllama"));
    double powers[2] = {0};
    for (size_t head = 0; head < 4; head += 2) { /* 0 and 2 are such heads */
        explained_query(1, head, 3);
        const size_t d = attention_of(config_of(), BRANCH_TEXT, 1)->head.d_k;
        for (size_t i = 0; i < 2; i++) {
            powers[i] = 0;
            for (size_t k = 0; k < d; k++)
                powers[i] += (double)step_operand("difference", names[2 * i])[k] *
                             (double)step_operand("difference", names[2 * i + 1])[k];
        }
        double start = 0.8 - 0.6 * exp(-0.3 * 1); /* of layer 1 */
        double lambda = exp(powers[0]) - exp(powers[1]) + start;
        for (size_t j = 0; j < TOKENS; j++) {
            double own = (double)step_column("difference", "weight")[j];
            double other = (double)step_column("difference", "other")[j];
            expect_near((double)step_column("difference", "difference")[j],
                        head == 0 ? own - lambda * other : other - lambda * own);
        }
    }
}
