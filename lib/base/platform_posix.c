#include "base/platform.h"

#ifndef __linux__

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

bool platform_random(void *bytes, size_t size)
{
    int source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t got = source < 0 ? -1 : read(source, bytes, size);
    if (source >= 0)
        close(source);
    return got == (ssize_t)size;
}

int platform_sync(int descriptor)
{
    sync();
    return fsync(descriptor);
}

int platform_rename_new(const char *from, const char *to)
{
    (void)from, (void)to;
    errno = ENOSYS;
    return -1;
}

bool platform_has_access_list(const char *path)
{
    (void)path;
    return false;
}

struct timespec platform_written(const struct stat *status)
{
#ifdef __APPLE__
    return status->st_mtimespec;
#else
    return status->st_mtim;
#endif
}

void platform_advise_huge(void *pages, size_t size)
{
    (void)pages, (void)size;
}

void platform_give_back(size_t least)
{
    (void)least;
}

size_t platform_memory_bytes(const char **limit)
{
    *limit = "";
    return SIZE_MAX;
}

const char *platform_last_byte(const char *bytes, char byte, size_t size)
{
    while (size > 0)
        if (bytes[--size] == byte)
            return bytes + size;
    return NULL;
}

bool platform_grants_tiles(void)
{
    return false;
}

size_t platform_core_cache_bytes(void)
{
    return 0;
}

size_t platform_cache_bytes(void)
{
    return 0;
}

size_t platform_processors(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

int platform_processor(void)
{
    return -1;
}

void platform_step_aside(int from, size_t steps)
{
    (void)from, (void)steps;
}

#endif
