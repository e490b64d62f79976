#include "measure/comparison.h"

#include "../unit.h"

static double cost_of(const double *costs, const size_t *match, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += costs[i * count + match[i]];
    return sum;
}

/* The least cost of all permutations of match[fixed …]. */
static double least_of_all(const double *costs, size_t *match, size_t fixed, size_t count)
{
    double least = cost_of(costs, match, count);
    for (size_t i = fixed; i < count; i++) {
        size_t first = match[fixed];
        match[fixed] = match[i];
        match[i] = first;
        double found = fixed + 1 < count ? least_of_all(costs, match, fixed + 1, count) : least;
        least = found < least ? found : least;
        match[i] = match[fixed];
        match[fixed] = first;
    }
    return least;
}

TEST(the_assignment_has_the_least_cost)
{
    struct arena arena = {0};
    struct err err = {0};
    uint64_t state = 1;
    for (size_t round = 0; round < 300; round++) {
        size_t count = 1 + round % 6;
        size_t match[6], any[6] = {0, 1, 2, 3, 4, 5};
        bool taken[6] = {false};
        double costs[36];
        for (size_t i = 0; i < count * count; i++) { /* multiples of 1/16: some are equal */
            state = state * 6364136223846793005u + 1442695040888963407u;
            costs[i] = (double)(state >> 60) / 16;
        }
        ck_assert(!assignment_find(match, costs, count, &arena, &err));
        for (size_t i = 0; i < count; i++) {
            ck_assert(match[i] < count && !taken[match[i]]);
            taken[match[i]] = true;
        }
        ck_assert_double_eq_tol(cost_of(costs, match, count), least_of_all(costs, any, 0, count),
                                1e-12);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

TEST(equal_costs_keep_the_order)
{
    static const double costs[] = {0, 0, 5, 0, 0, 5, 5, 5, 1};
    static const size_t own[] = {0, 1, 2};
    struct arena arena = {0};
    struct err err = {0};
    size_t match[3];
    ck_assert(!assignment_find(match, costs, 3, &arena, &err));
    ck_assert_mem_eq(match, own, sizeof own);
    arena_release(&arena);
}
