#include "bench/benchmark.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../unit.h"
#include "base/heap.h"

/* No time is tested: what is plausible of any machine, however busy. */

TEST(every_form_has_a_name_and_vectors_half_as_wide_as_the_one_before)
{
    static const char *const names[FMA_FORMS] = {"avx512", "avx2", "plain"};
    for (int form = 0; form < FMA_FORMS; form++) {
        ck_assert_str_eq(fma_rows[form].name, names[form]);
        ck_assert_int_eq(fma_rows[form].lanes, 16 >> form);
    }
}

/* Every chain begins at another number and ends at 1, whatever it is made of. */
TEST(a_loop_multiplies_and_adds)
{
    for (int form = 0; form < FMA_FORMS; form++) {
        fma_loop *loop = fma_loop_find((enum fma_form)form);
        if (loop)
            ck_assert_float_eq_tol(loop(), FMA_CHAINS, 1e-3f);
    }
    ck_assert(fma_loop_find(FMA_PLAIN) != NULL);
}

static bool is_plausible(double rate)
{
    return isfinite(rate) && rate > 1e6 && rate < 1e16;
}

TEST(there_is_a_rate_for_what_the_processor_has)
{
    for (size_t threads = 1; threads <= 3; threads++) {
        struct pool *pool = NULL;
        ck_assert_int_eq(pool_open(&pool, threads, NULL), 0);
        for (int form = 0; form < FMA_FORMS; form++) {
            double rate = peak_fma(pool, (enum fma_form)form);
            if (fma_loop_find((enum fma_form)form))
                ck_assert_msg(is_plausible(rate), "%g", rate);
            else
                ck_assert_double_eq(rate, 0);
        }
        pool_free(pool);
    }
}

/* Ones, all of whose products have the same sum: a kernel that was called has written it. */
TEST(a_kernel_is_called_and_has_a_rate)
{
    for (size_t threads = 1; threads <= 2; threads++) {
        struct machine machine = {0};
        struct arena arena = {0};
        struct peak_kernel peak;
        ck_assert_int_eq(machine_open(&machine, threads, NULL), 0);
        ck_assert_int_eq(peak_kernel_init(&peak, threads, &arena, NULL), 0);
        double rate = peak_kernel(machine.pool, machine.kernels, &peak, PRECISION_FP32);
        ck_assert_msg(is_plausible(rate), "%g", rate);
        ck_assert_float_gt(peak.sums[0], 255);
        for (int i = 1; i < peak.kernel.shape.m * peak.kernel.shape.n; i++)
            ck_assert_float_eq(peak.sums[i], peak.sums[0]);
        arena_release(&arena);
        machine_release(&machine);
    }
}

TEST(memory_is_larger_than_the_cache_and_is_read)
{
    struct arena arena = {0};
    struct peak_memory memory;
    ck_assert_int_eq(peak_memory_init(&memory, &arena, NULL), 0);
    ck_assert_uint_gt(memory.cache_bytes, 0);
    ck_assert_uint_ge(memory.size_bytes, 128 << 20);
    for (size_t threads = 1; threads <= 2; threads++) {
        struct pool *pool = NULL;
        ck_assert_int_eq(pool_open(&pool, threads, NULL), 0);
        double rate = peak_read(pool, &memory);
        ck_assert_msg(is_plausible(rate), "%g", rate);
        pool_free(pool);
    }
    arena_release(&arena);
}

TEST(memory_that_cannot_be_had_is_an_error)
{
    struct arena arena = {0};
    struct peak_memory memory;
    struct err err = {0};
    heap_fail_at(1, 0);
    ck_assert_int_eq(peak_memory_init(&memory, &arena, &err), -1);
    ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
    arena_release(&arena);
}
