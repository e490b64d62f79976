#include "explain/steps.h"

#include "../unit.h"
#include "base/heap.h"

static const struct numeral four = {.digits = 4};
static const struct numeral one = {.digits = 1};

static struct buf out;
static struct arena arena;

static void prepare(void)
{
    out = (struct buf){0};
    arena = (struct arena){0};
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(prepare, release)

static void expect(const char *text)
{
    ck_assert_str_eq(buf_keep(&out, &arena, NULL), text);
}

TEST(a_formula_is_written_with_its_numbers)
{
    const struct number numbers[] = {{four, -0.25f}, {four, -3}, {four, -1}, {four, 2}, {four, 3}};
    formula_write(&out, "weight_%k = %n · %f%t%t ≤ %fΣ", 12, numbers);
    expect("weight_12 = -0.2500 · (-3.0000) - 1.0000 + 2.0000 ≤ 3.0000Σ");
}

TEST(of_many_products_the_first_and_the_last_are_written)
{
    static const float a[] = {1, -2, 3, 4, 5};
    static const float b[] = {-6, 0, 7, 0, 8, 0, 9, 0, -10, 0};
    static const char *const texts[] = {
        "1.0 · (-6.0)",
        "1.0 · (-6.0) + (-2.0) · 7.0",
        "1.0 · (-6.0) + (-2.0) · 7.0 + 3.0 · 8.0",
        "1.0 · (-6.0) + (-2.0) · 7.0 + 3.0 · 8.0 + 4.0 · 9.0",
        "1.0 · (-6.0) + (-2.0) · 7.0 + … + 5.0 · (-10.0)",
    };
    static const struct numeral numerals[] = {{.digits = 1}, {.digits = 1}};
    for (size_t count = 1; count <= COUNT(texts); count++) {
        formula_dot(&out, numerals, a, b, 2, count);
        expect(texts[count - 1]);
    }
}

TEST(of_many_terms_the_first_and_the_last_are_written)
{
    static const float values[] = {-1, 2, -3, 4, 5, 6, 7, -8, -9};
    formula_sum(&out, one, values, 1, 8);
    expect("-1.0 + 2.0 - 3.0 + 4.0 + 5.0 + 6.0 + 7.0 - 8.0");
    formula_sum(&out, one, values, 1, 9);
    expect("-1.0 + 2.0 - 3.0 + 4.0 + 5.0 + 6.0 + … - 9.0");
    formula_sum(&out, one, values, 4, 3);
    expect("-1.0 + 5.0 - 9.0");
    formula_sum(&out, one, values, 1, 1);
    expect("-1.0");
}

TEST(every_allocation_may_fail)
{
    const char *kept = NULL;
    for (size_t nth = 1; !kept; nth++) {
        struct err err = {0};
        heap_fail_at(nth, 0);
        formula_write(&out, "%n", 0, &(struct number){four, 1});
        kept = buf_keep(&out, &arena, &err);
        heap_fail_at(0, 0);
        ck_assert_int_eq(err.kind, kept ? ERR_NONE : ERR_INPUT);
        ck_assert_ptr_null(out.bytes);
        ck_assert_uint_lt(nth, 9);
        ck_assert(!kept || nth > 1);
    }
}
