#include "text/token_list.h"

#include <string.h>

#include "base/heap.h"

enum { FIRST_ROOM = 64 };

/* Make room for a further token. */
static int grow(struct token_list *list, struct err *err)
{
    if (list->sink && list->count == TOKEN_PORTION)
        return token_list_flush(list, err);
    size_t room = list->room ? 2 * list->room : FIRST_ROOM;
    struct token *items = heap_resize(list->items, room, sizeof *items, err);
    if (!items)
        return -1;
    list->items = items;
    list->room = room;
    return 0;
}

int token_list_add(struct token_list *list, struct token token, struct err *err)
{
    if (list->count == list->room && grow(list, err))
        return -1;
    list->items[list->count++] = token;
    return 0;
}

int token_list_flush(struct token_list *list, struct err *err)
{
    size_t count = list->count;
    list->count = 0;
    return count ? list->sink->take(list->sink->context, list->items, count, err) : 0;
}

int token_list_keep(const struct token_list *list, struct tokens *tokens, struct arena *arena,
                    struct err *err)
{
    struct tokens kept = {.count = list->count, .dropped_count = list->dropped_count};
    kept.items = arena_alloc(arena, list->count, sizeof *kept.items, err);
    if (!kept.items)
        return -1;
    if (list->count)
        memcpy(kept.items, list->items, list->count * sizeof *kept.items);
    if (list->dropped_count) {
        kept.dropped_first = arena_alloc(arena, 1, sizeof *kept.dropped_first, err);
        if (!kept.dropped_first)
            return -1;
        *kept.dropped_first = list->dropped_first;
    }
    *tokens = kept;
    return 0;
}

void token_list_release(struct token_list *list)
{
    heap_free(list->items);
    *list = (struct token_list){0};
}
