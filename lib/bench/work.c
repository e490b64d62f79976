#include "bench/work.h"

#include <stdint.h>

/* The elements of a layer's weight matrices, biases and norms aside. */
static double layer_weights(const struct config *c)
{
    double channels = (double)c->n_embd;
    double queries = (double)(c->n_head * c->d_k);
    double keys = (double)(c->n_kv_head * c->d_k);
    double values = (double)(c->n_kv_head * c->d_v);
    double context = (double)(c->n_head * c->d_v);
    double sum = 0;
    if (c->projections)
        sum += channels * (queries + keys + values);
    if (c->out_proj)
        sum += context * channels;
    if (c->kind == MODEL_GPT2)
        sum += 2 * channels * (double)c->n_inner;
    return sum;
}

/* Pairs of a query and a key that it sees, in one sequence. */
static double visible_pairs(const struct config *c, const struct pass_size *size)
{
    double tokens = (double)size->tokens;
    double cached = (double)size->cached;
    return c->causal ? tokens * cached + tokens * (tokens + 1) / 2 : tokens * (cached + tokens);
}

struct work work_of_pass(const struct config *c, const struct pass_size *size,
                         enum precision precision)
{
    double layers = (double)c->n_layer;
    double sequences = (double)size->sequences;
    double rows = sequences * (double)size->tokens;
    double weights = layers * layer_weights(c);
    double unembedding = size->logits ? (double)c->vocab_size * (double)c->n_embd : 0;
    double head_pairs = layers * (double)c->n_head * sequences * visible_pairs(c, size);
    double cached =
        layers * sequences * (double)size->cached * (double)(c->n_kv_head * (c->d_k + c->d_v));
    size_t bytes = precision == PRECISION_BF16 ? sizeof(uint16_t) : sizeof(float);
    return (struct work){
        .operations = 2 * rows * weights + 2 * sequences * unembedding +
                      2 * head_pairs * (double)(c->d_k + c->d_v),
        .bytes = (weights + unembedding + cached) * (double)bytes,
    };
}
