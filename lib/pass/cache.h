/* cache.h: keys and values of earlier tokens: a pass with a cache runs only the next ids.
 *
 * The next ids attend to cached tokens and to themselves; then their keys and values are cached as
 * well. Values have the same bits as in one pass over the complete text, unless biases or rotations
 * depend on its length. Attention in bf16 stores keys and values as pairs of bf16 numbers, other
 * attention as floats. A page has KEY_PANEL tokens of all layers.
 *
 *     if (cache_init(&cache, config, err)) ...
 *     struct text text = {.ids = ids, .count = 6, .cache = &cache};
 *     ... forward ...                                   (the cache has 6 tokens now)
 */
#pragma once

#include "base/memory.h"
#include "math/gemm.h"
#include "math/precision.h"
#include "model/layer.h"

enum {
    KEY_PANEL = 64,
    HEAD_PAIRS_APART = KEY_PANEL / 2 * PAIR_COLUMNS, /* in a page: number of pairs of values from
                                                      * one group of PAIR_COLUMNS channels to the
                                                      * next */
};

/* The state of linear attention after `count` keys, for one head of one layer. */
struct cache_sum {
    float *values; /* the sums, laid out as in struct running_sum (math/rows.h) */
    size_t count;
};

/* A layer's part of a page. Sizes are in words; a word is a float or a pair of bf16. `first`: the
 * words before this part; key_words: the keys of one head; value_words: a row of values or, in
 * bf16, the values of one head; `words`: the complete part. A layer that borrows keys shares the
 * part of the layer that made them. */
struct cache_layer {
    const struct head_rule *rule; /* NULL: the layer has no attention */
    size_t first, key_words, value_words, words;
    size_t mixed; /* offset in floats of the state of this layer's mixer in cache.mixed */
};

struct cache {
    const struct config *config;
    enum precision precision; /* precision of attention with this cache; all tokens have it */
    size_t count;             /* number of cached tokens */
    float **pages; /* [page_count]: in each page, for each layer: keys [Hkv][dk, KEY_PANEL], then
                    * values [KEY_PANEL, Hkv·dv]; in bf16 the keys, then the values, as pairs */
    size_t page_count, page_words;
    struct cache_layer *layers; /* [L]; NULL before memory is first reserved */
    struct cache_sum *sums;     /* [L][H] with linear attention; NULL: the attention is not linear,
                                 * or memory was not reserved yet */
    float *mixed, *mixed_next;  /* the states of all mixers. `mixed`: after `count` tokens;
                                 * mixed_next: after the tokens of the running pass or, if `before`
                                 * is not SIZE_MAX, after `before` tokens */
    size_t before;
    struct arena arena;
};

/* Initialise an empty cache. It is an error if the model is not causal or attends only to a source,
 * or if it runs with --mask-after or the pattern `sqrt`. */
int cache_init(struct cache *cache, const struct config *config, struct err *err);

/* Initialise an empty cache for the source of an encoder-decoder. The first pass stores the keys
 * and values of cross-attention, and later passes do not run the encoder. */
void cache_init_source(struct cache *cache, const struct config *config);
void cache_release(struct cache *cache);

/* cache_bytes: the size in bytes of the pages for `count` tokens and of the states of mixers.
 * cache_reserve: reserve memory for `count` more tokens; `precision` must be the precision of the
 * tokens that are already in the cache. */
size_t cache_bytes(const struct config *config, enum precision precision, size_t count);
int cache_reserve(struct cache *cache, enum precision precision, size_t count, struct err *err);

/* cache_store: copy the keys k [T, dk] and values v [T, dv] of one key/value head to reserved
 * memory, after the last token. cache_add: add `count` to the number of cached tokens, after all
 * layers have stored their keys and values. cache_forget: keep only the first `count` tokens. With
 * mixers, whose states cannot go back, `count` must be 0, all tokens, or the number of tokens
 * before the last cache_add. */
void cache_store(struct cache *cache, size_t layer, size_t kv_head, struct matrix k,
                 struct matrix v);
void cache_add(struct cache *cache, size_t count);
void cache_forget(struct cache *cache, size_t count);

/* Return the memory of a layer's mixer: states [H, dk, dv], then the last inputs [taps - 1,
 * channels] of its convolution. If `after` is false, it holds the states before this pass;
 * otherwise it receives the states after this pass. */
float *cache_mixer(const struct cache *cache, size_t layer, bool after);

/* Replace the content of a cache by a copy of another cache of the same model. */
int cache_copy(struct cache *cache, const struct cache *from, struct err *err);

/* cache_keys: the panel [dk, KEY_PANEL] of floats that has a token's key. cache_values: the rows of
 * values from that token on; the stride is matrix_stride(Hkv·dv) of the layer. In bf16, both return
 * the page of pairs (uint32_t) that has the token. Memory in which nothing is stored yet has finite
 * numbers. */
void *cache_keys(const struct cache *cache, size_t layer, size_t kv_head, size_t token);
void *cache_values(const struct cache *cache, size_t layer, size_t kv_head, size_t token);

/* Return the running sums of a query head in linear attention, which each pass continues. */
struct cache_sum *cache_sum(const struct cache *cache, size_t layer, size_t head);

/* --- pages of pairs --------------------------------------------------------------------------- */

/* A page of one head in bf16: keys [dk / 2, KEY_PANEL] as pairs of neighbouring channels; values
 * [dv / PAIR_COLUMNS] [KEY_PANEL / 2, PAIR_COLUMNS] as pairs of tokens, padded with zeros. The
 * functions return the number of pairs of the keys and of the values. */
size_t head_pairs_of_keys(size_t d_k);
size_t head_pairs_of_values(size_t d_v);

/* Fill a page of pairs: head_pairs_fill_keys with the keys of a panel [dk, KEY_PANEL],
 * head_pairs_fill_values with up to KEY_PANEL values. */
void head_pairs_fill_keys(uint32_t *page, const float *panel, size_t d_k);
void head_pairs_fill_values(uint32_t *page, struct matrix values);
