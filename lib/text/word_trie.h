/* word_trie.h: the words of a table byte by byte, to find all with which a text begins in one walk.
 *
 *     struct word_trie trie = {0};
 *     if (word_trie_init(&trie, &table, err)) ...
 *     for (uint32_t node = 0; at < end && (node = word_trie_step(&trie, node, *at)); at++)
 *         if (trie.ids[node] != WORD_TRIE_NONE) ...      a word ends after *at
 *     word_trie_release(&trie);
 */
#ifndef ATTN_TEXT_WORD_TRIE_H
#define ATTN_TEXT_WORD_TRIE_H

#include "text/word_table.h"

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
