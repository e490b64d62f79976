/* sparse_row.h: one query of sparse attention: its keys, their scores, its weights.
 *
 *     struct sparse_reach reach = sparse_reach_of(head, &strip);
 *     ... scores of the reach into memory->scores ...
 *     sparse_row_begin(&row, head, &strip, i);
 *     enum head_fault fault = sparse_row_weigh(&row, head, &reach);
 */
#ifndef ATTN_MODEL_SPARSE_ROW_H
#define ATTN_MODEL_SPARSE_ROW_H

#include "model/attention_strip.h"

/* What a strip computes by kernels: keys low, then those of the window, side by side in its
 * scores. */
struct sparse_reach {
    struct stretch low, window;
};

/* One query of a strip. */
struct sparse_row {
    size_t query, index; /* among the new ones, and in the strip */
    struct sight sight;
    size_t before;   /* single keys before the window */
    float *values;   /* gathered: scores, then weights */
    size_t count;    /* of them */
    float *in_strip; /* its row of the strip's scores */
    bool together;   /* the values lie there */
};

/* The stretches that all queries of a strip see together, in whole steps. */
struct sparse_reach sparse_reach_of(const struct head_job *head, const struct strip *strip);

/* Find out what query `index` of a strip sees. The row lives as long as the strip is worked on. */
void sparse_row_begin(struct sparse_row *row, const struct head_job *head,
                      const struct strip *strip, size_t index);

/* Its scores, those of the reach from the strip, become weights; squares that are wanted are
 * written. Weights of the reach stand in the strip afterwards, where all others are 0. */
enum head_fault sparse_row_weigh(struct sparse_row *row, const struct head_job *head,
                                 const struct sparse_reach *reach);

/* Add the values of its single keys in a stretch, but for those in the reach, to its row of
 * memory->context. */
void sparse_row_add_singles(const struct sparse_row *row, const struct head_job *head,
                            const struct sparse_reach *reach, struct stretch keys);

#endif
