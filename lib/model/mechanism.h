/* mechanism.h: how a model attends, where that is another way than the one it was trained with. It
 * stands in the model's config; all zero is the model as it is.
 *
 *     if (mechanism_set_attention(&config.mechanism, "window:4+random:2", err) ||
 *         mechanism_check(&config.mechanism, &config, err)) ...
 */
#ifndef ATTN_MODEL_MECHANISM_H
#define ATTN_MODEL_MECHANISM_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct config;

enum attention_kind {
    ATTENTION_DENSE,  /* every key that the mask allows */
    ATTENTION_SPARSE, /* those of a pattern */
    ATTENTION_LINEAR, /* φ(q) · Σ φ(k) vᵀ / φ(q) · Σ φ(k) with φ(x) = elu(x) + 1: a running sum */
    ATTENTION_BLOCKED, /* dense, a block of keys at a time, with a softmax that is put right */
    ATTENTION_KINDS,
};

/* Which keys a query of sparse attention sees, each part where it is not 0:
 *
 *     window   the last `window` keys up to the query's own; without a mask as many after it
 *     stride   every key that is a multiple of `stride` away
 *     global   the first `global` keys; and that many first queries see all
 *     random   the query's own, and `random` others, drawn by the seed for each query */
struct pattern {
    size_t window, stride, global, random;
    uint64_t seed;
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

/* Refuse, as wrong usage, what does not fit together or does not fit the model; and, as not
 * supported, what has no meaning for models with ALiBi or the like. */
int mechanism_check(const struct mechanism *mechanism, const struct config *config,
                    struct err *err);

/* The scale of a layer's scores, temperature included; and without. */
float mechanism_scale(const struct config *config, size_t layer);
float mechanism_base_scale(const struct config *config, size_t layer);

/* --- in words -------------------------------------------------------------------------------- */

/* The kinds of attention, for help. */
struct attention_kind_row {
    const char *name;
    const char *numbers; /* the number after a colon, "W"; or NULL */
    enum attention_kind kind;
    size_t offset; /* of that number in struct mechanism */
    const char *about;
};

extern const struct attention_kind_row attention_kind_rows[];
extern const size_t attention_kind_row_count;

/* Read an option's text; errors are usage. "dense", "window:W+random:K" (random keys without a seed
 * take the mechanism's, which must be known); "none", "sqrt" or a number; "mlp,norm". */
int mechanism_set_attention(struct mechanism *mechanism, const char *text, struct err *err);
int mechanism_set_scale(struct mechanism *mechanism, const char *text, struct err *err);
int mechanism_set_without(struct mechanism *mechanism, const char *text, struct err *err);

/* The names of parts, "mlp"; the kind of attention, "window:4+global:1", as the arena's text NULL
 * with `err`; what differs from the model as it is, "attention window:4, scale 1", or nothing. */
extern const char *const block_part_names[BLOCK_PARTS];
void mechanism_write_attention(struct buf *out, const struct mechanism *mechanism);
const char *mechanism_attention_name(const struct mechanism *mechanism, struct arena *arena,
                                     struct err *err);
void mechanism_write(struct buf *out, const struct mechanism *mechanism);

#endif
