/* word_table_scan.c: a vocabulary of JSON as most are written, checked and read in one go. */
#include <string.h>

#include "base/platform.h"
#include "text/word_table.h"

enum { LEAST_ENTRY_BYTES = 6 }; /* "a":0, */

struct scan {
    struct word_table *table;
    const char *at;
    const char *end;
    const char *last_quote; /* no text goes on after it */
    const char *limit;      /* of the words' bytes */
    size_t id_limit;
};

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t'))
        scan->at++;
}

/* Pass a sign of JSON's, and blanks on both sides. */
static bool pass(struct scan *scan, char sign)
{
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != sign)
        return false;
    scan->at++;
    skip_blanks(scan);
    return true;
}

/* Pass a word, and write what it stands for after the other words. */
static bool read_word(struct scan *scan, struct word_place *place)
{
    struct word_table *table = scan->table;
    char *start = table->bytes + table->used_bytes;
    char *out = start;
    if (scan->at >= scan->last_quote || *scan->at != '"')
        return false;
    for (scan->at++; *scan->at != '"';) {
        const char *before = scan->at;
        if (*scan->at == '\\' && !word_escape_read(&out, &scan->at, scan->last_quote))
            return false;
        scan->at = word_signs_read(&out, scan->limit, scan->at, scan->end, WORD_BYTES);
        if (scan->at == before)
            return false;
    }
    if (out == start)
        return false;
    scan->at++;
    *place = (struct word_place){
        .start = (uint32_t)table->used_bytes,
        .size = (uint32_t)(out - start) & WORD_BYTES_MAX,
        .form = WORD_BYTES,
    };
    table->used_bytes += place->size;
    return true;
}

static bool read_id(struct scan *scan, size_t *id)
{
    const char *start = scan->at;
    for (*id = 0; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
        *id = 10 * *id + (size_t)(*scan->at - '0');
        if (*id > scan->id_limit)
            return false;
    }
    return scan->at > start && (*start != '0' || scan->at == start + 1);
}

/* All words; 0 where one of them takes a closer look. */
static int read_words(struct scan *scan, struct err *err)
{
    struct word_place place;
    size_t count = 0;
    size_t id = 0;
    bool free = true;
    if (!pass(scan, '{'))
        return 0;
    do {
        count++;
        if (!read_word(scan, &place) || !pass(scan, ':') || !read_id(scan, &id))
            return 0;
        if (word_table_place(scan->table, &free, place, id, err))
            return -1;
    } while (free && pass(scan, ','));
    scan->table->most_words = count; /* to be indexed */
    return free && pass(scan, '}') && scan->at == scan->end;
}

int word_table_scan(struct word_table *table, bool *plain, const char *bytes, size_t size,
                    struct err *err)
{
    struct scan scan = {
        .table = table,
        .at = bytes,
        .end = bytes + size,
        .last_quote = platform_last_byte(bytes, '"', size),
        .id_limit = word_table_id_limit(size),
    };
    *table = (struct word_table){.form = WORD_BYTES, .most_words = size / LEAST_ENTRY_BYTES};
    *plain = scan.last_quote && size <= WORD_BYTES_MAX;
    if (!*plain)
        return 0;
    arena_expect(&table->arena, size + table->most_words * WORD_TABLE_BYTES);
    table->bytes = arena_room(&table->arena, size + WORD_NEAR_BYTES, 1, err);
    scan.limit = table->bytes + size;
    int done = table->bytes ? read_words(&scan, err) : -1;
    *plain = done > 0;
    if (done <= 0)
        word_table_release(table);
    return done < 0 ? -1 : 0;
}
