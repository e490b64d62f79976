#include "base/names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/memory.h"
#include "base/num.h"
#include "base/utf8.h"

/* --- the nearest name ------------------------------------------------------------------------- */

enum {
    NOT_UTF8 = 0x110000,   /* added to a byte that is not part of a UTF-8 character */
    PREFIX_CHARACTERS = 2, /* a name that begins with the word is near if the word has at
                            * least this length */
    NAME_CHARACTERS = 3,   /* a name with which the word begins is near if the name has at
                            * least this length */
};

/* Returns the number of characters, above NEAREST_CHARACTERS if the text is too long. */
static size_t parse_characters(uint32_t characters[NEAREST_CHARACTERS], const char *text,
                               size_t size)
{
    size_t count = 0;
    for (size_t at = 0; at < size; count++) {
        uint32_t character = 0;
        size_t length = utf8_decode(&character, text + at, size - at);
        if (count == NEAREST_CHARACTERS)
            return count + 1;
        characters[count] = length ? character : (uint32_t)NOT_UTF8 + (unsigned char)text[at];
        at += length ? length : 1;
    }
    return count;
}

static bool same(uint32_t a, uint32_t b, bool exactly)
{
    return a == b || (!exactly && utf8_small(a) == utf8_small(b));
}

/* Row i of the table contains the distances of the first i characters of a from the first j of b:
 * d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + (a_i ≠ b_j),
 *               d(i-2, j-2) + 1 if the last two are swapped). */
static size_t distance(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count,
                       bool exactly)
{
    size_t rows[3][NEAREST_CHARACTERS + 1];
    for (size_t j = 0; j <= b_count; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_count; i++) {
        const size_t *before = rows[(i + 1) % 3]; /* row i - 2 */
        const size_t *above = rows[(i + 2) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_count; j++) {
            size_t changed = above[j - 1] + !same(a[i - 1], b[j - 1], exactly);
            row[j] = num_min(changed, num_min(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2], exactly) &&
                same(a[i - 2], b[j - 1], exactly))
                row[j] = num_min(row[j], before[j - 2] + 1);
        }
    }
    return rows[a_count % 3][b_count];
}

/* True if `text` begins with `with`, ignoring case, and `with` has at least `least` characters. */
static bool begins(const uint32_t *text, size_t size, const uint32_t *with, size_t with_size,
                   size_t least)
{
    if (with_size < least || size < with_size)
        return false;
    for (size_t i = 0; i < with_size; i++)
        if (!same(text[i], with[i], false))
            return false;
    return true;
}

void nearest_begin(struct nearest *nearest, const char *word, size_t size)
{
    *nearest = (struct nearest){0};
    nearest->size = parse_characters(nearest->word, word, size);
    nearest->exactly = SIZE_MAX;
    nearest->limit = nearest->size < 5 ? nearest->size > 1 : (nearest->size + 1) / 3;
    nearest->steps = nearest->limit;
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    nearest_offer_bytes(nearest, name, strlen(name));
}

void nearest_offer_bytes(struct nearest *nearest, const char *name, size_t name_bytes)
{
    uint32_t characters[NEAREST_CHARACTERS];
    size_t count = parse_characters(characters, name, name_bytes);
    if (count > NEAREST_CHARACTERS || nearest->size > NEAREST_CHARACTERS || !nearest->size)
        return;
    const uint32_t *word = nearest->word;
    size_t most = nearest->size + nearest->steps;
    bool prefix = begins(characters, count, word, nearest->size, PREFIX_CHARACTERS);
    bool longer = begins(word, nearest->size, characters, count, NAME_CHARACTERS);
    if (!prefix && !longer && (count > most || nearest->size > count + nearest->steps))
        return; /* the difference in length is already too great a distance */
    size_t steps = distance(word, nearest->size, characters, count, false);
    steps = prefix ? num_min(steps, 1) : longer ? num_min(steps, nearest->limit) : steps;
    if (steps > nearest->steps)
        return;
    size_t exactly = 2 * distance(nearest->word, nearest->size, characters, count, true);
    /* prefer a name with which the word begins: --pair for --pairx */
    exactly -= exactly && begins(word, nearest->size, characters, count, 1);
    if (steps == nearest->steps && exactly >= nearest->exactly)
        return;
    nearest->name = name;
    nearest->name_bytes = name_bytes;
    nearest->steps = steps;
    nearest->exactly = exactly;
}

/* --- names ------------------------------------------------------------------------------------ */

const char *names_at(struct names names, size_t index)
{
    const char *first = (const char *)names.first;
    return *(const char *const *)(const void *)(first + index * names.stride);
}

bool names_find(size_t *index, struct names names, const char *word, size_t size)
{
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names_at(names, i);
        if (strlen(name) != size || memcmp(name, word, size) != 0)
            continue;
        *index = i;
        return true;
    }
    return false;
}

const char *names_unused(const char *name, struct names taken, struct arena *arena, struct err *err)
{
    size_t index;
    while (name && names_find(&index, taken, name, strlen(name)))
        name = arena_format(arena, err, "attn_%s", name);
    return name;
}

const char *names_nearest(struct names names, const char *word, size_t size)
{
    struct nearest nearest;
    nearest_begin(&nearest, word, size);
    for (size_t i = 0; i < names.count; i++)
        nearest_offer(&nearest, names_at(names, i));
    return nearest.name;
}

bool name_ends_in(const char *name, const char *ending)
{
    size_t size = strlen(name), length = strlen(ending);
    return size >= length && strcmp(name + size - length, ending) == 0;
}

bool name_is_among(const char *names, const char *name)
{
    const size_t size = strlen(name);
    while (names && *(names += strspn(names, " "))) {
        size_t length = strcspn(names, " ");
        if (length == size && memcmp(names, name, size) == 0)
            return true;
        names += length;
    }
    return false;
}

bool name_has_ending(const char *name, const char *ending)
{
    size_t size = strlen(name), length = strlen(ending);
    return size > length && strcasecmp(name + size - length, ending) == 0;
}

const char *names_guess(char text[NAMES_GUESS_BYTES], const char *name)
{
    text[0] = '\0';
    if (name)
        snprintf(text, NAMES_GUESS_BYTES, ": did you mean '%s'?", name);
    return text;
}

int names_refuse(struct names names, const char *option, const char *word, size_t size,
                 const char *meant, struct err *err)
{
    struct buf known = {0};
    char guess[NAMES_GUESS_BYTES];
    for (size_t i = 0; i < names.count; i++) {
        buf_text(&known, i ? ", " : "");
        buf_text(&known, names_at(names, i));
    }
    err_usage(err, "%s: expected %s%s, found '%.*s'%s", option, names.count > 1 ? "one of " : "",
              known.bytes ? known.bytes : "", (int)size, word,
              names_guess(guess, meant ? meant : names_nearest(names, word, size)));
    buf_release(&known);
    return -1;
}

int names_choose_item(size_t *index, struct names names, const char *option, const char *word,
                      size_t size, struct err *err)
{
    return names_find(index, names, word, size)
               ? 0
               : names_refuse(names, option, word, size, NULL, err);
}

int names_choose_set(unsigned *set, struct names names, const char *option, const char *list,
                     struct err *err)
{
    *set = 0;
    for (size_t index = 0; list; list = list_next(list)) {
        if (names_choose_item(&index, names, option, list, strcspn(list, ","), err))
            return -1;
        *set |= 1U << index;
    }
    return 0;
}

const char *list_next(const char *item)
{
    const char *comma = strchr(item, ',');
    return comma ? comma + 1 : NULL;
}

int names_choose(size_t *index, struct names names, const char *option, const char *word,
                 struct err *err)
{
    return word ? names_choose_item(index, names, option, word, strlen(word), err) : 0;
}
