/* mechanism.h: changes of a trained model by --attention, --mask-after, --scale, --dropout,
 * --attention-temperature and --without. A part of the config; all zero is the unchanged model.
 *
 *     if (mechanism_set_attention(&config.mechanism, "window:4+random:2", err) ||
 *         mechanism_check(&config.mechanism, &config, err)) ...
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct config;

enum attention_kind {
    ATTENTION_DENSE,  /* all keys that the mask allows */
    ATTENTION_SPARSE, /* the keys of a pattern */
    ATTENTION_LINEAR, /* φ(q) · Σ φ(k) vᵀ / (φ(q) · Σ φ(k)), φ(x) = elu(x) + 1: running sums */
    ATTENTION_BLOCKED, /* dense, block by block of keys, with an online softmax */
    ATTENTION_LOWRANK, /* dense, with the mean key and value of each of `segments` parts */
    ATTENTION_KINDS,
};

/* Keys that a query attends to in sparse attention, if visible: by any member that is not 0.
 *
 *     window   `window` keys up to the query's own; without a mask also the next `window` - 1
 *     stride   keys at a distance that is a multiple of `stride`
 *     global   the first `global` keys; the first `global` queries attend to all keys
 *     random   the query's own, and up to `random` others, drawn by the seed for each query
 *     root     1: a window and a stride of √S, rounded up, for a text of S keys
 *     log      1: keys at the distances 0, 1, 2, 4, 8, … */
struct pattern {
    size_t window, stride, global, random, root, log;
    uint64_t seed;
};

enum scale_method {
    SCALE_OF_MODEL,
    SCALE_SQRT, /* 1 / √d_k */
    SCALE_NUMBER,
};

/* Modules that --without leaves out; a norm then returns its input. */
enum block_module { BLOCK_MLP, BLOCK_NORM, BLOCK_RESIDUAL, BLOCK_POSITIONS, BLOCK_MODULES };

struct mechanism {
    enum attention_kind kind;
    struct pattern pattern; /* keys of sparse attention */
    size_t block;           /* keys of a block */
    size_t segments;        /* of low-rank attention; a text with fewer keys has one for each */
    bool renormalise; /* --mask-after: softmax over all keys, then masked ones are set to 0 and
                               rows divided by their sum; else the mask is -inf before it */
    enum scale_method scale_method;
    float scale;       /* the number of SCALE_NUMBER */
    float temperature; /* divides scores; 0: none */
    float dropout;     /* probability that a weight becomes 0; others are divided by 1 - dropout */
    uint64_t seed;     /* seed of the dropout, and of random keys without a seed of their own */
    unsigned without;  /* 1 << module of each module that is left out */
};

static inline bool mechanism_lacks(const struct mechanism *mechanism, enum block_module module)
{
    return mechanism->without >> module & 1;
}

/* Refuse settings that exclude each other or do not fit the model (usage), or that are not
 * supported for it, for example with ALiBi. */
int mechanism_check(const struct mechanism *mechanism, const struct config *config,
                    struct err *err);

/* --- names ----------------------------------------------------------------------------------- */

/* The kinds of attention, for help. */
struct attention_kind_row {
    const char *name;
    const char *numbers; /* help for the number after a colon, "W"; or NULL */
    enum attention_kind kind;
    size_t offset; /* where struct mechanism has the number; 0: there is none */
    const char *about;
};

extern const struct attention_kind_row attention_kind_rows[];
extern const size_t attention_kind_row_count;

/* Parse the value of an option; errors are of usage. --attention: "dense", "window:W+random:K" (set
 * mechanism->seed first: random keys without a seed use it); --scale: "none", "sqrt" or a number;
 * --without: "mlp,norm". */
int mechanism_set_attention(struct mechanism *mechanism, const char *text, struct err *err);
int mechanism_set_scale(struct mechanism *mechanism, const char *text, struct err *err);
int mechanism_set_without(struct mechanism *mechanism, const char *text, struct err *err);

/* Names of the modules, "mlp". Write the kind of attention, "window:4+global:1"; the same as a text
 * in the arena, NULL with `err`. Write all differences from the unchanged model, "attention
 * window:4, scale 1"; nothing if there are none. */
extern const char *const block_module_names[BLOCK_MODULES];
void mechanism_write_attention(struct buf *out, const struct mechanism *mechanism);
const char *mechanism_attention_name(const struct mechanism *mechanism, struct arena *arena,
                                     struct err *err);
void mechanism_write(struct buf *out, const struct mechanism *mechanism);
