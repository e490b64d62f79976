/* cache.h: the keys and values of a text so far: what goes on from there need not run it again.
 *
 * Give it to a pass with the ids that come next: they see what it holds and themselves, and are in
 * it when the pass is done, with the bits of one pass over the whole text. A pass in bf16 puts in
 * pairs, which only such passes can read. Memory comes in pages of KEY_PANEL tokens of all layers.
 *
 *     if (cache_init(&cache, config, err)) ...
 *     struct text text = {.ids = ids, .count = 6, .cache = &cache};
 *     ... forward ...                                   (it holds 6 tokens)
 */
#ifndef ATTN_MODEL_CACHE_H
#define ATTN_MODEL_CACHE_H

#include "base/arena.h"
#include "math/gemm.h"
#include "math/precision.h"
#include "model/config.h"

enum {
    KEY_PANEL = 64,
    HEAD_PAIRS_APART = KEY_PANEL / 2 * PAIR_COLUMNS, /* from some columns of values to the next */
};

/* What linear attention keeps of the first `count` keys, for one head of one layer. */
struct cache_sum {
    float *values; /* see running_sum.h */
    size_t count;
};

struct cache {
    const struct config *config;
    enum precision precision; /* of the passes that it is for, from the first token on */
    size_t count;             /* tokens in it */
    float **pages; /* [page_count] of every layer the panels [Hkv][dk, KEY_PANEL], then the values
                      [KEY_PANEL, Hkv·dv]; in bf16 keys, then values as head_pairs has them */
    size_t page_count;
    struct cache_sum *sums; /* [L][H], where attention is linear */
    struct arena arena;
};

/* Nothing is in it yet. Refused, as not supported: attention that looks ahead, or at another text
 * alone. */
int cache_init(struct cache *cache, const struct config *config, struct err *err);

/* The same for a source, where there is an encoder: the first pass puts in what the decoder's
 * layers make of the encoder's output, and none runs the encoder again. */
void cache_init_source(struct cache *cache, const struct config *config);
void cache_release(struct cache *cache);

/* What the keys and values of so many tokens take. Have room for so many more, of the same
 * precision as those in it. */
size_t cache_bytes(const struct config *config, enum precision precision, size_t count);
int cache_reserve(struct cache *cache, enum precision precision, size_t count, struct err *err);

/* Append the keys [T, dk] and values [T, dv] of one key/value head, where there must be room; let
 * them count, when every layer has them; forget all but the first `count` tokens. */
void cache_store(struct cache *cache, size_t layer, size_t group, struct matrix k, struct matrix v);
void cache_add(struct cache *cache, size_t count);
void cache_forget(struct cache *cache, size_t count);

/* Hold what another cache of the same model holds, and nothing else. */
int cache_copy(struct cache *cache, const struct cache *from, struct err *err);

/* The panel [dk, KEY_PANEL] that a key stands in; the rows of values, a matrix's stride apart, from
 * that token on; in bf16 the pages that it stands in. What is not stored yet reads as numbers. */
float *cache_keys(const struct cache *cache, size_t layer, size_t group, size_t token);
float *cache_values(const struct cache *cache, size_t layer, size_t group, size_t token);
uint32_t *cache_key_pairs(const struct cache *cache, size_t layer, size_t group, size_t token);
uint32_t *cache_value_pairs(const struct cache *cache, size_t layer, size_t group, size_t token);

/* The running sums of a head in linear attention, which the pass takes further. */
struct cache_sum *cache_sum(const struct cache *cache, size_t layer, size_t head);

/* --- pages of pairs: head_pairs.c ------------------------------------------------------------ */

/* Keys [dk / 2, KEY_PANEL] in pairs of neighbours; values in pairs of tokens, [dv / PAIR_COLUMNS]
 * [KEY_PANEL / 2, PAIR_COLUMNS], filled up with zeros. The pairs of a page: */
size_t head_pairs_of_keys(size_t d_k);
size_t head_pairs_of_values(size_t d_v);

/* Put in one token, the `place`-th of a page, after whose values is 0; take out the values of all
 * tokens from one on. */
void head_pairs_put_key(uint32_t *page, size_t place, const float *key, size_t d_k);
void head_pairs_put_value(uint32_t *page, size_t place, const float *value, size_t d_v);
void head_pairs_cut_values(uint32_t *page, size_t place, size_t d_v);

/* Put in a whole page: keys from a panel [dk, KEY_PANEL]; KEY_PANEL values, or fewer. */
void head_pairs_fill_keys(uint32_t *page, const float *panel, size_t d_k);
void head_pairs_fill_values(uint32_t *page, struct matrix values);

#endif
