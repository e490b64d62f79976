#include "base/mapping_list.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/heap.h"

enum { MAPPINGS_MAX = 64 }; /* more than a model with its shards has as a rule */

/* A place is taken while `path` is set, and tells of a file while `begin` is. */
static struct {
    _Atomic(char *) path;
    _Atomic(uintptr_t) begin;
    _Atomic(size_t) size;
} places[MAPPINGS_MAX];

void mapping_list_add(const void *bytes, size_t size, const char *path)
{
    size_t length = strlen(path) + 1;
    char *copy = heap_alloc(length, 1, NULL);
    if (!copy)
        return;
    memcpy(copy, path, length);
    for (size_t i = 0; i < MAPPINGS_MAX; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&places[i].path, &none, copy)) {
            places[i].size = size;
            places[i].begin = (uintptr_t)bytes;
            return;
        }
    }
    heap_free(copy);
}

void mapping_list_remove(const void *bytes)
{
    for (size_t i = 0; i < MAPPINGS_MAX; i++) {
        if (places[i].begin != (uintptr_t)bytes)
            continue;
        places[i].begin = 0;
        heap_free(atomic_exchange(&places[i].path, NULL));
        return;
    }
}

const char *mapping_list_path(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (size_t i = 0; i < MAPPINGS_MAX; i++) {
        uintptr_t begin = places[i].begin;
        if (begin && at >= begin && at - begin < places[i].size)
            return places[i].path;
    }
    return NULL;
}
