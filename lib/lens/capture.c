#include "lens/viewer.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

static int choose_heads(struct capture *capture, const struct selection *selection,
                        const struct config *config, struct err *err)
{
    size_t *all = arena_alloc(capture->arena, config->n_head, sizeof *all, err);
    for (size_t i = 0; all && i < config->n_head; i++)
        all[i] = i;
    if (!all)
        return -1;
    capture->whole = selection->whole;
    capture->all = capture->queries = (struct capture_heads){all, config->n_head};
    if (selection->heads)
        capture->queries = (struct capture_heads){selection->heads, selection->head_count};
    capture->keys.items =
        selection_shared_heads(&capture->keys.count, capture->queries.items, capture->queries.count,
                               config->n_head / config->n_kv_head, capture->arena, err);
    return capture->keys.items ? 0 : -1;
}

int capture_init(struct capture *capture, const struct selection *selection,
                 const struct config *config, size_t texts, struct arena *arena, struct err *err)
{
    *capture = (struct capture){.arena = arena};
    for (int site = 0; site < SITE_ALL; site++)
        if (selection->sites >> site & 1)
            capture->room += selection_layers_of(selection, (enum site)site).count;
    capture->lists = arena_alloc(arena, texts, sizeof *capture->lists, err);
    if (!capture->lists || choose_heads(capture, selection, config, err))
        return -1;
    for (size_t s = 0; s < texts; s++) {
        capture->lists[s].items =
            arena_alloc(arena, capture->room, sizeof *capture->lists[s].items, err);
        if (!capture->lists[s].items)
            return -1;
    }
    return 0;
}

/* The next item of a text's list: a tensor of this place, its axes still to be told. */
static struct kept *add_item(struct capture *capture, size_t text, enum site site, int layer)
{
    struct kept_list *list = &capture->lists[text];
    assert(list->count < capture->room);
    struct kept *kept = &list->items[list->count++];
    *kept = (struct kept){.site = site, .layer = layer};
    return kept;
}

static float *take_room(struct capture *capture, const struct kept *kept, struct err *err)
{
    return arena_room(capture->arena, kept_cells(kept), sizeof(float), err);
}

static void choose_kept_heads(const struct capture *capture, struct kept *kept)
{
    bool of_keys = site_rows[kept->site].axes == AXES_GROUP_TOKEN_DIM;
    bool whole = capture->whole >> kept->site & 1;
    const struct capture_heads *heads = of_keys ? &capture->keys
                                        : whole ? &capture->all
                                                : &capture->queries;
    kept->heads = heads->items;
    kept->shape[0] = heads->count;
}

int capture_sink(void *context, const struct announcement *seen, struct err *err)
{
    struct capture *capture = context;
    const struct tensor *values = &seen->values;
    struct kept *kept = add_item(capture, seen->text, seen->site, seen->layer);
    kept->rank = values->rank;
    memcpy(kept->shape, values->shape, sizeof kept->shape);
    if (kept->rank == 3)
        choose_kept_heads(capture, kept);
    float *data = take_room(capture, kept, err);
    if (!data)
        return -1;
    kept->data = data;
    if (!kept->heads)
        tensor_copy(data, values);
    for (size_t i = 0; kept->heads && i < kept->shape[0]; i++) { /* slices of the first axis */
        struct tensor slice = tensor_slice(values, kept->heads[i]);
        tensor_copy(data, &slice);
        data += tensor_count(&slice);
    }
    return 0;
}

int capture_lend(void *context, const struct attention_map_room *room, struct err *err)
{
    struct capture *capture = context;
    struct kept *kept = add_item(capture, room->text, room->site, room->layer);
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

/* Of several texts the last value begins, and the first context ends. */
static int see_time(void *context, const struct announcement *seen, struct err *err)
{
    struct stopwatch *stopwatch = context;
    double now = clock_seconds();
    (void)err;
    if (seen->site == SITE_V) {
        stopwatch->begun = now;
    } else if (stopwatch->begun > 0) {
        stopwatch->seconds += now - stopwatch->begun;
        stopwatch->begun = 0;
    }
    return 0;
}

struct tap stopwatch_tap(struct stopwatch *stopwatch)
{
    return (struct tap){.sink = see_time, .context = stopwatch};
}
