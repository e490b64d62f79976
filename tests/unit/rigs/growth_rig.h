/* growth_rig.h: a text, the tensors of one pass over it, and a cache to compute it in pieces.
 *
 *     static struct growth growth;                                  (it is large)
 *     growth_open(&growth, growth_tiny, 64, PRECISION_FP32);
 *     growth_by(&growth, 1);                       (token by token: the bits of the whole)
 *     growth_release(&growth);
 */
#pragma once

#include "pass/cache.h"
#include "pass_record.h"
#include "random_model.h"

/* Configs: the shape of the bundled `tiny`; scores scaled by layer; grouped heads with keys and
 * values of different widths; no projections; heads wider than a panel; encoder and decoder with
 * different numbers of layers, post-norm and pre-norm. */
extern const char growth_tiny[], growth_gpt2[], growth_grouped[], growth_bare[];
extern const char growth_wide_heads[];
extern const char growth_norms_last[], growth_norms_first[];

enum {
    GROWTH_MAX = 200,
    GROWTH_SOURCE = 70, /* tokens of the source, if there is an encoder */
};

struct growth {
    struct random_model model;
    uint32_t ids[GROWTH_MAX];
    size_t count;
    struct record whole; /* all tensors of one pass without a cache */
    struct cache cache;
    struct cache of_source;             /* if there is an encoder */
    uint32_t source_ids[GROWTH_SOURCE]; /* the last ids of the text */
};

/* A text of `count` tokens, with one thread and an empty cache. */
void growth_open(struct growth *growth, const char *config, size_t count, enum precision precision);
void growth_release(struct growth *growth);

/* `count` tokens of the text from `first` on, after those in a cache (NULL: none), with the source
 * if the model has an encoder. */
struct text growth_part(struct growth *growth, size_t first, size_t count, struct cache *cache);

/* Set the number of threads. */
void growth_threads(struct growth *growth, size_t threads);

/* Compute the next tokens of the text with the cache and compare them with the whole. growth_by():
 * from an empty cache to the end of the text, `count` tokens at a time. */
void growth_step(struct growth *growth, size_t count);
void growth_by(struct growth *growth, size_t count);

/* Fill a cache of the model, and of_source, with the first tokens of the text; watches nothing. */
void growth_fill(struct growth *growth, struct cache *cache, size_t count);
