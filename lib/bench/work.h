/* work.h: the least that a pass must do, counted from the model's numbers.
 *
 * What takes longer than this does so for reasons of its own: that is what a benchmark is to show.
 *
 *     struct pass_size size = {.texts = 1, .tokens = 64};
 *     struct work work = work_of_pass(&config, &size, PRECISION_FP32);
 *     double share = work.operations / peak / seconds;
 */
#ifndef ATTN_BENCH_WORK_H
#define ATTN_BENCH_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "math/precision.h"
#include "model/config.h"

struct pass_size {
    size_t texts;
    size_t tokens;  /* of each text */
    size_t cached;  /* keys and values of each that are there already */
    bool logits;    /* of the last token of each */
    bool likeliest; /* … of which only the largest is wanted */
};

struct work {
    double operations; /* floating-point: a multiply-add is two */
    double bytes;      /* read from memory */
};

/* Counted: every product of the pass. With weights [in, out] a row takes 2 · in · out operations;
 * scores and context take 2 · (d_k + d_v) for each head, query and key that the query sees, nothing
 * for what the mask removes. Each weight is read once, as float32 or bf16, and so is each cached
 * key and value; those of the logits as bytes where only the largest is wanted (argmax.h). A source
 * is as long as its sentence. Left out, because they are small beside that: embeddings, norms,
 * softmax, activation, and what the pass itself writes to memory and reads again.
 */
struct work work_of_pass(const struct config *config, const struct pass_size *size,
                         enum precision precision);

/* The multiply-adds of attention alone over a text of so many tokens, in all layers and heads, as
 * the config's mechanism has it: (d_k + d_v) for every pair of a query and a key that it sees; of
 * linear attention d_k · d_v for every key, and again for every query. */
int work_of_attention(double *products, const struct config *config, size_t tokens,
                      struct err *err);

#endif
