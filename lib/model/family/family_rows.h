/* family_rows.h: matrices that lie as [out, in] become what products read: panels of columns. */
#ifndef ATTN_MODEL_FAMILY_ROWS_H
#define ATTN_MODEL_FAMILY_ROWS_H

#include <stdint.h>

#include "base/arena.h"
#include "format/safetensors.h"
#include "math/gemm.h"
#include "model/family/family.h"

/* The panels of the matrix [in, out] whose columns are the view's rows; in float32, or rounded to
 * bf16. NULL with `err`. */
const float *rows_to_panels(const struct safetensors_entry *entry, const struct row_view *view,
                            const struct weight *weight, struct arena *arena, struct err *err);
const uint32_t *rows_to_pairs(const struct safetensors_entry *entry, const struct row_view *view,
                              const struct weight *weight, struct arena *arena, struct err *err);

/* The view's numbers of a bias. */
const float *rows_copy_bias(const struct safetensors_entry *entry, const struct row_view *view,
                            size_t count, struct arena *arena, struct err *err);

#endif
