#include "explain/explanation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/explained.h"
#include "../rigs/memory_stream.h"
#include "../rigs/reference_model.h"
#include "../unit.h"
#include "format/json.h"
#include "model/layer.h"
#include "write/format.h"

FIXTURE(explained_prepare, explained_release)

static void expect_near(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) <= 2e-5 * fmax(1, fabs(expected)),
                  "expected %.9g, found %.9g", expected, found);
}

static void expect_row(const char *step, const char *row, const double *expected, size_t count)
{
    const float *found = step_row(step, row);
    ck_assert_msg(found != NULL, "no row '%s' in '%s'", row, step);
    for (size_t i = 0; i < count; i++)
        expect_near((double)found[i], expected[i]);
}

/* --- a layer by hand -------------------------------------------------------------------------- */

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 4, "n_layer": 2,
          "n_head": 2, "n_inner": 6});
/* clang-format on */

enum { C = 4, D = 2, INNER = 6, WORDS = 9, QUERY = 2 };

static double parameter(const char *name, size_t index)
{
    return (double)tiny_model_tensor(&explained.made, name)->values[index];
}

static void norm_by_hand(double y[C], const double x[C], const char *scale, const char *shift)
{
    double mean = 0, square = 0;
    for (size_t c = 0; c < C; c++)
        mean += x[c] / C;
    for (size_t c = 0; c < C; c++)
        square += pow(x[c] - mean, 2) / C;
    for (size_t c = 0; c < C; c++)
        y[c] = (x[c] - mean) / sqrt(square + 1e-5) * parameter(scale, c) + parameter(shift, c);
}

/* y = x · W + b, where W is [in, out]. */
static void product_by_hand(double *y, size_t out, const double *x, size_t in, const char *matrix,
                            const char *bias)
{
    for (size_t i = 0; i < out; i++) {
        y[i] = parameter(bias, i);
        for (size_t k = 0; k < in; k++)
            y[i] += x[k] * parameter(matrix, k * out + i);
    }
}

/* From the contexts of both heads of the last layer to the logits. */
TEST(the_numbers_of_a_layer_follow_from_its_weights)
{
    double contexts[2 * D], out[C], mid[C], ln[C], up[INNER], act[INNER], mlp[C], post[C], last[C];
    explained_open(gpt2);
    for (size_t head = 0; head < 2; head++) {
        explained_query(1, head, QUERY);
        for (size_t i = 0; i < D; i++)
            contexts[head * D + i] = (double)step_total("context", "weighted")[i];
    }
    product_by_hand(out, C, contexts, 2 * D, "h.1.attn.c_proj.weight", "h.1.attn.c_proj.bias");
    for (size_t c = 0; c < C; c++) {
        double shares[2] = {0};
        for (size_t i = 0; i < 2 * D; i++)
            shares[i / D] += contexts[i] * parameter("h.1.attn.c_proj.weight", i * C + c);
        expect_near((double)step_row("output", "head 0")[c], shares[0]);
        expect_near((double)step_row("output", "head 1")[c], shares[1]);
        expect_near((double)step_row("output", "b_O")[c], parameter("h.1.attn.c_proj.bias", c));
        expect_near((double)step_total("output", "share")[c], out[c]);
        mid[c] = (double)step_row("input", "h")[c] + out[c];
    }
    expect_row("resid_mid", "resid_mid", mid, C);
    norm_by_hand(ln, mid, "h.1.ln_2.weight", "h.1.ln_2.bias");
    expect_row("ln_2", "ln_2", ln, C);
    product_by_hand(up, INNER, ln, C, "h.1.mlp.c_fc.weight", "h.1.mlp.c_fc.bias");
    expect_row("hidden", "up", up, INNER);
    for (size_t i = 0; i < INNER; i++)
        act[i] = reference_activation(ACTIVATION_GELU_NEW, up[i]);
    expect_row("mlp_act", "mlp_act", act, INNER);
    product_by_hand(mlp, C, act, INNER, "h.1.mlp.c_proj.weight", "h.1.mlp.c_proj.bias");
    expect_row("mlp_out", "mlp_out", mlp, C);
    for (size_t c = 0; c < C; c++)
        post[c] = mid[c] + mlp[c];
    expect_row("resid_post", "resid_post", post, C);
    norm_by_hand(last, post, "ln_f.weight", "ln_f.bias");
    expect_row("ln_f", "ln_f", last, C);
    const struct table *step = first_step("logits");
    const float *found = step_column("logits", "logit");
    ck_assert_uint_eq(step->rows.size, WORDS);
    for (size_t row = 0; row < WORDS; row++) { /* the largest first */
        size_t id = strtoul(step->rows.labels[row].plain, NULL, 10);
        double logit = 0;
        for (size_t c = 0; c < C; c++)
            logit += last[c] * parameter("wte.weight", id * C + c);
        expect_near((double)found[row], logit);
        ck_assert(row == 0 || found[row - 1] >= found[row]);
    }
}

/* --- variants --------------------------------------------------------------------------------- */

#define GOLDEN(name) "tests/references/golden-families/" name

static const char *const variants[] = {
    gpt2,
    GOLDEN("llama"),
    GOLDEN("bert"),                  /* norms of sums; a dense layer before the logits */
    GOLDEN("electra-discriminator"), /* one logit */
    GOLDEN("modernbert"),
    GOLDEN("gemma2"),  /* norms of outputs */
    GOLDEN("granite"), /* factors of outputs */
    GOLDEN("bloom-residual-normed"),
    GOLDEN("gpt_neox"), /* attention and MLP beside each other */
    GOLDEN("phi"),      /* with one norm */
    GOLDEN("olmo2"),
    GOLDEN("nemotron"), /* relu², scales 1 + γ */
    GOLDEN("opt-350m-style"),
    GOLDEN("mixtral"), /* experts */
    GOLDEN("qwen2_moe"),
    GOLDEN("glm4_moe"),
    GOLDEN("gpt_oss"),
    GOLDEN("phimoe"),
    GOLDEN("gemma4"), /* a layer's own input */
    GOLDEN("gemma4-experts"),
    GOLDEN("gemma3n_text"), /* copies of the stream, sparse gates */
    GOLDEN("olmo"),         /* clipped queries and keys */
    GOLDEN("diffllama"),
};

/* A vector that some step shows under a name. */
static const float *vector_called(const char *name)
{
    for (size_t i = 0; i < explained.report.table_count; i++) {
        const struct table *step = &explained.report.tables[i];
        const float *row = step->working.of_keys ? NULL : step_row(step->name, name);
        if (row)
            return row;
    }
    return NULL;
}

/* Check "y = x · W_z + b_z" in each step that shows y, and gives W_z and b_z; returns how many. */
static size_t check_products(void)
{
    size_t found = 0;
    for (size_t i = 0; i < explained.report.table_count; i++) {
        const struct table *step = &explained.report.tables[i];
        for (size_t f = 0; f < step->working.formula_count; f++) {
            char y_name[32], x_name[32], z[32], given[40];
            if (sscanf(step->working.formulas[f], "%31s = %31s · W_%31s", y_name, x_name, z) != 3)
                continue;
            snprintf(given, sizeof given, "W_%s", z);
            const float *y = step_row(step->name, y_name), *x = vector_called(x_name);
            const float *w = step_operand(step->name, given);
            snprintf(given, sizeof given, "b_%s", z);
            const float *bias = step_operand(step->name, given);
            if (!y || !x || !w)
                continue;
            const struct table *operand = step->working.operands;
            while (strncmp(operand->name, "W_", 2) != 0 || strcmp(operand->name + 2, z) != 0)
                operand++;
            const size_t in = operand->rows.size, out = operand->columns->width;
            for (size_t c = 0; c < out; c++) {
                double sum = bias ? (double)bias[c] : 0;
                for (size_t k = 0; k < in; k++)
                    sum += (double)x[k] * (double)w[k * out + c];
                expect_near((double)y[c], sum);
            }
            found++;
        }
    }
    return found;
}

/* The total below shares is their sum. */
static void check_totals(void)
{
    for (size_t i = 0; i < explained.report.table_count; i++) {
        const struct table *step = &explained.report.tables[i];
        const struct column *share = table_column(step, "share");
        for (size_t c = 0; share && share->total && c < share->width; c++) {
            double sum = 0;
            for (size_t row = 0; row < step->rows.size; row++)
                sum += (double)column_vector(share, row)[c];
            expect_near((double)share->total[c], sum);
        }
    }
}

/* Two steps may have the same operand, such as a limit of queries and keys. JSON has it once. */
static void check_operands(void)
{
    const struct table *tables = explained.report.tables;
    for (size_t i = 0; i < explained.report.table_count; i++)
        for (size_t k = 0; k < tables[i].working.operand_count; k++) {
            const char *name = tables[i].working.operands[k].name;
            for (size_t earlier = 0; earlier < i; earlier++) {
                const float *numbers = step_operand(tables[earlier].name, name);
                ck_assert_msg(!numbers || *numbers == *step_operand(tables[i].name, name),
                              "'%s' in '%s' and '%s'", name, tables[earlier].name, tables[i].name);
            }
        }
    struct stream out = {0};
    struct json *root = NULL;
    struct err *err = &explained.err;
    memory_stream_open(&out);
    ck_assert_int_eq(report_write(&format_json, &(struct target){.stream = &out}, &explained.report,
                                  &(struct layout){.columns = 80}, err),
                     0);
    struct file file = memory_stream_take(&out);
    ck_assert_int_eq(json_parse(&root, file.bytes, file.size, err), 0);
    ck_assert_msg(!json_unique_keys(json_member(root, "given"), err), "%s", err->text);
    json_free(root);
    file_release(&file);
}

/* Formulas, products, sums and worked lines of the last layer, with norms and without. */
TEST_LOOP(steps_follow_from_each_other_in_each_variant, 2 * COUNT(variants))
{
    bool normed = _i % 2 == 0;
    explained.digits = 9;
    explained_open(variants[_i / 2]);
    const size_t layer = explained.viewer.model.config.n_layer - 1;
    if (!normed)
        explained_set((struct mechanism){.without = 1 << BLOCK_NORM});
    explained_query(layer, 0, QUERY);
    size_t formulas = explained_check_formulas();
    ck_assert_uint_ge(formulas, 3 * 4);
    ck_assert_uint_ge(explained_check_lines(), 4);
    const bool beside = explained.viewer.model.config.mixture.beside;
    ck_assert_msg(check_products() > 0 || beside, "%s", variants[_i / 2]); /* the next test */
    check_totals();
    check_operands();
    if (!normed) /* no scales and shifts of norms, where no formula has them */
        for (size_t i = 0; i < explained.report.table_count; i++)
            ck_assert_ptr_null(step_row(explained.report.tables[i].name, "γ"));
}

/* The router of experts beside an MLP reads the stream, through a norm of its own. */
TEST(a_router_may_have_a_norm_of_its_own)
{
    explained_open(GOLDEN("gemma4-experts"));
    explained_query(1, 0, QUERY);
    const struct config *config = &explained.viewer.model.config;
    const size_t width = config->n_embd, experts = config->mixture.experts;
    const float *mid = step_row("resid_mid", "resid_mid");
    const float *scale = step_operand("router", "gamma_router");
    const float *matrix = step_operand("router", "W_router");
    double square = 0;
    for (size_t c = 0; c < width; c++)
        square += pow((double)mid[c], 2) / (double)width;
    for (size_t e = 0; e < experts; e++) {
        double z = 0;
        for (size_t c = 0; c < width; c++)
            z += (double)mid[c] / sqrt(square + (double)config->epsilon) * (double)scale[c] *
                 (double)matrix[c * experts + e];
        expect_near((double)step_row("router", "router")[e], z / sqrt((double)width));
    }
    ck_assert_str_eq(step_formula("router", 2), "router = 0.3536 × z"); /* 1 / √8 */
}

/* thin = max(gate - mean - deviations · deviation, 0), and its activation multiplies up. */
TEST(a_sparse_gate_keeps_what_is_far_above_the_mean)
{
    explained_open(GOLDEN("gemma3n_text"));
    explained_query(0, 0, QUERY);
    const struct column *vectors = table_column(first_step("mlp_act"), "vector");
    const size_t width = vectors->width;
    const float *gate = step_row("mlp_act", "gate"), *up = step_row("mlp_act", "up");
    const double deviations = (double)*step_operand("mlp_act", "deviations");
    double mean = 0, square = 0;
    for (size_t i = 0; i < width; i++)
        mean += (double)gate[i] / (double)width;
    for (size_t i = 0; i < width; i++)
        square += pow((double)gate[i] - mean, 2) / (double)width;
    for (size_t i = 0; i < width; i++) {
        double thin = fmax((double)gate[i] - mean - deviations * sqrt(square), 0);
        expect_near((double)step_row("mlp_act", "thin")[i], thin);
        expect_near((double)step_row("mlp_act", "mlp_act")[i],
                    reference_activation(ACTIVATION_GELU_NEW, thin) * (double)up[i]);
    }
    expect_near(deviations, 0.52440051); /* 70 % of a normal distribution are below it */
}

/* --- logits ----------------------------------------------------------------------------------- */

/* logit = cap × tanh((dot + bias) / divisor / cap). */
TEST(logits_are_products_with_their_bias_divisor_and_cap)
{
    static const struct {
        const char *model, *formula;
        double divisor, cap;
        bool bias;
        const char *note;
    } cases[] = {
        {GOLDEN("llama"), "logit_v = ln_f · w_v", 0, 0, false,
         "The tokens with the largest of 13 logits; w_v is the token's row of the unembedding."},
        {gpt2, "logit_v = ln_f · w_v", 0, 0, false,
         "The tokens with the largest of 9 logits; w_v is the token's embedding (tied weights)."},
        {GOLDEN("granite"), "logit_v = dot_v / 2.5000", 2.5, 0, false, NULL},
        {GOLDEN("gemma2"), "logit_v = 3.0000 × tanh(dot_v / 3.0000)", 0, 3, false, NULL},
        {GOLDEN("bert"), "logit_v = dot_v + b_v", 0, 0, true, NULL},
        {GOLDEN("bert-classes"), NULL, 0, 0, true, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        explained_open(cases[i].model);
        explained_query(1, 0, QUERY);
        const struct table *step = first_step("logits");
        const bool finished = cases[i].divisor > 0 || cases[i].cap > 0 || cases[i].bias;
        if (cases[i].formula)
            ck_assert_str_eq(step_formula("logits", finished), cases[i].formula);
        if (cases[i].note)
            ck_assert_str_eq(step_note("logits"), cases[i].note);
        ck_assert(finished == (table_column(step, "dot") != NULL));
        ck_assert(cases[i].bias == (table_column(step, "bias") != NULL));
        for (size_t row = 0; row < step->rows.size && finished; row++) {
            double logit = (double)step_column("logits", "dot")[row];
            if (cases[i].bias)
                logit += (double)step_column("logits", "bias")[row];
            if (cases[i].divisor > 0)
                logit /= cases[i].divisor;
            if (cases[i].cap > 0)
                logit = cases[i].cap * tanh(logit / cases[i].cap);
            expect_near((double)step_column("logits", "logit")[row], logit);
        }
        explained_release();
        explained_prepare();
    }
}

/* --- formulas --------------------------------------------------------------------------------- */

/* A formula of a step of the last layer of head 0; NULL: there is no such step. */
static const struct {
    const char *model;
    unsigned without;
    const char *step, *formula;
} texts[] = {
    {gpt2, 0, "output", "attn_out = Σ_h context_h · W_O,h + b_O"},
    {GOLDEN("llama"), 0, "output", "attn_out = Σ_h context_h · W_O,h"},
    {GOLDEN("diffllama"), 0, "output", "attn_out = Σ_h gated_h · W_O,h"},
    {JSON({"model_type" : "attention", "vocab_size" : 9, "n_embd" : 4}), 0, "output",
     "attn_out = context"},
    {JSON({"model_type" : "attention", "vocab_size" : 9, "n_embd" : 4, "n_head" : 2}), 0, "output",
     "attn_out = [context_0, context_1, …]"},
    {gpt2, 0, "resid_mid", "resid_mid = h + attn_out"},
    {gpt2, 1 << BLOCK_RESIDUAL, "resid_mid", "resid_mid = attn_out"},
    {gpt2, 1 << BLOCK_MLP, "hidden", NULL},
    {GOLDEN("granite"), 0, "resid_mid", "resid_mid = h + 0.3000 × attn_out"},
    {GOLDEN("gemma2"), 0, "resid_mid", "resid_mid = h + ln_1_post"},
    {GOLDEN("bloom-residual-normed"), 0, "resid_mid", "resid_mid = x + attn_out"},
    {GOLDEN("gpt_neox"), 0, "resid_post", "resid_post = h + attn_out + mlp_out"},
    {GOLDEN("gpt_neox"), 0, "resid_mid", NULL},
    {GOLDEN("gemma4"), 0, "resid_mlp", "resid_mlp = resid_mid + ln_2_post"},
    {gpt2, 0, "ln_2", "ln_2 = (resid_mid - μ) / √(σ² + ε) ⊙ γ + β"},
    {gpt2, 1 << BLOCK_NORM, "ln_2", "ln_2 = resid_mid"},
    {GOLDEN("gemma2"), 0, "ln_f", "ln_f = resid_post / √(mean(resid_post²) + ε) ⊙ (1 + γ)"},
    {GOLDEN("bert"), 0, "ln_1", "ln_1 = (resid_mid - μ) / √(σ² + ε) ⊙ γ + β"},
    {GOLDEN("bert"), 0, "transform", "dense = resid_post · W_d + b_d"},
    {gpt2, 0, "hidden", "up = ln_2 · W_up + b_up"},
    {GOLDEN("llama"), 0, "hidden", "gate = ln_2 · W_gate"},
    {gpt2, 0, "mlp_act", "mlp_act = gelu_new(up)"},
    {GOLDEN("llama"), 0, "mlp_act", "mlp_act = silu(gate) ⊙ up"},
    {gpt2, 0, "mlp_out", "mlp_out = mlp_act · W_down + b_down"},
    {GOLDEN("mixtral"), 0, "mlp_out", "mlp_out = Σ_e w_e × mlp_e(ln_2)"},
    {GOLDEN("qwen2_moe"), 0, "mlp_out", "mlp_out = Σ_e w_e × mlp_e(ln_2) + shared_out"},
    {GOLDEN("qwen2_moe"), 0, "shared_out", "shared_out = mlp_shared(ln_2) × g"},
    {GOLDEN("mixtral"), 0, "expert_weights", "p = softmax(router)"},
    {GOLDEN("gpt_oss"), 0, "expert_weights", "w = softmax(router of the chosen experts)"},
    {GOLDEN("glm4_moe"), 0, "expert_weights", "p = sigmoid(router)"},
    {GOLDEN("gemma4"), 0, "per_layer_act", "per_layer_gate = resid_mlp · W_own"},
};

TEST_LOOP(formulas_say_what_a_model_does, COUNT(texts))
{
    explained_open(texts[_i].model);
    explained_set((struct mechanism){.without = texts[_i].without});
    explained_query(explained.viewer.model.config.n_layer - 1, 0, QUERY);
    if (texts[_i].formula)
        ck_assert_str_eq(step_formula(texts[_i].step, 0), texts[_i].formula);
    else
        ck_assert_ptr_null(first_step(texts[_i].step));
}

/* Experts with a weight, in ascending order, and what the router makes of their logits. */
TEST(chosen_experts_have_the_weights_of_their_logits)
{
    explained_open(GOLDEN("mixtral"));
    explained_query(1, 0, QUERY);
    const struct mixture *mixture = &explained.viewer.model.config.mixture;
    const struct table *step = first_step("expert_weights");
    const float *router = step_row("router", "router");
    double sum = 0, chosen = 0, least = INFINITY;
    for (size_t e = 0; e < mixture->experts; e++)
        sum += exp((double)router[e]);
    for (size_t i = 0; i < step->rows.size; i++)
        chosen += (double)step_column("expert_weights", "p")[i];
    for (size_t i = 0; i < step->rows.size; i++) {
        size_t e = strtoul(step->rows.labels[i].plain, NULL, 10);
        double p = exp((double)router[e]) / sum;
        least = fmin(least, p);
        expect_near((double)step_column("expert_weights", "router")[i], (double)router[e]);
        expect_near((double)step_column("expert_weights", "p")[i], p);
        expect_near((double)step_column("expert_weights", "weight")[i], p / chosen);
    }
    size_t better = 0;
    for (size_t e = 0; e < mixture->experts; e++)
        better += exp((double)router[e]) / sum > least + 1e-6;
    ck_assert_uint_eq(better + 1, step->rows.size); /* no other has a larger logit */
}

/* Factors of a layer are given once. */
TEST(a_factor_of_outputs_is_an_operand_once)
{
    explained_open(GOLDEN("granite"));
    explained_query(1, 0, QUERY);
    expect_near((double)*step_operand("resid_mid", "residual_scale"), 0.3);
    ck_assert_ptr_null(step_operand("resid_post", "residual_scale"));
}
