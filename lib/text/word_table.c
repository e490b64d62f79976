#include "text/word_table.h"

#include <string.h>

#include "text/label.h"

/* Places for all ids up to this one: at first for as many as there can be words, which is all where
 * they are counted through. Fresh memory rather than more of the old: where ids are far apart, what
 * lies between them is never touched, and costs nothing. */
static int make_room(struct word_table *table, size_t id, struct err *err)
{
    size_t room = table->room ? table->room : table->most_words;
    if (id >= table->size)
        table->size = id + 1;
    if (table->size <= table->room)
        return 0;
    while (room < table->size)
        room *= 2;
    struct word_place *places = arena_alloc(&table->arena, room, sizeof *places, err);
    if (!places)
        return -1;
    if (table->room)
        memcpy(places, table->places, table->room * sizeof *places);
    table->places = places;
    table->room = room;
    return 0;
}

/* The bytes as a number, the first one the lowest; at most 8. */
static uint64_t load(const char *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;
    uint64_t eight = 0;
    uint32_t first = 0;
    uint32_t last = 0;
    if (size >= 8) {
        memcpy(&eight, bytes, 8);
    } else if (size >= 4) {
        memcpy(&first, bytes, 4);
        memcpy(&last, bytes + size - 4, 4);
        eight = first | (uint64_t)last << 8 * (size - 4);
    } else if (size) {
        eight = b[0] | (uint64_t)b[size / 2] << 8 * (size / 2) |
                (uint64_t)b[size - 1] << 8 * (size - 1);
    }
    return eight;
}

const uint64_t word_masks[] = {
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0xFF,
    0xFFFF,
    0xFFFFFF,
    0xFFFFFFFF,
    0xFFFFFFFFFF,
    0xFFFFFFFFFFFF,
    0xFFFFFFFFFFFFFF,
    -1,
    -1,
    -1,
    -1,
    -1,
    -1,
    -1,
    -1,
    -1,
};

uint64_t word_hash(struct word word, enum word_form form)
{
    size_t size = word.size;
    if (size > WORD_SHORT_BYTES)
        return hash_mix(hash_bytes(word.bytes, size), form);
    uint64_t rest = size > 8 ? load(word.bytes + 8, size - 8) : 0;
    return word_hash_short(load(word.bytes, size), rest, size, form);
}

/* Is there such a word? The probe stands at it, or at the free slot where it belongs. */
static bool find(const struct word_table *table, struct word word, enum word_form form,
                 struct hash_probe *probe, uint32_t *id)
{
    while (hash_next(probe, id)) {
        struct word_place place = table->places[*id];
        if (place.size == word.size && place.form == form &&
            memcmp(table->bytes + place.start, word.bytes, word.size) == 0)
            return true;
    }
    return false;
}

int word_table_enter(struct word_table *table, enum word_entered *entered, struct word_place place,
                     size_t id, uint64_t hash, struct err *err)
{
    uint32_t known = 0;
    if (make_room(table, id, err))
        return -1;
    struct word word = {table->bytes + place.start, place.size};
    struct hash_probe probe = hash_probe(&table->index, hash);
    bool is_known = find(table, word, place.form, &probe, &known);
    *entered = is_known                                ? WORD_IS_KNOWN
               : table->places[id].form != WORD_ABSENT ? WORD_ID_IS_TAKEN
                                                       : WORD_IS_NEW;
    if (*entered != WORD_IS_NEW)
        return 0;
    table->places[id] = place;
    hash_put(&probe, (uint32_t)id);
    return 0;
}

int word_table_place(struct word_table *table, bool *free, struct word_place place, size_t id,
                     struct err *err)
{
    bool above = id >= table->size; /* not looked at: a page that is first read is given twice */
    if (make_room(table, id, err))
        return -1;
    *free = above || table->places[id].form == WORD_ABSENT;
    if (*free)
        table->places[id] = place;
    return 0;
}

int word_table_index(struct word_table *table, bool *single, struct err *err)
{
    enum { AHEAD = 8 };
    uint64_t hashes[AHEAD]; /* a ring of words whose slots are on their way */
    uint32_t known = 0;
    *single = true;
    if (hash_index_init(&table->index, table->most_words, &table->arena, err))
        return -1;
    for (size_t next = 0; *single && next < table->size + AHEAD; next++) {
        struct word_place place =
            next < AHEAD ? (struct word_place){0} : table->places[next - AHEAD];
        if (place.form != WORD_ABSENT) {
            struct word word = {table->bytes + place.start, place.size};
            struct hash_probe probe = hash_probe(&table->index, hashes[next % AHEAD]);
            *single = !find(table, word, place.form, &probe, &known);
            hash_put(&probe, (uint32_t)(next - AHEAD));
        }
        if (next >= table->size || table->places[next].form == WORD_ABSENT)
            continue;
        place = table->places[next];
        struct word word = {table->bytes + place.start, place.size};
        hashes[next % AHEAD] = word_hash_near(word, place.form);
        word_table_prefetch(table, hashes[next % AHEAD]);
    }
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
    table->bytes = arena_room(&table->arena, most_bytes + WORD_NEAR_BYTES, 1, err);
    return table->bytes && !hash_index_init(&table->index, most_words, &table->arena, err) ? 0 : -1;
}

int word_table_add(struct word_table *table, struct word word, size_t id, struct err *err)
{
    char text[LABEL_EXCERPT_BYTES];
    enum word_entered entered = WORD_IS_NEW;
    struct word_place place = {
        .start = (uint32_t)table->used_bytes,
        .size = (uint32_t)word.size & WORD_BYTES_MAX,
        .form = table->form,
    };
    memcpy(table->bytes + place.start, word.bytes, word.size);
    if (!word.size)
        return err_set(err, "id %zu: expected a word, found \"\"", id);
    if (word_table_enter(table, &entered, place, id, word_hash(word, place.form), err))
        return -1;
    table->used_bytes += place.size;
    return entered == WORD_IS_NEW ? 0
                                  : err_set(err, "id %zu: '%s' stands twice", id,
                                            label_excerpt(text, word.bytes, word.size));
}

void word_table_release(struct word_table *table)
{
    arena_release(&table->arena);
    *table = (struct word_table){0};
}

bool word_table_find(const struct word_table *table, const char *bytes, size_t size,
                     enum word_form form, uint32_t *id)
{
    struct word word = {bytes, size};
    return word_table_find_hash(table, word, form, word_hash(word, form), id);
}

/* Of a table that was not indexed. */
static bool look_for(const struct word_table *table, struct word word, enum word_form form,
                     uint32_t *id)
{
    for (size_t i = 0; i < table->size; i++) {
        struct word_place place = table->places[i];
        if (place.size != word.size || place.form != form ||
            memcmp(table->bytes + place.start, word.bytes, word.size) != 0)
            continue;
        *id = (uint32_t)i;
        return true;
    }
    return false;
}

bool word_table_find_hash(const struct word_table *table, struct word word, enum word_form form,
                          uint64_t hash, uint32_t *id)
{
    uint32_t found = 0;
    if (!table->index.slots)
        return look_for(table, word, form, id);
    struct hash_probe probe = hash_probe(&table->index, hash);
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
    if (id >= table->size || table->places[id].form == WORD_ABSENT)
        return NULL;
    *size = table->places[id].size;
    return table->bytes + table->places[id].start;
}

int word_compare(const void *a, const void *b)
{
    const struct word *one = a;
    const struct word *other = b;
    int order = memcmp(one->bytes, other->bytes, one->size < other->size ? one->size : other->size);
    return order ? order : (one->size > other->size) - (one->size < other->size);
}
