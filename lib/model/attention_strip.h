/* attention_strip.h: a few queries of one head against a stretch of keys, by kernels.
 *
 * Keys are turned into panels of KEY_PANEL once a head, or are in a cache as such; where the layer
 * is in bf16 everything that is multiplied is rounded, too (attention_bf16.c). A strip's scores
 * become weights where they lie and are multiplied with the values. Stretches begin and end at
 * multiples of STEP; keys that do not exist score 0, and values there are numbers: their weight
 * must be 0.
 *
 * A context is a sum over keys, in chains of multiply-adds: one for every CHAIN keys of the text,
 * and these are added in their order. One chain over thousands of keys would lose four times as
 * much to rounding. Where a chain begins depends on the key alone: not on the strip, nor on what
 * of the text is in a cache.
 *
 *     strip_begin(head);
 *     strip_scores(head, &strip, stretch, memory->scores);
 *     ... weights in place of scores ...
 *     strip_context(head, &strip, &stretch, 1, memory->scores);
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

/* Kernels by the rows they compute: 1, 16 and 32, as sizes 0, 1 and 2. One row is what every step
 * of a text that grows takes; it has less to compute than to read. */
size_t strip_row_size(size_t rows);
size_t strip_rows_of_size(size_t size);

/* Fetch the kernels for strips of such a size against stretches of `keys` keys, a multiple of STEP
 * up to KEY_PANEL; `add`: to a context that is begun. */
void strip_fetch_scores(struct attention_layer *layer, size_t row_size, size_t keys);
void strip_fetch_context(struct attention_layer *layer, size_t row_size, size_t keys, bool add);

/* The same for stretches of every length that fits into a strip. */
void strip_fetch_all(struct attention_layer *layer, size_t row_size);

/* Fetch a kernel for strips of STEP rows, all of the same length of stretch: see strip_is_whole. */
void strip_fetch_whole(struct attention_layer *layer, size_t keys);

/* How many keys, from the first on, the mask lets a query see. */
size_t strip_visible(const struct attention_head *head, size_t query);

/* What a thread needs beside its rows and their stride, which are known; false: more than can be
 * counted. */
bool strip_measure(struct attention_size *size, const struct attention_problem *problem);

/* Before the strips of a head. */
void strip_begin(const struct attention_head *head);

/* The keys from one on, a multiple of KEY_PANEL, as a panel [dk, KEY_PANEL]; those that do not
 * exist are 0. */
void strip_transpose_panel(const struct attention_head *head, size_t key, float *panel);

/* What others than strips need in float32: fill memory->panels with the keys from one on, a
 * multiple of KEY_PANEL, up to another, unless they are in a cache, and return where to go on from;
 * the panel that a key stands in; the values from a key on. Where there are fewer slots than
 * panels, a panel takes the place of the oldest one. */
size_t strip_pack_keys(const struct attention_head *head, size_t key, size_t end);
const float *strip_panel(const struct attention_head *head, size_t key);
const float *strip_values(const struct attention_head *head, size_t key);

/* q · k of a strip and a stretch into to[rows, stride]. */
void strip_scores(const struct attention_head *head, const struct strip *strip,
                  struct key_range keys, float *to);

/* memory->context [rows, dv] = weights [rows, stride] · v of the stretches, which come one after
 * the other in both; or that, added, to a context that is 0 or has a sum: the first chain goes on
 * from stretch to stretch, later ones begin anew with each. */
void strip_context(const struct attention_head *head, const struct strip *strip,
                   const struct key_range *keys, size_t count, const float *weights);
void strip_add_context(const struct attention_head *head, const struct strip *strip,
                       struct key_range keys, const float *weights);

/* memory->context to where the head's context is. */
void strip_write_context(const struct attention_head *head, const struct strip *strip);

/* Where such a kernel is for just this strip and stretch, whose values lie side by side and are one
 * chain: both of that in one go, straight to where the context is. */
bool strip_is_whole(const struct attention_head *head, const struct strip *strip,
                    struct key_range keys);
void strip_whole_context(const struct attention_head *head, const struct strip *strip,
                         struct key_range keys, const float *weights);

/* Write one row of a square, if it is wanted: its first `count` cells, and what the others are. */
void strip_put_row(const struct attention_head *head, float *square, size_t query,
                   const float *from, size_t count, float others);

/* Let weights of the keys from `first` on go, where the mechanism has dropout. */
void strip_drop(const struct attention_head *head, float *weights, size_t query,
                struct key_range keys);

/* --- the same in bf16: attention_bf16.c ------------------------------------------------------ */

/* Say what a thread needs in bf16; it transposes one panel of keys at a time, and its context is as
 * wide as whole panels. False: more than can be counted. */
bool attention_bf16_measure(struct attention_size *size, const struct attention_problem *problem);

/* Change the shape of a float32 kernel to that of the same in pairs. */
void attention_bf16_score_shape(struct kernel_shape *shape, const struct attention_layer *layer);
void attention_bf16_context_shape(struct kernel_shape *shape, const struct attention_layer *layer);

/* Round the queries of a head, and its keys and values, unless they are in a cache. */
void attention_bf16_begin(const struct attention_head *head);

/* strip_scores and strip_context, for a part of a stretch that lies in one panel. */
void attention_bf16_scores(const struct attention_head *head, const struct strip *strip,
                           const struct kernel *kernel, size_t key, float *to);
void attention_bf16_context(const struct attention_head *head, const struct kernel *kernel,
                            size_t key, const uint32_t *weights, float *to);

/* A strip's weights for a stretch of keys, rounded: what attention_bf16_context takes. */
const uint32_t *attention_bf16_weights(const struct attention_head *head, const struct strip *strip,
                                       const float *weights, size_t keys);

#endif
