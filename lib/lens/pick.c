#include "lens/pick.h"

#include <string.h>

#include "base/num.h"

enum { PLACE_BYTES = 24 };

const char *pick_name(const struct label *label)
{
    const char *name = label->plain + strspn(label->plain, " ");
    return *name ? name : label->text;
}

static bool is_called(const struct label *label, const char *name)
{
    return strcmp(name, label->plain) == 0 || strcmp(name, label->text) == 0 ||
           strcmp(name, pick_name(label)) == 0;
}

static bool find_text(struct pick *pick, const struct reading *reading, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < reading->count; i++) {
        if (!is_called(&reading->labels[i], name))
            continue;
        if (!found)
            *pick = (struct pick){.index = i};
        else if (pick->alike++ == 0)
            pick->next = i;
        found = true;
    }
    return found;
}

/* `size` characters that are a place. */
static bool find_place(struct pick *pick, const struct reading *reading, const char *name,
                       size_t size)
{
    char digits[PLACE_BYTES];
    long long place = 0;
    long long count = (long long)reading->count;
    if (size >= sizeof digits)
        return false;
    memcpy(digits, name, size);
    digits[size] = '\0';
    if (!num_parse_integer(digits, -count, count - 1, &place))
        return false;
    size_t index = (size_t)(place < 0 ? place + count : place);
    *pick = (struct pick){.index = index, .place = index};
    return true;
}

static bool find_both(struct pick *pick, const struct reading *reading, const char *name)
{
    const char *colon = strchr(name, ':');
    return colon && find_place(pick, reading, name, (size_t)(colon - name)) &&
           is_called(&reading->labels[pick->index], colon + 1);
}

bool pick_token(struct pick *pick, const struct reading *reading, const char *name)
{
    struct pick place;
    bool is_place = find_place(&place, reading, name, strlen(name));
    if (find_text(pick, reading, name)) {
        pick->place = is_place ? place.index : pick->index;
        return true;
    }
    if (is_place)
        *pick = place;
    return is_place || find_both(pick, reading, name);
}
