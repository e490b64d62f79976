#include "text/id_list.h"

#include "text/label.h"

static bool separates(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

static size_t largest(size_t limit)
{
    return limit > UINT32_MAX ? UINT32_MAX : limit - 1;
}

int id_list_refuse(const char *text, size_t size, size_t count, size_t limit, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    return err_usage(err, "id %zu of the list: expected a whole number from 0 to %zu, found '%s'",
                     count, largest(limit), label_excerpt(shown, text, size));
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
    while (list->at < list->end && separates(*list->at))
        list->at++;
    if (list->at == list->end || list->failed)
        return false;
    const char *start = list->at;
    while (list->at < list->end && !separates(*list->at))
        list->at++;
    list->count++;
    if (read_digits(start, list->at, largest(list->limit), id))
        return true;
    list->failed = true;
    id_list_refuse(start, (size_t)(list->at - start), list->count, list->limit, err);
    return false;
}
