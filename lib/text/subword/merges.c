#include <string.h>

#include "base/heap.h"
#include "base/platform.h"
#include "base/utf8.h"
#include "text/label.h"
#include "text/subword/merge_reader.h"

/* How the words stand in the vocabulary. */
static enum word_form form_of(const struct merge_reader *reader)
{
    return reader->words->form == WORD_BYTES ? WORD_BYTES : WORD_TEXT;
}

/* Single bytes, or characters of ASCII, begin every encoding. */
static int begin(struct merge_reader *reader, size_t merge_count)
{
    struct bpe *bpe = reader->bpe;
    if (bpe_init(bpe, reader->brief ? 0 : merge_count, reader->err))
        return -1;
    if (reader->brief && !(bpe->splits = arena_room(&bpe->arena, merge_count, 1, reader->err)))
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
static int find_word(const struct merge_reader *reader, struct word word, char *bytes, uint32_t *id)
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
static bool find_made(const struct merge_reader *reader, struct word made, uint32_t *id)
{
    const struct word_table *words = reader->words;
    const struct bpe *bpe = reader->bpe;
    *id = bpe->count ? bpe->merges[bpe->count - 1].id + 1 : 0;
    if (word_table_is_near(words, *id, made, form_of(reader)) ||
        (*id && word_table_is_near(words, --*id, made, form_of(reader))))
        return true;
    return word_table_find(words, made.bytes, made.size, form_of(reader), id);
}

/* Most often both parts are words, and what they make is one; false where that is not so. */
static bool add_bytes(struct merge_reader *reader, const struct pending_merge *pending)
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
static int add_parts(struct merge_reader *reader, const struct pending_merge *pending)
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

static int add_next(struct merge_reader *reader)
{
    const struct pending_merge *pending = &reader->pending[reader->added++ % MERGES_AHEAD];
    size_t number = reader->number;
    reader->number = pending->number;
    if (add_parts(reader, pending))
        return -1;
    reader->number = number;
    return 0;
}

static int add_all(struct merge_reader *reader)
{
    while (reader->added < reader->read)
        if (add_next(reader))
            return -1;
    return 0;
}

/* Room for a merge of so many bytes, and for its text. */
int merge_reader_reserve(struct merge_reader *reader, size_t size)
{
    if (reader->disorder || (reader->read - reader->added == MERGES_AHEAD && add_next(reader)))
        return -1;
    if (size <= reader->room)
        return 0;
    if (add_all(reader)) /* their texts are about to go */
        return -1;
    size_t room = size < MERGE_ROOM ? MERGE_ROOM : 2 * size;
    heap_free(reader->bytes);
    reader->bytes =
        heap_alloc(room, 3 + 2 * MERGES_AHEAD, reader->err); /* near bytes after the last */
    reader->room = reader->bytes ? room : 0;
    reader->joined = reader->bytes + reader->room;
    reader->texts = reader->joined + reader->room;
    return reader->bytes ? 0 : -1;
}

/* Where the text of the next merge is written. */
char *merge_reader_room(const struct merge_reader *reader)
{
    return reader->texts + reader->read % MERGES_AHEAD * reader->room;
}

/* The bytes that a part stands for. */
static struct word read_part(const struct merge_reader *reader, struct word part, char *bytes)
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
static char *bytes_room(const struct merge_reader *reader)
{
    return merge_reader_room(reader) + MERGES_AHEAD * reader->room;
}

static struct pending_merge *next_pending(struct merge_reader *reader)
{
    return &reader->pending[reader->read % MERGES_AHEAD];
}

/* Most often a merge makes the word after the last one; its parts stand side by side. */
static void add_split(struct merge_reader *reader, struct word left, struct word right)
{
    struct bpe *bpe = reader->bpe;
    struct word made = {left.bytes, left.size + right.size};
    if (!bpe->count && left.bytes)
        word_table_find(reader->words, made.bytes, made.size, form_of(reader), &bpe->first_made);
    uint32_t id = bpe->first_made + (uint32_t)bpe->count;
    reader->disorder =
        !left.bytes || (left.size == 1 && bpe->byte_ids[(unsigned char)*left.bytes] == BPE_NONE) ||
        !right.bytes ||
        (right.size == 1 && bpe->byte_ids[(unsigned char)*right.bytes] == BPE_NONE) ||
        made.size > UINT8_MAX || !word_table_is_near(reader->words, id, made, form_of(reader));
    bpe->splits[bpe->count++] = (uint8_t)left.size;
}

/* Words are looked for some time after they were read, when the memory for that has come. */
static void push_pending(struct merge_reader *reader, struct pending_merge *pending)
{
    enum word_form form = form_of(reader);
    if (reader->brief) {
        add_split(reader, pending->left_bytes, pending->right_bytes);
        return;
    }
    pending->number = reader->number;
    reader->read++;
    if (!pending->left_bytes.bytes || !pending->right_bytes.bytes)
        return;
    pending->left_hash = word_hash_near(pending->left_bytes, form);
    pending->right_hash = word_hash_near(pending->right_bytes, form);
    word_table_prefetch(reader->words, pending->left_hash);
    word_table_prefetch(reader->words, pending->right_hash);
}

void merge_reader_push(struct merge_reader *reader, struct word left, struct word right)
{
    struct pending_merge *pending = next_pending(reader);
    char *bytes = bytes_room(reader);
    pending->left = left;
    pending->right = right;
    pending->left_bytes = read_part(reader, left, bytes);
    pending->right_bytes = read_part(reader, right, bytes + pending->left_bytes.size);
    push_pending(reader, pending);
}

/* Read a part, whose bytes go where those of `bytes` stand. */
static bool read_signs(const struct merge_reader *reader, const char **at, char stop,
                       struct word *part, struct word *bytes, char *out)
{
    const char *limit = bytes_room(reader) + reader->room;
    const char *start = *at;
    bytes->bytes = out;
    *at = word_signs_read(&out, limit, start, reader->end, form_of(reader));
    bytes->size = (size_t)(out - bytes->bytes);
    *part = (struct word){start, (size_t)(*at - start)};
    return **at == stop && *at > start;
}

bool merge_reader_left(struct merge_reader *reader, const char **at, char stop)
{
    struct pending_merge *pending = next_pending(reader);
    return read_signs(reader, at, stop, &pending->left, &pending->left_bytes, bytes_room(reader));
}

bool merge_reader_right(struct merge_reader *reader, const char **at, char stop)
{
    struct pending_merge *pending = next_pending(reader);
    char *out = bytes_room(reader) + pending->left_bytes.size;
    return read_signs(reader, at, stop, &pending->right, &pending->right_bytes, out);
}

bool merge_reader_push_signs(struct merge_reader *reader)
{
    struct pending_merge *pending = next_pending(reader);
    if (pending->left.size + pending->right.size > reader->room)
        return false;
    push_pending(reader, pending);
    return true;
}

static int run(struct merge_reader reader, size_t merge_count)
{
    int failed = begin(&reader, merge_count) || reader.read_all(&reader) || add_all(&reader) ||
                 reader.disorder;
    heap_free(reader.bytes);
    if (failed)
        bpe_release(reader.bpe);
    else if (!reader.brief)
        bpe_index(reader.bpe);
    return failed ? -1 : 0;
}

/* What is not as most are is read again, which has the words of an error. */
int merge_reader_run(const struct merge_reader *given, size_t merge_count)
{
    struct merge_reader brief = *given;
    struct merge_reader whole = *given;
    brief.err = NULL;
    whole.brief = false;
    return given->brief && !run(brief, merge_count) ? 0 : run(whole, merge_count);
}

/* "Ġ t" */
int merge_reader_add_text(struct merge_reader *reader, const char *text, size_t size)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *end = text + size;
    const char *blank = memchr(text, ' ', size);
    const char *right = blank ? blank + 1 : end;
    if (!blank || blank == text || right == end || memchr(right, ' ', (size_t)(end - right)))
        return err_set(reader->err,
                       "%s %zu: expected two tokens with a blank between them, found '%s'",
                       reader->unit, reader->number, label_excerpt(shown, text, size));
    merge_reader_push(reader, (struct word){text, (size_t)(blank - text)},
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

/* A line as most are, with signs alone, and not the last. False: it takes a closer look. */
static bool add_line(struct merge_reader *reader, const char **line)
{
    const char *at = *line;
    if (*at == '#' || !merge_reader_left(reader, &at, ' '))
        return false;
    at++;
    if (!merge_reader_right(reader, &at, '\n') || !merge_reader_push_signs(reader))
        return false;
    *line = at + 1;
    return true;
}

static int read_line(struct merge_reader *reader, const char **at)
{
    struct word line = merges_take_line(at, reader->end);
    bool last = !line.size && *at == reader->end;
    if (last || is_version(line))
        return 0;
    return merge_reader_reserve(reader, line.size) ||
                   merge_reader_add_text(reader, line.bytes, line.size)
               ? -1
               : 0;
}

static int read_lines(struct merge_reader *reader)
{
    const char *at = reader->start;
    const char *last = platform_last_byte(at, '\n', (size_t)(reader->end - at));
    while (at < reader->end) {
        reader->number++;
        if (merge_reader_reserve(reader, MERGE_ROOM))
            return -1;
        if (!(last && at < last && add_line(reader, &at)) && read_line(reader, &at))
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
                      size_t size, bool brief, struct err *err)
{
    struct merge_reader reader = {.bpe = bpe,
                                  .words = words,
                                  .unit = "line",
                                  .start = bytes,
                                  .end = bytes + size,
                                  .read_all = read_lines,
                                  .brief = brief,
                                  .err = err};
    return merge_reader_run(&reader, merges_count_lines(bytes, size));
}
