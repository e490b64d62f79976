#include "text/prefix_index.h"

#include <stdlib.h>
#include <string.h>

/* Every word once, in no order yet; the empty one begins every text, and leads nowhere. */
static int list_entries(struct prefix_index *index, const struct word_table *table,
                        struct arena *arena, struct err *err)
{
    for (uint32_t id = 0; id < table->size; id++)
        index->count += table->places[id].form != WORD_ABSENT;
    index->entries = arena_alloc(arena, index->count, sizeof *index->entries, err);
    if (!index->entries)
        return -1;
    struct prefix_entry *entry = index->entries;
    for (uint32_t id = 0; id < table->size; id++) {
        struct word word = {0};
        word.bytes = word_table_word(table, id, &word.size);
        if (word.bytes && word.size)
            *entry++ = (struct prefix_entry){.word = word, .id = id};
    }
    index->count = (size_t)(entry - index->entries);
    return 0;
}

static bool begins_with(const struct word *word, const struct word *start)
{
    return word->size >= start->size && memcmp(word->bytes, start->bytes, start->size) == 0;
}

/* In sorted order the words that begin an entry are among those that begin its neighbour before it,
 * the neighbour included. */
static void sort_entries(struct prefix_index *index)
{
    struct prefix_entry *entries = index->entries;
    qsort(entries, index->count, sizeof *entries, word_compare); /* its first member is the word */
    for (uint32_t i = 1; i < index->count; i++) {
        uint32_t shorter = i;
        while (shorter && !begins_with(&entries[i].word, &entries[shorter - 1].word))
            shorter = entries[shorter - 1].shorter;
        entries[i].shorter = shorter;
    }
}

int prefix_index_init(struct prefix_index *index, const struct word_table *table,
                      struct arena *arena, struct err *err)
{
    *index = (struct prefix_index){0};
    if (list_entries(index, table, arena, err))
        return -1;
    sort_entries(index);
    return 0;
}

const struct prefix_entry *prefix_index_shorter(const struct prefix_index *index,
                                                const struct prefix_entry *entry)
{
    return entry->shorter ? &index->entries[entry->shorter - 1] : NULL;
}

static size_t common_bytes(const struct word *a, const struct word *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    size_t common = 0;
    while (common < size && a->bytes[common] == b->bytes[common])
        common++;
    return common;
}

/* The words that begin a text begin its left neighbour in the order too: whatever stands between a
 * word and a text that begins with it begins with that word. */
const struct prefix_entry *prefix_index_longest(const struct prefix_index *index, const char *text,
                                                size_t size)
{
    const struct word wanted = {.bytes = text, .size = size};
    size_t low = 0; /* entries before it are not greater than the text */
    size_t high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (word_compare(&index->entries[middle].word, &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct prefix_entry *entry = low ? &index->entries[low - 1] : NULL;
    size_t common = entry ? common_bytes(&entry->word, &wanted) : 0;
    while (entry && entry->word.size > common)
        entry = common ? prefix_index_shorter(index, entry) : NULL;
    return entry;
}
