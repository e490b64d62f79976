/* guarded.h: floats that end at a guard page.
 *
 * Sanitizers do not see generated code: a kernel that reads or writes beyond an operand gets a
 * signal here.
 *
 *     struct guarded memory = guarded_open(129 * 200);
 *     float *x = guarded_take(&memory, rows * stride);     (ends at the guard page)
 *     guarded_close(&memory);
 */
#pragma once

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "asserts.h"

struct guarded {
    char *pages;
    size_t usable_bytes; /* before the guard page */
    size_t page_bytes;
};

static inline struct guarded guarded_open(size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t usable = (count * sizeof(float) + page - 1) / page * page;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *pages = mmap(NULL, usable + page, PROT_READ | PROT_WRITE, flags, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect((char *)pages + usable, page, PROT_NONE), 0);
    return (struct guarded){pages, usable, page};
}

/* The last `count` floats before the guard page. */
static inline float *guarded_take(const struct guarded *memory, size_t count)
{
    if (count * sizeof(float) > memory->usable_bytes)
        ck_abort_msg("no memory for %zu floats", count);
    return (float *)(void *)(memory->pages + memory->usable_bytes) - count;
}

static inline void guarded_close(struct guarded *memory)
{
    munmap(memory->pages, memory->usable_bytes + memory->page_bytes);
}
