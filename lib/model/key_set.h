/* key_set.h: a set of keys that is filled in any order and emptied in rising order.
 *
 * A bit a key, and a bit for each word of those: it is emptied in the time that its keys take, and
 * hardly more for a long text.
 *
 *     uint64_t *words = arena_alloc(&arena, key_set_words(keys), sizeof *words, err);   (zeroed)
 *     struct key_set set = key_set_of(words, keys);
 *     key_set_add(&set, 17);
 *     size_t count = key_set_empty(&set, rising);      (and it can be filled again)
 */
#ifndef ATTN_MODEL_KEY_SET_H
#define ATTN_MODEL_KEY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key_set {
    uint64_t *marks;  /* a bit a key */
    uint64_t *marked; /* a bit for each word of marks that is not 0 */
    size_t words;     /* of the latter */
};

/* The words that a set of keys below `limit` takes; and the empty set that they are when all of
 * them are 0. They belong to the caller. */
size_t key_set_words(size_t limit);
struct key_set key_set_of(uint64_t *words, size_t limit);

/* Put a key in; false, if it is there already. */
bool key_set_add(struct key_set *set, size_t key);

/* Take all keys out, in rising order; returns how many there were. */
size_t key_set_empty(struct key_set *set, uint32_t *keys);

#endif
