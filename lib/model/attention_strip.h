/* attention_strip.h: a few queries of one head against a range of keys, by kernels.
 *
 * Keys are packed once a head, as panels of KEY_PANEL, or are in a cache as such; where the layer
 * is in bf16 all that is multiplied is rounded, too. A strip's scores become weights where they lie
 * and are multiplied with the values. Ranges begin and end at multiples of STEP; keys that do not
 * exist score 0, and values there are numbers: their weight must be 0.
 *
 * A context is a sum over keys, in chains of multiply-adds: one for every CHAIN keys of the text,
 * added in their order. (One chain over thousands of keys would lose four times as much to
 * rounding.) Where a chain begins depends on the key alone: not on the strip or a cache.
 *
 *     strip_scores(head, &strip, range, memory->scores);
 *     ... weights in place of scores ...
 *     strip_context(head, &strip, &range, 1, memory->scores);
 *     strip_write_context(head, &strip);
 */
#ifndef ATTN_MODEL_ATTENTION_STRIP_H
#define ATTN_MODEL_ATTENTION_STRIP_H

#include "model/attention_head.h"

/* Queries first … first + rows - 1 of the sequence's new ones. */
struct strip {
    size_t first, rows;
};

/* Keys first … end - 1. */
struct key_range {
    size_t first, end;
};

size_t strip_round_up(size_t size, size_t step);

/* The strip of at most `most` queries that begins with one. */
struct strip strip_at(const struct attention_head *head, size_t first, size_t most);

/* How many keys, from the first on, the mask lets a query see. */
size_t strip_visible(const struct attention_head *head, size_t query);

/* --- before the heads ------------------------------------------------------------------------ */

/* What a thread needs beside its rows and their stride, which are known; false: more than can be
 * counted. */
bool strip_measure(struct attention_size *size, const struct attention_problem *problem);

/* Kernels by the rows they compute: 1, 16 and 32, as sizes 0, 1 and 2. One row is what every step
 * of a text that grows takes; it has less to compute than to read. */
size_t strip_row_size(size_t rows);
size_t strip_rows_of_size(size_t size);

/* Fetch the kernels for strips of such a size against `keys` keys, a multiple of STEP up to
 * KEY_PANEL (`add`: to a context that is begun); for any number of keys; for strips of STEP rows
 * that all have the same number of keys: see strip_is_whole. */
void strip_fetch_scores(struct attention_layer *layer, size_t row_size, size_t keys);
void strip_fetch_context(struct attention_layer *layer, size_t row_size, size_t keys, bool add);
void strip_fetch_all(struct attention_layer *layer, size_t row_size);
void strip_fetch_whole(struct attention_layer *layer, size_t keys);

/* --- a head ---------------------------------------------------------------------------------- */

/* Work on all its strips, until one fails. */
typedef enum head_fault strip_work(const struct attention_head *head, const struct strip *strip);
enum head_fault strip_for_each(const struct attention_head *head, strip_work *work);

/* The keys from one on, a multiple of KEY_PANEL, as a panel [dk, KEY_PANEL]; those that do not
 * exist are 0. */
void strip_transpose_panel(const struct attention_head *head, size_t key, float *panel);

/* In float32: fill memory->panels with the keys from one on, a multiple of KEY_PANEL, up to
 * another, unless they are in a cache, and return where to go on from. Where there are fewer slots
 * than panels, a panel takes the place of the oldest one. The panel that a key stands in; the
 * values from a key on. */
size_t strip_pack_keys(const struct attention_head *head, size_t key, size_t end);
const float *strip_panel(const struct attention_head *head, size_t key);
const float *strip_values(const struct attention_head *head, size_t key);

/* --- a strip --------------------------------------------------------------------------------- */

/* q · k of a strip and a range into to[rows, stride]. */
void strip_scores(const struct attention_head *head, const struct strip *strip,
                  struct key_range keys, float *to);

/* memory->context [rows, dv] = weights [rows, stride] · v of the ranges, which come one after the
 * other in both; or that, added, to a context that is 0 or has a sum: the first chain goes on from
 * range to range, later ones begin anew with each. Then to where the head's context is. */
void strip_context(const struct attention_head *head, const struct strip *strip,
                   const struct key_range *keys, size_t count, const float *weights);
void strip_add_context(const struct attention_head *head, const struct strip *strip,
                       struct key_range keys, const float *weights);
void strip_write_context(const struct attention_head *head, const struct strip *strip);

/* Is there a kernel for just this strip and range, whose values lie side by side and are one chain?
 * It does both of that in one go. */
bool strip_is_whole(const struct attention_head *head, const struct strip *strip,
                    struct key_range keys);
void strip_whole_context(const struct attention_head *head, const struct strip *strip,
                         struct key_range keys, const float *weights);

/* Write one row of an attention map, if it is wanted: its first `count` cells; what the others are.
 */
void strip_put_row(const struct attention_head *head, float *map, size_t query, const float *from,
                   size_t count, float others);

/* Let weights of the keys from `first` on go, where the mechanism has dropout. */
void strip_drop(const struct attention_head *head, float *weights, size_t query,
                struct key_range keys);

/* --- in bf16: attention_bf16.c --------------------------------------------------------------- */

/* Keys and values of a head are rounded to pages of pairs before its first strip, or were when they
 * went into a cache; so are its queries, and a strip's weights when they are multiplied. Softmax,
 * sums, and all that is announced, are float32. */
bool attention_bf16_measure(struct attention_size *size, const struct attention_problem *problem);
void attention_bf16_score_shape(struct kernel_shape *shape, const struct attention_layer *layer);
void attention_bf16_context_shape(struct kernel_shape *shape, const struct attention_layer *layer);
void attention_bf16_begin(const struct attention_head *head);

/* strip_scores and strip_context, for a part of a range that lies in one panel; and the rounded
 * weights of a range, which the latter takes. */
void attention_bf16_scores(const struct attention_head *head, const struct strip *strip,
                           const struct kernel *kernel, size_t key, float *to);
void attention_bf16_context(const struct attention_head *head, const struct kernel *kernel,
                            size_t key, const uint32_t *weights, float *to);
const uint32_t *attention_bf16_weights(const struct attention_head *head, const struct strip *strip,
                                       const float *weights, size_t keys);

#endif
