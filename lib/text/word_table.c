#include "text/word_table.h"

#include <float.h>
#include <stdio.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/memory.h"
#include "base/num.h"
#include "format/json.h"
#include "text/label.h"

/* Allocate entries for all ids up to `id`: first for `most_words`, which is enough if ids have no
 * gaps. New memory is zeroed lazily, so unused entries between distant ids cost nothing. */
static int make_stored(struct word_table *table, size_t id, struct err *err)
{
    size_t capacity = table->capacity ? table->capacity : table->most_words;
    if (id >= table->size)
        table->size = id + 1;
    if (table->size <= table->capacity)
        return 0;
    while (capacity < table->size)
        capacity *= 2;
    struct stored_word *stored = arena_alloc(&table->arena, capacity, sizeof *stored, err);
    if (!stored)
        return -1;
    if (table->capacity)
        memcpy(stored, table->stored, table->capacity * sizeof *stored);
    table->stored = stored;
    table->capacity = capacity;
    return 0;
}

uint64_t word_hash(struct word word, enum word_form form)
{
    return hash_mix(hash_near(word.bytes, word.size), form);
}

/* Find a word. If the table does not have it, the probe is then at the free slot for it. */
static bool find(const struct word_table *table, struct word word, enum word_form form,
                 struct hash_probe *probe, uint32_t *id)
{
    while (hash_next(probe, id))
        if (word_table_is(table, *id, word, form))
            return true;
    return false;
}

enum word_entered { WORD_IS_NEW, WORD_IS_KNOWN, WORD_ID_IS_TAKEN };

/* Enter a word whose bytes already follow the bytes of the other words. The caller updates
 * `used_bytes`. Nothing is entered if the word is present or its id is in use. */
static int enter_word(struct word_table *table, enum word_entered *entered,
                      struct stored_word stored, size_t id, uint64_t hash, struct err *err)
{
    uint32_t known = 0;
    if (make_stored(table, id, err))
        return -1;
    struct word word = {table->bytes + stored.start, stored.size};
    struct hash_probe probe = hash_probe(&table->index, hash);
    bool is_known = find(table, word, stored.form, &probe, &known);
    *entered = is_known                                ? WORD_IS_KNOWN
               : table->stored[id].form != WORD_ABSENT ? WORD_ID_IS_TAKEN
                                                       : WORD_IS_NEW;
    if (*entered != WORD_IS_NEW)
        return 0;
    table->stored[id] = stored;
    hash_put(&probe, (uint32_t)id);
    return 0;
}

int word_table_begin(struct word_table *table, size_t most_words, size_t most_bytes,
                     struct err *err)
{
    if (most_bytes > WORD_BYTES_MAX)
        return err_set(err, "expected at most %d bytes of words, found %zu", WORD_BYTES_MAX,
                       most_bytes);
    table->most_words = most_words;
    arena_expect(&table->arena, most_bytes + most_words * WORD_TABLE_BYTES);
    table->bytes = arena_room(&table->arena, most_bytes + HASH_NEAR, 1, err);
    return table->bytes && !hash_index_init(&table->index, most_words, &table->arena, err) ? 0 : -1;
}

int word_table_add(struct word_table *table, struct word word, size_t id, struct err *err)
{
    enum word_entered entered = WORD_IS_NEW;
    struct stored_word stored = {
        .start = (uint32_t)table->used_bytes,
        .size = (uint32_t)word.size & WORD_BYTES_MAX,
        .form = table->form,
    };
    if (!word.size)
        return err_set(err, "id %zu: expected a word, found \"\"", id);
    word.bytes = memcpy(table->bytes + stored.start, word.bytes, word.size);
    if (enter_word(table, &entered, stored, id, word_hash(word, stored.form), err))
        return -1;
    table->used_bytes += stored.size;
    return entered == WORD_IS_NEW ? 0
                                  : err_set(err, "id %zu: '%s' occurs twice", id,
                                            label_excerpt(word.bytes, word.size));
}

void word_table_release(struct word_table *table)
{
    arena_release(&table->arena);
    *table = (struct word_table){0};
}

bool word_table_find(const struct word_table *table, const char *bytes, size_t size,
                     enum word_form form, uint32_t *id)
{
    char few[HASH_NEAR] = {0};
    if (size < HASH_NEAR)
        bytes = size ? memcpy(few, bytes, size) : few;
    return word_table_find_near(table, (struct word){bytes, size}, form, id);
}

bool word_table_find_near(const struct word_table *table, struct word word, enum word_form form,
                          uint32_t *id)
{
    uint32_t found = 0;
    struct hash_probe probe = hash_probe(&table->index, word_hash(word, form));
    if (!find(table, word, form, &probe, &found))
        return false;
    *id = found;
    return true;
}

bool word_table_find_written(const struct word_table *table, const char *text, size_t size,
                             char *scratch, uint32_t *id)
{
    size_t decoded = 0;
    if (table->form == WORD_BYTES && byte_alphabet_decode(scratch, &decoded, text, size) == size)
        return word_table_find(table, scratch, decoded, WORD_BYTES, id);
    return word_table_find(table, text, size, WORD_TEXT, id);
}

const char *word_table_word(const struct word_table *table, uint32_t id, size_t *size)
{
    if (id >= table->size || table->stored[id].form == WORD_ABSENT)
        return NULL;
    *size = table->stored[id].size;
    return table->bytes + table->stored[id].start;
}

struct word word_take_line(const char **at, const char *end)
{
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    struct word line = {*at, (size_t)((newline ? newline : end) - *at)};
    *at = newline ? newline + 1 : end;
    line.size -= line.size && line.bytes[line.size - 1] == '\r';
    return line;
}

/* --- a vocabulary of JSON --------------------------------------------------------------------- */

enum { DESCRIPTION_BYTES = 80, AHEAD = 8 };

/* A table has an entry for every id up to the largest, so ids are limited to IDS_FREE plus
 * IDS_PER_BYTE for each byte of the file. */
enum { IDS_FREE = 1 << 18, IDS_PER_BYTE = 16 };

/* A word that was read and is not yet in the table. */
struct word_entry {
    struct json_span word;
    struct stored_word stored;
    size_t id;
    uint64_t hash;
};

/* The state of reading one vocabulary. */
struct word_reader {
    struct word_table *table;
    struct json_cursor at;
    char kind;       /* '{': words with ids; '[': words in the order of ids */
    size_t id_limit; /* the largest id that a file of this size may have */
    size_t file_bytes;
    const char *limit;                /* the end of the memory for the words' bytes */
    struct word_entry entries[AHEAD]; /* a ring of words that are not yet entered */
    size_t read, entered;
    struct err *err;
};

/* A word for messages: as the file writes it, but without escapes. */
static const char *shown(struct json_span word)
{
    struct json *value = NULL;
    const char *bytes = "";
    if (json_parse(&value, word.bytes - 1, word.size + 2, NULL) == 0)
        json_get_text(value, &bytes);
    const char *text = label_excerpt(bytes, strlen(bytes));
    json_free(value);
    return text;
}

/* Report that the next value is not the expected one. */
static int refuse_value(struct word_reader *reader, const char *expected)
{
    char found[DESCRIPTION_BYTES];
    struct json *value = NULL;
    bool is_number = json_cursor_kind(&reader->at) == '0';
    struct json_span span = json_cursor_value(&reader->at);
    if (is_number) /* show a number as the file writes it: 1e3, 1.0 */
        err_set(reader->err, "expected %s, found %s", expected,
                label_excerpt(span.bytes, span.size));
    else if (json_parse(&value, span.bytes, span.size, reader->err) == 0)
        err_set(reader->err, "expected %s, found %s", expected,
                json_describe(value, found, sizeof found));
    json_free(value);
    return -1;
}

static int check_id(const struct word_reader *reader, struct json_span word, size_t id)
{
    if (id <= reader->id_limit)
        return 0;
    return err_set(reader->err,
                   "word '%s': expected an id up to %zu in a file of %zu bytes, found %zu",
                   shown(word), reader->id_limit, reader->file_bytes, id);
}

/* Read the next text and write the bytes of its word after the other words. */
static struct json_span write_word(struct word_reader *reader, struct stored_word *stored)
{
    struct word_table *table = reader->table;
    char *bytes = table->bytes + table->used_bytes;
    char *end = bytes;
    struct json_span word = {.bytes = reader->at.at + 1};
    size_t decoded = 0;
    const char *stop =
        word_signs_read(&end, reader->limit, word.bytes, reader->at.end, table->form);
    if (*stop == '"') { /* the usual case: no escapes, and only characters of the alphabet */
        word.size = (size_t)(stop - word.bytes);
        reader->at.at = stop + 1;
        *stored = (struct stored_word){(uint32_t)table->used_bytes,
                                       (uint32_t)(end - bytes) & WORD_BYTES_MAX, table->form};
        return word;
    }
    size_t size = json_cursor_read(&reader->at, bytes);
    word.size = (size_t)(reader->at.at - 1 - word.bytes);
    bool known =
        table->form == WORD_BYTES && byte_alphabet_decode(bytes, &decoded, bytes, size) == size;
    if (!known && table->form == WORD_BYTES)
        json_unescape(bytes, word); /* decode the escapes again: byte_alphabet_decode overwrote the
                                     * beginning */
    *stored = (struct stored_word){
        .start = (uint32_t)table->used_bytes,
        .size = (uint32_t)(known ? decoded : size) & WORD_BYTES_MAX,
        .form = known ? WORD_BYTES : WORD_TEXT,
    };
    return word;
}

static int enter_next(struct word_reader *reader)
{
    struct word_table *table = reader->table;
    const struct word_entry *entry = &reader->entries[reader->entered++ % AHEAD];
    struct stored_word stored = entry->stored;
    enum word_entered entered = WORD_IS_NEW;
    uint32_t first = 0;
    if (enter_word(table, &entered, stored, entry->id, entry->hash, reader->err))
        return -1;
    if (entered == WORD_IS_KNOWN) {
        word_table_find(table, table->bytes + stored.start, stored.size, stored.form, &first);
        return err_set(reader->err, "word '%s' occurs twice, with the ids %u and %zu",
                       shown(entry->word), (unsigned)first, entry->id);
    }
    if (entered == WORD_IS_NEW)
        return 0;
    const struct stored_word *owner = &table->stored[entry->id];
    return err_set(reader->err, "id %zu belongs to two words, '%s' and '%s'", entry->id,
                   label_excerpt(table->bytes + owner->start, owner->size), shown(entry->word));
}

static int read_word(struct word_reader *reader, size_t index)
{
    char expected[DESCRIPTION_BYTES];
    struct stored_word stored;
    size_t id = index;
    if (json_cursor_kind(&reader->at) != '"') { /* only in an array: names of an object are texts */
        refuse_value(reader, "a word");
        return err_prefix(reader->err, "id %zu", index);
    }
    struct json_span word = write_word(reader, &stored);
    if (reader->kind == '{') {
        json_cursor_colon(&reader->at);
        if (!json_cursor_number(&reader->at, WORD_ID_MAX, &id)) {
            snprintf(expected, sizeof expected, "an id from 0 to %d", WORD_ID_MAX);
            refuse_value(reader, expected);
            return err_prefix(reader->err, "word '%s'", shown(word));
        }
    }
    if (check_id(reader, word, id))
        return -1;

    /* the word is entered later, when its slot has been prefetched */
    struct word_table *table = reader->table;
    if (reader->read - reader->entered == AHEAD && enter_next(reader))
        return -1;
    struct word written = {table->bytes + stored.start, stored.size};
    uint64_t hash = word_hash(written, stored.form);
    word_table_prefetch(table, hash);
    table->used_bytes += stored.size;
    reader->entries[reader->read++ % AHEAD] = (struct word_entry){word, stored, id, hash};
    return 0;
}

/* Read a score with the rounding of Rust's JSON parser: an integer of all digits is divided by a
 * power of ten, and the result is not always the nearest double. The last bit of a score can decide
 * between two segmentations with almost equal sums. False if the text is not a number. */
static bool read_score(struct json_span span, double *score)
{
    enum { FRACTION_MAX = 22 }; /* larger powers of ten are not exact */
    char number[NUM_DOUBLE_BYTES + 1] = "";
    uint64_t digits = 0;
    double power = 1;
    int fraction = -1; /* number of digits after the point; -1: no point */
    size_t at = span.size && *span.bytes == '-';
    for (; at < span.size && digits < UINT64_MAX / 10 && fraction < FRACTION_MAX; at++) {
        bool is_digit = span.bytes[at] >= '0' && span.bytes[at] <= '9';
        if (!is_digit && (span.bytes[at] != '.' || fraction >= 0))
            break;
        fraction += fraction >= 0 || !is_digit;
        digits = is_digit ? 10 * digits + (uint64_t)(span.bytes[at] - '0') : digits;
        power *= fraction > 0 ? 10 : 1;
    }
    *score = (*span.bytes == '-' ? -1 : 1) * ((double)digits / power);
    if (at == span.size && fraction > 0)
        return true;
    if (span.size < sizeof number)
        memcpy(number, span.bytes, span.size);
    return num_parse_double(number, -DBL_MAX, DBL_MAX, score);
}

/* Read ["word", -1.5]. */
static int read_pair(struct word_reader *reader, size_t index)
{
    struct word_table *table = reader->table;
    double score = 0;
    if (!table->scores)
        table->scores =
            arena_alloc(&table->arena, table->most_words, sizeof *table->scores, reader->err);
    if (!table->scores)
        return -1;
    json_cursor_enter(&reader->at);
    if (!json_cursor_next(&reader->at))
        return err_set(reader->err, "id %zu: expected [\"word\", score], found []", index);
    if (read_word(reader, index))
        return -1;
    bool more = json_cursor_next(&reader->at);
    if (!more || !read_score(json_cursor_value(&reader->at), &score))
        return err_set(reader->err, "id %zu: expected a number for a score, found %s", index,
                       more ? "another value" : "none");
    table->scores[index] = score;
    return json_cursor_next(&reader->at)
               ? err_set(reader->err, "id %zu: expected [\"word\", score], found more", index)
               : 0;
}

static int read_words(struct word_reader *reader)
{
    struct word_table *table = reader->table;
    const char *text = reader->at.at;
    size_t text_bytes = (size_t)(reader->at.end - text), quotes = 0, count = 0;
    /* count quotes, of which each word has at least two, in a loop that is vectorised */
    for (size_t i = 0; i < text_bytes; i++)
        quotes += text[i] == '"';
    if (word_table_begin(table, quotes / 2, text_bytes, reader->err))
        return -1;
    reader->limit = table->bytes + text_bytes;
    json_cursor_enter(&reader->at);
    for (; json_cursor_next(&reader->at); count++) {
        bool pair = json_cursor_kind(&reader->at) == '[';
        if (count && pair != (table->scores != NULL))
            return err_set(reader->err, "id %zu: expected %s like those before it, found %s", count,
                           pair ? "a word" : "[\"word\", score]",
                           pair ? "an array" : "another value");
        if ((pair ? read_pair : read_word)(reader, count))
            return -1;
    }
    while (reader->entered < reader->read)
        if (enter_next(reader))
            return -1;
    return count ? 0 : err_set(reader->err, "expected words, found none");
}

int word_table_read(struct word_table *table, struct json_cursor words, enum word_form form,
                    size_t file_bytes, struct err *err)
{
    size_t limit = IDS_FREE + file_bytes * IDS_PER_BYTE;
    struct word_reader reader = {
        .table = table,
        .at = words,
        .kind = json_cursor_kind(&words),
        .id_limit = limit < WORD_ID_MAX ? limit : WORD_ID_MAX,
        .file_bytes = file_bytes,
        .err = err,
    };
    *table = (struct word_table){.form = form};
    if (reader.kind != '{' && reader.kind != '[')
        return refuse_value(&reader, "an object or an array of words");
    if (read_words(&reader) == 0)
        return 0;
    word_table_release(table);
    return -1;
}

/* --- the byte alphabet ------------------------------------------------------------------------ */

/* The bytes 0x00 to 0x20, 0x7F to 0xA0 and 0xAD are written as the characters from U+0100 on, all
 * others as the character with the same code. */
enum {
    LOW_COUNT = 0x21,
    HIGH_FIRST = 0x7F,
    HIGH_COUNT = 0x22,
    SOFT_HYPHEN = 0xAD,
    FIRST_OTHER = 0x100,
    OTHERS = LOW_COUNT + HIGH_COUNT + 1,
};

static bool is_itself(uint32_t c)
{
    return c >= LOW_COUNT && c <= 0xFF && (c < HIGH_FIRST || c >= HIGH_FIRST + HIGH_COUNT) &&
           c != SOFT_HYPHEN;
}

/* long_signs: the byte that each character from U+0080 on represents, plus 1; 0: no byte.
 * is_plain[form][byte]: true if the byte of a JSON text is copied unchanged. */
static uint16_t long_signs[FIRST_OTHER + OTHERS - 0x80];
static bool is_plain[WORD_TEXT + 1][256];

__attribute__((constructor)) static void fill_tables(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t sign = byte_alphabet_sign((unsigned char)byte);
        bool plain = byte > ' ' && byte != '"' && byte != '\\';
        is_plain[WORD_BYTES][byte] = plain && byte < HIGH_FIRST;
        is_plain[WORD_TEXT][byte] = plain;
        if (sign >= 0x80)
            long_signs[sign - 0x80] = (uint16_t)(byte + 1);
    }
}

/* The byte + 1 that a two-byte character of the alphabet represents; 0 for others. */
static unsigned long_sign(const unsigned char *bytes)
{
    if (bytes[0] < 0xC2 || bytes[0] > 0xC5 || (bytes[1] & 0xC0) != 0x80)
        return 0;
    size_t sign = (size_t)(bytes[0] - 0xC2) << 6 | (bytes[1] & 0x3F);
    return sign < sizeof long_signs / sizeof *long_signs ? long_signs[sign] : 0;
}

/* Copy plain bytes in blocks of sixteen, while sixteen bytes are left in input and output. Returns
 * the position of the first byte that was not copied. Without SSE2, nothing is copied. */
#ifdef __SSE2__

static inline const char *copy_plain(char **out, const char *limit, const char *at, const char *end,
                                     enum word_form form)
{
    enum { BLOCK_BYTES = 16 };
    int high = form == WORD_BYTES ? (1 << BLOCK_BYTES) - 1 : 0; /* stop at bytes from 0x80 on */
    char *to = *out;
    for (int stop = 0; !stop && end - at >= BLOCK_BYTES && limit - to >= BLOCK_BYTES;) {
        __m128i block = _mm_loadu_si128((const __m128i *)at);
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(' ')), block);
        __m128i quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
        __m128i slashes = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
        __m128i last = _mm_cmpeq_epi8(block, _mm_set1_epi8(HIGH_FIRST));
        stop = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(low, quotes), slashes)) |
               (_mm_movemask_epi8(_mm_or_si128(block, last)) & high);
        _mm_storeu_si128((__m128i *)to, block);
        int plain = __builtin_ctz((unsigned)stop | 1u << BLOCK_BYTES);
        at += plain;
        to += plain;
    }
    *out = to;
    return at;
}

#else

static const char *copy_plain(char **out, const char *limit, const char *at, const char *end,
                              enum word_form form)
{
    (void)out, (void)limit, (void)end, (void)form;
    return at;
}

#endif

const char *word_signs_read(char **out, const char *limit, const char *text, const char *end,
                            enum word_form form)
{
    const bool *plain = is_plain[form];
    bool blank = form == WORD_BYTES && *out < limit && end - text > 1 && memcmp(text, "Ġ", 2) == 0;
    **out = ' '; /* without a branch, which would be hard to predict: many words begin with a space,
                  * many do not */
    *out += blank;
    text += 2 * blank;
    for (unsigned sign; *out < limit; *(*out)++ = (char)(sign - 1)) {
        text = copy_plain(out, limit, text, end, form);
        for (; plain[(unsigned char)*text] && *out < limit; text++)
            *(*out)++ = *text;
        if (*out == limit || form == WORD_TEXT || !(sign = long_sign((const unsigned char *)text)))
            break;
        text += 2;
    }
    return text;
}

size_t byte_alphabet_decode(char *out, size_t *out_size, const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0, used = 0;
    for (;; at += 2) {
        while (at < size && bytes[at] > ' ' && bytes[at] < HIGH_FIRST) /* most bytes are visible
                                                                        * ASCII */
            out[used++] = text[at++];
        unsigned sign = size - at < 2 ? 0 : long_sign(bytes + at);
        if (!sign)
            break;
        out[used++] = (char)(sign - 1);
    }
    *out_size = used;
    return at;
}

uint32_t byte_alphabet_sign(unsigned char byte)
{
    if (is_itself(byte))
        return byte;
    uint32_t index = byte < LOW_COUNT      ? byte
                     : byte != SOFT_HYPHEN ? (uint32_t)(LOW_COUNT + byte - HIGH_FIRST)
                                           : LOW_COUNT + HIGH_COUNT;
    return FIRST_OTHER + index;
}

/* --- the trie --------------------------------------------------------------------------------- */

enum { FIRST_ROOM = 1 << 10, NODES_MAX = 1 << WORD_TRIE_BITS, TOGETHER = 16 };

/* Allocate memory for `capacity` nodes. At most half of the slots for steps are used. */
static int make_nodes(struct word_trie *trie, size_t capacity, struct err *err)
{
    struct word_trie larger = {.mask = 2 * capacity - 1};
    uint32_t *ids = heap_resize(trie->ids, capacity, sizeof *ids, err);
    if (!ids)
        return -1;
    trie->ids = ids;
    larger.steps = heap_alloc(2 * capacity, sizeof *larger.steps, err);
    if (!larger.steps)
        return -1;
    for (size_t i = 0; trie->steps && i <= trie->mask; i++) {
        uint64_t key = trie->steps[i] >> WORD_TRIE_BITS;
        if (trie->steps[i])
            larger.steps[word_trie_slot(&larger, (uint32_t)(key >> 8), key & 0xFF)] =
                trie->steps[i];
    }
    heap_free(trie->steps);
    trie->steps = larger.steps;
    trie->mask = larger.mask;
    trie->capacity = capacity;
    return 0;
}

struct walker {
    const unsigned char *at, *end;
    uint32_t node, id;
};

/* Let a walker begin with the next word; false if there are no more words. */
static bool begin_word(struct walker *walker, const struct word_table *words, uint32_t *next_id)
{
    while (*next_id < words->size) {
        size_t size = 0;
        uint32_t id = (*next_id)++;
        const char *bytes = word_table_word(words, id, &size);
        if (!bytes || !size)
            continue;
        const unsigned char *at = (const unsigned char *)bytes;
        *walker = (struct walker){at, at + size, 0, id};
        return true;
    }
    return false;
}

/* Move a walker to the node after its next byte; add the node if it is new. */
static int step_walker(struct word_trie *trie, struct walker *walker, struct err *err)
{
    if (trie->count == NODES_MAX)
        return err_set(err, "expected words with at most %d different prefixes, found more",
                       NODES_MAX);
    if (trie->count == trie->capacity && make_nodes(trie, 2 * trie->capacity, err))
        return -1;
    size_t slot = word_trie_slot(trie, walker->node, *walker->at);
    uint32_t next = (uint32_t)trie->steps[slot] & (NODES_MAX - 1);
    if (!next) {
        next = (uint32_t)trie->count++;
        trie->steps[slot] = ((uint64_t)walker->node << 8 | *walker->at) << WORD_TRIE_BITS | next;
        trie->ids[next] = WORD_TRIE_NONE;
    }
    walker->node = next;
    walker->at++;
    return 0;
}

/* Enter several words at a time, one byte of each word in a round: their cache misses overlap. */
static int enter_all(struct word_trie *trie, const struct word_table *words, struct err *err)
{
    struct walker walkers[TOGETHER];
    size_t count = 0;
    uint32_t next_id = 0;
    while (count < TOGETHER && begin_word(&walkers[count], words, &next_id))
        count++;
    for (size_t i = 0; count; i = i + 1 < count ? i + 1 : 0) {
        struct walker *walker = &walkers[i];
        if (step_walker(trie, walker, err))
            return -1;
        if (walker->at < walker->end) {
            uint64_t key = (uint64_t)walker->node << 8 | *walker->at;
            __builtin_prefetch(&trie->steps[hash_mix(key, 0) & trie->mask]);
            continue;
        }
        size_t size = words->stored[walker->id].size;
        trie->ids[walker->node] = walker->id;
        trie->longest = trie->longest > size ? trie->longest : size;
        if (!begin_word(walker, words, &next_id))
            *walker = walkers[--count];
    }
    return 0;
}

/* At first there is room for one node for every one or two bytes of words; the room grows if there
 * are more nodes. */
int word_trie_init(struct word_trie *trie, const struct word_table *words, struct err *err)
{
    size_t capacity = FIRST_ROOM;
    *trie = (struct word_trie){.count = 1};
    while (capacity < words->used_bytes / 2)
        capacity *= 2;
    int failed = make_nodes(trie, capacity, err);
    if (!failed) {
        trie->ids[0] = WORD_TRIE_NONE;
        failed = enter_all(trie, words, err);
    }
    if (failed)
        word_trie_release(trie);
    return failed;
}

void word_trie_release(struct word_trie *trie)
{
    heap_free(trie->steps);
    heap_free(trie->ids);
    *trie = (struct word_trie){0};
}
