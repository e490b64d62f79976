#include "model/weights.h"

#include <stddef.h>

#include "base/num.h"
#include "math/precision.h"
#include "math/gemm.h"

/* A row as floats: where it lies, or in `room`. */
static const float *floats_of_row(const struct safetensors_entry *entry, size_t row, float *room)
{
    const float *floats = safetensors_floats(entry);
    if (floats)
        return floats + row * entry->shape[1];
    dtype_to_float(room, safetensors_row(entry, row), entry->dtype, entry->shape[1]);
    return room;
}

/* Two rows, or the last one alone, of all parts. */
static void fill_rows(uint32_t *pairs, const struct safetensors_entry *entry,
                      const struct weight *part, size_t row, float *room)
{
    size_t columns = entry->shape[1];
    bool alone = row + 1 == part->in;
    const float *first = floats_of_row(entry, row, room);
    const float *second = alone ? NULL : floats_of_row(entry, row + 1, room + columns);
    for (size_t column = 0; column < columns; column += part->out, pairs += pairs_size(part))
        pairs_fill_rows(pairs, part, row, first + column, alone ? NULL : second + column);
}

const uint32_t *weights_bf16_matrix(const struct safetensors_entry *entry,
                                    const struct weight *part, struct arena *arena, struct err *err)
{
    struct arena scratch = {0};
    size_t columns = entry->shape[1];
    size_t size = columns / part->out * pairs_size(part);
    float *room = arena_alloc(&scratch, 2 * columns, sizeof *room, err);
    uint32_t *pairs = room ? arena_alloc(arena, size, sizeof *pairs, err) : NULL;
    for (size_t row = 0; pairs && row < part->in; row += 2)
        fill_rows(pairs, entry, part, row, room);
    arena_release(&scratch);
    return pairs;
}

const uint32_t *weights_bf16_rows(const struct safetensors_entry *entry,
                                  const struct row_view *view, const struct weight *weight,
                                  struct arena *arena, struct err *err)
{
    struct arena scratch = {0};
    float *room = arena_alloc(&scratch, weight->in, sizeof *room, err);
    uint32_t *rounded = arena_alloc(&scratch, bf16_pairs(weight->in), sizeof *rounded, err);
    uint32_t *pairs =
        room && rounded ? arena_alloc(arena, pairs_size(weight), sizeof *pairs, err) : NULL;
    for (size_t column = 0; pairs && column < weight->out; column++) {
        bf16_pair_row(rounded, floats_of_row(entry, row_view_at(view, column), room), weight->in);
        pairs_fill_column(pairs, weight, column, rounded);
    }
    arena_release(&scratch);
    return pairs;
}

const char *weights_bf16_numbers(const struct safetensors_entry *entry, struct arena *arena,
                                 struct err *err)
{
    enum { PART = DTYPE_BLOCK_MAX };
    float part[PART];
    if (entry->dtype == DTYPE_BF16)
        return entry->data;
    uint16_t *numbers = arena_room(arena, entry->count, sizeof *numbers, err);
    for (size_t first = 0; numbers && first < entry->count; first += PART) {
        size_t count = num_min(entry->count - first, PART);
        dtype_to_float(part, (const char *)entry->data + dtype_bytes(entry->dtype, first),
                       entry->dtype, count);
        for (size_t i = 0; i < count; i++)
            numbers[first + i] = bf16_round(part[i]);
    }
    return (const char *)numbers;
}
