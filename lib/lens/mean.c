#include "lens/mean.h"

#include <assert.h>

static size_t cells_of(const struct kept *kept)
{
    size_t cells = 1;
    for (size_t axis = 0; axis < kept->rank; axis++)
        cells *= kept->shape[axis];
    return cells;
}

/* `sources` blocks of `cells` numbers, each cell's mean into `out`. */
static void mean_of(float *out, const float *const *sources, size_t count, size_t cells)
{
    for (size_t cell = 0; cell < cells; cell++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += (double)sources[i][cell];
        out[cell] = (float)(sum / (double)count);
    }
}

static int join_heads(struct kept *kept, struct arena *arena, struct err *err)
{
    size_t heads = kept->shape[0];
    size_t cells = kept->shape[1] * kept->shape[2];
    const float **sources = arena_alloc(arena, heads, sizeof *sources, err);
    float *data = arena_alloc(arena, cells, sizeof *data, err);
    if (!sources || !data)
        return -1;
    for (size_t i = 0; i < heads; i++)
        sources[i] = kept->data + i * cells;
    mean_of(data, sources, heads, cells);
    *kept = (struct kept){
        .site = kept->site,
        .layer = kept->layer,
        .rank = 2,
        .shape = {kept->shape[1], kept->shape[2]},
        .data = data,
    };
    return 0;
}

/* A copy of the list of tensors, to be changed. */
static struct kept *copy_tensors(const struct report *report, struct arena *arena, struct err *err)
{
    struct kept *tensors = arena_alloc(arena, report->tensor_count, sizeof *tensors, err);
    for (size_t i = 0; tensors && i < report->tensor_count; i++)
        tensors[i] = report->tensors[i];
    return tensors;
}

int mean_over_heads(struct report *report, struct arena *arena, struct err *err)
{
    struct kept *tensors = copy_tensors(report, arena, err);
    if (!tensors)
        return -1;
    for (size_t i = 0; i < report->tensor_count; i++)
        if (tensors[i].heads && join_heads(&tensors[i], arena, err))
            return -1;
    report->tensors = tensors;
    return 0;
}

/* The mean of the first tensor and of all behind it that are of the same site. */
static int join_layers(struct kept *first, const struct report *report, size_t index,
                       struct arena *arena, struct err *err)
{
    size_t cells = cells_of(first);
    size_t count = 0;
    const float **sources = arena_alloc(arena, report->tensor_count, sizeof *sources, err);
    float *data = arena_alloc(arena, cells, sizeof *data, err);
    if (!sources || !data)
        return -1;
    for (size_t i = index; i < report->tensor_count; i++) {
        const struct kept *kept = &report->tensors[i];
        if (kept->site != first->site)
            continue;
        assert(cells_of(kept) == cells);
        sources[count++] = kept->data;
    }
    mean_of(data, sources, count, cells);
    first->layer = -1;
    first->data = data;
    return 0;
}

static bool stood_before(const struct report *report, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (report->tensors[i].site == report->tensors[index].site)
            return true;
    return false;
}

int mean_over_layers(struct report *report, struct arena *arena, struct err *err)
{
    struct kept *tensors = copy_tensors(report, arena, err);
    size_t count = 0;
    if (!tensors)
        return -1;
    for (size_t i = 0; i < report->tensor_count; i++) {
        if (stood_before(report, i))
            continue;
        struct kept *first = &tensors[count++];
        *first = report->tensors[i];
        if (first->layer >= 0 && join_layers(first, report, i, arena, err))
            return -1;
    }
    report->tensors = tensors;
    report->tensor_count = count;
    return 0;
}
