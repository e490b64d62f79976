#include "lens/capture.h"

#include <assert.h>

/* The key/value heads that the chosen query heads look at, each once. */
static int find_key_heads(struct capture *capture, const struct config *config, struct err *err)
{
    size_t group = config->n_head / config->n_kv_head;
    size_t *heads = arena_alloc(capture->arena, config->n_kv_head, sizeof *heads, err);
    if (!heads)
        return -1;
    for (size_t i = 0; i < capture->query_head_count; i++) {
        size_t head = capture->query_heads[i] / group;
        size_t count = capture->key_head_count;
        if (count == 0 || heads[count - 1] != head)
            heads[capture->key_head_count++] = head;
    }
    capture->key_heads = heads;
    return 0;
}

/* 0, 1, 2, …: every kept tensor with heads says which they are. */
static const size_t *all_heads(size_t count, struct arena *arena, struct err *err)
{
    size_t *heads = arena_alloc(arena, count, sizeof *heads, err);
    for (size_t i = 0; heads && i < count; i++)
        heads[i] = i;
    return heads;
}

static int choose_heads(struct capture *capture, const struct selection *selection,
                        const struct config *config, struct err *err)
{
    capture->query_heads = selection->heads;
    capture->query_head_count = selection->head_count;
    if (selection->heads)
        return find_key_heads(capture, config, err);
    capture->query_head_count = config->n_head;
    capture->key_head_count = config->n_kv_head;
    capture->query_heads = all_heads(config->n_head, capture->arena, err);
    capture->key_heads = all_heads(config->n_kv_head, capture->arena, err);
    return capture->query_heads && capture->key_heads ? 0 : -1;
}

int capture_init(struct capture *capture, const struct selection *selection,
                 const struct config *config, size_t sequences, struct arena *arena,
                 struct err *err)
{
    *capture = (struct capture){.arena = arena};
    for (int site = 0; site < SITE_COUNT; site++)
        if (selection->sites >> site & 1)
            capture->room += site_rows[site].in_layer ? selection->layer_count : 1;
    capture->lists = arena_alloc(arena, sequences, sizeof *capture->lists, err);
    if (!capture->lists || choose_heads(capture, selection, config, err))
        return -1;
    for (size_t s = 0; s < sequences; s++) {
        capture->lists[s].items =
            arena_alloc(arena, capture->room, sizeof *capture->lists[s].items, err);
        if (!capture->lists[s].items)
            return -1;
    }
    return 0;
}

/* Copy the chosen slices of the first axis, one behind the other. */
static int keep_heads(struct kept *kept, const struct tensor *values, size_t count,
                      struct arena *arena, struct err *err)
{
    size_t slice_size = values->shape[1] * values->shape[2];
    float *data = arena_alloc(arena, count * slice_size, sizeof *data, err);
    if (!data)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct tensor slice = tensor_slice(values, kept->heads[i]);
        tensor_copy(data + i * slice_size, &slice);
    }
    kept->shape[0] = count;
    kept->data = data;
    return 0;
}

static int keep_whole(struct kept *kept, const struct tensor *values, struct arena *arena,
                      struct err *err)
{
    float *data = arena_alloc(arena, tensor_count(values), sizeof *data, err);
    if (!data)
        return -1;
    tensor_copy(data, values);
    kept->data = data;
    return 0;
}

int capture_sink(void *context, const struct announcement *seen, struct err *err)
{
    struct capture *capture = context;
    struct kept_list *list = &capture->lists[seen->sequence];
    assert(list->count < capture->room);
    struct kept *kept = &list->items[list->count++];
    *kept = (struct kept){.site = seen->site, .layer = seen->layer, .rank = seen->values.rank};
    for (size_t axis = 0; axis < kept->rank; axis++)
        kept->shape[axis] = seen->values.shape[axis];
    if (kept->rank < 3)
        return keep_whole(kept, &seen->values, capture->arena, err);
    bool of_keys = site_rows[seen->site].axes == AXES_GROUP_TOKEN_DIM;
    kept->heads = of_keys ? capture->key_heads : capture->query_heads;
    size_t count = of_keys ? capture->key_head_count : capture->query_head_count;
    return keep_heads(kept, &seen->values, count, capture->arena, err);
}
