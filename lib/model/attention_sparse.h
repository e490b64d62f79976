/* attention_sparse.h: every query against the keys of a pattern, and no others.
 *
 * Sixteen queries are worked on together. Most of what they see lies in two stretches, the global
 * keys and the window: kernels compute those, rounded to whole steps, and what is not a query's own
 * is hidden from its softmax and has weight 0. Keys further off, strided and random, are taken one
 * by one, wherever they lie; sparse_row.h says in which order, so that a row's numbers have the
 * same bits however its keys were reached.
 *
 * Time and memory grow with the keys that are seen. Squares that are watched are filled in beside
 * that; raw scores are the one thing that makes all keys be computed.
 */
#ifndef ATTN_MODEL_ATTENTION_SPARSE_H
#define ATTN_MODEL_ATTENTION_SPARSE_H

#include "model/attention_job.h"

extern const struct attention_way attention_sparse;

#endif
