/* head_pairs.h: keys and values of one head rounded to bf16, as the products of attention read
 * them.
 *
 * They lie in pages of KEY_PANEL tokens. Keys are turned on their side, in pairs of neighbours:
 * [dk / 2, KEY_PANEL]. Values are in pairs of tokens, PAIR_COLUMNS of them at a time:
 * [dv / PAIR_COLUMNS][KEY_PANEL / 2, PAIR_COLUMNS], filled up with zeros. What is not put in must
 * be zeros, too.
 *
 *     uint32_t *keys = arena_alloc(&arena, head_pairs_of_keys(64), sizeof *keys, err);
 *     head_pairs_put_key(keys, token % KEY_PANEL, key, 64);
 */
#ifndef ATTN_MODEL_HEAD_PAIRS_H
#define ATTN_MODEL_HEAD_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "math/gemm.h"
#include "math/tensor.h"

enum {
    KEY_PANEL = 64,
    HEAD_PAIRS_APART = KEY_PANEL / 2 * PAIR_COLUMNS, /* from some columns of values to the next */
};

/* The pairs of a page of keys, of values. */
size_t head_pairs_of_keys(size_t d_k);
size_t head_pairs_of_values(size_t d_v);

/* Put in one token, the `place`-th of a page; of values those of the token before it stay, that of
 * the token behind it becomes 0. */
void head_pairs_put_key(uint32_t *page, size_t place, const float *key, size_t d_k);
void head_pairs_put_value(uint32_t *page, size_t place, const float *value, size_t d_v);

/* Take out the values of all tokens from one on. */
void head_pairs_cut_values(uint32_t *page, size_t place, size_t d_v);

/* Put in a whole page: keys from a panel [dk, KEY_PANEL] of floats; KEY_PANEL values, or as many as
 * there are. */
void head_pairs_fill_keys(uint32_t *page, const float *panel, size_t d_k);
void head_pairs_fill_values(uint32_t *page, struct matrix values);

#endif
