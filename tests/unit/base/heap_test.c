#include "base/memory.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "../unit.h"
#include "base/platform.h"

enum { THREADS = 4, CALLS = 2000 };

TEST(a_size_that_overflows_is_refused)
{
    struct err err = {0};
    char *memory = heap_alloc(1, 1, NULL);
    ck_assert_ptr_null(heap_alloc(SIZE_MAX / 2, 3, &err));
    ck_assert_str_eq(err.text, "out of memory: cannot allocate 18446744073709551615 bytes");
    err_clear(&err);
    ck_assert_ptr_null(heap_resize(memory, SIZE_MAX / 2, 3, &err));
    ck_assert_str_eq(err.text, "out of memory: cannot allocate 18446744073709551615 bytes");
    heap_free(memory);
}

TEST(expecting_more_than_the_free_memory_is_an_error)
{
    struct err err = {0};
    ck_assert_int_eq(heap_expect(1, "mine", &err), 0);
    ck_assert_int_eq(heap_expect(SIZE_MAX, "mine", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "'mine': expected 17592186044415 MB of free memory, "
                                           "found "));
}

/* Sanitizers reserve all addresses at the start. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Each test runs in its own process, which the limit does not outlive. */
TEST(a_limit_of_addresses_is_reported)
{
    struct err err = {0};
    const char *limit = NULL;
    size_t gigabyte = (size_t)1 << 30;
    size_t before = platform_memory_bytes(&limit);
    ck_assert_str_ne(limit, "below 'ulimit -v'");
    ck_assert_uint_gt(before, gigabyte);
    struct rlimit small = {gigabyte, gigabyte};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &small), 0);
    size_t after = platform_memory_bytes(&limit);
    ck_assert_str_eq(limit, "below 'ulimit -v'");
    ck_assert_uint_lt(after, gigabyte);
    ck_assert_uint_gt(after, gigabyte / 4);
    ck_assert_int_eq(heap_expect(after / 2, "mine", &err), 0);
    ck_assert_int_eq(heap_expect(gigabyte, "mine", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "'mine': expected 1024 MB of free memory, found "));
    ck_assert_ptr_nonnull(strstr(err.text, " MB below 'ulimit -v'"));
}
#endif

TEST(the_nth_allocation_fails_once)
{
    struct err err = {0};
    char *memory = heap_alloc(1, 1, NULL);
    *memory = 'x';
    heap_fail_at(2, 0);
    memory = heap_resize(memory, 2, 1, &err);
    ck_assert(!heap_has_failed());
    ck_assert_ptr_null(heap_resize(memory, 30, 10, &err));
    ck_assert(heap_has_failed());
    ck_assert_str_eq(err.text, "out of memory: cannot allocate 300 bytes");
    ck_assert_int_eq(*memory, 'x');
    memory = heap_resize(memory, 30, 10, NULL);
    ck_assert_ptr_nonnull(memory);
    heap_free(memory);
}

TEST(all_allocations_from_the_nth_on_fail)
{
    heap_fail_at(2, 1);
    void *first = heap_hook(8);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(heap_hook(8));
    ck_assert_ptr_null(heap_alloc(8, 1, NULL));
    ck_assert_ptr_null(heap_resize(first, 16, 1, NULL));
    ck_assert(heap_has_failed());
    heap_fail_at(0, 0);
    ck_assert(!heap_has_failed());
    void *second = heap_hook(8);
    ck_assert_ptr_nonnull(second);
    heap_free(first);
    heap_free(second);
}

static void *allocate_often(void *failures)
{
    for (int i = 0; i < CALLS; i++) {
        void *memory = heap_alloc(1, 1, NULL);
        *(size_t *)failures += !memory;
        heap_free(memory);
    }
    return NULL;
}

static size_t failures_of_threads(size_t nth, int for_ever)
{
    pthread_t threads[THREADS];
    size_t failures[THREADS] = {0};
    size_t sum = 0;
    heap_fail_at(nth, for_ever);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, allocate_often, &failures[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += failures[i];
    }
    heap_fail_at(0, 0);
    return sum;
}

TEST(threads_count_their_allocations_together)
{
    ck_assert_uint_eq(failures_of_threads(500, 0), 1);
    ck_assert_uint_eq(failures_of_threads(500, 1), THREADS * CALLS - 499);
}
