#include "math/machine.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"

TEST(a_machine_has_the_requested_number_of_threads)
{
    static const size_t threads[] = {1, 2, 7, POOL_THREADS_MAX};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct machine machine;
        ck_assert_int_eq(machine_open(&machine, threads[i], NULL), 0);
        ck_assert_uint_eq(pool_threads(machine.pool), threads[i]);
        machine_release(&machine);
    }
}

TEST(the_default_is_one_thread_for_each_processor)
{
    struct machine machine;
    ck_assert_int_eq(machine_open(&machine, 0, NULL), 0);
    ck_assert_uint_eq(pool_threads(machine.pool), pool_processors());
    machine_release(&machine);
}

TEST(releasing_twice_or_nothing_is_harmless)
{
    struct machine machine = {0};
    machine_release(&machine);
    ck_assert_int_eq(machine_open(&machine, 1, NULL), 0);
    machine_release(&machine);
    machine_release(&machine);
    ck_assert_ptr_null(machine.pool);
    ck_assert_ptr_null(machine.kernels);
}

TEST(without_memory_everything_is_released)
{
    for (size_t nth = 1;; nth++) {
        struct machine machine;
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = machine_open(&machine, 3, &err);
        heap_fail_at(0, 0);
        if (!failed) {
            ck_assert_uint_gt(nth, 3);
            machine_release(&machine);
            break;
        }
        ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
        ck_assert_ptr_null(machine.pool);
        ck_assert_ptr_null(machine.kernels);
    }
}
