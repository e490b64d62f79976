/* sparse_row.h: one query of sparse attention. Its keys are taken in one order, its two ranges,
 * then single ones, and so are its sums: the bits do not depend on the queries it shares a strip
 * with.
 *
 *     sparse_rows_begin(rows, head, &strip);
 *     struct sparse_reach reach = sparse_reach_of(head, rows, strip.rows);
 *     ... scores of the reach into memory->scores ...
 *     enum head_fault fault = sparse_rows_weigh(rows, strip.rows, head, &reach);
 *     ... values of the reach, weighed, into memory->context ...
 *     sparse_row_add_singles(&rows[i], head);
 */
#ifndef ATTN_MODEL_SPARSE_ROW_H
#define ATTN_MODEL_SPARSE_ROW_H

#include "model/attention_strip.h"
#include "model/pattern.h"

/* One query of a strip. */
struct sparse_row {
    size_t query, index; /* among the new ones, and in the strip */
    struct sight sight;
};

/* What a strip computes by kernels: keys low, then the window's, side by side in its scores. */
struct sparse_reach {
    struct key_range low, window;
};

/* Find out what the queries of a strip see; the ranges of all of them together, in whole steps. */
void sparse_rows_begin(struct sparse_row *rows, const struct attention_head *head,
                       const struct strip *strip);
struct sparse_reach sparse_reach_of(const struct attention_head *head,
                                    const struct sparse_row *rows, size_t count);

/* The scores of a strip's queries become weights, in the strip and beside it, all others 0;
 * attention maps that are wanted are written. */
enum head_fault sparse_rows_weigh(const struct sparse_row *rows, size_t count,
                                  const struct attention_head *head,
                                  const struct sparse_reach *reach);

/* Add the values of single keys, weighed, to a query's row of memory->context. */
void sparse_row_add_singles(const struct sparse_row *row, const struct attention_head *head);

#endif
