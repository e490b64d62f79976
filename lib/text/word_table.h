/* word_table.h: the words of a vocabulary and their ids, both ways, in little memory.
 *
 * Byte-level vocabularies write a word in GPT-2's alphabet, a visible character for each byte: 188
 * bytes stand for themselves (! to ~, ¡ to ¬, ® to ÿ), the other 68, in their order, are U+0100 and
 * on; a blank is Ġ. The table holds the bytes. A word with other characters stands for itself.
 *
 *     struct word_table table = {0};
 *     if (word_table_read(&table, words, WORD_BYTES, file.size, err)) ...
 *     if (word_table_find(&table, " the", 4, WORD_BYTES, &id)) ...
 *     word_table_release(&table);
 *
 * A trie has the words of a table byte by byte, to find all with which a text begins in one walk:
 *
 *     if (word_trie_init(&trie, &table, err)) ...
 *     for (uint32_t node = 0; at < end && (node = word_trie_step(&trie, node, *at)); at++)
 *         if (trie.ids[node] != WORD_TRIE_NONE) ...      a word ends after *at
 */
#ifndef ATTN_TEXT_WORD_TABLE_H
#define ATTN_TEXT_WORD_TABLE_H

#include <string.h>

#include "base/hash.h"
#include "format/json.h"

enum {
    WORD_ID_MAX = 10000000,         /* ids a vocabulary may use; larger ones are refused */
    WORD_TABLE_BYTES = 16,          /* that a table takes for a word, beside its bytes */
    WORD_BYTES_MAX = (1 << 30) - 1, /* of all words */
};

enum word_form {
    WORD_ABSENT, /* no word has this id */
    WORD_BYTES,  /* written in the alphabet */
    WORD_TEXT,   /* the text itself */
};

/* A word somewhere in memory. */
struct word {
    const char *bytes;
    size_t size;
};

/* The order of bytes, for qsort too; a word stands before those that begin with it. */
int word_compare(const void *a, const void *b);

struct word_place {
    uint32_t start; /* of its bytes */
    uint32_t size : 30;
    uint32_t form : 2;
};

struct word_table {
    enum word_form form;       /* WORD_BYTES: written in the alphabet */
    struct word_place *places; /* [size] by id */
    size_t size;               /* one more than the largest id */
    size_t most_words;
    size_t room;
    char *bytes;
    size_t used_bytes;
    double *scores;          /* [room] by id, of ["word", -1.5]; NULL: there are none */
    struct hash_index index; /* of ids by words */
    struct arena arena;
};

/* Read a vocabulary, {"word": id}, ["word", …] or [["word", score], …], of a file of so many bytes;
 * with WORD_TEXT its words are not in the alphabet. Refused: ids that are not whole, or out of
 * proportion to the file; words that are empty; what stands twice. On failure nothing is held. */
int word_table_read(struct word_table *table, struct json_cursor words, enum word_form form,
                    size_t file_bytes, struct err *err);

/* The same from another kind of file: begin a table of the form that was set, with room for so many
 * words and bytes; then add word by word. Refused: one that stands twice, or is empty. */
int word_table_begin(struct word_table *table, size_t most_words, size_t most_bytes,
                     struct err *err);
int word_table_add(struct word_table *table, struct word word, size_t id, struct err *err);

void word_table_release(struct word_table *table);

/* The id of a word; false, and `*id` untouched, when there is none. */
bool word_table_find(const struct word_table *table, const char *bytes, size_t size,
                     enum word_form form, uint32_t *id);

/* The same for a word where HASH_NEAR bytes can be read (hash.h); and is it the word of an id? */
bool word_table_find_near(const struct word_table *table, struct word word, enum word_form form,
                          uint32_t *id);

static inline bool word_table_is(const struct word_table *table, uint32_t id, struct word word,
                                 enum word_form form)
{
    struct word_place place = table->places[id];
    const char *bytes = table->bytes + place.start;
    if (place.size != word.size || place.form != form)
        return false;
    return word.size > HASH_NEAR ? memcmp(bytes, word.bytes, word.size) == 0
                                 : hash_load(bytes, word.size) == hash_load(word.bytes, word.size);
}

/* The hash by which such a word is entered and found; and a request for the memory where it will be
 * looked for, some time before that. */
uint64_t word_hash(struct word word, enum word_form form);

static inline void word_table_prefetch(const struct word_table *table, uint64_t hash)
{
    hash_prefetch(&table->index, hash);
}

/* The id of a word as the vocabulary's file writes it; `scratch` has room for the text. */
bool word_table_find_written(const struct word_table *table, const char *text, size_t size,
                             char *scratch, uint32_t *id);

/* The bytes of an id, or NULL; they live as long as the table. */
const char *word_table_word(const struct word_table *table, uint32_t id, size_t *size);

/* --- the byte alphabet ------------------------------------------------------------------------ */

/* Write the bytes that a text stands for to `out`, which may be the text itself: `*out_size` of
 * them. Returns how much of the text was read: up to what is no character of the alphabet. */
size_t byte_alphabet_decode(char *out, size_t *out_size, const char *text, size_t size);

/* The same from within a text before whose `end` there is what stops it: a blank or a line's end, a
 * quote or an escape, or what is no sign; to `*out`, which moves on and has one byte more than to
 * the limit. With WORD_TEXT characters stand for themselves. Returns where it stopped, or came to
 * the limit. */
const char *word_signs_read(char **out, const char *limit, const char *text, const char *end,
                            enum word_form form);

/* The character of a byte in GPT-2's alphabet. */
uint32_t byte_alphabet_sign(unsigned char byte);

/* --- the trie --------------------------------------------------------------------------------- */

#define WORD_TRIE_NONE UINT32_MAX

enum { WORD_TRIE_BITS = 28 }; /* of a node's number */

/* Nodes are beginnings of words, 0 the empty one. Steps stand in a hash table: the node in front,
 * the byte, the node after it; 0: free. */
struct word_trie {
    uint64_t *steps; /* [mask + 1] */
    size_t mask;
    uint32_t *ids; /* [count] by node: of the word that it is, or WORD_TRIE_NONE */
    size_t count, room;
    size_t longest; /* bytes of a word */
};

/* Enter all words that are not empty. On failure nothing is held. */
int word_trie_init(struct word_trie *trie, const struct word_table *words, struct err *err);
void word_trie_release(struct word_trie *trie);

/* The slot of the step from a node by a byte, or a free one. */
static inline size_t word_trie_slot(const struct word_trie *trie, uint32_t node, unsigned char byte)
{
    uint64_t key = (uint64_t)node << 8 | byte;
    size_t at = hash_mix(key, 0) & trie->mask;
    while (trie->steps[at] && trie->steps[at] >> WORD_TRIE_BITS != key)
        at = (at + 1) & trie->mask;
    return at;
}

/* The node one byte further on, or 0. */
static inline uint32_t word_trie_step(const struct word_trie *trie, uint32_t node,
                                      unsigned char byte)
{
    return (uint32_t)trie->steps[word_trie_slot(trie, node, byte)] & ((1u << WORD_TRIE_BITS) - 1);
}

#endif
