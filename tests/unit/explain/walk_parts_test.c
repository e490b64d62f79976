/* The three attentions of an encoder and its decoder, walked through one by one. */
#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/explanation_fixture.h"
#include "../rigs/tiny_model.h"
#include "explain/explanation.h"
#include "explain/steps.h"
#include "model/mechanism.h"

enum { LAYERS = 2, HEADS = 2, TOKENS = 5, SOURCE_TOKENS = 3 };

/* clang-format off */
static const char *const configs[] = {
    JSON({"model_type": "transformer", "vocab_size": 9, "n_embd": 6, "n_layer": 2,
          "n_encoder_layer": 2, "n_head": 2}),
    JSON({"model_type": "transformer", "vocab_size": 9, "n_embd": 6, "n_layer": 2,
          "n_encoder_layer": 2, "n_head": 2, "norm_first": true, "positions": "learned",
          "n_positions": 5, "scale_embedding": false, "bias": false, "final_norm": false}),
};
/* clang-format on */

enum { NORM_LAST, NORM_FIRST };

static struct tiny_model model;
static struct viewer viewer;
static struct text_pair pair;
static struct arena arena;
static struct err err;

static void open_model(size_t config)
{
    struct input input = {.ids = "3,1,4,1,5"};
    struct input source = {.ids = "8,2,7"};
    tiny_model_make(&model, configs[config]);
    ck_assert_msg(!model_open_folder(&viewer.model, &model.folder, &err), "%s", err.text);
    ck_assert_int_eq(machine_open(&viewer.machine, 1, &err), 0);
    ck_assert_msg(!viewer_read(&viewer, &pair, &input, &source, &arena, &err), "%s", err.text);
}

static void prepare(void)
{
    arena = (struct arena){0};
    err = (struct err){0};
    viewer = (struct viewer){0};
}

static void release(void)
{
    viewer_release(&viewer);
    tiny_model_release(&model);
    arena_release(&arena);
}

FIXTURE(prepare, release)

static size_t query_count(enum site_part part)
{
    return part == PART_SOURCE ? SOURCE_TOKENS : TOKENS;
}

static void expect_near(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) <= 3e-6 * fmax(1, fabs(expected)),
                  "expected %.9g, found %.9g", expected, found);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The one tensor of a site, of a pass of its own. */
static const float *tensor(enum site site, size_t layer)
{
    struct report report;
    struct layers layers = {&layer, 1};
    struct selection selection = {
        .sites = site_bit(site), .layers = layers, .encoder_layers = layers, .head_count = HEADS};
    struct look look = {&selection, &pair, 1, 0, &report};
    ck_assert_msg(!viewer_look(&viewer, &look, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(report.tensor_count, 1);
    return report.tensors[0].data;
}

/* x · W + b, of one column. */
static double project(const float *x, const struct weight *w, size_t column)
{
    double sum = w->bias ? (double)w->bias[column] : 0;
    for (size_t i = 0; i < w->in; i++)
        sum += (double)x[i] * (double)w->data[i * w->stride + column];
    return sum;
}

/* What keys and values are made of. */
static const float *inputs_of_keys(enum site_part part, size_t layer)
{
    const struct config *config = &model.config;
    if (part == PART_CROSS && config->final_norm)
        return tensor(SITE_ENC_LN_F, 0);
    if (part == PART_CROSS)
        return tensor(SITE_ENC_RESID_POST, LAYERS - 1);
    return tensor(site_of(part, config->norm_first ? SITE_LN_1 : SITE_RESID_PRE), layer);
}

static void check_walk(const struct trace *trace, const float *keys_from)
{
    size_t width = model.config.d_k;
    size_t channels = model.config.n_embd;
    ck_assert_uint_eq(trace->input_size, channels);
    ck_assert_uint_eq(trace->keys, trace->part == PART_SENTENCE ? TOKENS : SOURCE_TOKENS);
    for (size_t i = 0; i < width; i++) {
        size_t column = trace->head * width + i;
        expect_near((double)trace->q[i], project(trace->x, &trace->weights.q, column));
        for (size_t j = 0; j < trace->keys; j++) {
            const float *from = keys_from + j * channels;
            expect_near((double)trace->k[j * width + i], project(from, &trace->weights.k, column));
            expect_near((double)trace->v[j * width + i], project(from, &trace->weights.v, column));
        }
    }
    float contexts[16];
    ck_assert_uint_eq(channels, HEADS * width);
    for (size_t i = 0; i < channels; i++)
        contexts[i] = trace_context(trace, i / width)[i % width];
    for (size_t c = 0; c < channels; c++)
        expect_near((double)trace->out[c], project(contexts, &trace->weights.out, c));
}

static void walk_all(enum site_part part)
{
    struct trace trace;
    struct explain_request choice = {.part = part};
    for (choice.layer = 0; choice.layer < LAYERS; choice.layer++) {
        const float *keys_from = inputs_of_keys(part, choice.layer);
        for (choice.head = 0; choice.head < HEADS; choice.head++) {
            for (choice.query = 0; choice.query < query_count(part); choice.query++) {
                int failed = trace_run(&trace, &viewer, &pair, &choice, &arena, &err);
                ck_assert_msg(!failed, "%s", err.text);
                check_walk(&trace, keys_from);
            }
        }
    }
}

TEST_LOOP(projections_are_those_of_the_attention, COUNT(configs))
{
    open_model((size_t)_i);
    walk_all(PART_SENTENCE);
    walk_all(PART_CROSS);
    walk_all(PART_SOURCE);
}

TEST_LOOP(a_first_layer_takes_in_a_token_and_its_place, COUNT(configs))
{
    static const enum site_part parts[] = {PART_SENTENCE, PART_SOURCE};
    open_model((size_t)_i);
    for (size_t i = 0; i < COUNT(parts); i++) {
        struct trace trace;
        struct explain_request choice = {.part = parts[i], .query = 2};
        ck_assert(!trace_run(&trace, &viewer, &pair, &choice, &arena, &err));
        const float *sum = trace.stream ? trace.stream : trace.x;
        ck_assert_int_eq(trace.stream != NULL, model.config.norm_first);
        for (size_t c = 0; c < model.config.n_embd; c++)
            expect_near((double)sum[c],
                        (double)trace.token[c] * (double)model.config.embedding_scale +
                            (double)trace.position[c]);
    }
}

TEST_LOOP(what_is_no_sum_of_embeddings_has_none, COUNT(configs))
{
    struct trace trace;
    struct explain_request choice = {.part = PART_CROSS};
    open_model((size_t)_i);
    ck_assert(!trace_run(&trace, &viewer, &pair, &choice, &arena, &err));
    ck_assert_ptr_null(trace.token);
    choice = (struct explain_request){.part = PART_SENTENCE, .layer = 1};
    ck_assert(!trace_run(&trace, &viewer, &pair, &choice, &arena, &err));
    ck_assert_ptr_null(trace.token);
}

/* --- words ------------------------------------------------------------------------------------ */

static const struct step *explain(struct explanation *explanation, enum site_part part,
                                  size_t layer, const char *name)
{
    struct explain_request request = {
        .query_count = 1, .part = part, .layer = layer, .query = 1, .digits = 4};
    int failed = explanation_make(explanation, &viewer, &pair, &request, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    for (size_t i = 0; i < explanation->step_count; i++)
        if (strcmp(explanation->steps[i].name, name) == 0)
            return &explanation->steps[i];
    ck_abort_msg("no step '%s'", name);
    return NULL;
}

TEST(an_input_says_where_it_comes_from)
{
    static const struct {
        size_t config;
        enum site_part part;
        size_t layer;
        const char *title, *formula, *note;
    } cases[] = {
        {NORM_LAST, PART_SENTENCE, 0, "Embedding", "x = √6 · wte[1] + PE[1]",
         "PE are sines and cosines of the place in the text."},
        {NORM_LAST, PART_SOURCE, 0, "Embedding", "x = √6 · wte[2] + PE[1]",
         "PE are sines and cosines of the place in the text."},
        {NORM_LAST, PART_SENTENCE, 1, "Input", NULL,
         "x is the residual stream as the layer before left it, normed."},
        {NORM_LAST, PART_CROSS, 0, "Input", NULL,
         "x is the residual stream as self-attention left it, normed."},
        {NORM_FIRST, PART_SENTENCE, 0, "Input", "h = wte[1] + wpe[1]", ""},
        {NORM_FIRST, PART_SOURCE, 1, "Input", "x = (h - μ) / √(σ² + ε) ⊙ γ + β",
         "h is the residual stream as the layer before left it."},
        {NORM_FIRST, PART_CROSS, 1, "Input", "x = (h - μ) / √(σ² + ε) ⊙ γ + β",
         "h is the residual stream as self-attention left it."},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct explanation explanation;
        open_model(cases[i].config);
        const struct step *step = explain(&explanation, cases[i].part, cases[i].layer, "input");
        ck_assert_str_eq(step->title, cases[i].title);
        ck_assert_pstr_eq(step->formulas[0], cases[i].formula);
        ck_assert_str_eq(step->note ? step->note : "", cases[i].note);
        release();
        prepare();
    }
}

TEST(parts_that_are_left_out_are_not_told_of)
{
    static const struct {
        size_t config;
        const char *without, *note;
    } cases[] = {
        {NORM_LAST, "norm", "x is the residual stream as self-attention left it."},
        {NORM_LAST, "residual", "x is what self-attention gave, normed: nothing is added up."},
        {NORM_LAST, "norm,residual", "x is what self-attention gave: nothing is added up."},
        {NORM_FIRST, "residual", "h is what self-attention gave: nothing is added up."},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct explanation explanation;
        struct mechanism *mechanism = &viewer.model.config.mechanism;
        open_model(cases[i].config);
        ck_assert(!mechanism_set_without(mechanism, cases[i].without, &err));
        ck_assert_str_eq(explain(&explanation, PART_CROSS, 0, "input")->note, cases[i].note);
        release();
        prepare();
    }
}

TEST(keys_are_of_the_text_that_is_looked_at)
{
    static const struct {
        enum site_part part;
        const char *words, *note, *mask;
        size_t own_row;
        bool of_source, looks_from_source;
    } cases[] = {
        {PART_SENTENCE, "self-attention of the decoder", "",
         "A query sees itself and what came before, not the future.", 1, false, false},
        {PART_CROSS, "cross-attention",
         "Keys and values are made of what the encoder gives: x_j is its row of key j.",
         "There is no mask: every query sees every key.", NO_ROW, true, false},
        {PART_SOURCE, "self-attention of the encoder", "",
         "There is no mask: every query sees every key.", 1, true, true},
    };
    open_model(NORM_LAST);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct explanation explanation;
        const struct step *step = explain(&explanation, cases[i].part, 0, "scores");
        const struct report *report = explanation.report;
        ck_assert_str_eq(explanation.part->words, cases[i].words);
        ck_assert_ptr_eq(explanation.text,
                         cases[i].looks_from_source ? &report->source : &report->sentence);
        ck_assert_ptr_eq(step->table.rows,
                         cases[i].of_source ? report->source.labels : report->sentence.labels);
        ck_assert_uint_eq(step->table.own_row, cases[i].own_row);
        ck_assert_str_eq(step->note ? step->note : "", cases[i].note);
        ck_assert_str_eq(explain(&explanation, cases[i].part, 0, "masked")->note, cases[i].mask);
    }
}

TEST(a_pattern_is_about_a_text_that_looks_at_itself)
{
    static const struct {
        enum site_part part;
        const char *note;
    } cases[] = {
        {PART_SENTENCE, "window:2 shows this query 2 of 2 keys."},
        {PART_CROSS, "There is no mask: every query sees every key."},
        {PART_SOURCE, "window:1 shows this query 1 of 3 keys."},
    };
    open_model(NORM_FIRST);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct explanation explanation;
        struct mechanism *mechanism = &viewer.model.config.mechanism;
        ck_assert(!mechanism_set_attention(
            mechanism, cases[i].part == PART_SOURCE ? "window:1" : "window:2", &err));
        const struct step *step = explain(&explanation, cases[i].part, 1, "masked");
        ck_assert_str_eq(step->note, cases[i].note);
    }
}

TEST_LOOP(every_allocation_may_fail, 3)
{
    static const enum site_part parts[] = {PART_SENTENCE, PART_CROSS, PART_SOURCE};
    struct explain_request request = {.query_count = 1, .part = parts[_i], .query = 1, .digits = 4};
    open_model(NORM_LAST);
    fixture_starve_explanation(&viewer, &pair, &request);
}
