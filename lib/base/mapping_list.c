#include "base/mapping_list.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/heap.h"

/* An entry is taken while `path` is set and mapped while `begin` is. Entries are used again but
 * never freed: a signal handler may be reading them. */
struct mapping {
    struct mapping *next;
    _Atomic(char *) path;
    _Atomic(uintptr_t) begin;
    _Atomic(size_t) size;
    _Atomic(const void *) owner;
    atomic_bool is_short;
};

static _Atomic(struct mapping *) first;
static _Thread_local const void *current_owner;

/* Set the path of a free entry, or of a new one. */
static struct mapping *take_entry(char *path, struct err *err)
{
    for (struct mapping *mapping = first; mapping; mapping = mapping->next) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&mapping->path, &none, path))
            return mapping;
    }
    struct mapping *mapping = heap_alloc(1, sizeof *mapping, err);
    if (!mapping)
        return NULL;
    mapping->path = path;
    mapping->next = first;
    while (!atomic_compare_exchange_weak(&first, &mapping->next, mapping))
        continue;
    return mapping;
}

static void free_entry(struct mapping *mapping)
{
    mapping->is_short = false;
    mapping->owner = NULL;
    heap_free(atomic_exchange(&mapping->path, NULL));
}

int mapping_list_add(const void *bytes, size_t size, const char *path, struct err *err)
{
    size_t length = strlen(path) + 1;
    char *copy = heap_alloc(length, 1, err);
    if (!copy)
        return -1;
    memcpy(copy, path, length);
    struct mapping *mapping = take_entry(copy, err);
    if (!mapping) {
        heap_free(copy);
        return -1;
    }
    mapping->size = size;
    mapping->owner = current_owner;
    mapping->begin = (uintptr_t)bytes;
    return 0;
}

void mapping_list_remove(const void *bytes)
{
    for (struct mapping *mapping = first; mapping; mapping = mapping->next) {
        if (mapping->begin != (uintptr_t)bytes)
            continue;
        mapping->begin = 0;
        if (!mapping->is_short || mapping->owner != current_owner) /* no mapping_list_check comes */
            free_entry(mapping);
        return;
    }
}

/* Its size is that of `begin` if `begin` is still the same afterwards. */
static struct mapping *find(uintptr_t address)
{
    for (struct mapping *mapping = first; mapping; mapping = mapping->next) {
        uintptr_t begin = mapping->begin;
        size_t size = mapping->size;
        if (begin && address >= begin && address - begin < size && mapping->begin == begin)
            return mapping;
    }
    return NULL;
}

const char *mapping_list_path(const void *address)
{
    struct mapping *mapping = find((uintptr_t)address);
    return mapping ? mapping->path : NULL;
}

const void *mapping_list_own(const void *owner)
{
    const void *before = current_owner;
    current_owner = owner;
    return before;
}

bool mapping_list_fill(const void *address)
{
    struct mapping *mapping = find((uintptr_t)address);
    if (!mapping || !mapping->owner)
        return false;
    int error = errno;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t skipped = ((uintptr_t)address - mapping->begin) / page * page;
    mapping->is_short = true; /* first: no thread reads zeros that are not reported */
    void *filled = mmap((char *)mapping->begin + skipped, mapping->size - skipped, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = error;
    return filled != MAP_FAILED;
}

int mapping_list_check(const void *owner, struct err *err)
{
    int failed = 0;
    for (struct mapping *mapping = first; mapping; mapping = mapping->next) {
        if (mapping->owner != owner || !mapping->is_short)
            continue;
        if (!failed)
            err_clear(err);
        failed = err_set(err, "'%s' became shorter while it was being read", mapping->path);
        if (!mapping->begin)
            free_entry(mapping);
    }
    return failed;
}
