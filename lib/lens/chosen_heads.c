#include "lens/chosen_heads.h"

#include "model/config.h"

/* Their numbers among `of` heads; NULL with `err`. */
static const size_t *list_heads(size_t *count, size_t of, const struct selection *selection,
                                const struct config *config, struct arena *arena, struct err *err)
{
    size_t each = config->n_head / of;
    size_t *list = arena_alloc(arena, selection->head_count, sizeof *list, err);
    *count = 0;
    for (size_t i = 0; list && i < selection->head_count; i++) {
        size_t head = selection->heads[i] / each;
        if (*count == 0 || list[*count - 1] != head)
            list[(*count)++] = head;
    }
    return list;
}

int chosen_heads(struct tensor *values, const size_t **heads, const struct selection *selection,
                 const struct config *config, struct arena *arena, struct err *err)
{
    size_t count;
    const size_t *list = list_heads(&count, values->shape[0], selection, config, arena, err);
    struct tensor head = tensor_slice(values, 0);
    size_t each = tensor_count(&head);
    float *copy = list ? arena_room(arena, count * each, sizeof *copy, err) : NULL;
    if (!copy)
        return -1;
    for (size_t i = 0; i < count; i++) {
        head = tensor_slice(values, list[i]);
        tensor_copy(copy + i * each, &head);
    }
    *heads = list;
    *values = (struct tensor){.data = copy,
                              .rank = 3,
                              .shape = {count, head.shape[0], head.shape[1]},
                              .stride = {each, head.shape[1], 1}};
    return 0;
}
