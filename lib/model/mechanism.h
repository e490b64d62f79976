/* mechanism.h: how the options --attention, --mask-after, --scale, --dropout,
 * --attention-temperature and --without change a trained model. A mechanism is part of a config. If
 * all its fields are 0 it changes nothing.
 *
 *     if (mechanism_set_attention(&config.mechanism, "window:4+random:2", err) ||
 *         mechanism_check(&config.mechanism, &config, err)) ...
 * */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct config;

enum attention_kind {
    ATTENTION_DENSE,  /* queries attend to all keys that the mask allows */
    ATTENTION_SPARSE, /* queries attend only to keys that are in a pattern */
    ATTENTION_LINEAR, /* φ(q) · Σ φ(k) vᵀ / (φ(q) · Σ φ(k)), with φ(x) = elu(x) + 1, computed by
                       * running sums */
    ATTENTION_BLOCKED, /* as dense, but computed one block of keys at a time, with an online
                        * softmax */
    ATTENTION_LOWRANK, /* as dense, but the text is cut into `segments` parts, each with its mean
                        * key and value */
    ATTENTION_KINDS,
};

/* The pattern of sparse attention. A query attends to a visible key if the key is in the set of any
 * member that is not 0:
 *
 *     window   `window` keys up to the query's own; without a mask also the next `window` - 1
 *     stride   keys at a distance that is a multiple of `stride`
 *     global   the first `global` keys; the first `global` queries attend to all keys
 *     random   the query's own, and up to `random` others, drawn by the seed for each query
 *     root     1: a window and a stride of √S, rounded up, for a text of S keys
 *     log      1: keys at the distances 0, 1, 2, 4, 8, …
 * */
struct pattern {
    size_t window, stride, global, random, root, log;
    uint64_t seed;
};

enum scale_method {
    SCALE_OF_MODEL,
    SCALE_SQRT, /* 1 / √d_k */
    SCALE_NUMBER,
};

/* Parts of a block that --without can leave out. A norm that is left out returns its input; without
 * the causal mask, queries also attend to later keys. */
enum block_module {
    BLOCK_MLP,
    BLOCK_NORM,
    BLOCK_RESIDUAL,
    BLOCK_POSITIONS,
    BLOCK_MASK,
    BLOCK_MODULES
};

struct mechanism {
    enum attention_kind kind;
    struct pattern pattern; /* ATTENTION_SPARSE: the keys that queries attend to */
    size_t block;           /* ATTENTION_BLOCKED: number of keys in a block */
    size_t segments;        /* ATTENTION_LOWRANK: number of segments; in a text with fewer keys each
                             * key is a segment */
    bool renormalise; /* --mask-after: the softmax is over all keys; then the weights of masked keys
                       * become 0, and each row is divided by its sum. Otherwise masked scores are
                       * -infinity before the softmax. */
    enum scale_method scale_method;
    float scale;       /* SCALE_NUMBER: the scale */
    float temperature; /* scores are divided by it; 0: scores are not divided */
    float dropout;     /* probability that an attention weight becomes 0; the other weights are
                        * divided by 1 - dropout */
    uint64_t seed;     /* seed of the dropout, and of random keys if --attention gives them no
                        * seed */
    unsigned without;  /* bits 1 << BLOCK_… of the modules that are left out */
};

static inline bool mechanism_lacks(const struct mechanism *mechanism, enum block_module module)
{
    return mechanism->without >> module & 1;
}

/* Refuse options that exclude each other or contradict the model (usage errors), and options that
 * are not supported for the model, such as --attention linear with ALiBi. */
int mechanism_check(const struct mechanism *mechanism, const struct config *config,
                    struct err *err);

/* --- names ----------------------------------------------------------------------------------- */

/* A kind of attention that --attention can set, for help and for parsing. */
struct attention_kind_row {
    const char *name;
    const char *numbers; /* what help shows after the name and a colon, such as "W"; NULL: the kind
                          * has no number */
    enum attention_kind kind;
    size_t offset; /* offset in bytes, in struct mechanism, of the field that is set to the number
                    * or, if the kind has no number, to 1; offset 0: no field is set */
    const char *about;
};

extern const struct attention_kind_row attention_kind_rows[];
extern const size_t attention_kind_row_count;

/* Parse the value of an option. mechanism_set_attention: --attention, "dense" or
 * "window:W+random:K" (set mechanism->seed first: random:K without a seed uses it).
 * mechanism_set_scale: --scale, "none", "sqrt" or a number. mechanism_set_without: --without,
 * "mlp,norm". Errors are usage errors. */
int mechanism_set_attention(struct mechanism *mechanism, const char *text, struct err *err);
int mechanism_set_scale(struct mechanism *mechanism, const char *text, struct err *err);
int mechanism_set_without(struct mechanism *mechanism, const char *text, struct err *err);

/* block_module_names: names of modules, such as "mlp". mechanism_write_attention: append the kind
 * of attention, such as "window:4+global:1". mechanism_attention_name: return the same as a text in
 * the arena, or NULL with `err`. mechanism_write: append all differences from the unchanged model,
 * such as "attention window:4, scale 1"; nothing if there are none. */
extern const char *const block_module_names[BLOCK_MODULES];
void mechanism_write_attention(struct buf *out, const struct mechanism *mechanism);
const char *mechanism_attention_name(const struct mechanism *mechanism, struct arena *arena,
                                     struct err *err);
void mechanism_write(struct buf *out, const struct mechanism *mechanism);
