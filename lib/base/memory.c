#include "base/memory.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/platform.h"

/* --- the heap --------------------------------------------------------------------------------- */

enum {
    HUGE_BYTES = 4 * 1024 * 1024,
    EXPECTED_BYTES = 64 * 1024 * 1024, /* heap_expect does not check smaller sizes */
    LARGE_BYTES = 96 * 1024,           /* minimum size of freed memory that is returned to the
                                        * system after heap_give_back; larger than BLOCK_BYTES */
};

static atomic_size_t fail_countdown; /* allocations left until one fails; 0: no failure
                                      * is planned */
static atomic_int fail_for_ever;
static atomic_bool has_failed;

/* Count an allocation. Returns true if it must fail (heap_fail_at). */
static bool heap_fails_here(void)
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

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* If `zeroed`, allocate zeroed memory; otherwise resize `memory`. Advise large pages for HUGE_BYTES
 * or more: they need fewer faults and page table entries. The first and last page are included: the
 * system moves resized memory only if all its pages have the same advice. */
static void *take(void *memory, size_t count, size_t size, bool zeroed, struct err *err)
{
    size_t bytes = 0;
    void *taken = NULL;
    if (!num_multiply(&bytes, count, size) || bytes > PTRDIFF_MAX) { /* no object may be so large */
        err_memory(err, SIZE_MAX);
        return NULL;
    }
    size_t least = num_max(bytes, 1);
    if (!heap_fails_here())
        taken = zeroed ? calloc(1, least) : realloc(memory, least);
    if (!taken)
        err_memory(err, bytes);
    if (taken && bytes >= HUGE_BYTES) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)taken % page;
        platform_advise_huge((char *)taken - before, round_up(before + bytes, page));
    }
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

/* --- arenas ----------------------------------------------------------------------------------- */

enum {
    BLOCK_BYTES = 64 * 1024, /* minimum size of a block */
    LARGE_PAGE_BYTES = 2 * 1024 * 1024,
};

struct arena_block {
    struct arena_block *older;
    size_t size_bytes; /* bytes of the block from its first aligned byte on */
    size_t used_bytes;
    bool is_zero; /* the bytes after the used ones are 0 */
    char *start;
};

/* Add a block with room for `size` bytes to the arena. Large blocks are zeroed by the system, whose
 * zero pages cost nothing before they are used. Small blocks are zeroed piece by piece, since most
 * blocks of a short run are never filled. */
static struct arena_block *add_block(struct arena *arena, size_t size, struct err *err)
{
    size_t least = arena->next_bytes > BLOCK_BYTES ? arena->next_bytes : BLOCK_BYTES;
    size_t usable = size > least ? size : least;
    size_t total = 0;
    size_t align = usable < LARGE_PAGE_BYTES ? ARENA_ALIGN_BYTES : LARGE_PAGE_BYTES;
    if (!num_add(&total, usable, sizeof(struct arena_block) + align)) {
        err_memory(err, size);
        return NULL;
    }
    bool large = usable > BLOCK_BYTES;
    struct arena_block *block =
        large ? heap_alloc(1, total, err) : heap_resize(NULL, 1, total, err);
    if (!block)
        return NULL;
    *block = (struct arena_block){.size_bytes = usable, .is_zero = large};
    block->start = (char *)block + (round_up((uintptr_t)(block + 1), align) - (uintptr_t)block);
    arena->next_bytes = 0;
    /* Pieces are allocated from the first block of the list. The block of a large piece is inserted
     * after the first, whose remaining memory can then still be used. */
    bool own = arena->newest && block->size_bytes > BLOCK_BYTES;
    struct arena_block **link = own ? &arena->newest->older : &arena->newest;
    block->older = *link;
    *link = block;
    return block;
}

static void *arena_take(struct arena *arena, size_t count, size_t size, bool zeroed,
                        struct err *err)
{
    size_t bytes = 0;
    if (!num_multiply(&bytes, count, size) || bytes > SIZE_MAX - ARENA_ALIGN_BYTES) {
        err_memory(err, SIZE_MAX);
        return NULL;
    }
    bytes = round_up(bytes ? bytes : 1, ARENA_ALIGN_BYTES);
    struct arena_block *block = arena->newest;
    if (!block || block->size_bytes - block->used_bytes < bytes) {
        block = add_block(arena, bytes, err);
    } else if (heap_fails_here()) {
        err_memory(err, bytes);
        block = NULL;
    }
    if (!block)
        return NULL;
    char *piece = block->start + block->used_bytes;
    arena->taken_bytes += bytes;
    block->used_bytes += bytes;
    return zeroed && !block->is_zero ? memset(piece, 0, bytes) : piece;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size, struct err *err)
{
    return arena_take(arena, count, size, true, err);
}

void *arena_room(struct arena *arena, size_t count, size_t size, struct err *err)
{
    return arena_take(arena, count, size, false, err);
}

void *arena_grow(struct arena *arena, void *things, size_t count, size_t size, struct err *err)
{
    if (count & (count - 1))
        return things;
    void *more = arena_alloc(arena, count ? 2 * count : 1, size, err);
    return more && count ? memcpy(more, things, count * size) : more;
}

void arena_expect(struct arena *arena, size_t size)
{
    assert(!arena->newest);
    if (size >= LARGE_PAGE_BYTES / 2 && size < SIZE_MAX - LARGE_PAGE_BYTES)
        arena->next_bytes = round_up(size, LARGE_PAGE_BYTES);
}

char *arena_text(struct arena *arena, const char *bytes, size_t size, struct err *err)
{
    size_t with_end = size < SIZE_MAX ? size + 1 : size; /* arena_alloc refuses SIZE_MAX */
    char *text = arena_alloc(arena, with_end, 1, err);
    if (text && size)
        memcpy(text, bytes, size);
    return text;
}

char *arena_path(struct arena *arena, const char *path, struct err *err)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    return arena_text(arena, path, size, err);
}

char *arena_format(struct arena *arena, struct err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = size < 0 ? NULL : arena_room(arena, (size_t)size + 1, 1, err);
    if (size < 0)
        err_memory(err, INT_MAX); /* the text is longer than printf can count */
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

void arena_clear(struct arena *arena)
{
    struct arena_block *block = arena->newest;
    arena->taken_bytes = 0;
    if (block && block->older) {
        size_t total = 0;
        for (; block; block = block->older)
            total += block->size_bytes;
        arena_release(arena);
        arena->next_bytes = total;
    } else if (block) {
        block->is_zero &= block->used_bytes == 0;
        block->used_bytes = 0;
    }
}

void arena_release(struct arena *arena)
{
    struct arena_block *block = arena->newest;
    while (block) {
        struct arena_block *older = block->older;
        heap_free(block);
        block = older;
    }
    *arena = (struct arena){0};
}
