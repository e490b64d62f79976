#include "bench/benchmark.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "base/heap.h"

/* No time is tested: only what is plausible of any machine, however busy. */

static bool is_plausible(double rate)
{
    return isfinite(rate) && rate > 1e6 && rate < 1e16;
}

TEST_LOOP(limits_are_measured_on_one_thread_and_on_several, PRECISION_BF16 + 1)
{
    for (size_t threads = 1; threads <= 3; threads++) {
        struct machine machine;
        struct peak peak;
        struct arena arena = {0};
        ck_assert_int_eq(machine_open(&machine, threads, NULL), 0);
        ck_assert_int_eq(peak_init(&peak, &machine, (enum precision)_i, &arena, NULL), 0);
        ck_assert_uint_gt(peak.cache_bytes, 0);
        ck_assert_uint_ge(peak.size_bytes, 128 << 20);
        struct limits limits = peak_measure(&peak, &machine);
        ck_assert_msg(is_plausible(limits.operations), "%g", limits.operations);
        ck_assert_msg(is_plausible(limits.bytes), "%g", limits.bytes);
        ck_assert_float_eq(peak.y.data[0], 768); /* the product was computed */
        machine_release(&machine);
        arena_release(&arena);
    }
}

TEST(memory_that_cannot_be_had_is_an_error)
{
    struct arena arena = {0};
    struct peak peak;
    struct err err = {0};
    struct machine machine;
    ck_assert_int_eq(machine_open(&machine, 1, NULL), 0);
    heap_fail_at(1, 0);
    ck_assert_int_eq(peak_init(&peak, &machine, PRECISION_FP32, &arena, &err), -1);
    ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
    machine_release(&machine);
    arena_release(&arena);
}
