#include "lens/capture.h"

#include <assert.h>
#include <string.h>

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
    capture->whole = selection->whole;
    capture->every_count = config->n_head;
    capture->every_head = all_heads(config->n_head, capture->arena, err);
    if (!capture->every_head)
        return -1;
    capture->query_heads = selection->heads;
    capture->query_head_count = selection->head_count;
    if (selection->heads)
        return find_key_heads(capture, config, err);
    capture->query_head_count = config->n_head;
    capture->query_heads = capture->every_head;
    capture->key_head_count = config->n_kv_head;
    capture->key_heads = capture->every_head; /* there are no more of them than of queries */
    return 0;
}

int capture_init(struct capture *capture, const struct selection *selection,
                 const struct config *config, size_t sequences, struct arena *arena,
                 struct err *err)
{
    *capture = (struct capture){.arena = arena};
    for (int site = 0; site < SITE_COUNT; site++)
        if (selection->sites >> site & 1)
            capture->room += selection_layers_of(selection, (enum site)site).count;
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

/* The next item of a sequence's list: a tensor of this place, its axes still to be told. */
static struct kept *add_item(struct capture *capture, size_t sequence, enum site site, int layer)
{
    struct kept_list *list = &capture->lists[sequence];
    assert(list->count < capture->room);
    struct kept *kept = &list->items[list->count++];
    *kept = (struct kept){.site = site, .layer = layer};
    return kept;
}

static float *take_room(struct capture *capture, const struct kept *kept, struct err *err)
{
    size_t count = 1;
    for (size_t axis = 0; axis < kept->rank; axis++)
        count *= kept->shape[axis];
    return arena_room(capture->arena, count, sizeof(float), err);
}

/* Copy the chosen slices of the first axis, one behind the other. */
static void copy_heads(float *data, const struct kept *kept, const struct tensor *values)
{
    for (size_t i = 0; i < kept->shape[0]; i++) {
        struct tensor slice = tensor_slice(values, kept->heads[i]);
        tensor_copy(data, &slice);
        data += tensor_count(&slice);
    }
}

/* Sets which heads are kept of a tensor that has some. */
static void choose_kept_heads(const struct capture *capture, struct kept *kept)
{
    kept->heads = capture->query_heads;
    kept->shape[0] = capture->query_head_count;
    if (site_rows[kept->site].axes == AXES_GROUP_TOKEN_DIM) {
        kept->heads = capture->key_heads;
        kept->shape[0] = capture->key_head_count;
    } else if (capture->whole >> kept->site & 1) {
        kept->heads = capture->every_head;
        kept->shape[0] = capture->every_count;
    }
}

int capture_sink(void *context, const struct announcement *seen, struct err *err)
{
    struct capture *capture = context;
    const struct tensor *values = &seen->values;
    struct kept *kept = add_item(capture, seen->sequence, seen->site, seen->layer);
    kept->rank = values->rank;
    memcpy(kept->shape, values->shape, sizeof kept->shape);
    if (kept->rank == 3)
        choose_kept_heads(capture, kept);
    float *data = take_room(capture, kept, err);
    if (!data)
        return -1;
    if (kept->heads)
        copy_heads(data, kept, values);
    else
        tensor_copy(data, values);
    kept->data = data;
    return 0;
}

int capture_lend(void *context, const struct attention_map_room *room, struct err *err)
{
    struct capture *capture = context;
    struct kept *kept = add_item(capture, room->sequence, room->site, room->layer);
    kept->rank = 3;
    choose_kept_heads(capture, kept);
    kept->shape[1] = room->queries;
    kept->shape[2] = room->keys;
    float *data = take_room(capture, kept, err);
    if (!data)
        return -1;
    for (size_t i = 0; i < kept->shape[0]; i++)
        room->heads[kept->heads[i]] = data + i * room->queries * room->keys;
    kept->data = data;
    return 0;
}
