/* vocabulary.h: words and their ids, both ways, from vocab.json: {"token": id} or ["token", …],
 * where the place in the array is the id.
 *
 * To find words in a text they also stand in the order of their bytes, each with the longest other
 * word that it begins with. Then one binary search gives every word that a text begins with:
 *
 *     const struct vocabulary_entry *entry = vocabulary_longest(vocabulary, text, size);
 *     while (entry && !fits(entry))
 *         entry = vocabulary_shorter(vocabulary, entry);
 */
#ifndef ATTN_TEXT_VOCABULARY_H
#define ATTN_TEXT_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"
#include "text/word_table.h"

struct vocabulary_word {
    const char *bytes;
    size_t size;
};

struct vocabulary_entry {
    struct vocabulary_word word;
    uint32_t id;
    uint32_t shorter; /* 1 + the index of the longest other one that `word` begins with; 0: none */
};

struct vocabulary {
    struct word_table table;
    struct vocabulary_entry *entries; /* [count] by bytes */
    size_t count;
    struct arena arena;
};

/* Read and check: ids whole, not negative, not repeated, words not repeated and not empty. Words
 * are copied. On failure nothing is held. */
int vocabulary_open(struct vocabulary *vocabulary, const struct folder *folder, const char *name,
                    struct err *err);
void vocabulary_release(struct vocabulary *vocabulary);

/* The id of a word, where `id` is not NULL; false when there is none. */
bool vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t size,
                     uint32_t *id);

/* True when the words are written in the alphabet of byte_alphabet.h, for a byte-level BPE: each of
 * its 256 letters is a word, or more than half of all words begin with Ġ, a blank. */
bool vocabulary_is_byte_level(const struct vocabulary *vocabulary);

/* The longest word that the text begins with, or NULL; and the next shorter one. They live as long
 * as the vocabulary. */
const struct vocabulary_entry *vocabulary_longest(const struct vocabulary *vocabulary,
                                                  const char *text, size_t size);
const struct vocabulary_entry *vocabulary_shorter(const struct vocabulary *vocabulary,
                                                  const struct vocabulary_entry *entry);

#endif
