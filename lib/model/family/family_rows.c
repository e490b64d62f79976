#include "model/family/family_rows.h"

#include "math/bf16.h"

/* A row as floats: where it lies, or in `room`. */
static const float *row_of(const struct safetensors_entry *entry, const struct row_view *view,
                           size_t row, float *room)
{
    size_t index = row_view_at(view, row);
    const float *floats = safetensors_floats(entry);
    if (floats)
        return floats + index * entry->shape[1];
    dtype_to_float(room, safetensors_row(entry, index), entry->dtype, entry->shape[1]);
    return room;
}

/* The panel of the columns that are rows `first` and those after it. */
static void fill_panel(float *panel, const struct safetensors_entry *entry,
                       const struct row_view *view, const struct weight *weight, size_t first,
                       float *room)
{
    size_t in = weight->in;
    size_t rest = weight->out - first;
    size_t count = rest < PANEL_COLUMNS ? rest : PANEL_COLUMNS;
    struct matrix rows = {room, count, in, in};
    for (size_t i = 0; i < count; i++) {
        float *to = room + i * in;
        const float *from = row_of(entry, view, first + i, to);
        for (size_t k = 0; k < in && from != to; k++)
            to[k] = from[k];
    }
    panels_fill_transposed(panel, rows);
}

const float *rows_to_panels(const struct safetensors_entry *entry, const struct row_view *view,
                            const struct weight *weight, struct arena *arena, struct err *err)
{
    struct arena scratch = {0};
    float *room = arena_room(&scratch, PANEL_COLUMNS * weight->in, sizeof *room, err);
    float *panels = room ? arena_room(arena, panels_size(weight), sizeof *panels, err) : NULL;
    for (size_t row = 0; panels && row < weight->out; row += PANEL_COLUMNS)
        fill_panel(panels + row * weight->in, entry, view, weight, row, room);
    arena_release(&scratch);
    return panels;
}

const uint32_t *rows_to_pairs(const struct safetensors_entry *entry, const struct row_view *view,
                              const struct weight *weight, struct arena *arena, struct err *err)
{
    struct arena scratch = {0};
    float *room = arena_room(&scratch, weight->in, sizeof *room, err);
    uint32_t *rounded = arena_room(&scratch, bf16_pairs(weight->in), sizeof *rounded, err);
    uint32_t *pairs =
        room && rounded ? arena_alloc(arena, pairs_size(weight), sizeof *pairs, err) : NULL;
    for (size_t row = 0; pairs && row < weight->out; row++) {
        bf16_pair_row(rounded, row_of(entry, view, row, room), weight->in);
        pairs_fill_column(pairs, weight, row, rounded);
    }
    arena_release(&scratch);
    return pairs;
}

const float *rows_copy_bias(const struct safetensors_entry *entry, const struct row_view *view,
                            size_t count, struct arena *arena, struct err *err)
{
    float *bias = arena_room(arena, count, sizeof *bias, err);
    size_t size = dtype_size_bytes(entry->dtype);
    for (size_t i = 0; bias && i < count; i++)
        dtype_to_float(&bias[i], (const char *)entry->data + row_view_at(view, i) * size,
                       entry->dtype, 1);
    return bias;
}
