/* platform.h: functions of Linux, with a replacement or no effect on other systems (macOS). No
 * other file but lib/math/kernel.c calls functions that only Linux has
 * (tests/sources/floors.awk). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* With GCC on x86-64, compile a function for several instruction sets; the program chooses one when
 * it starts. All versions give the same bits: there is no -ffast-math, and no sum is reordered. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_ISA __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_ISA
#endif

/* Seconds since some moment in the past, to measure durations; the clock is never set back. */
double clock_seconds(void);

/* Get unpredictable bytes; false: the system has none. */
bool platform_random(void *bytes, size_t size);

/* Wait until all writes to the file system of this file are on disk. */
int platform_sync(int descriptor);

/* Rename a file, but fail with EEXIST if the name is taken; with ENOSYS or EINVAL if the system
 * cannot do that in one step. */
int platform_rename_new(const char *from, const char *to);

/* True if the file has an access control list; its group permissions are then the list's mask. */
bool platform_has_access_list(const char *path);

/* The time of the last write to a file. */
struct timespec platform_written(const struct stat *status);

/* Advise the system to use large pages for this memory. */
void platform_advise_huge(void *pages, size_t size);

/* From now on, return freed pieces of this size or above to the system. */
void platform_give_back(size_t least);

/* The bytes that this process can still allocate: the least of the system's free memory and the
 * memory that control groups and `ulimit -v` leave. `*limit` is set to words for what limits it,
 * such as "in this system". SIZE_MAX: unknown. */
size_t platform_memory_bytes(const char **limit);

/* Like platform_memory_bytes, but for pages of mapped files, which `ulimit -v` does not limit. */
size_t platform_page_bytes(void);

/* The last occurrence of a byte; NULL: there is none. */
const char *platform_last_byte(const char *bytes, char byte, size_t size);

/* Request the tiles of AMX for this process; false: the system refuses, or the processor has no
 * AMX. */
bool platform_grants_tiles(void);

/* The bytes of the cache of level 2 (of each core) or 3 (shared by cores); 0: unknown. */
size_t platform_cache_bytes(int level);

/* Remove these bytes from all caches; false: the processor has no instruction for it. */
bool platform_leave_caches(const void *bytes, size_t size);

/* The number of processors that this process may use. */
size_t platform_processors(void);

/* The processor that runs this thread; -1: unknown. */
int platform_processor(void);

/* Move this thread to the usable processor that is `steps` usable processors after `from`; later
 * the system may move the thread again. Does nothing if `from` is negative. */
void platform_step_aside(int from, size_t steps);
