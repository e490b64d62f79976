#include "math/max_flow.h"

#include <math.h>

#include "../unit.h"

static struct arena arena;

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static double find(const double *const *capacities, size_t levels, size_t width, size_t from,
                   size_t to)
{
    struct max_flow flow;
    ck_assert(!max_flow_init(&flow, capacities, levels, width, &arena, NULL));
    double first = max_flow_find(&flow, from, to);
    ck_assert(first == max_flow_find(&flow, from, to)); /* it begins anew */
    return first;
}

TEST(through_one_matrix_it_is_the_edge)
{
    static const double edges[] = {0.5, 0.25, 0, 1};
    const double *const levels[] = {edges};
    for (size_t i = 0; i < 4; i++)
        ck_assert(find(levels, 1, 2, i / 2, i % 2) == edges[i]);
}

/* From the last place on top, over the places of the middle, whose edges are as narrow as the
 * narrower one. */
TEST(ways_side_by_side_add_up)
{
    static const double below[] = {0.9, 0, 0, 0.2, 0.8, 0, 0.5, 0, 0.5};
    static const double above[] = {1, 0, 0, 0, 1, 0, 0.3, 0.6, 0.1};
    const double *const levels[] = {below, above};
    ck_assert(fabs(find(levels, 2, 3, 2, 0) - (0.3 + 0.2 + 0.1)) < 1e-12);
    ck_assert(fabs(find(levels, 2, 3, 2, 1) - 0.6) < 1e-12);
    ck_assert(find(levels, 2, 3, 0, 2) == 0);
}

/* The shortest ways alone carry 1: then a way goes back up. By hand: from 0 the edges down are to 0
 * and 1, 1 each; what 1 gets must not take the only way on of 0. */
TEST(a_flow_can_be_taken_back)
{
    static const double lowest[] = {1, 0, 0, 1, 0, 0, 0, 0, 0};
    static const double middle[] = {1, 1, 0, 1, 0, 0, 0, 0, 0};
    static const double highest[] = {1, 1, 0, 0, 0, 0, 0, 0, 0};
    const double *const levels[] = {lowest, middle, highest};
    ck_assert(fabs(find(levels, 3, 3, 0, 0) - 2) < 1e-12);
}
