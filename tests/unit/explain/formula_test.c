#include "explain/steps.h"

#include "../unit.h"
#include "base/heap.h"

static const struct numeral four = {.digits = 4};
static const struct numeral one = {.digits = 1};

static struct formula_writer out;
static struct arena arena;
static struct formula formula;

static void prepare(void)
{
    out = (struct formula_writer){0};
    arena = (struct arena){0};
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(prepare, release)

static void expect(const char *text, const char *latex)
{
    ck_assert_int_eq(formula_finish(&out, &formula, &arena, NULL), 0);
    ck_assert_str_eq(formula.text, text);
    ck_assert_str_eq(formula.latex, latex);
}

TEST(a_formula_is_written_in_both_notations)
{
    const struct number numbers[] = {{four, -0.25f}, {four, -3}, {four, -1}, {four, 2}, {four, 3}};
    formula_write(&out, "weight_%k = %n · %f%t%t ≤ %fΣ",
                  "\\alpha_%k = %n \\cdot %f%t%t \\le %f\\sum", 12, numbers);
    expect("weight_12 = -0.2500 · (-3.0000) - 1.0000 + 2.0000 ≤ 3.0000Σ",
           "\\alpha_{12} = -0.2500 \\cdot (-3.0000) - 1.0000 + 2.0000 \\le 3.0000\\sum");
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
        ck_assert_int_eq(formula_finish(&out, &formula, &arena, NULL), 0);
        ck_assert_str_eq(formula.text, texts[count - 1]);
    }
    ck_assert_str_eq(formula.latex,
                     "1.0 \\cdot (-6.0) + (-2.0) \\cdot 7.0 + \\cdots + 5.0 \\cdot (-10.0)");
}

TEST(of_many_terms_the_first_and_the_last_are_written)
{
    static const float values[] = {-1, 2, -3, 4, 5, 6, 7, -8, -9};
    formula_sum(&out, one, values, 1, 8);
    expect("-1.0 + 2.0 - 3.0 + 4.0 + 5.0 + 6.0 + 7.0 - 8.0",
           "-1.0 + 2.0 - 3.0 + 4.0 + 5.0 + 6.0 + 7.0 - 8.0");
    formula_sum(&out, one, values, 1, 9);
    expect("-1.0 + 2.0 - 3.0 + 4.0 + 5.0 + 6.0 + … - 9.0",
           "-1.0 + 2.0 - 3.0 + 4.0 + 5.0 + 6.0 + \\cdots - 9.0");
    formula_sum(&out, one, values, 4, 3);
    expect("-1.0 + 5.0 - 9.0", "-1.0 + 5.0 - 9.0");
    formula_sum(&out, one, values, 1, 1);
    expect("-1.0", "-1.0");
}

TEST(every_allocation_may_fail)
{
    int failed = -1;
    for (size_t nth = 1; failed; nth++) {
        struct err err = {0};
        heap_fail_at(nth, 0);
        formula_write(&out, "%n", "%n", 0, &(struct number){four, 1});
        failed = formula_finish(&out, &formula, &arena, &err);
        heap_fail_at(0, 0);
        ck_assert_int_eq(err.kind, failed ? ERR_INPUT : ERR_NONE);
        ck_assert_ptr_null(out.text.bytes);
        ck_assert_ptr_null(out.latex.bytes);
        ck_assert_uint_lt(nth, 9);
        ck_assert(failed || nth > 2);
    }
}
