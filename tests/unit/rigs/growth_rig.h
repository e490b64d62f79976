/* growth_rig.h: a text, its pass as a whole, and a cache to make it again piece by piece.
 *
 *     static struct growth growth;                                  (it is large)
 *     growth_open(&growth, growth_tiny, 64, PRECISION_FP32);
 *     growth_by(&growth, 1);                       (token by token: the bits of the whole)
 *     growth_release(&growth);
 */
#ifndef ATTN_TESTS_GROWTH_RIG_H
#define ATTN_TESTS_GROWTH_RIG_H

#include "model/cache.h"
#include "pass_record.h"
#include "random_model.h"

/* Configs: the shape of the bundled `tiny`; others with scores that are scaled by layer, grouped
 * heads, keys and values of unequal width, and no projections at all; heads of more than a panel of
 * columns; encoders and decoders of different heights, with norms last and first. */
extern const char growth_tiny[], growth_gpt2[], growth_grouped[], growth_bare[];
extern const char growth_wide_heads[];
extern const char growth_norms_last[], growth_norms_first[];

enum {
    GROWTH_MAX = 200,
    GROWTH_SOURCE = 70, /* tokens of the source, where there is an encoder */
};

struct growth {
    struct random_model model;
    uint32_t ids[GROWTH_MAX];
    size_t count;
    struct record whole; /* everything, computed in one pass without a cache */
    struct cache cache;
    struct cache of_source;             /* where there is an encoder */
    uint32_t source_ids[GROWTH_SOURCE]; /* the text's own, from its end on */
};

/* A text of `count` tokens, on one thread; the cache is empty. */
void growth_open(struct growth *growth, const char *config, size_t count, enum precision precision);
void growth_release(struct growth *growth);

/* So many of the text's tokens from one on, after what is in a cache (NULL: there is none); and
 * the source that they look at, if the model has an encoder. */
struct text growth_part(struct growth *growth, size_t first, size_t count, struct cache *cache);

/* From now on compute with so many threads. */
void growth_threads(struct growth *growth, size_t threads);

/* Put the next tokens of the text into the cache and hold what the pass gives against the whole.
 * By: from an empty cache to the end of the text, so many at a time. */
void growth_step(struct growth *growth, size_t count);
void growth_by(struct growth *growth, size_t count);

/* Fill any cache of the model's with the first tokens of the text, nothing watched; of_source, too.
 */
void growth_fill(struct growth *growth, struct cache *cache, size_t count);

#endif
