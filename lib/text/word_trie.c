#include "text/word_trie.h"

#include "base/heap.h"

enum { FIRST_ROOM = 1 << 10, NODES_MAX = 1 << WORD_TRIE_BITS };

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

/* The node one byte further on, which is new; 0 where there is no room for it. */
static uint32_t add_node(struct word_trie *trie, uint32_t node, unsigned char byte, struct err *err)
{
    if (trie->count == NODES_MAX) {
        err_set(err, "expected words of at most %d beginnings, found more", NODES_MAX);
        return 0;
    }
    if (trie->count == trie->room && make_room(trie, 2 * trie->room, err))
        return 0;
    uint32_t next = (uint32_t)trie->count++;
    trie->steps[word_trie_slot(trie, node, byte)] =
        ((uint64_t)node << 8 | byte) << WORD_TRIE_BITS | next;
    trie->ids[next] = WORD_TRIE_NONE;
    return next;
}

static int enter(struct word_trie *trie, const char *bytes, size_t size, uint32_t id,
                 struct err *err)
{
    uint32_t node = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        uint32_t next = word_trie_step(trie, node, byte);
        if (!next && !(next = add_node(trie, node, byte, err)))
            return -1;
        node = next;
    }
    trie->ids[node] = id;
    trie->longest = trie->longest > size ? trie->longest : size;
    return 0;
}

int word_trie_init(struct word_trie *trie, const struct word_table *words, struct err *err)
{
    size_t room = FIRST_ROOM;
    *trie = (struct word_trie){.count = 1};
    while (room < words->most_words)
        room *= 2;
    int failed = make_room(trie, room, err);
    if (!failed)
        trie->ids[0] = WORD_TRIE_NONE;
    for (uint32_t id = 0; !failed && id < words->size; id++) {
        size_t size = 0;
        const char *bytes = word_table_word(words, id, &size);
        if (bytes && size)
            failed = enter(trie, bytes, size, id, err);
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
