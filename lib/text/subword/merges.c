/* merges.c: the merges of merges.txt and of tokenizer.json. */
#include "base/memory.h"
#include "base/utf8.h"
#include "text/label.h"
#include "text/subword/bpe.h"

enum { FIRST_BYTES = 256 };

struct merge_reader {
    struct bpe *bpe;
    const char *unit; /* merges are counted by: "line", "merge" */
    size_t number;
    size_t prefix; /* bytes of a right part that it loses when it is joined */
    char *text;    /* of a merge, without escapes */
    char *joined;  /* its parts in a row */
    char *decoded; /* a word's bytes */
    size_t capacity;
    struct err *err;
};

/* Make room for a merge of so many bytes. */
static int reserve(struct merge_reader *reader, size_t size)
{
    if (size < reader->capacity)
        return 0;
    size_t capacity = 2 * size + FIRST_BYTES;
    char *bytes = heap_resize(reader->text, capacity, 3, reader->err);
    if (!bytes)
        return -1;
    reader->text = bytes;
    reader->joined = bytes + capacity;
    reader->decoded = bytes + 2 * capacity;
    reader->capacity = capacity;
    return 0;
}

static int find_word(const struct merge_reader *reader, struct word word, uint32_t *id)
{
    char shown[LABEL_EXCERPT_BYTES];
    if (word_table_find_written(reader->bpe->words, word.bytes, word.size, reader->decoded, id))
        return 0;
    size_t valid = utf8_invalid_at(word.bytes, word.size);
    if (valid < word.size)
        return err_set(reader->err, "%s %zu: expected UTF-8, found the byte 0x%02x", reader->unit,
                       reader->number, (unsigned char)word.bytes[valid]);
    return err_set(reader->err, "%s %zu: '%s' is not in the vocabulary", reader->unit,
                   reader->number, label_excerpt(shown, word.bytes, word.size));
}

/* Is it the word of the last merge, or the word after that one, as of most files? */
static bool find_near(const struct bpe *bpe, struct word word, uint32_t *id)
{
    const struct word_table *words = bpe->words;
    *id = bpe->count ? bpe->merges[bpe->count - 1].id : 0;
    for (uint32_t end = *id + 2; *id < end && *id < words->size; ++*id)
        if (word_table_is(words, *id, word, words->form))
            return true;
    return false;
}

static int add_parts(struct merge_reader *reader, struct word left, struct word right)
{
    struct bpe_merge merge = {.rank = (uint32_t)reader->bpe->count};
    size_t prefix = reader->prefix < right.size ? reader->prefix : 0;
    struct word joined = {reader->joined, left.size + right.size - prefix};
    memcpy(reader->joined, left.bytes, left.size);
    memcpy(reader->joined + left.size, right.bytes + prefix, right.size - prefix);
    if (find_word(reader, left, &merge.left) || find_word(reader, right, &merge.right) ||
        find_word(reader, joined, &merge.id))
        return -1;
    return bpe_add(reader->bpe, &merge, reader->err);
}

/* Pass a merge as most are written, `Ġ t` or `Ġ", "t` and then `stop`, of signs alone: its parts
 * are read where they stand, side by side. False: it takes a closer look. */
static bool find_signs(const struct merge_reader *reader, struct json_cursor *at, bool quoted,
                       char stop, struct bpe_merge *merge)
{
    const struct word_table *words = reader->bpe->words;
    struct word parts[2];
    char *end = reader->joined;
    for (int i = 0; i < 2; i++) {
        if (i && quoted && (!json_cursor_next(at) || *at->at++ != '"'))
            return false;
        parts[i].bytes = end;
        at->at = word_signs_read(&end, reader->joined + reader->capacity - HASH_NEAR, at->at,
                                 at->end, words->form);
        parts[i].size = (size_t)(end - parts[i].bytes);
        if (*at->at++ != (i ? stop : quoted ? '"' : ' ') || !parts[i].size || reader->prefix)
            return false;
    }
    struct word joined = {reader->joined, parts[0].size + parts[1].size};
    *merge = (struct bpe_merge){.rank = (uint32_t)reader->bpe->count};
    return word_table_find_near(words, parts[0], words->form, &merge->left) &&
           word_table_find_near(words, parts[1], words->form, &merge->right) &&
           (find_near(reader->bpe, joined, &merge->id) ||
            word_table_find_near(words, joined, words->form, &merge->id));
}

/* "Ġ t"; before `end` there is what stops it, else it is the end of a file. */
static int add_text(struct merge_reader *reader, const char *text, size_t size, const char *end)
{
    char shown[LABEL_EXCERPT_BYTES];
    struct bpe_merge merge;
    struct json_cursor at = {.at = text, .end = end};
    if (text + size < end && find_signs(reader, &at, false, text[size], &merge) &&
        at.at == text + size + 1)
        return bpe_add(reader->bpe, &merge, reader->err);
    end = text + size;
    const char *blank = memchr(text, ' ', size);
    const char *right = blank ? blank + 1 : end;
    if (!blank || blank == text || right == end || memchr(right, ' ', (size_t)(end - right)))
        return err_set(reader->err, "%s %zu: expected two tokens separated by a space, found '%s'",
                       reader->unit, reader->number, label_excerpt(shown, text, size));
    return add_parts(reader, (struct word){text, (size_t)(blank - text)},
                     (struct word){right, (size_t)(end - right)});
}

static int finish(struct merge_reader *reader, int failed)
{
    heap_free(reader->text);
    return failed || bpe_index(reader->bpe, reader->err) ? -1 : 0;
}

/* --- merges.txt ------------------------------------------------------------------------------- */

static struct word take_line(const char **at, const char *end)
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

int merges_read_lines(struct bpe *bpe, const char *bytes, size_t size, struct err *err)
{
    struct merge_reader reader = {.bpe = bpe, .unit = "line", .err = err};
    const char *end = bytes + size;
    int failed = 0;
    for (const char *at = bytes; at < end && !failed;) {
        struct word line = take_line(&at, end);
        bool is_last = !line.size && at == end;
        reader.number++;
        if (!is_last && !is_version(line))
            failed = reserve(&reader, line.size) || add_text(&reader, line.bytes, line.size, end);
    }
    return finish(&reader, failed);
}

/* --- tokenizer.json --------------------------------------------------------------------------- */

static int refuse_item(const struct merge_reader *reader, struct json_cursor item)
{
    char shown[LABEL_EXCERPT_BYTES];
    struct json_span span = json_cursor_value(&item);
    return err_set(reader->err, "%s %zu: expected \"a b\" or [\"a\", \"b\"], found %s",
                   reader->unit, reader->number, label_excerpt(shown, span.bytes, span.size));
}

/* ["Ġ", "t"] */
static int add_pair(struct merge_reader *reader, struct json_cursor *merges)
{
    struct json_cursor item = *merges;
    struct json_span spans[2] = {0};
    size_t count = 0;
    json_cursor_enter(merges);
    for (; json_cursor_next(merges); count++) {
        if (count == 2 || json_cursor_kind(merges) != '"')
            return refuse_item(reader, item);
        spans[count] = json_cursor_text(merges);
    }
    if (count != 2 || !spans[0].size || !spans[1].size)
        return refuse_item(reader, item);
    if (reserve(reader, spans[0].size + spans[1].size))
        return -1;
    struct word left = {reader->text, json_unescape(reader->text, spans[0])};
    char *after = reader->text + left.size;
    return add_parts(reader, left, (struct word){after, json_unescape(after, spans[1])});
}

static int add_item(struct merge_reader *reader, struct json_cursor *merges)
{
    struct bpe_merge merge;
    const char *start = merges->at;
    char kind = *start;
    if (kind == '[')
        json_cursor_enter(merges);
    if (*merges->at++ == '"' && find_signs(reader, merges, kind == '[', '"', &merge) &&
        (kind != '[' || !json_cursor_next(merges)))
        return bpe_add(reader->bpe, &merge, reader->err);
    merges->at = start;
    if (kind == '[')
        return add_pair(reader, merges);
    if (kind != '"')
        return refuse_item(reader, *merges);
    struct json_span text = json_cursor_text(merges);
    if (reserve(reader, text.size))
        return -1;
    size_t size = json_unescape(reader->text, text);
    reader->text[size] = '\n';
    return add_text(reader, reader->text, size, reader->text + size + 1);
}

int merges_read_json(struct bpe *bpe, struct json_cursor merges, size_t prefix, struct err *err)
{
    struct merge_reader reader = {.bpe = bpe, .unit = "merge", .prefix = prefix, .err = err};
    int failed = reserve(&reader, 0);
    json_cursor_enter(&merges);
    for (; !failed && json_cursor_next(&merges); reader.number++)
        failed = add_item(&reader, &merges);
    return finish(&reader, failed);
}
