#include "library_malloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own, which ours stand before. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static struct shared {
    atomic_size_t left; /* before they fail */
    atomic_bool failed;
} * shared; /* of the processes; NULL: nothing is planned */

static pid_t spared;

void library_malloc_fail_from(size_t nth)
{
    static struct shared *kept;
    if (!kept)
        kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED)
        abort();
    kept->left = nth;
    kept->failed = false;
    spared = getpid();
    shared = nth ? kept : NULL;
}

bool library_malloc_has_failed(void)
{
    return shared && shared->failed;
}

#ifdef __SANITIZE_ADDRESS__

bool library_malloc_can_fail(void)
{
    return false;
}

#else

bool library_malloc_can_fail(void)
{
    return true;
}

static bool fails(void)
{
    if (!shared || getpid() == spared)
        return false;
    size_t left = shared->left;
    while (left > 1 && !atomic_compare_exchange_weak(&shared->left, &left, left - 1))
        ;
    if (left > 1)
        return false;
    shared->failed = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *found = memalign(alignment, size);
    *memory = found ? found : *memory;
    return found ? 0 : ENOMEM;
}

#endif
