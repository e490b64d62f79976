/* platform.h: what Linux has and POSIX has not. Elsewhere (macOS) it is done with what there is, or
 * left out; who includes this need not know which. Nothing else calls Linux by name (a test looks).
 */
#ifndef ATTN_BASE_PLATFORM_H
#define ATTN_BASE_PLATFORM_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* Bytes that nobody can tell before; false: there are none, and `bytes` is as it was. */
bool platform_random(void *bytes, size_t size);

/* Write to disk what was written to the file system of this file. */
int platform_sync(int descriptor);

/* Rename, unless there is such a file (EEXIST); with ENOSYS or EINVAL where that cannot be done in
 * one step. */
int platform_rename_new(const char *from, const char *to);

/* Does a file have an access control list? Then its group permissions are the list's mask. */
bool platform_has_access_list(const char *path);

/* When a file was last written. */
struct timespec platform_written(const struct stat *status);

/* Advice: that these pages be large, and that freed pieces of that size go back to the system. */
void platform_advise_huge(void *pages, size_t size);
void platform_give_back(size_t least);

/* The bytes that this process can still take: the least of the system's free memory and what the
 * limits of its control groups and of `ulimit -v` leave, and which of them that is. SIZE_MAX:
 * unknown. */
size_t platform_memory_bytes(const char **limit);

/* The last such byte, or NULL. */
const char *platform_last_byte(const char *bytes, char byte, size_t size);

/* May this process use the tiles of AMX? From then on it may, where it answers so. */
bool platform_grants_tiles(void);

/* A core's second-level cache, and the largest cache; 0: unknown. */
size_t platform_core_cache_bytes(void);
size_t platform_cache_bytes(void);

/* The processors that we may use; the one that we are on, -1: unknown; and move this thread to the
 * one that comes so many steps after another, and leave it free again. */
size_t platform_processors(void);
int platform_processor(void);
void platform_step_aside(int from, size_t steps);

#endif
