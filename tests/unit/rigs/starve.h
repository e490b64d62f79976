/* starve.h: repeats code while each of its allocations in turn fails, and once without a failure.
 *
 *     struct starve starve = {.least = 3};
 *     while (starve_next(&starve)) {
 *         struct err err = {0};
 *         if (!starve_check(&starve, thing_open(&thing, &err), &err)) ...
 *         thing_release(&thing);
 *     }
 */
#pragma once

#include <stdbool.h>

#include "asserts.h"
#include "base/err.h"
#include "base/memory.h"

struct starve {
    size_t least; /* allocations that the code makes at least */
    size_t nth;
    bool over;
};

/* Let the next allocation fail; false if it did not exist. */
static inline bool starve_next(struct starve *starve)
{
    ck_assert(!starve->over || starve->nth > starve->least);
    if (!starve->over)
        heap_fail_at(++starve->nth, 0);
    return !starve->over;
}

/* The code must have failed with that message, or not at all if it can do without the memory. */
static inline int starve_check(struct starve *starve, int failed, const struct err *err)
{
    starve->over = !heap_has_failed();
    heap_fail_at(0, 0);
    ck_assert_msg((failed != 0) == err->out_of_memory, "allocation %zu: '%s'", starve->nth,
                  err->text);
    ck_assert(!failed || !starve->over);
    return failed;
}
