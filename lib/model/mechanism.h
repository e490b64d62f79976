/* mechanism.h: how a model attends, where that is another way than the one it was trained with: to
 * see what each part of it does.
 *
 * It stands in the model's config; all zero is the model as it is. What is said there in words, as
 * on the command line, is read by mechanism_text.h.
 *
 *     config.mechanism = (struct mechanism){.kind = ATTENTION_SPARSE, .pattern.window = 64};
 *     if (mechanism_check(&config.mechanism, &config, err)) ...
 *     ... forward ...
 */
#ifndef ATTN_MODEL_MECHANISM_H
#define ATTN_MODEL_MECHANISM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/pattern.h"

struct config;

enum attention_kind {
    ATTENTION_DENSE,  /* every key that the mask allows */
    ATTENTION_SPARSE, /* those of a pattern */
    ATTENTION_LINEAR, /* φ(q) · Σ φ(k) vᵀ / φ(q) · Σ φ(k) with φ(x) = elu(x) + 1: a running sum */
    ATTENTION_BLOCKED, /* dense, a block of keys at a time, with a softmax that is put right */
    ATTENTION_KINDS,
};

enum scale_method {
    SCALE_OF_MODEL,
    SCALE_SQRT, /* 1 / √d_k */
    SCALE_NUMBER,
};

/* Parts of a GPT-2 block that can be left out; a norm passes on what it is given. */
enum block_part { PART_MLP, PART_NORM, PART_RESIDUAL, PART_POSITIONS, BLOCK_PARTS };

struct mechanism {
    enum attention_kind kind;
    struct pattern pattern; /* of sparse attention */
    size_t block;           /* keys of a block */
    bool renormalise;       /* softmax over all keys, the future made 0, rows divided by their sum;
                               else the future is -infinity before the softmax */
    enum scale_method scale_method;
    float scale;       /* a number, in place of the model's */
    float temperature; /* scores are divided by it, too; 0: they are not */
    float dropout;     /* the share of weights that is left out */
    uint64_t seed;     /* of the dropout */
    unsigned without;  /* a bit a part */
};

static inline bool mechanism_lacks(const struct mechanism *mechanism, enum block_part part)
{
    return mechanism->without >> part & 1;
}

/* Can its products be made in bf16? Single keys of a pattern and running sums are float32. */
static inline bool mechanism_has_bf16(enum attention_kind kind)
{
    return kind == ATTENTION_DENSE || kind == ATTENTION_BLOCKED;
}

/* Refuse, as wrong usage, what does not fit together or does not fit the model. */
int mechanism_check(const struct mechanism *mechanism, const struct config *config,
                    struct err *err);

/* The scale of a layer's scores, temperature included. */
float mechanism_scale(const struct config *config, size_t layer);

#endif
