/* measured_tensors.c: measures of heads as arrays: numpy's file of one, safetensors by names. */
#include <string.h>

#include "format/npy.h"
#include "format/safetensors.h"
#include "write/measured_data.h"

/* The sheets of all, one after another; NULL after the last. */
struct walk {
    const struct measured_list *list;
    size_t group, item, next;
};

static const struct sheet *next_sheet(struct walk *walk)
{
    for (; walk->group < walk->list->count; walk->group++, walk->item = 0)
        for (; walk->item < walk->list->items[walk->group].count; walk->item++, walk->next = 0)
            if (walk->next < walk->list->items[walk->group].items[walk->item].count)
                return &walk->list->items[walk->group].items[walk->item].sheets[walk->next++];
    return NULL;
}

int measured_npy_write(struct stream *out, const struct measured_list *list,
                       const struct place *place, struct err *err)
{
    (void)place;
    struct walk walk = {.list = list};
    const struct sheet *first = next_sheet(&walk);
    size_t shape[] = {1, first ? first->rows.size : 0, first ? first->columns.size : 0};
    if (!first)
        return err_set(err, "--format npy: expected numbers, found none");
    for (const struct sheet *sheet; (sheet = next_sheet(&walk)); shape[0]++)
        if (sheet->rows.size != shape[1] || sheet->columns.size != shape[2])
            return err_unsupported(err,
                                   "--format npy: expected matrices of one size, found %zu x %zu "
                                   "and %zu x %zu: safetensors holds them all",
                                   shape[1], shape[2], sheet->rows.size, sheet->columns.size);
    struct arena arena = {0};
    size_t cells = shape[1] * shape[2];
    float *values = arena_alloc(&arena, shape[0], cells * sizeof *values, err);
    walk = (struct walk){.list = list};
    for (size_t i = 0; values && i < shape[0]; i++)
        memcpy(values + i * cells, next_sheet(&walk)->values, cells * sizeof *values);
    if (values && shape[0] == 1)
        npy_write(out, 2, shape + 1, values);
    else if (values)
        npy_write(out, 3, shape, values);
    arena_release(&arena);
    return values ? 0 : -1;
}

static const char *name_sheet(const struct walk *walk, const struct sheet *sheet,
                              struct arena *arena, struct err *err)
{
    char stem[SHEET_NAME_BYTES];
    bool several = walk->list->count > 1;
    return arena_format(arena, err, "%s%s%s", several ? walk->list->items[walk->group].name : "",
                        several ? "." : "", sheet_stem(stem, sheet));
}

int measured_tensors_write(struct stream *out, const struct measured_list *list,
                           const struct place *place, struct err *err)
{
    (void)place;
    static const struct safetensors_note note = {"format", "pt"};
    struct arena arena = {0};
    struct walk walk = {.list = list};
    size_t count = 0;
    while (next_sheet(&walk))
        count++;
    struct safetensors_tensor *tensors = arena_alloc(&arena, count, sizeof *tensors, err);
    size_t(*shapes)[2] = arena_alloc(&arena, count, sizeof *shapes, err);
    int failed = !tensors || !shapes;
    walk = (struct walk){.list = list};
    for (size_t i = 0; i < count && !failed; i++) {
        const struct sheet *sheet = next_sheet(&walk);
        shapes[i][0] = sheet->rows.size;
        shapes[i][1] = sheet->columns.size;
        tensors[i] = (struct safetensors_tensor){.name = name_sheet(&walk, sheet, &arena, err),
                                                 .rank = 2,
                                                 .shape = shapes[i],
                                                 .data = sheet->values};
        failed = !tensors[i].name;
    }
    failed = failed || safetensors_write(out, tensors, count, &note, 1, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
