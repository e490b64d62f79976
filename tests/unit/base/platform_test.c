#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"
#include "base/file.h"

/* Compile the functions for other systems under other names. */
#undef __linux__
#define clock_seconds posix_seconds
#define platform_random posix_random
#define platform_sync posix_sync
#define platform_rename_new posix_rename_new
#define platform_has_access_list posix_has_access_list
#define platform_written posix_written
#define platform_advise_huge posix_advise_huge
#define platform_give_back posix_give_back
#define platform_cache_bytes posix_cache_bytes
#define platform_leave_caches posix_leave_caches
#define platform_last_byte posix_last_byte
#define platform_grants_tiles posix_grants_tiles
#define platform_memory_bytes posix_memory_bytes
#define platform_page_bytes posix_page_bytes
#define platform_processors posix_processors
#define platform_processor posix_processor
#define platform_step_aside posix_step_aside
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "base/platform.c"
#undef platform_random
#undef platform_sync
#undef platform_written
#undef platform_last_byte
#undef platform_processors

static const struct {
    bool (*random)(void *bytes, size_t size);
    int (*sync)(int descriptor);
    struct timespec (*written)(const struct stat *status);
    const char *(*last_byte)(const char *bytes, char byte, size_t size);
    size_t (*processors)(void);
} platforms[] = {
    {platform_random, platform_sync, platform_written, platform_last_byte, platform_processors},
    {posix_random, posix_sync, posix_written, posix_last_byte, posix_processors},
};

TEST_LOOP(random_bytes_differ, COUNT(platforms))
{
    unsigned char draws[2][16] = {{0}};
    ck_assert(platforms[_i].random(draws[0], sizeof *draws));
    ck_assert(platforms[_i].random(draws[1], sizeof *draws));
    ck_assert_mem_ne(draws[0], draws[1], sizeof *draws);
}

TEST(bytes_that_leave_the_caches_keep_their_values)
{
    char bytes[1000], same[sizeof bytes];
    memset(bytes, 7, sizeof bytes);
    memset(same, 7, sizeof same);
    platform_leave_caches(bytes + 1, sizeof bytes - 2);
    ck_assert_mem_eq(bytes, same, sizeof bytes);
}

TEST_LOOP(the_last_occurrence_of_a_byte_is_found, COUNT(platforms))
{
    static const char text[] = "9:4:2";
    ck_assert_ptr_eq(platforms[_i].last_byte(text, ':', 5), text + 3);
    ck_assert_ptr_eq(platforms[_i].last_byte(text, ':', 3), text + 1);
    ck_assert_ptr_eq(platforms[_i].last_byte(text, '9', 5), text);
    ck_assert_ptr_null(platforms[_i].last_byte(text, ':', 1));
    ck_assert_ptr_null(platforms[_i].last_byte(text, ':', 0));
}

TEST_LOOP(there_is_a_processor, COUNT(platforms))
{
    ck_assert_uint_ge(platforms[_i].processors(), 1);
}

TEST(functions_that_posix_lacks_fail_or_do_nothing)
{
    errno = 0;
    ck_assert_int_eq(posix_rename_new("a", "b"), -1);
    ck_assert_int_eq(errno, ENOSYS);
    ck_assert(!posix_has_access_list("a"));
    ck_assert_uint_eq(posix_cache_bytes(2), 0);
    ck_assert_uint_eq(posix_cache_bytes(3), 0);
    ck_assert_int_eq(posix_processor(), -1);
    ck_assert(!posix_grants_tiles());
    posix_step_aside(-1, 1);
    posix_advise_huge(NULL, 0);
    posix_give_back(0);
}
