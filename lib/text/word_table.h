/* word_table.h: the words of a vocabulary: their ids by word, and the words by id.
 *
 * Byte-level vocabularies write a word in GPT-2's alphabet, a visible character for each byte: 188
 * bytes are the characters of the same code (! to ~, ¡ to ¬, ® to ÿ), the other 68 are, in order,
 * the characters from U+0100 on; a space is Ġ. The table holds the bytes. A word with any other
 * character is not decoded.
 *
 *     struct word_table table = {0};
 *     if (word_table_read(&table, words, WORD_BYTES, file.size, err)) ...
 *     if (word_table_find(&table, " the", 4, WORD_BYTES, &id)) ...
 *     word_table_release(&table);
 *
 * A trie of the words of a table finds all words with which a text begins:
 *
 *     if (word_trie_init(&trie, &table, err)) ...
 *     for (uint32_t node = 0; at < end && (node = word_trie_step(&trie, node, *at)); at++)
 *         if (trie.ids[node] != WORD_TRIE_NONE) ...      a word ends after *at
 */
#pragma once

#include <string.h>

#include "base/hash.h"
#include "format/json.h"

enum {
    WORD_ID_MAX = 10000000,         /* the largest id that a vocabulary may use */
    WORD_TABLE_BYTES = 16,          /* estimated memory in bytes for each word, without its text */
    WORD_BYTES_MAX = (1 << 30) - 1, /* maximum total size of all words in bytes */
};

enum word_form {
    WORD_ABSENT, /* no word has the id */
    WORD_BYTES,  /* the word is written in GPT-2's alphabet */
    WORD_TEXT,   /* the word is written as its text */
};

/* A word, whose bytes are borrowed. */
struct word {
    const char *bytes;
    size_t size;
};

/* The line at `*at`, without its line break; moves `*at` to the next line. */
struct word word_take_line(const char **at, const char *end);

struct stored_word {
    uint32_t start; /* offset in the bytes of the table */
    uint32_t size : 30;
    uint32_t form : 2;
};

struct word_table {
    enum word_form form;        /* WORD_BYTES: words are written in GPT-2's alphabet */
    struct stored_word *stored; /* `size` words by id */
    size_t size;                /* one more than the largest id */
    size_t most_words;
    size_t capacity;
    char *bytes;
    size_t used_bytes;
    double *scores;          /* scores by id, from ["word", -1.5]; NULL: there are none */
    struct hash_index index; /* finds ids by the hashes of words */
    struct arena arena;
};

/* Read a vocabulary, {"word": id}, ["word", …] or [["word", score], …], from a file of `file_bytes`
 * bytes; with WORD_TEXT its words are texts, not written in GPT-2's alphabet. On failure, as for an
 * id that is no integer or too large for the file, or a word or id that occurs twice, no memory is
 * held. */
int word_table_read(struct word_table *table, struct json_cursor words, enum word_form form,
                    size_t file_bytes, struct err *err);

/* Begin a table for at most this number of words and bytes (set its `form` before), then add each
 * word. An empty word and a word or id that occurs twice are errors. */
int word_table_begin(struct word_table *table, size_t most_words, size_t most_bytes,
                     struct err *err);
int word_table_add(struct word_table *table, struct word word, size_t id, struct err *err);

void word_table_release(struct word_table *table);

/* Find the id of a word; false, and `*id` unchanged, if the table does not have it. */
bool word_table_find(const struct word_table *table, const char *bytes, size_t size,
                     enum word_form form, uint32_t *id);

/* word_table_find_near is a faster word_table_find: at least HASH_NEAR bytes (hash.h) must be
 * readable at the start of the word, even if the word is shorter. word_table_is returns true if
 * such a word is the word of `id`. */
bool word_table_find_near(const struct word_table *table, struct word word, enum word_form form,
                          uint32_t *id);

static inline bool word_table_is(const struct word_table *table, uint32_t id, struct word word,
                                 enum word_form form)
{
    struct stored_word stored = table->stored[id];
    const char *bytes = table->bytes + stored.start;
    if (stored.size != word.size || stored.form != form)
        return false;
    return word.size > HASH_NEAR ? memcmp(bytes, word.bytes, word.size) == 0
                                 : hash_load(bytes, word.size) == hash_load(word.bytes, word.size);
}

/* The hash of a word. At least HASH_NEAR bytes must be readable at its start, even if the word is
 * shorter. word_table_prefetch prefetches the slot for a hash that will be searched for. */
uint64_t word_hash(struct word word, enum word_form form);

static inline void word_table_prefetch(const struct word_table *table, uint64_t hash)
{
    hash_prefetch(&table->index, hash);
}

/* Find the id of a word that is written as in the vocabulary's file; `scratch` has at least `size`
 * bytes. */
bool word_table_find_written(const struct word_table *table, const char *text, size_t size,
                             char *scratch, uint32_t *id);

/* The bytes of the word with this id, valid as long as the table; NULL: there is none. */
const char *word_table_word(const struct word_table *table, uint32_t id, size_t *size);

/* --- the byte alphabet ------------------------------------------------------------------------ */

/* Decode a text in GPT-2's alphabet to `out`, which may be the text itself, and set the number of
 * bytes written. Returns the number of bytes read, up to the first character outside
 * the alphabet. */
size_t byte_alphabet_decode(char *out, size_t *out_size, const char *text, size_t size);

/* Decode a text to `*out`, which advances up to `limit`; the byte at `limit` must be writable too.
 * Stops at `limit`, and before a byte up to 0x20, a quote, a backslash or a character that is not
 * in the alphabet; one of these must occur before `end`. With WORD_TEXT all other characters are
 * copied. Returns the position in the text where it stopped. */
const char *word_signs_read(char **out, const char *limit, const char *text, const char *end,
                            enum word_form form);

/* The character that represents a byte in GPT-2's alphabet. */
uint32_t byte_alphabet_sign(unsigned char byte);

/* --- the trie --------------------------------------------------------------------------------- */

#define WORD_TRIE_NONE UINT32_MAX

enum { WORD_TRIE_BITS = 28 }; /* number of bits of the index of a node */

/* Each node is a prefix of words; node 0 is the empty prefix. Steps from node to node are in a hash
 * table: a slot contains the first node, the byte and the second node, or 0 if it is free. */
struct word_trie {
    uint64_t *steps; /* hash table with `mask` + 1 slots */
    size_t mask;
    uint32_t *ids; /* id of the word that ends at each node, or WORD_TRIE_NONE */
    size_t count, capacity;
    size_t longest; /* the size of the longest word in bytes */
};

/* Build the trie of all words that are not empty. On failure, no memory is held. */
int word_trie_init(struct word_trie *trie, const struct word_table *words, struct err *err);
void word_trie_release(struct word_trie *trie);

/* The slot of the step from a node by a byte, or a free slot for it. */
static inline size_t word_trie_slot(const struct word_trie *trie, uint32_t node, unsigned char byte)
{
    uint64_t key = (uint64_t)node << 8 | byte;
    size_t at = hash_mix(key, 0) & trie->mask;
    while (trie->steps[at] && trie->steps[at] >> WORD_TRIE_BITS != key)
        at = (at + 1) & trie->mask;
    return at;
}

/* Return the node after a byte; 0 if no word continues with it. */
static inline uint32_t word_trie_step(const struct word_trie *trie, uint32_t node,
                                      unsigned char byte)
{
    return (uint32_t)trie->steps[word_trie_slot(trie, node, byte)] & ((1u << WORD_TRIE_BITS) - 1);
}
