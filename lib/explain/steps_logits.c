/* steps_logits.c: from the last layer's rows to the scores of the next token. */
#include <string.h>

#include "explain/steps.h"
#include "math/gemm.h"

enum { SHOWN = 10 }; /* tokens, those with the largest logits */

/* The token with the largest logit of those below `last`, which was chosen before; V: none was. */
static size_t next_best(const float *logits, size_t count, size_t last)
{
    size_t best = count;
    for (size_t id = 0; id < count; id++) {
        bool below =
            last == count || logits[id] < logits[last] || (logits[id] == logits[last] && id > last);
        if (below && (best == count || logits[id] > logits[best]))
            best = id;
    }
    return best;
}

/* What logits are made of, in the channels of embeddings. */
static struct named_vector take_input(struct builder *builder, struct weights *weights)
{
    const struct trace *trace = builder->trace;
    struct named_vector y = {"ln_f", trace_row(trace, SITE_LN_F)};
    struct weight projection;
    if (!y.values)
        y = (struct named_vector){"resid_post", trace_row(trace, SITE_RESID_POST)};
    if (!trace->config->n_word)
        return y;
    if (weights_projection(weights, true, &projection, builder->err))
        builder->failed = true;
    else
        y.values = trace_product(trace, y.values, 1, &projection, builder->arena, builder->err);
    builder->failed |= !y.values;
    return y;
}

/* logit_v = 30 · tanh((dot_v + b_v) / 2.5 / 30) */
static void draw_logits(struct builder *builder, const char *y, bool bias, bool finished)
{
    const struct config *c = builder->trace->config;
    const struct number cap = builder_number(builder, c->logit_cap);
    const struct number divisor = builder_number(builder, c->logit_divisor);
    buf_format(&builder->out, "%s_v = %s%s · w_v", finished ? "dot" : "logit", y,
               c->n_word ? " · P_out" : "");
    builder_drawn(builder);
    if (!finished)
        return;
    formula_write(&builder->out, c->logit_cap > 0 ? "logit_v = %n · tanh(" : "logit_v = ", 0, &cap);
    bool inside = c->logit_cap > 0 || c->logit_divisor > 0;
    formula_write(&builder->out,
                  bias && inside ? "(dot_v + b_v)"
                  : bias         ? "dot_v + b_v"
                                 : "dot_v",
                  0, NULL);
    formula_write(&builder->out, c->logit_divisor > 0 ? " / %n" : "", 0, &divisor);
    formula_write(&builder->out, c->logit_cap > 0 ? " / %n)" : "", 0, &cap);
    builder_drawn(builder);
}

/* Rows of the matrix that makes logits, what each gives with y, and what becomes of that. */
static void show_words(struct builder *builder, const float *y, const struct weight *words,
                       const float *columns[3])
{
    static const struct quantity rows_of_words = {"words", "w_v"};
    static const struct quantity quantities[] = {
        {"dot", "dot_v"}, {"bias", "b_v"}, {"logit", "logit_v"}};
    const struct trace *trace = builder->trace;
    size_t width = words->in;
    size_t count = words->out < SHOWN ? words->out : SHOWN;
    size_t id = words->out;
    struct label *rows = builder_rows(builder, count);
    float *vectors = builder_floats(builder, count * width);
    float *numbers = builder_floats(builder, 3 * count);
    for (size_t i = 0; i < count && !builder->failed; i++) {
        id = next_best(columns[2], words->out, id);
        builder->failed |= label_of_word(&rows[i], trace->viewer->tokenizer, (uint32_t)id,
                                         builder->arena, builder->err) != 0;
        for (size_t k = 0; k < width; k++)
            vectors[i * width + k] = weight_element(words, k, id);
        for (size_t c = 0; c < 3; c++)
            numbers[c * count + i] = columns[c] ? columns[c][id] : 0;
    }
    if (builder->failed)
        return;
    builder->table->corner = "token";
    const struct block *block = builder_vectors(builder, &rows_of_words, vectors, width);
    const struct numeral numerals[] = {builder_numeral(builder, y, width), block->numeral};
    const struct number result = builder_number(builder, numbers[columns[0] ? 0 : 2 * count]);
    for (size_t c = 0; c < 3; c++)
        if (columns[c])
            builder_column(builder, &quantities[c], numbers + c * count);
    buf_text(&builder->out, columns[0] ? "dot = " : "logit = ");
    formula_dot(&builder->out, numerals, y, vectors, 1, width);
    builder_work(builder, " = %n", &result);
}

void step_logits(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct config *c = trace->config;
    struct weights *weights = &trace->viewer->model.weights;
    const struct named_vector y = take_input(builder, weights);
    size_t width = config_word_width(c);
    struct weight words;
    const float *bias = NULL;
    float *dots = builder_floats(builder, c->vocab_size);
    float *logits = builder_floats(builder, c->vocab_size);
    builder->failed |= weights_unembedding(weights, &words, builder->err) ||
                       weights_logit_bias(weights, &bias, builder->err);
    if (builder->failed)
        return;
    struct matrix given = {(float *)y.values, 1, width, width}; /* it is only read */
    struct matrix made = {dots, 1, c->vocab_size, c->vocab_size};
    bool finished = bias || c->logit_divisor > 0 || c->logit_cap > 0;
    linear(&trace->viewer->machine, made, given, &words, ACTIVATION_NONE);
    memcpy(logits, dots, c->vocab_size * sizeof *logits);
    /* What a product becomes: with a bias, divided, capped. */
    for (size_t id = 0; bias && id < c->vocab_size; id++)
        logits[id] += bias[id];
    for (size_t id = 0; c->logit_divisor > 0 && id < c->vocab_size; id++)
        logits[id] /= c->logit_divisor;
    if (c->logit_cap > 0)
        cap_row(logits, c->vocab_size, c->logit_cap);
    draw_logits(builder, y.name, bias, finished);
    buf_format(builder_note(builder), "Of %zu tokens, those with the largest logits; w_v is %s.",
               c->vocab_size,
               config_ties(c) ? "the row of the token's embedding, to which logits are tied"
                              : "the token's row of the matrix of logits");
    show_words(builder, y.values, &words, (const float *[]){finished ? dots : NULL, bias, logits});
}
