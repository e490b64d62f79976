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

uint64_t word_hash(struct word word, enum word_form form)
{
    return hash_mix(hash_near(word.bytes, word.size), form);
}

/* Is there such a word? The probe stands at it, or at the free slot where it belongs. */
static bool find(const struct word_table *table, struct word word, enum word_form form,
                 struct hash_probe *probe, uint32_t *id)
{
    while (hash_next(probe, id))
        if (word_table_is(table, *id, word, form))
            return true;
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
    char text[LABEL_EXCERPT_BYTES];
    enum word_entered entered = WORD_IS_NEW;
    struct word_place place = {
        .start = (uint32_t)table->used_bytes,
        .size = (uint32_t)word.size & WORD_BYTES_MAX,
        .form = table->form,
    };
    if (!word.size)
        return err_set(err, "id %zu: expected a word, found \"\"", id);
    word.bytes = memcpy(table->bytes + place.start, word.bytes, word.size);
    if (word_table_enter(table, &entered, place, id, word_hash(word, place.form), err))
        return -1;
    table->used_bytes += place.size;
    return entered == WORD_IS_NEW ? 0
                                  : err_set(err, "id %zu: '%s' occurs twice", id,
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
