/* The commands are no part of the library: this part is built in here. */
#include "../../../cmd/parallel.c"

#include <stdatomic.h>
#include <unistd.h>

#include "../unit.h"

enum { STEPS = 500, SLOTS = 6 };

struct steps {
    size_t read, written, fail_read, fail_write; /* the step that fails; 0: none */
    size_t in_slot[SLOTS];
    atomic_size_t worked[STEPS]; /* how often */
    atomic_size_t threads;       /* a bit for each that worked */
    size_t most;                 /* steps that were held at a time */
    bool in_order;
};

static int read_number(void *context, size_t slot, bool *more, struct err *err)
{
    struct steps *steps = context;
    *more = steps->read < STEPS;
    if (!*more)
        return 0;
    if (steps->fail_read && steps->read == steps->fail_read)
        return err_set(err, "step %zu cannot be read", steps->read);
    steps->in_slot[slot] = steps->read++;
    if (steps->read - steps->written > steps->most)
        steps->most = steps->read - steps->written;
    return 0;
}

/* Later steps are often done before earlier ones. */
static void work_on_number(void *context, size_t slot, size_t thread)
{
    struct steps *steps = context;
    size_t number = steps->in_slot[slot];
    if (number % 3 == 0)
        usleep(200);
    atomic_fetch_add(&steps->worked[number], 1);
    atomic_fetch_or(&steps->threads, (size_t)1 << thread);
}

static int write_number(void *context, size_t slot, struct err *err)
{
    struct steps *steps = context;
    if (steps->fail_write && steps->written == steps->fail_write)
        return err_set(err, "step %zu cannot be written", steps->written);
    steps->in_order &=
        steps->in_slot[slot] == steps->written && atomic_load(&steps->worked[steps->written]) == 1;
    steps->written++;
    return 0;
}

static int run(struct steps *steps, size_t threads, size_t slots, struct err *err)
{
    struct parallel parallel = {threads, slots, steps, read_number, work_on_number, write_number};
    steps->in_order = true;
    return parallel_run(&parallel, err);
}

static const struct {
    size_t threads, slots;
} sizes[] = {{1, 1}, {1, 4}, {2, 1}, {2, 4}, {4, SLOTS}};

TEST_LOOP(steps_are_written_in_order_each_worked_on_once, COUNT(sizes))
{
    struct steps steps = {0};
    ck_assert_int_eq(run(&steps, sizes[_i].threads, sizes[_i].slots, NULL), 0);
    ck_assert_uint_eq(steps.written, STEPS);
    ck_assert(steps.in_order);
    ck_assert_uint_eq(steps.most, sizes[_i].slots);
    ck_assert_uint_lt(atomic_load(&steps.threads), (size_t)1 << sizes[_i].threads);
    if (sizes[_i].threads > 1 && sizes[_i].slots > 1)
        ck_assert_uint_gt(atomic_load(&steps.threads), 1);
}

TEST_LOOP(a_step_that_cannot_be_read_ends_it, COUNT(sizes))
{
    struct err err = {0};
    struct steps steps = {.fail_read = 100};
    ck_assert_int_eq(run(&steps, sizes[_i].threads, sizes[_i].slots, &err), -1);
    ck_assert_str_eq(err.text, "step 100 cannot be read");
    ck_assert_uint_le(steps.written, 100);
    ck_assert(steps.in_order);
}

TEST_LOOP(a_step_that_cannot_be_written_ends_it, COUNT(sizes))
{
    struct err err = {0};
    struct steps steps = {.fail_write = 100};
    ck_assert_int_eq(run(&steps, sizes[_i].threads, sizes[_i].slots, &err), -1);
    ck_assert_str_eq(err.text, "step 100 cannot be written");
    ck_assert_uint_eq(steps.written, 100);
}
