/* rounded.h: matrices of a file as panels of bf16 pairs (gemm.h), whatever their type there.
 *
 * Read row by row, so that nothing but the result is ever held. What is bf16 in the file stays what
 * it is.
 *
 *     struct weight weight = {.in = 768, .out = 3072};
 *     weight.pairs = rounded_matrix(entry, &weight, &arena, err);
 */
#ifndef ATTN_MODEL_ROUNDED_H
#define ATTN_MODEL_ROUNDED_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "format/safetensors.h"
#include "math/gemm.h"

/* The panels of a matrix [in, out]. Where the entry is several of these side by side, the panels of
 * one stand behind those of the other, pairs_size(part) apart. NULL with `err`. */
const uint32_t *rounded_matrix(const struct safetensors_entry *entry, const struct weight *part,
                               struct arena *arena, struct err *err);

/* The same of a matrix [in, out] that the entry holds as [out, in]. */
const uint32_t *rounded_transpose(const struct safetensors_entry *entry,
                                  const struct weight *weight, struct arena *arena,
                                  struct err *err);

#endif
