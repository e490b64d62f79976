#include "model/key_set.h"

enum { BITS = 64 }; /* of a word */

static size_t words_for(size_t bits)
{
    return bits / BITS + 1;
}

size_t key_set_words(size_t limit)
{
    return words_for(limit) + words_for(words_for(limit));
}

struct key_set key_set_of(uint64_t *words, size_t limit)
{
    size_t marks = words_for(limit);
    return (struct key_set){words, words + marks, words_for(marks)};
}

bool key_set_add(struct key_set *set, size_t key)
{
    size_t word = key / BITS;
    uint64_t bit = (uint64_t)1 << key % BITS;
    bool fresh = (set->marks[word] & bit) == 0;
    set->marks[word] |= bit;
    set->marked[word / BITS] |= (uint64_t)1 << word % BITS;
    return fresh;
}

/* The bits of a word, which becomes 0. */
static uint64_t take(uint64_t *word)
{
    uint64_t bits = *word;
    *word = 0;
    return bits;
}

static size_t lowest(uint64_t bits)
{
    return (size_t)__builtin_ctzll(bits);
}

size_t key_set_empty(struct key_set *set, uint32_t *keys)
{
    size_t count = 0;
    for (size_t i = 0; i < set->words; i++)
        for (uint64_t words = take(&set->marked[i]); words; words &= words - 1) {
            size_t word = i * BITS + lowest(words);
            for (uint64_t bits = take(&set->marks[word]); bits; bits &= bits - 1)
                keys[count++] = (uint32_t)(word * BITS + lowest(bits));
        }
    return count;
}
