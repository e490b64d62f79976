#include "train/word_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "format/json_writer.h"

/* The role of a character in a text of words. */
enum part { PART_WORD, PART_UNSPACED, PART_JOINT, PART_BLANK, PART_OTHER };

/* A line of a text. With `cuts`, each character of a script without spaces is a word. */
struct line {
    const char *text;
    size_t size;
    bool cuts;
};

static enum part part_at(const struct line *line, size_t at, size_t *length)
{
    enum { APOSTROPHE = 0x2019 };
    uint32_t c = 0;
    *length = utf8_decode(&c, line->text + at, line->size - at);
    enum utf8_class class = utf8_class(c);
    if (class == UTF8_LETTER && line->cuts && unicode_is_unspaced(c))
        return PART_UNSPACED;
    if (class == UTF8_LETTER || class == UTF8_NUMBER)
        return PART_WORD;
    if (class == UTF8_SPACE)
        return PART_BLANK;
    return c == '\'' || c == '-' || c == APOSTROPHE ? PART_JOINT : PART_OTHER;
}

/* True if spaces separate two characters of scripts without spaces. */
static bool is_spaced(const struct line *line)
{
    bool after = false; /* such a character comes before, perhaps with spaces after it */
    bool blank = false;
    size_t length = 0;
    for (size_t at = 0; at < line->size; at += length) {
        enum part part = part_at(line, at, &length);
        if (part == PART_UNSPACED && after && blank)
            return true;
        blank = part == PART_BLANK;
        after = part == PART_UNSPACED || (blank && after);
    }
    return false;
}

/* The end of the word that begins at `at`. An apostrophe or hyphen needs a letter or digit on both
 * sides. If a character of a script without spaces follows directly, as in don't爱, the word ends
 * before its first apostrophe or hyphen, as in the tokenizer (words.c). */
static size_t end_of_word(const struct line *line, size_t at)
{
    size_t end = at;
    size_t joint = 0; /* the position of the first one */
    size_t length = 0;
    enum part last = PART_OTHER;
    enum part part = PART_OTHER;
    for (; at < line->size; at += length, last = part) {
        part = part_at(line, at, &length);
        if (part != PART_WORD && (part != PART_JOINT || last != PART_WORD))
            break;
        if (part == PART_JOINT && !joint)
            joint = at;
        if (part == PART_WORD)
            end = at + length;
    }
    return joint && at == end && part == PART_UNSPACED ? joint : end;
}

static int push(struct word_list *list, const char *bytes, size_t size, struct err *err)
{
    struct word *words = arena_grow(&list->arena, list->words, list->count, sizeof *words, err);
    if (!words)
        return -1;
    list->words = words;
    list->words[list->count++] = (struct word){bytes, size};
    return 0;
}

/* Add each character of a run in a script without spaces as a word. */
static int push_characters(struct word_list *list, const struct line *line, size_t *at,
                           struct err *err)
{
    size_t start = *at;
    size_t count = 0, length = 0;
    for (; *at < line->size && part_at(line, *at, &length) == PART_UNSPACED; count++) {
        length = utf8_grapheme(line->text + *at, line->size - *at);
        if (push(list, line->text + *at, length, err))
            return -1;
        *at += length;
    }
    if (count > 1 && !list->unspaced.size)
        list->unspaced = (struct word){line->text + start, *at - start};
    return 0;
}

static int add_line(struct word_list *list, const struct line *line, struct err *err)
{
    for (size_t at = 0; at < line->size;) {
        size_t length = 0;
        enum part part = part_at(line, at, &length);
        if (part == PART_UNSPACED) {
            if (push_characters(list, line, &at, err))
                return -1;
            continue;
        }
        size_t end = part == PART_WORD ? end_of_word(line, at) : at + length;
        if (part == PART_WORD && push(list, line->text + at, end - at, err))
            return -1;
        at = end;
    }
    return 0;
}

int word_list_add(struct word_list *list, const char *text, size_t size, struct err *err)
{
    size_t invalid = utf8_invalid_at(text, size);
    if (invalid < size)
        return err_set(err, "expected a text in UTF-8, found the byte 0x%02x at byte %zu",
                       (unsigned char)text[invalid], invalid);
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        size_t end = newline ? (size_t)(newline - text) : size;
        struct line line = {text + at, end - at, true};
        line.cuts = !is_spaced(&line);
        if (add_line(list, &line, err))
            return -1;
        at = end + 1;
    }
    return 0;
}

static int compare_words(const void *a, const void *b)
{
    const struct word *one = a;
    const struct word *other = b;
    int order = memcmp(one->bytes, other->bytes, one->size < other->size ? one->size : other->size);
    return order ? order : (one->size > other->size) - (one->size < other->size);
}

void word_list_sort(struct word_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->words, list->count, sizeof *list->words, compare_words);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || compare_words(&list->words[i], &list->words[kept - 1]) != 0)
            list->words[kept++] = list->words[i];
    list->count = kept;
}

void word_list_json(struct buf *out, const struct word_list *list)
{
    struct json_writer json = {.buf = out};
    json_put_open(&json, NULL, '{');
    for (size_t i = 0; i < list->count; i++) {
        json_put_name(&json, list->words[i].bytes, list->words[i].size);
        json_put_integer(&json, NULL, i);
    }
    json_put_close(&json, '}');
    buf_char(out, '\n');
}

void word_list_release(struct word_list *list)
{
    arena_release(&list->arena);
    *list = (struct word_list){0};
}
