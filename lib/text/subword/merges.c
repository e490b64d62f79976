#include "text/subword/bpe.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "text/label.h"

enum { FIRST_ROOM = 256 };

struct reader {
    struct bpe *bpe;
    const struct word_table *words;
    const char *unit; /* what merges are counted by: "line", "merge" */
    size_t number;
    char *bytes;   /* room for what a merge stands for, */
    char *joined;  /* for its parts without the blank, */
    char *text;    /* and for itself without escapes: */
    size_t room;   /* so much each */
    size_t prefix; /* bytes of a right part that go away when it is joined */
    struct err *err;
};

/* How the words stand in the vocabulary. */
static enum word_form form_of(const struct reader *reader)
{
    return reader->words->form == WORD_BYTES ? WORD_BYTES : WORD_TEXT;
}

/* Single bytes, or characters of ASCII, begin every encoding. */
static int begin(struct reader *reader, size_t merge_count)
{
    struct bpe *bpe = reader->bpe;
    if (bpe_init(bpe, merge_count, reader->err))
        return -1;
    bpe->words = reader->words;
    bpe->by_characters = form_of(reader) == WORD_TEXT;
    for (unsigned byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        word_table_find(reader->words, &c, 1, form_of(reader), &reader->bpe->byte_ids[byte]);
    }
    return 0;
}

static int reserve(struct reader *reader, size_t size)
{
    if (size <= reader->room)
        return 0;
    size_t room = size < FIRST_ROOM ? FIRST_ROOM : 2 * size;
    heap_free(reader->bytes);
    reader->bytes = heap_alloc(room, 3, reader->err);
    reader->room = reader->bytes ? room : 0;
    reader->joined = reader->bytes + reader->room;
    reader->text = reader->joined + reader->room;
    return reader->bytes ? 0 : -1;
}

static int finish(struct reader *reader, int failed)
{
    heap_free(reader->bytes);
    if (failed)
        bpe_release(reader->bpe);
    return failed;
}

/* Find a word as the file writes it; `bytes` gets what it stands for. */
static int find_word(const struct reader *reader, struct word word, char *bytes, uint32_t *id)
{
    char shown[LABEL_EXCERPT_BYTES];
    if (word_table_find_written(reader->words, word.bytes, word.size, bytes, id))
        return 0;
    return err_set(reader->err, "%s %zu: '%s' is not in the vocabulary", reader->unit,
                   reader->number, label_excerpt(shown, word.bytes, word.size));
}

/* What a merge makes is most often the word after what the last one made. */
static bool is_next_word(const struct reader *reader, size_t size, uint32_t *id)
{
    const struct word_table *words = reader->words;
    const struct bpe *bpe = reader->bpe;
    *id = bpe->count ? bpe->merges[bpe->count - 1].id + 1 : 0;
    if (*id >= words->size || words->places[*id].form != form_of(reader))
        return false;
    return words->places[*id].size == size &&
           memcmp(words->bytes + words->places[*id].start, reader->bytes, size) == 0;
}

/* The bytes that a part stands for; false where it is no text in the alphabet, and should be. */
static bool read_part(const struct reader *reader, struct word part, char *bytes, size_t *size)
{
    if (form_of(reader) == WORD_BYTES)
        return byte_alphabet_decode(bytes, size, part.bytes, part.size) == part.size;
    memcpy(bytes, part.bytes, part.size);
    *size = part.size;
    return true;
}

/* Most often both parts are words whose bytes come to lie side by side, and what they make is the
 * next word; false where that is not so. */
static bool add_bytes(struct reader *reader, struct word left, struct word right)
{
    struct bpe_merge merge;
    enum word_form form = form_of(reader);
    size_t left_size = 0;
    size_t right_size = 0;
    char *bytes = reader->bytes;
    if (reader->prefix || !read_part(reader, left, bytes, &left_size))
        return false;
    char *rest = bytes + left_size;
    if (!read_part(reader, right, rest, &right_size) ||
        !word_table_find(reader->words, bytes, left_size, form, &merge.left) ||
        !word_table_find(reader->words, rest, right_size, form, &merge.right) ||
        !is_next_word(reader, left_size + right_size, &merge.id))
        return false;
    bpe_add(reader->bpe, &merge);
    return true;
}

/* Both parts are words, and so is what is written like both in a row. */
static int add_parts(struct reader *reader, struct word left, struct word right)
{
    struct bpe_merge merge;
    struct word joined = {reader->joined, left.size + right.size};
    if (add_bytes(reader, left, right))
        return 0;
    size_t prefix = reader->prefix < right.size ? reader->prefix : 0;
    joined.size -= prefix;
    memcpy(reader->joined, left.bytes, left.size);
    memcpy(reader->joined + left.size, right.bytes + prefix, right.size - prefix);
    if (find_word(reader, left, reader->bytes, &merge.left) ||
        find_word(reader, right, reader->bytes, &merge.right) ||
        find_word(reader, joined, reader->bytes, &merge.id))
        return -1;
    bpe_add(reader->bpe, &merge);
    return 0;
}

/* "Ġ t" */
static int add_text(struct reader *reader, const char *text, size_t size)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *end = text + size;
    const char *blank = memchr(text, ' ', size);
    const char *right = blank ? blank + 1 : end;
    if (!blank || blank == text || right == end || memchr(right, ' ', (size_t)(end - right)))
        return err_set(reader->err,
                       "%s %zu: expected two tokens with a blank between them, found '%s'",
                       reader->unit, reader->number, label_excerpt(shown, text, size));
    return add_parts(reader, (struct word){text, (size_t)(blank - text)},
                     (struct word){right, (size_t)(end - right)});
}

/* --- merges.txt ------------------------------------------------------------------------------- */

struct word merges_take_line(const char **at, const char *end)
{
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    struct word line = {*at, (size_t)((newline ? newline : end) - *at)};
    *at = newline ? newline + 1 : end;
    if (line.size && line.bytes[line.size - 1] == '\r')
        line.size--;
    return line;
}

static bool is_version(struct word line)
{
    static const char version[] = "#version";
    return line.size >= sizeof version - 1 && memcmp(line.bytes, version, sizeof version - 1) == 0;
}

static int read_line(struct reader *reader, struct word line)
{
    if (reserve(reader, line.size))
        return -1;
    if (add_text(reader, line.bytes, line.size) == 0)
        return 0;
    size_t valid = utf8_invalid_at(line.bytes, line.size); /* that says more than what came of it */
    if (valid < line.size && reader->err) {
        err_clear(reader->err);
        err_set(reader->err, "line %zu: expected UTF-8, found the byte 0x%02x", reader->number,
                (unsigned char)line.bytes[valid]);
    }
    return -1;
}

static int read_lines(struct reader *reader, const char *at, const char *end)
{
    while (at < end) {
        struct word line = merges_take_line(&at, end);
        reader->number++;
        bool last = !line.size && at == end;
        if (!is_version(line) && !last && read_line(reader, line))
            return -1;
    }
    return 0;
}

size_t merges_count_lines(const char *bytes, size_t size)
{
    size_t count = 1;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == '\n';
    return count;
}

int merges_read_lines(struct bpe *bpe, const struct word_table *words, const char *bytes,
                      size_t size, struct err *err)
{
    struct reader reader = {.bpe = bpe, .words = words, .unit = "line", .err = err};
    if (begin(&reader, merges_count_lines(bytes, size)))
        return -1;
    return finish(&reader, read_lines(&reader, bytes, bytes + size));
}

/* --- tokenizer.json --------------------------------------------------------------------------- */

static int refuse_item(const struct reader *reader, struct json_span item)
{
    char shown[LABEL_EXCERPT_BYTES];
    return err_set(reader->err, "%s %zu: expected \"a b\" or [\"a\", \"b\"], found %s",
                   reader->unit, reader->number, label_excerpt(shown, item.bytes, item.size));
}

/* ["Ġ", "t"] */
static int add_pair(struct reader *reader, struct json_cursor *merges)
{
    struct json_cursor item = *merges;
    struct json_span spans[2] = {0};
    size_t count = 0;
    json_cursor_enter(merges);
    for (; json_cursor_next(merges); count++) {
        if (count == 2 || json_cursor_kind(merges) != '"')
            return refuse_item(reader, json_cursor_value(&item));
        spans[count] = json_cursor_text(merges);
    }
    if (count != 2 || !spans[0].size || !spans[1].size)
        return refuse_item(reader, json_cursor_value(&item));
    if (reserve(reader, spans[0].size + spans[1].size))
        return -1;
    struct word left = {reader->text, json_unescape(reader->text, spans[0])};
    char *after = reader->text + left.size;
    struct word right = {after, json_unescape(after, spans[1])};
    return add_parts(reader, left, right);
}

static int add_item(struct reader *reader, struct json_cursor *merges)
{
    char kind = json_cursor_kind(merges);
    if (kind == '[')
        return add_pair(reader, merges);
    struct json_span item = json_cursor_value(merges);
    if (kind != '"')
        return refuse_item(reader, item);
    if (reserve(reader, item.size))
        return -1;
    struct json_cursor text = json_cursor_at(item);
    size_t size = json_cursor_read(&text, reader->text);
    return add_text(reader, reader->text, size);
}

int merges_read_json(struct bpe *bpe, const struct word_table *words, struct json_cursor merges,
                     size_t count, size_t prefix, struct err *err)
{
    struct reader reader = {
        .bpe = bpe, .words = words, .unit = "merge", .prefix = prefix, .err = err};
    int failed = 0;
    if (begin(&reader, count))
        return -1;
    json_cursor_enter(&merges);
    for (; !failed && json_cursor_next(&merges); reader.number++)
        failed = add_item(&reader, &merges);
    return finish(&reader, failed);
}
