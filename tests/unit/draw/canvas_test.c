#include "draw/canvas.h"

#include "../unit.h"

TEST(letters_have_their_own_widths)
{
    ck_assert_double_eq_tol(letters_width("i", 10), 2.78, 1e-9);
    ck_assert_double_eq_tol(letters_width("Life", 10), 5.57 + 2.78 + 3.52 + 6.15, 1e-9);
    ck_assert_double_eq(letters_width("", 10), 0);
}

TEST(characters_of_east_asia_are_wide_and_accents_have_no_width)
{
    ck_assert_double_gt(letters_width("爱", 10), 10);
    ck_assert_double_gt(letters_width("🍰", 10), 10);
    ck_assert_double_lt(letters_width("👨‍👩‍👧", 10), 15);
    ck_assert_double_eq(letters_width("e\xcc\x81", 10), letters_width("é", 10));
}

static void check_fit(const char *text, double width, const char *expected)
{
    struct buf out = {0};
    letters_fit(&out, text, width, 10);
    ck_assert_str_eq(out.bytes ? out.bytes : "", expected);
    buf_release(&out);
}

TEST(a_text_that_does_not_fit_ends_with_an_ellipsis)
{
    check_fit("Life", 18.02, "Life");
    check_fit("Life", 18, "L…");
    check_fit("dessert", 29, "des…");
    check_fit("爱爱爱", 22, "爱…");
    check_fit("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 22,
              "👨‍👩‍👧…");
    check_fit("Life", 1, "…");
    check_fit("مرحبا بالعالم", 38, "مرحب…\xE2\x80\x8F");
    check_fit("a · שלום", 38, "a · ש…\xE2\x80\x8F");
    check_fit("שלום, abcd", 52, "שלום, a…");
}
