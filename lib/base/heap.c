#include "base/heap.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/num.h"
#include "base/platform.h"

enum {
    HUGE_BYTES = 4 * 1024 * 1024,
    EXPECTED_BYTES = 64 * 1024 * 1024, /* less is there: that is not asked for */
    LARGE_BYTES = 96 * 1024, /* pieces with pages of their own: more than a block of an arena */
};

static atomic_size_t fail_countdown; /* 0: no fault is planned */
static atomic_int fail_for_ever;
static atomic_bool has_failed;

bool heap_fails_here(void)
{
    size_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    while (left > 0) {
        size_t next = left == 1 && atomic_load(&fail_for_ever) ? 1 : left - 1;
        if (atomic_compare_exchange_weak(&fail_countdown, &left, next)) {
            if (left == 1)
                atomic_store(&has_failed, true);
            return left == 1;
        }
    }
    return false;
}

/* Large memory in large pages: fewer faults, fewer misses of page tables. Only advice, and for the
 * first and last page, too: the system moves what is resized only where all of it is alike. */
static void advise_huge(char *memory, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = (uintptr_t)memory % page;
    platform_advise_huge(memory - before, (before + size + page - 1) / page * page);
}

/* New memory, zeroed; or memory resized. */
static void *take(void *memory, size_t count, size_t size, bool zeroed, struct err *err)
{
    size_t bytes = 0;
    void *taken = NULL;
    if (!num_multiply(&bytes, count, size)) {
        err_memory(err, (size_t)-1);
        return NULL;
    }
    size_t least = num_max(bytes, 1);
    if (!heap_fails_here())
        taken = zeroed ? calloc(1, least) : realloc(memory, least);
    if (!taken)
        err_memory(err, bytes);
    if (taken && bytes >= HUGE_BYTES)
        advise_huge(taken, bytes);
    return taken;
}

void *heap_alloc(size_t count, size_t size, struct err *err)
{
    return take(NULL, count, size, true, err);
}

void *heap_resize(void *memory, size_t count, size_t size, struct err *err)
{
    return take(memory, count, size, false, err);
}

void heap_free(void *memory)
{
    free(memory);
}

size_t heap_available(void)
{
    const char *limit = NULL;
    return platform_memory_bytes(&limit);
}

int heap_expect(size_t size_bytes, const char *what, struct err *err)
{
    const char *limit = NULL;
    size_t megabyte = 1024 * 1024;
    if (size_bytes < EXPECTED_BYTES)
        return 0;
    size_t there = platform_memory_bytes(&limit);
    return size_bytes <= there
               ? 0
               : err_set(err, "'%s': expected %zu MB of free memory, found %zu MB %s", what,
                         size_bytes / megabyte, there / megabyte, limit);
}

void heap_give_back(void)
{
    platform_give_back(LARGE_BYTES);
}

void *heap_hook(size_t size)
{
    return heap_fails_here() ? NULL : malloc(size);
}

void heap_fail_at(size_t nth, int for_ever)
{
    atomic_store(&has_failed, false);
    atomic_store(&fail_for_ever, for_ever);
    atomic_store(&fail_countdown, nth);
}

bool heap_has_failed(void)
{
    return atomic_load(&has_failed);
}
