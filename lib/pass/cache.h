/* cache.h: keys and values of earlier tokens: a pass then runs only the next ids.
 *
 * The next ids attend to cached tokens and to themselves; then they are cached as well. Values have
 * the bits of one pass over the whole text, unless biases or rotations depend on its length. Only
 * attention in bf16 stores and reads pairs of bf16. A page has KEY_PANEL tokens of all layers.
 *
 *     if (cache_init(&cache, config, err)) ...
 *     struct text text = {.ids = ids, .count = 6, .cache = &cache};
 *     ... forward ...                                   (it holds 6 tokens)
 */
#pragma once

#include "base/memory.h"
#include "math/gemm.h"
#include "math/precision.h"
#include "model/layer.h"

enum {
    KEY_PANEL = 64,
    HEAD_PAIRS_APART = KEY_PANEL / 2 * PAIR_COLUMNS, /* of values: a page's pairs of 64 channels */
};

/* The state of linear attention after `count` keys, for one head of one layer. */
struct cache_sum {
    float *values; /* as in struct running_sum (math/rows.h) */
    size_t count;
};

/* A layer's part of a page. `first`: the words before it; a word is a float or a pair of bf16.
 * Words of a head's keys; of a row of values, or in bf16 of a head's values; of the whole part. A
 * layer that borrows keys has the part of their layer. */
struct cache_layer {
    const struct head_rule *rule; /* NULL: it has no attention */
    size_t first, key_words, value_words, words;
    size_t mixed; /* floats before the state of its mixer */
};

struct cache {
    const struct config *config;
    enum precision precision; /* of attention with this cache, from the first token on */
    size_t count;             /* tokens in it */
    float **pages; /* [page_count] for each layer the keys [Hkv][dk, KEY_PANEL], then the values
                      [KEY_PANEL, Hkv·dv]; in bf16 keys, then values, as bf16 pairs */
    size_t page_count, page_words;
    struct cache_layer *layers; /* [L] NULL before memory is reserved */
    struct cache_sum *sums;     /* [L][H] with linear attention */
    float *mixed, *mixed_next;  /* [floats] of mixers: after `count` tokens; after the tokens of the
                                 * pass or, if `before` is a number of tokens, after these */
    size_t before;
    struct arena arena;
};

/* An empty cache. Refused: models that are not causal, or attend only to a source; --mask-after;
 * the pattern `sqrt`. */
int cache_init(struct cache *cache, const struct config *config, struct err *err);

/* An empty cache for the source of an encoder-decoder: the first pass stores the decoder's
 * cross-attention keys and values, and later passes do not run the encoder. */
void cache_init_source(struct cache *cache, const struct config *config);
void cache_release(struct cache *cache);

/* Bytes of the pages of `count` tokens, and of the states of mixers. Reserve memory for `count`
 * more tokens, of the same precision as those in the cache. */
size_t cache_bytes(const struct config *config, enum precision precision, size_t count);
int cache_reserve(struct cache *cache, enum precision precision, size_t count, struct err *err);

/* Append the keys [T, dk] and values [T, dv] of one key/value head to reserved memory; count
 * `count` more tokens, after all layers have stored them; keep only the first `count` tokens: with
 * mixers, whose states cannot go back, none, all, or those before the last cache_add. */
void cache_store(struct cache *cache, size_t layer, size_t kv_head, struct matrix k,
                 struct matrix v);
void cache_add(struct cache *cache, size_t count);
void cache_forget(struct cache *cache, size_t count);

/* The state that the mixer of a layer keeps: its states [H, dk, dv], then the last inputs [taps -
 * 1, channels] of its convolution; before this pass, or, to be filled, after it. */
float *cache_mixer(const struct cache *cache, size_t layer, bool after);

/* Become a copy of another cache of the same model. */
int cache_copy(struct cache *cache, const struct cache *from, struct err *err);

/* The panel [dk, KEY_PANEL] of floats with a token's key; the rows of values from that token on,
 * matrix_stride(Hkv·dv) of the layer apart; in bf16 the pages of pairs (uint32_t) with that token.
 * Memory that is not stored yet has finite numbers. */
void *cache_keys(const struct cache *cache, size_t layer, size_t kv_head, size_t token);
void *cache_values(const struct cache *cache, size_t layer, size_t kv_head, size_t token);

/* The running sums of a head in linear attention, which a pass continues. */
struct cache_sum *cache_sum(const struct cache *cache, size_t layer, size_t head);

/* --- pages of pairs --------------------------------------------------------------------------- */

/* Keys [dk / 2, KEY_PANEL] as pairs of neighbouring channels; values [dv / PAIR_COLUMNS] [KEY_PANEL
 * / 2, PAIR_COLUMNS] as pairs of tokens, padded with zeros. A head's number of pairs in a page: */
size_t head_pairs_of_keys(size_t d_k);
size_t head_pairs_of_values(size_t d_v);

/* Store a whole page: keys from a panel [dk, KEY_PANEL]; up to KEY_PANEL values. */
void head_pairs_fill_keys(uint32_t *page, const float *panel, size_t d_k);
void head_pairs_fill_values(uint32_t *page, struct matrix values);
