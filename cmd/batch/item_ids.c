#include "items.h"

#include <string.h>

#include "base/heap.h"
#include "base/sha256.h"

enum { FIRST_SLOTS = 1024 };

struct item_id_slot {
    uint64_t hash;
    size_t line; /* 0: free */
};

static uint64_t hash_of(const char *id)
{
    struct sha256 hash;
    char digits[SHA256_DIGITS + 1];
    sha256_begin(&hash);
    sha256_add(&hash, id, strlen(id));
    sha256_end(&hash, digits);
    return (uint64_t)hash.state[0] << 32 | hash.state[1];
}

/* The slot that has the hash, or the free one where it belongs. */
static struct item_id_slot *find(const struct item_ids *ids, uint64_t hash)
{
    size_t at = (size_t)hash & (ids->slot_count - 1);
    while (ids->slots[at].line && ids->slots[at].hash != hash)
        at = (at + 1) & (ids->slot_count - 1);
    return &ids->slots[at];
}

/* At most half of the slots are taken. */
static int grow(struct item_ids *ids, struct err *err)
{
    struct item_ids larger = {.count = ids->count};
    if (2 * (ids->count + 1) <= ids->slot_count)
        return 0;
    larger.slot_count = ids->slot_count ? 2 * ids->slot_count : FIRST_SLOTS;
    larger.slots = heap_alloc(larger.slot_count, sizeof *larger.slots, err);
    if (!larger.slots)
        return -1;
    for (size_t i = 0; i < ids->slot_count; i++)
        if (ids->slots[i].line)
            *find(&larger, ids->slots[i].hash) = ids->slots[i];
    heap_free(ids->slots);
    *ids = larger;
    return 0;
}

int item_ids_note(struct item_ids *ids, const char *id, size_t *line, struct err *err)
{
    if (grow(ids, err))
        return -1;
    uint64_t hash = hash_of(id);
    struct item_id_slot *slot = find(ids, hash);
    if (!slot->line) {
        *slot = (struct item_id_slot){hash, *line};
        ids->count++;
    } else if (slot->line < *line) {
        *line = slot->line;
    }
    return 0;
}

void item_ids_release(struct item_ids *ids)
{
    heap_free(ids->slots);
    *ids = (struct item_ids){0};
}
