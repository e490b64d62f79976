#include "base/hash_index.h"

#include "base/num.h"

enum { FIRST_SLOTS = 16 };

int hash_index_init(struct hash_index *index, size_t count, struct arena *arena, struct err *err)
{
    size_t slots = FIRST_SLOTS;
    size_t twice = 0;
    if (!num_multiply(&twice, count, 2))
        return err_memory(err, SIZE_MAX);
    while (slots < twice)
        if (!num_multiply(&slots, slots, 2))
            return err_memory(err, SIZE_MAX);
    index->slots = arena_alloc(arena, slots, sizeof *index->slots, err);
    index->mask = slots - 1;
    return index->slots ? 0 : -1;
}
