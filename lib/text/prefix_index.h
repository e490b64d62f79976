/* prefix_index.h: the words of a table in the order of their bytes: one binary search gives every
 * word that a text begins with.
 *
 *     const struct prefix_entry *entry = prefix_index_longest(&index, text, size);
 *     for (; entry; entry = prefix_index_shorter(&index, entry)) ...
 */
#ifndef ATTN_TEXT_PREFIX_INDEX_H
#define ATTN_TEXT_PREFIX_INDEX_H

#include "text/word_table.h"

struct prefix_entry {
    struct word word;
    uint32_t id;
    uint32_t shorter; /* 1 + the index of the longest other one that `word` begins with; 0: none */
};

struct prefix_index {
    struct prefix_entry *entries; /* [count] by bytes */
    size_t count;
};

/* Index all words, which live as long as the table; the entries are the arena's. */
int prefix_index_init(struct prefix_index *index, const struct word_table *table,
                      struct arena *arena, struct err *err);

/* The longest word that the text begins with, or NULL; and the next shorter one. */
const struct prefix_entry *prefix_index_longest(const struct prefix_index *index, const char *text,
                                                size_t size);
const struct prefix_entry *prefix_index_shorter(const struct prefix_index *index,
                                                const struct prefix_entry *entry);

#endif
