#include "text/token_list.h"

#include <string.h>

#include "text/label.h"

static bool separates(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

static size_t largest(size_t limit)
{
    return limit > UINT32_MAX ? UINT32_MAX : limit - 1;
}

static int refuse(const struct id_list *list, const char *text, size_t size, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    return err_usage(err, "id %zu of the list: expected a whole number from 0 to %zu, found '%s'",
                     list->count, largest(list->limit), label_excerpt(shown, text, size));
}

/* The digits from `at` to `end` as a number; false when it is too large or they are none. */
static bool read_digits(const char *at, const char *end, size_t most, uint32_t *id)
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
    if (!lacks && read_digits(digits, list->at, most, id))
        return true;
    list->failed = true;
    refuse(list, start, (size_t)(list->at - start), err);
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
