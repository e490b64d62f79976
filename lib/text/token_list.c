#include "text/token_list.h"

#include <string.h>

#include "base/memory.h"
#include "text/label.h"

enum { FIRST_ROOM = 64 };

int token_list_grow(struct token_list *list, struct err *err)
{
    if (list->sink && list->count == TOKEN_PORTION)
        return token_list_flush(list, err);
    size_t capacity = list->capacity ? 2 * list->capacity : FIRST_ROOM;
    struct token *items = heap_resize(list->items, capacity, sizeof *items, err);
    if (!items)
        return -1;
    list->items = items;
    list->capacity = capacity;
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

/* --- lists of ids ----------------------------------------------------------------------------- */

static bool separates(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

static size_t largest(size_t limit)
{
    return limit > UINT32_MAX ? UINT32_MAX : limit - 1;
}

/* Read the digits from `at` to `end` as a number; false if it is above `most` or has other
 * characters. */
static bool parse_digits(const char *at, const char *end, size_t most, uint32_t *id)
{
    size_t number = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        number = number * 10 + (size_t)(*at - '0');
        if (number > most)
            return false;
    }
    *id = (uint32_t)number;
    return true;
}

bool id_list_next(struct id_list *list, uint32_t *id, struct err *err)
{
    size_t commas = 0;
    size_t most = largest(list->limit);
    for (; list->at < list->end && separates(*list->at); list->at++)
        commas += *list->at == ',';
    const char *start = list->at;
    bool ends = start == list->end;
    bool lacks = list->is_option && (ends ? commas || !list->count : commas > (list->count > 0));
    if (list->failed || (ends && !lacks))
        return false;
    while (!lacks && list->at < list->end && !separates(*list->at))
        list->at++;
    list->count++;
    const char *digits = start;
    if (list->is_option && list->at - start > 1 && (*start == '+' || *start == '-')) {
        most = *start == '-' ? 0 : most;
        digits++;
    }
    if (!lacks && parse_digits(digits, list->at, most, id))
        return true;
    list->failed = true;
    const char *shown = label_excerpt(start, (size_t)(list->at - start));
    err_usage(err, "id %zu of the list: expected a whole number from 0 to %zu, found '%s'",
              list->count, largest(list->limit), shown);
    return false;
}

int tokens_from_ids(struct tokens *tokens, const char *list, size_t id_limit, struct arena *arena,
                    struct err *err)
{
    struct id_list ids = {list, list + strlen(list), .limit = id_limit, .is_option = true};
    struct token_list kept = {0};
    struct token token = {0};
    int failed = 0;
    while (!failed && id_list_next(&ids, &token.id, err))
        failed = token_list_add(&kept, token, err);
    failed = failed || ids.failed || token_list_keep(&kept, tokens, arena, err);
    token_list_release(&kept);
    return failed ? -1 : 0;
}
