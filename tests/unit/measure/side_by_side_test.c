#include "measure/side_by_side.h"

#include "../unit.h"

static const char *const names[] = {"step8", "other"};
static const struct label score = {"surprisal", "surprisal", "surprisal"};
static const struct label rows[] = {
    {"␣is", "0:is", " is"}, {"short", "1:short", "short"}, {"eat", "2:eat", "eat"}};
static struct arena arena;
static struct err err;

static struct sheet column(const float *values, size_t first, size_t count)
{
    return (struct sheet){.rows = {"token", count, rows + first, 0},
                          .columns = {"score", 1, &score, 0},
                          .values = values};
}

TEST(other_rows_are_refused_by_the_first_that_differs)
{
    static const float values[2] = {1, 2};
    struct side_by_side beside;
    struct sheet first = column(values, 0, 2);
    struct sheet later = column(values, 1, 2);
    struct sheet fewer = column(values, 0, 1);
    ck_assert(!side_by_side_init(&beside, names, 2, 1, &arena, &err));
    ck_assert(!side_by_side_add(&beside, 0, 0, &first, &err));
    ck_assert(side_by_side_add(&beside, 1, 0, &later, &err));
    ck_assert_str_eq(err.text, "expected the tokens of 'step8', found 'short' at 0, where that has "
                               "'␣is': --total compares models of any vocabulary");
    err = (struct err){0};
    ck_assert(side_by_side_add(&beside, 1, 0, &fewer, &err));
    ck_assert_str_eq(err.text, "expected the 2 tokens of 'step8', found 1: --total compares models "
                               "of any vocabulary");
    arena_release(&arena);
}
