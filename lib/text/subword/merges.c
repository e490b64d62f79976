#include "text/subword/bpe.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "text/label.h"

enum { FIRST_ROOM = 256, AHEAD = 16 };

/* A merge that was read: both parts, as the file writes them and what they stand for, side by side;
 * NULL bytes where the alphabet does not have them. */
struct pending {
    struct word left, right;
    struct word left_bytes, right_bytes;
    uint64_t left_hash, right_hash;
    size_t number;
};

struct reader {
    struct bpe *bpe;
    const struct word_table *words;
    const char *unit; /* what merges are counted by: "line", "merge" */
    size_t number;
    char *bytes;                   /* room for what a merge stands for, */
    char *joined;                  /* for its parts without the blank, */
    char *texts;                   /* and for itself without escapes, a ring of them: */
    size_t room;                   /* so much each */
    struct pending pending[AHEAD]; /* a ring of merges that were read and not added */
    size_t read, added;
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

/* Find a word as the file writes it; `bytes` gets what it stands for. */
static int find_word(const struct reader *reader, struct word word, char *bytes, uint32_t *id)
{
    char shown[LABEL_EXCERPT_BYTES];
    if (word_table_find_written(reader->words, word.bytes, word.size, bytes, id))
        return 0;
    size_t valid = utf8_invalid_at(word.bytes, word.size); /* that says more */
    if (valid < word.size)
        return err_set(reader->err, "%s %zu: expected UTF-8, found the byte 0x%02x", reader->unit,
                       reader->number, (unsigned char)word.bytes[valid]);
    return err_set(reader->err, "%s %zu: '%s' is not in the vocabulary", reader->unit,
                   reader->number, label_excerpt(shown, word.bytes, word.size));
}

/* What a merge makes is most often what the last one made, or the word after it. */
static bool find_made(const struct reader *reader, struct word made, uint32_t *id)
{
    const struct word_table *words = reader->words;
    const struct bpe *bpe = reader->bpe;
    *id = bpe->count ? bpe->merges[bpe->count - 1].id : 0;
    for (uint32_t end = *id + 2; *id < end; (*id)++)
        if (word_table_is_near(words, *id, made, form_of(reader)))
            return true;
    return word_table_find(words, made.bytes, made.size, form_of(reader), id);
}

/* Most often both parts are words, and what they make is one; false where that is not so. */
static bool add_bytes(struct reader *reader, const struct pending *pending)
{
    struct bpe_merge merge;
    struct word left = pending->left_bytes;
    struct word right = pending->right_bytes;
    struct word made = {left.bytes, left.size + right.size};
    enum word_form form = form_of(reader);
    if (reader->prefix || !left.bytes || !right.bytes ||
        !word_table_find_near(reader->words, left, form, pending->left_hash, &merge.left) ||
        !word_table_find_near(reader->words, right, form, pending->right_hash, &merge.right) ||
        !find_made(reader, made, &merge.id))
        return false;
    bpe_add(reader->bpe, &merge);
    return true;
}

/* Both parts are words, and so is what is written like both in a row. */
static int add_parts(struct reader *reader, const struct pending *pending)
{
    struct bpe_merge merge;
    struct word left = pending->left;
    struct word right = pending->right;
    struct word joined = {reader->joined, left.size + right.size};
    if (add_bytes(reader, pending))
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

/* --- merges that wait ------------------------------------------------------------------------- */

static int add_next(struct reader *reader)
{
    const struct pending *pending = &reader->pending[reader->added++ % AHEAD];
    size_t number = reader->number;
    reader->number = pending->number;
    if (add_parts(reader, pending))
        return -1;
    reader->number = number;
    return 0;
}

static int add_all(struct reader *reader)
{
    while (reader->added < reader->read)
        if (add_next(reader))
            return -1;
    return 0;
}

/* Room for a merge of so many bytes, and for its text. */
static int reserve(struct reader *reader, size_t size)
{
    if (reader->read - reader->added == AHEAD && add_next(reader))
        return -1;
    if (size <= reader->room)
        return 0;
    if (add_all(reader)) /* their texts are about to go */
        return -1;
    size_t room = size < FIRST_ROOM ? FIRST_ROOM : 2 * size;
    heap_free(reader->bytes);
    reader->bytes = heap_alloc(room, 3 + 2 * AHEAD, reader->err); /* near bytes after the last */
    reader->room = reader->bytes ? room : 0;
    reader->joined = reader->bytes + reader->room;
    reader->texts = reader->joined + reader->room;
    return reader->bytes ? 0 : -1;
}

/* Where the text of the next merge is written. */
static char *text_room(const struct reader *reader)
{
    return reader->texts + reader->read % AHEAD * reader->room;
}

/* The bytes that a part stands for. */
static struct word read_part(const struct reader *reader, struct word part, char *bytes)
{
    struct word read = part;
    if (form_of(reader) == WORD_BYTES) {
        if (byte_alphabet_decode(bytes, &read.size, part.bytes, part.size) < part.size)
            return (struct word){0};
    } else {
        memcpy(bytes, part.bytes, part.size);
    }
    read.bytes = bytes;
    return read;
}

/* Where the bytes of the next merge are written. */
static char *bytes_room(const struct reader *reader)
{
    return text_room(reader) + AHEAD * reader->room;
}

/* Words are looked for some time after they were read, when the memory for that has come. */
static void push_read(struct reader *reader, struct pending *pending)
{
    pending->number = reader->number;
    reader->read++;
    if (!pending->left_bytes.bytes || !pending->right_bytes.bytes)
        return;
    pending->left_hash = word_hash_near(pending->left_bytes, form_of(reader));
    pending->right_hash = word_hash_near(pending->right_bytes, form_of(reader));
    word_table_prefetch(reader->words, pending->left_hash);
    word_table_prefetch(reader->words, pending->right_hash);
}

static void push(struct reader *reader, struct word left, struct word right)
{
    struct pending *pending = &reader->pending[reader->read % AHEAD];
    char *bytes = bytes_room(reader);
    pending->left = left;
    pending->right = right;
    pending->left_bytes = read_part(reader, left, bytes);
    pending->right_bytes = read_part(reader, right, bytes + pending->left_bytes.size);
    push_read(reader, pending);
}

static int finish(struct reader *reader, int failed)
{
    failed = failed || add_all(reader) ? -1 : 0;
    heap_free(reader->bytes);
    if (failed)
        bpe_release(reader->bpe);
    else
        bpe_index(reader->bpe);
    return failed;
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
    push(reader, (struct word){text, (size_t)(blank - text)},
         (struct word){right, (size_t)(end - right)});
    return 0;
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
    return add_text(reader, line.bytes, line.size);
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
    char *text = text_room(reader);
    struct word left = {text, json_unescape(text, spans[0])};
    char *after = text + left.size;
    struct word right = {after, json_unescape(after, spans[1])};
    push(reader, left, right);
    return 0;
}

/* Read a part of at least one sign up to `end`; false where that takes a closer look. */
static bool read_signs(const struct reader *reader, struct json_cursor *at, char end, char **out,
                       struct word *part, struct word *bytes)
{
    const char *limit = bytes_room(reader) + reader->room;
    const char *start = at->at + 1; /* after a quote or a blank */
    char *begin = *out;
    at->at = word_signs_read(out, limit, start, at->end, form_of(reader));
    *part = (struct word){start, (size_t)(at->at - start)};
    *bytes = (struct word){begin, (size_t)(*out - begin)};
    return *at->at == end && at->at > start;
}

/* A merge as most are written: without escapes, and with signs alone. False: it takes a closer
 * look. */
static bool add_signs(struct reader *reader, struct json_cursor *merges)
{
    struct pending *pending = &reader->pending[reader->read % AHEAD];
    struct json_cursor at = *merges;
    char *bytes = bytes_room(reader);
    bool pair = *at.at == '[';
    if (pair)
        json_cursor_enter(&at);
    if (*at.at != '"' ||
        !read_signs(reader, &at, pair ? '"' : ' ', &bytes, &pending->left, &pending->left_bytes))
        return false;
    at.at += pair;
    if ((pair && (!json_cursor_next(&at) || *at.at != '"')) ||
        !read_signs(reader, &at, '"', &bytes, &pending->right, &pending->right_bytes))
        return false;
    at.at++;
    if (pair && json_cursor_next(&at))
        return false;
    push_read(reader, pending);
    *merges = at;
    return true;
}

static int add_item(struct reader *reader, struct json_cursor *merges)
{
    char kind = json_cursor_kind(merges);
    if (reserve(reader, FIRST_ROOM))
        return -1;
    if (add_signs(reader, merges))
        return 0;
    if (kind == '[')
        return add_pair(reader, merges);
    struct json_span item = json_cursor_value(merges);
    if (kind != '"')
        return refuse_item(reader, item);
    if (reserve(reader, item.size))
        return -1;
    struct json_cursor text = json_cursor_at(item);
    char *bytes = text_room(reader);
    size_t size = json_cursor_read(&text, bytes);
    return add_text(reader, bytes, size);
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
