#include "text/word_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "format/json_text.h"

enum { FIRST_ROOM = 64 };

/* What a character is in a text of words. */
enum part { PART_WORD, PART_JOINT, PART_GAP };

static enum part part_at(const char *text, size_t size, size_t at, size_t *length)
{
    enum { APOSTROPHE = 0x2019 };
    uint32_t c = 0;
    *length = utf8_decode(&c, text + at, size - at);
    enum utf8_class class = utf8_class(c);
    if (class == UTF8_LETTER || class == UTF8_NUMBER)
        return PART_WORD;
    return c == '\'' || c == '-' || c == APOSTROPHE ? PART_JOINT : PART_GAP;
}

/* Behind the word that begins at `at`: a joint needs a word's character on both sides. */
static size_t end_of_word(const char *text, size_t size, size_t at)
{
    size_t end = at;
    size_t length = 0;
    enum part last = PART_GAP;
    while (at < size) {
        enum part part = part_at(text, size, at, &length);
        if (part == PART_GAP || (part == PART_JOINT && last != PART_WORD))
            break;
        at += length;
        last = part;
        if (part == PART_WORD)
            end = at;
    }
    return end;
}

static int push(struct word_list *list, const char *bytes, size_t size, struct err *err)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : FIRST_ROOM;
        struct list_word *words = heap_resize(list->words, room, sizeof *words, err);
        if (!words)
            return -1;
        list->words = words;
        list->room = room;
    }
    list->words[list->count++] = (struct list_word){bytes, size};
    return 0;
}

int word_list_add(struct word_list *list, const char *text, size_t size, struct err *err)
{
    size_t invalid = utf8_invalid_at(text, size);
    size_t length = 0;
    if (invalid < size)
        return err_set(err, "expected a text in UTF-8, found the byte 0x%02x at byte %zu",
                       (unsigned char)text[invalid], invalid);
    for (size_t at = 0; at < size; at += length) {
        if (part_at(text, size, at, &length) != PART_WORD)
            continue;
        length = end_of_word(text, size, at) - at;
        if (push(list, text + at, length, err))
            return -1;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct list_word *one = a;
    const struct list_word *other = b;
    size_t size = one->size < other->size ? one->size : other->size;
    int order = memcmp(one->bytes, other->bytes, size);
    return order ? order : (one->size > other->size) - (one->size < other->size);
}

void word_list_sort(struct word_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->words, list->count, sizeof *list->words, compare);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || compare(&list->words[i], &list->words[kept - 1]) != 0)
            list->words[kept++] = list->words[i];
    list->count = kept;
}

void word_list_json(struct buf *out, const struct word_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        buf_text(out, i ? ", " : "{");
        json_append_text(out, list->words[i].bytes, list->words[i].size);
        buf_format(out, ": %zu", i);
    }
    buf_text(out, list->count ? "}\n" : "{}\n");
}

void word_list_release(struct word_list *list)
{
    heap_free(list->words);
    *list = (struct word_list){0};
}
