#include "base/names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/nearest.h"

const char *names_at(struct names names, size_t index)
{
    const char *first = (const char *)names.first;
    return *(const char *const *)(const void *)(first + index * names.stride);
}

static bool is_word(const char *name, const char *word, size_t size)
{
    return strlen(name) == size && memcmp(name, word, size) == 0;
}

bool names_find(size_t *index, struct names names, const char *word, size_t size)
{
    for (size_t i = 0; i < names.count; i++) {
        if (!is_word(names_at(names, i), word, size))
            continue;
        *index = i;
        return true;
    }
    return false;
}

static bool is_there(struct names names, const char *name)
{
    size_t index = 0;
    return names_find(&index, names, name, strlen(name));
}

const char *names_nearest(struct names names, const char *word, size_t size)
{
    struct nearest nearest;
    const struct synonym *synonym = names.synonyms;
    for (; synonym && synonym->word; synonym++)
        if (strlen(synonym->word) == size && strncasecmp(synonym->word, word, size) == 0 &&
            is_there(names, synonym->name))
            return synonym->name;
    nearest_begin(&nearest, word, size);
    for (size_t i = 0; i < names.count; i++)
        nearest_offer(&nearest, names_at(names, i));
    return nearest.name;
}

const char *names_guess(char room[NAMES_GUESS_BYTES], const char *name)
{
    room[0] = '\0';
    if (name)
        snprintf(room, NAMES_GUESS_BYTES, ": did you mean '%s'?", name);
    return room;
}

int names_refuse(struct names names, const char *option, const char *word, size_t size,
                 struct err *err)
{
    struct buf known = {0};
    char guess[NAMES_GUESS_BYTES];
    for (size_t i = 0; i < names.count; i++) {
        buf_text(&known, i ? ", " : "");
        buf_text(&known, names_at(names, i));
    }
    err_usage(err, "%s: expected one of %s, found '%.*s'%s", option, known.bytes ? known.bytes : "",
              (int)size, word, names_guess(guess, names_nearest(names, word, size)));
    buf_release(&known);
    return -1;
}

int names_choose_item(size_t *index, struct names names, const char *option, const char *word,
                      size_t size, struct err *err)
{
    return names_find(index, names, word, size) ? 0 : names_refuse(names, option, word, size, err);
}

int names_choose(size_t *index, struct names names, const char *option, const char *word,
                 struct err *err)
{
    return names_choose_item(index, names, option, word, strlen(word), err);
}
