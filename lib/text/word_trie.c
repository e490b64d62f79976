#include "text/word_trie.h"

#include "base/memory.h"

enum { FIRST_ROOM = 1 << 10, NODES_MAX = 1 << WORD_TRIE_BITS, TOGETHER = 16 };

/* Room for so many nodes; steps fill half of their table at most. */
static int make_room(struct word_trie *trie, size_t room, struct err *err)
{
    struct word_trie larger = {.mask = 2 * room - 1};
    uint32_t *ids = heap_resize(trie->ids, room, sizeof *ids, err);
    if (!ids)
        return -1;
    trie->ids = ids;
    larger.steps = heap_alloc(2 * room, sizeof *larger.steps, err);
    if (!larger.steps)
        return -1;
    for (size_t i = 0; trie->steps && i <= trie->mask; i++) {
        uint64_t key = trie->steps[i] >> WORD_TRIE_BITS;
        if (trie->steps[i])
            larger.steps[word_trie_slot(&larger, (uint32_t)(key >> 8), key & 0xFF)] =
                trie->steps[i];
    }
    heap_free(trie->steps);
    trie->steps = larger.steps;
    trie->mask = larger.mask;
    trie->room = room;
    return 0;
}

struct walker {
    const unsigned char *at, *end;
    uint32_t node, id;
};

/* Begin with the next word, where there is one. */
static bool begin(struct walker *walker, const struct word_table *words, uint32_t *next_id)
{
    while (*next_id < words->size) {
        size_t size = 0;
        uint32_t id = (*next_id)++;
        const char *bytes = word_table_word(words, id, &size);
        if (!bytes || !size)
            continue;
        const unsigned char *at = (const unsigned char *)bytes;
        *walker = (struct walker){at, at + size, 0, id};
        return true;
    }
    return false;
}

/* Go on to the node one byte further, which may be new. */
static int step(struct word_trie *trie, struct walker *walker, struct err *err)
{
    if (trie->count == NODES_MAX)
        return err_set(err, "expected words with at most %d different prefixes, found more",
                       NODES_MAX);
    if (trie->count == trie->room && make_room(trie, 2 * trie->room, err))
        return -1;
    size_t slot = word_trie_slot(trie, walker->node, *walker->at);
    uint32_t next = (uint32_t)trie->steps[slot] & (NODES_MAX - 1);
    if (!next) {
        next = (uint32_t)trie->count++;
        trie->steps[slot] = ((uint64_t)walker->node << 8 | *walker->at) << WORD_TRIE_BITS | next;
        trie->ids[next] = WORD_TRIE_NONE;
    }
    walker->node = next;
    walker->at++;
    return 0;
}

/* Several words at a time, byte by byte in turn: while one waits for memory others go on. */
static int enter_all(struct word_trie *trie, const struct word_table *words, struct err *err)
{
    struct walker walkers[TOGETHER];
    size_t count = 0;
    uint32_t next_id = 0;
    while (count < TOGETHER && begin(&walkers[count], words, &next_id))
        count++;
    for (size_t i = 0; count; i = i + 1 < count ? i + 1 : 0) {
        struct walker *walker = &walkers[i];
        if (step(trie, walker, err))
            return -1;
        if (walker->at < walker->end) {
            uint64_t key = (uint64_t)walker->node << 8 | *walker->at;
            __builtin_prefetch(&trie->steps[hash_mix(key, 0) & trie->mask]);
            continue;
        }
        size_t size = words->places[walker->id].size;
        trie->ids[walker->node] = walker->id;
        trie->longest = trie->longest > size ? trie->longest : size;
        if (!begin(walker, words, &next_id))
            *walker = walkers[--count];
    }
    return 0;
}

/* A node takes a word's byte or two: more room is made where that was too little. */
int word_trie_init(struct word_trie *trie, const struct word_table *words, struct err *err)
{
    size_t room = FIRST_ROOM;
    *trie = (struct word_trie){.count = 1};
    while (room < words->used_bytes / 2)
        room *= 2;
    int failed = make_room(trie, room, err);
    if (!failed) {
        trie->ids[0] = WORD_TRIE_NONE;
        failed = enter_all(trie, words, err);
    }
    if (failed)
        word_trie_release(trie);
    return failed;
}

void word_trie_release(struct word_trie *trie)
{
    heap_free(trie->steps);
    heap_free(trie->ids);
    *trie = (struct word_trie){0};
}
