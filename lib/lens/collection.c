#include "lens/collection.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/num.h"

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
static int begin_item(struct collection *collection, struct kept *item, const struct kept *like,
                      struct err *err)
{
    size_t *heads = NULL;
    size_t cells = 0;
    *item = *like;
    if (!is_whole(item))
        *rows_of(item) = collection->tokens;
    if (is_square(item))
        *columns_of(item) = collection->tokens;
    if (!num_multiply(&cells, *rows_of(item), *columns_of(item)) ||
        !num_multiply(&cells, cells, matrices_of(item)))
        return err_memory(err, (size_t)-1);
    if (like->heads) {
        heads = arena_alloc(collection->arena, like->shape[0], sizeof *heads, err);
        if (!heads)
            return -1;
        memcpy(heads, like->heads, like->shape[0] * sizeof *heads);
    }
    item->heads = heads;
    item->data = arena_alloc(collection->arena, cells, sizeof *item->data, err);
    return item->data ? 0 : -1;
}

static int begin(struct collection *collection, const struct kept_list *list, struct err *err)
{
    collection->items = arena_alloc(collection->arena, list->count, sizeof *list->items, err);
    if (!collection->items)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (begin_item(collection, &collection->items[i], &list->items[i], err))
            return -1;
    collection->count = list->count;
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

int collection_add(struct collection *collection, const struct kept_list *list, size_t first,
                   struct err *err)
{
    if (!collection->items && begin(collection, list, err))
        return -1;
    const struct kept *part = list->items;
    for (size_t i = 0; i < collection->count; i++) {
        struct kept *item = &collection->items[i];
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

struct kept_list collection_finish(struct collection *collection, size_t count)
{
    assert(count <= collection->tokens);
    for (size_t i = 0; i < collection->count; i++)
        if (!is_whole(&collection->items[i]))
            shrink(&collection->items[i], count);
    return (struct kept_list){collection->items, collection->count};
}
