#include "lens/capture.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/num.h"

static int choose_heads(struct capture *capture, const struct selection *selection,
                        const struct config *config, struct err *err)
{
    size_t group = config->n_head / config->n_kv_head;
    size_t *all = arena_alloc(capture->arena, config->n_head, sizeof *all, err);
    size_t *keys = arena_alloc(capture->arena, config->n_kv_head, sizeof *keys, err);
    if (!all || !keys)
        return -1;
    for (size_t i = 0; i < config->n_head; i++)
        all[i] = i;
    capture->whole = selection->whole;
    capture->all = capture->queries = (struct capture_heads){all, config->n_head};
    if (selection->heads)
        capture->queries = (struct capture_heads){selection->heads, selection->head_count};
    capture->keys.items = keys;
    for (size_t i = 0; i < capture->queries.count; i++) { /* each once */
        size_t *count = &capture->keys.count;
        size_t head = capture->queries.items[i] / group;
        if (*count == 0 || keys[*count - 1] != head)
            keys[(*count)++] = head;
    }
    return 0;
}

int capture_init(struct capture *capture, const struct selection *selection,
                 const struct config *config, size_t texts, struct arena *arena, struct err *err)
{
    *capture = (struct capture){.arena = arena};
    for (int site = 0; site < SITE_COUNT; site++)
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

/* Copy the chosen slices of the first axis, one after the other. */
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

/* --- several passes over a text that grows ---------------------------------------------------- */

/* Of the text that grows, with itself; the source's tokens are as many from the beginning. */
static bool is_square(const struct kept *kept)
{
    return site_rows[kept->site].axes == AXES_HEAD_QUERY_KEY &&
           site_rows[kept->site].part == PART_SENTENCE;
}

/* The first pass gave all of it. */
static bool is_whole(const struct kept *kept)
{
    return site_is_of_source(kept->site);
}

/* A tensor without heads is a single matrix. */
static size_t matrices_of(const struct kept *kept)
{
    return kept->rank == 3 ? kept->shape[0] : 1;
}

static size_t *rows_of(struct kept *kept)
{
    return &kept->shape[kept->rank - 2];
}

static size_t *columns_of(struct kept *kept)
{
    return &kept->shape[kept->rank - 1];
}

/* Room for a tensor like this one, but of the longest text. */
static int begin_item(struct capture_concat *concat, struct kept *item, const struct kept *like,
                      struct err *err)
{
    size_t *heads = NULL;
    size_t cells = 0;
    *item = *like;
    if (!is_whole(item))
        *rows_of(item) = concat->tokens;
    if (is_square(item))
        *columns_of(item) = concat->tokens;
    if (!num_multiply(&cells, *rows_of(item), *columns_of(item)) ||
        !num_multiply(&cells, cells, matrices_of(item)))
        return err_memory(err, (size_t)-1);
    if (like->heads) {
        heads = arena_alloc(concat->arena, like->shape[0], sizeof *heads, err);
        if (!heads)
            return -1;
        memcpy(heads, like->heads, like->shape[0] * sizeof *heads);
    }
    item->heads = heads;
    item->data = arena_alloc(concat->arena, cells, sizeof *item->data, err);
    return item->data ? 0 : -1;
}

static int begin(struct capture_concat *concat, const struct kept_list *list, struct err *err)
{
    concat->items = arena_alloc(concat->arena, list->count, sizeof *list->items, err);
    if (!concat->items)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (begin_item(concat, &concat->items[i], &list->items[i], err))
            return -1;
    concat->count = list->count;
    return 0;
}

/* The rows of one head, to where they stand among all. */
static void add_rows(struct kept *item, const struct kept *part, size_t head, size_t first)
{
    size_t rows = part->shape[part->rank - 2];
    size_t known = part->shape[part->rank - 1];
    size_t columns = *columns_of(item);
    float *to = (float *)item->data + (head * *rows_of(item) + first) * columns; /* ours to fill */
    const float *from = part->data + head * rows * known;
    for (size_t row = 0; row < rows; row++, to += columns, from += known) {
        memcpy(to, from, known * sizeof *to);
        for (size_t i = known; i < columns && item->site == SITE_MASKED; i++)
            to[i] = -INFINITY;
    }
}

int capture_concat_add(struct capture_concat *concat, const struct kept_list *list, size_t first,
                       struct err *err)
{
    if (!concat->items && begin(concat, list, err))
        return -1;
    const struct kept *part = list->items;
    for (size_t i = 0; i < concat->count; i++) {
        struct kept *item = &concat->items[i];
        if (first && is_whole(item))
            continue;
        assert(part < list->items + list->count && item->site == part->site &&
               item->site != SITE_SCORES);
        for (size_t head = 0; head < matrices_of(item); head++)
            add_rows(item, part, head, first);
        part++;
    }
    assert(part == list->items + list->count);
    return 0;
}

/* Move the rows of the tokens that there are together. */
static void shrink(struct kept *item, size_t count)
{
    size_t rows = *rows_of(item);
    size_t columns = *columns_of(item);
    size_t kept = is_square(item) ? count : columns;
    float *to = (float *)item->data;
    for (size_t head = 0; head < matrices_of(item); head++)
        for (size_t row = 0; row < count; row++, to += kept)
            memmove(to, item->data + (head * rows + row) * columns, kept * sizeof *to);
    *rows_of(item) = count;
    *columns_of(item) = kept;
}

struct kept_list capture_concat_finish(struct capture_concat *concat, size_t count)
{
    assert(count <= concat->tokens);
    for (size_t i = 0; i < concat->count; i++)
        if (!is_whole(&concat->items[i]))
            shrink(&concat->items[i], count);
    return (struct kept_list){concat->items, concat->count};
}
