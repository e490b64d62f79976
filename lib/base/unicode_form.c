#include "base/unicode_form.h"

#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

#include "base/memory.h"
#include "base/utf8.h"

enum {
    FEW = 256,           /* characters of most stretches */
    DECOMPOSED_MAX = 18, /* characters that one can become: U+FDFA */
    CLASSES = 256,       /* of marks, by the order in which they stand */
};

static bool is_compatible(enum unicode_form form)
{
    return form == UNICODE_NFKC || form == UNICODE_NFKD;
}

static bool is_composed(enum unicode_form form)
{
    return form == UNICODE_NFC || form == UNICODE_NFKC;
}

/* --- stretches -------------------------------------------------------------------------------- */

static bool is_between(uint32_t c, uint32_t first, uint32_t last)
{
    return first <= c && c <= last;
}

/* May it combine with what stands before it? Marks, vowels and finals of Hangul, and what only
 * looks like neither. */
static bool attaches(enum unicode_form form, uint32_t c)
{
    if (c < 0x300)
        return false;
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)c);
    if (property->combining_class || property->category == UTF8PROC_CATEGORY_MN ||
        property->category == UTF8PROC_CATEGORY_MC || is_between(c, 0x1160, 0x11FF))
        return true;
    return is_compatible(form) && (is_between(c, 0xFF9E, 0xFFDC) || is_between(c, 0x3131, 0x318E));
}

/* Does it stay as it is, when nothing combines with it? */
static bool stays(enum unicode_form form, uint32_t c)
{
    if (c < 0x80 || (form == UNICODE_NFC && c < 0x300))
        return true;
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)c);
    if (property->decomp_seqindex != UINT16_MAX)
        return unicode_is_form_after_9(c);
    return is_composed(form) || !is_between(c, 0xAC00, 0xD7A3);
}

/* The end of the bytes that need no look: of characters that stay, and attach to nothing. U+0300
 * begins with 0xCC; with 0xE5 to 0xE9 begin Chinese characters alone. */
static size_t plain_end(enum unicode_form form, const char *text, size_t size, size_t at)
{
    const unsigned char limit = form == UNICODE_NFC ? 0xCC : 0x80;
    for (; at < size; at++) {
        unsigned char byte = (unsigned char)text[at];
        if (byte >= 0xE5 && byte <= 0xE9)
            at += 2;
        else if (byte >= limit)
            break;
    }
    return at < size ? at : size;
}

static size_t last_character(const char *text, size_t end)
{
    do
        end--;
    while (((unsigned char)text[end] & 0xC0) == 0x80);
    return end;
}

size_t unicode_form_end(enum unicode_form form, const char *text, size_t size, size_t at,
                        bool *all_stay)
{
    uint32_t c = 0;
    uint32_t next = 0;
    size_t end = at + utf8_decode(&c, text + at, size - at);
    bool run = plain_end(form, text, end, at) == end || (stays(form, c) && !attaches(form, c));
    for (size_t length; end < size; end += length) {
        size_t plain = run ? plain_end(form, text, size, end) : end;
        if ((end = plain) == size)
            break;
        length = utf8_decode(&next, text + end, size - end);
        bool joins = attaches(form, next);
        if (run && joins && last_character(text, end) > at) {
            end = last_character(text, end); /* with what follows it is the next stretch */
            break;
        }
        run = run && !joins;
        if (!joins && !(run && stays(form, next)))
            break;
        length =
            utf8_row_end(text, size, end, length) - end; /* as this one, so the same after it */
    }
    *all_stay = run;
    return end;
}

/* --- their forms ------------------------------------------------------------------------------ */

static int class_of(utf8proc_int32_t c)
{
    return utf8proc_get_property(c)->combining_class;
}

static bool is_sorted(const utf8proc_int32_t *marks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (marks[i] != marks[i - 1] && class_of(marks[i]) < class_of(marks[i - 1]))
            return false;
    return true;
}

/* Sort a run of marks by class; those of one class stay in order. */
static void sort_marks(utf8proc_int32_t *marks, utf8proc_int32_t *scratch, size_t count)
{
    size_t first[CLASSES + 1] = {0};
    for (size_t i = 0; i < count; i++)
        first[class_of(marks[i]) + 1]++;
    for (size_t class = 1; class <= CLASSES; class ++)
        first[class] += first[class - 1];
    for (size_t i = 0; i < count; i++)
        scratch[first[class_of(marks[i])]++] = marks[i];
    memcpy(marks, scratch, count * sizeof *marks);
}

static void sort_all(utf8proc_int32_t *characters, utf8proc_int32_t *scratch, size_t count)
{
    for (size_t at = 0, end; at < count; at = end) {
        for (end = at; end < count; end++)
            if ((end == at || characters[end] != characters[end - 1]) && !class_of(characters[end]))
                break;
        if (!is_sorted(characters + at, end - at))
            sort_marks(characters + at, scratch, end - at);
        end += end == at;
    }
}

/* Write a text's characters, taken apart, to `out`, which may be NULL; returns how many. */
static size_t decompose(enum unicode_form form, utf8proc_int32_t *out, const char *text,
                        size_t size)
{
    utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    utf8proc_int32_t parts[DECOMPOSED_MAX]; /* of a character, and the same ones after it */
    utf8proc_ssize_t added = 0;
    size_t count = 0;
    int last = 0;
    if (is_compatible(form))
        options |= UTF8PROC_COMPAT;
    for (size_t at = 0, end; at < size; at = end) {
        uint32_t c = 0;
        size_t length = utf8_decode(&c, text + at, size - at);
        end = utf8_row_end(text, size, at, length);
        added = 1;
        *parts = (utf8proc_int32_t)c;
        if (!unicode_is_form_after_9(c))
            added = utf8proc_decompose_char(*parts, parts, DECOMPOSED_MAX, options, &last);
        for (size_t i = at; out && i < end; i += length, out += added)
            memcpy(out, parts, (size_t)added * sizeof *parts);
        count += (end - at) / length * (size_t)added;
    }
    return count;
}

/* Append it; false, and nothing added, when it is the text again. */
static bool write_form(struct buf *out, const utf8proc_int32_t *characters, size_t count,
                       const char *text, size_t size)
{
    size_t at = 0;
    size_t i = 0;
    for (size_t length; i < count && at < size; i++, at += length) {
        uint32_t c = 0;
        length = utf8_decode(&c, text + at, size - at);
        if (c != (uint32_t)characters[i])
            break;
    }
    if (i == count && at == size)
        return false;
    buf_bytes(out, text, at);
    for (; i < count; i++) {
        char bytes[4];
        buf_bytes(out, bytes, utf8_encode(bytes, (uint32_t)characters[i]));
    }
    return true;
}

bool unicode_form_put(enum unicode_form form, struct buf *out, const char *text, size_t size)
{
    utf8proc_int32_t few[2 * FEW];
    size_t room = size <= FEW / DECOMPOSED_MAX ? FEW : decompose(form, NULL, text, size);
    utf8proc_int32_t *characters = room <= FEW ? few : heap_alloc(room, 2 * sizeof *few, NULL);
    if (!characters) {
        out->out_of_memory = true;
        out->wanted_bytes = room;
        return true;
    }
    size_t count = decompose(form, characters, text, size);
    sort_all(characters, characters + room, count);
    if (is_composed(form))
        count = (size_t)utf8proc_normalize_utf32(characters, (utf8proc_ssize_t)count,
                                                 UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    bool changes = write_form(out, characters, count, text, size);
    if (characters != few)
        heap_free(characters);
    return changes;
}
