#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool platform_leave_caches(const void *bytes, size_t size)
{
#ifdef __SSE2__
    enum { LINE = 64 };
    for (size_t at = 0; at < size; at += LINE)
        __builtin_ia32_clflush((const char *)bytes + at);
    __builtin_ia32_mfence();
    return true;
#else
    (void)bytes, (void)size;
    return false;
#endif
}

#ifdef __linux__

#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/num.h"

enum {
    RANDOM_BYTES = 16, /* number of random bytes that the kernel gives to each process */
    LINE_BYTES = 1024,
};

bool platform_random(void *bytes, size_t size)
{
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (getrandom(bytes, size, GRND_NONBLOCK) == (ssize_t)size)
        return true;
    if (!random || size > RANDOM_BYTES)
        return false;
    memcpy(bytes, random, size);
    return true;
}

int platform_sync(int descriptor)
{
    return syncfs(descriptor);
}

int platform_rename_new(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

bool platform_has_access_list(const char *path)
{
    return lgetxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

void platform_advise_huge(void *pages, size_t size)
{
    if (madvise(pages, size, MADV_HUGEPAGE))
        errno = 0;
}

/* Set both thresholds of malloc: otherwise they grow with the largest freed piece. */
void platform_give_back(size_t least)
{
    mallopt(M_MMAP_THRESHOLD, (int)least);
    mallopt(M_TRIM_THRESHOLD, (int)least);
}

const char *platform_last_byte(const char *bytes, char byte, size_t size)
{
    return memrchr(bytes, byte, size);
}

/* Read a number, with the scanf format `form`, from the first line of a file that matches it;
 * SIZE_MAX: no line matches. */
static size_t number_in(const char *path, const char *form)
{
    FILE *file = fopen(path, "re");
    size_t found = SIZE_MAX;
    char line[LINE_BYTES];
    while (file && found == SIZE_MAX && fgets(line, sizeof line, file))
        if (sscanf(line, form, &found) != 1)
            found = SIZE_MAX;
    if (file)
        fclose(file);
    return found;
}

/* The bytes of memory that the limit of a control group leaves; the limit itself if the group's use
 * of memory is unknown. SIZE_MAX: there is no limit, or it is unknown. `first`: the group is of
 * version 1, with files in /sys/fs/cgroup/memory. Pages of files do not count: the system can drop
 * them. */
static size_t left_of_group(const char *group, bool first)
{
    static const char *const files[2][4][2] = {
        {{"memory.max", "%zu"},
         {"memory.current", "%zu"},
         {"memory.stat", "inactive_file %zu"},
         {"memory.stat", "active_file %zu"}},
        {{"memory.limit_in_bytes", "%zu"},
         {"memory.usage_in_bytes", "%zu"},
         {"memory.stat", "total_inactive_file %zu"},
         {"memory.stat", "total_active_file %zu"}},
    };
    char path[2 * LINE_BYTES];
    size_t found[4];
    for (int i = 0; i < 4; i++) {
        const char *const *file = files[first][i];
        snprintf(path, sizeof path, "/sys/fs/cgroup%s%s/%s", first ? "/memory" : "", group,
                 file[0]);
        found[i] = number_in(path, file[1]);
        if (found[i] == SIZE_MAX)
            return i ? found[0] : SIZE_MAX;
    }
    size_t used = found[1] - num_min(found[1], found[2] + found[3]);
    return found[0] - num_min(found[0], used);
}

/* The least memory in bytes that the limits of this process's control group and of the groups above
 * it leave. In a container, the root may be the container's own group. */
static size_t left_of_groups(void)
{
    size_t least = SIZE_MAX;
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *after_memory = strstr(line, ":memory:");
        char *group = after_memory ? strchr(line, '/') : strncmp(line, "0::/", 4) ? NULL : line + 3;
        if (!group)
            continue;
        group[strcspn(group, "\n")] = '\0';
        for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
            *end = '\0';
            least = num_min(least, left_of_group(group, after_memory));
        }
    }
    if (file)
        fclose(file);
    return least;
}

/* The bytes of address space that `ulimit -v` leaves; SIZE_MAX: there is no limit, or the use is
 * unknown. */
static size_t left_of_addresses(void)
{
    struct rlimit limit;
    size_t pages = number_in("/proc/self/statm", "%zu");
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY || pages == SIZE_MAX)
        return SIZE_MAX;
    size_t used = pages * (size_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

static size_t left_of_system(void)
{
    size_t kilobytes = number_in("/proc/meminfo", "MemAvailable: %zu kB");
    return kilobytes < SIZE_MAX / 1024 ? 1024 * kilobytes : SIZE_MAX;
}

size_t platform_page_bytes(void)
{
    return num_min(left_of_system(), left_of_groups());
}

size_t platform_memory_bytes(const char **limit)
{
    const size_t found[] = {left_of_system(), left_of_groups(), left_of_addresses()};
    static const char *const names[] = {"in this system", "in this control group",
                                        "below 'ulimit -v'"};
    size_t least = 0;
    for (size_t i = 1; i < sizeof found / sizeof *found; i++)
        least = found[i] < found[least] ? i : least;
    *limit = names[least];
    return found[least];
}

size_t platform_cache_bytes(int level)
{
    long cache = sysconf(level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE);
    return cache > 0 ? (size_t)cache : 0;
}

int platform_processor(void)
{
    return sched_getcpu();
}

void platform_step_aside(int from, size_t steps)
{
    cpu_set_t allowed;
    cpu_set_t one;
    if (from < 0 || sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < 2)
        return;
    int to = from;
    while (steps > 0) {
        to = (to + 1) % CPU_SETSIZE;
        steps -= CPU_ISSET(to, &allowed) != 0;
    }
    CPU_ZERO(&one);
    CPU_SET(to, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof allowed, &allowed);
}

#else

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

void platform_advise_huge(void *pages, size_t size)
{
    (void)pages, (void)size;
}

void platform_give_back(size_t least)
{
    (void)least;
}

size_t platform_page_bytes(void)
{
    return SIZE_MAX;
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

size_t platform_cache_bytes(int level)
{
    (void)level;
    return 0;
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

bool platform_grants_tiles(void)
{
#if defined(__linux__) && defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0;
#else
    return false;
#endif
}

struct timespec platform_written(const struct stat *status)
{
#ifdef __APPLE__
    return status->st_mtimespec;
#else
    return status->st_mtim;
#endif
}

size_t platform_processors(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (size_t)CPU_COUNT(&set);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}
