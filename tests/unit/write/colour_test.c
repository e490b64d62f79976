#include "write/palette.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../unit.h"

static void check_colour(struct colour found, uint32_t expected, int off)
{
    struct colour wanted = colour_of_hex(expected);
    bool near = abs(found.red - wanted.red) <= off && abs(found.green - wanted.green) <= off &&
                abs(found.blue - wanted.blue) <= off;
    ck_assert_msg(near, "expected #%06x, found #%02x%02x%02x", expected, found.red, found.green,
                  found.blue);
}

TEST(hexadecimal_digits_are_red_green_blue)
{
    struct colour colour = colour_of_hex(0x1a2b3c);
    ck_assert_uint_eq(colour.red, 0x1a);
    ck_assert_uint_eq(colour.green, 0x2b);
    ck_assert_uint_eq(colour.blue, 0x3c);
}

/* The values of its author's page. */
TEST(oklab_has_the_published_values)
{
    static const struct {
        uint32_t hex;
        float lightness, a, b;
    } cases[] = {
        {0xffffff, 1, 0, 0},
        {0x000000, 0, 0, 0},
        {0xff0000, 0.628f, 0.225f, 0.126f},
        {0x00ff00, 0.866f, -0.234f, 0.179f},
        {0x0000ff, 0.452f, -0.032f, -0.312f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oklab lab = oklab_of(colour_of_hex(cases[i].hex));
        ck_assert_float_eq_tol(lab.lightness, cases[i].lightness, 1e-3f);
        ck_assert_float_eq_tol(lab.a, cases[i].a, 1e-3f);
        ck_assert_float_eq_tol(lab.b, cases[i].b, 1e-3f);
    }
}

TEST(every_colour_comes_back)
{
    for (uint32_t hex = 0; hex <= 0xffffff; hex += 0x030507)
        check_colour(colour_of_oklab(oklab_of(colour_of_hex(hex))), hex, 0);
}

TEST(what_no_screen_has_becomes_the_nearest_byte)
{
    check_colour(colour_of_oklab((struct oklab){1.5f, 0, 0}), 0xffffff, 0);
    check_colour(colour_of_oklab((struct oklab){-1, 0, 0}), 0x000000, 0);
}

TEST(ink_can_be_read)
{
    static const struct {
        uint32_t ground, ink;
    } cases[] = {{0xffffff, 0}, {0, 0xffffff}, {0xffff00, 0}, {0x0000ff, 0xffffff}, {0x5e9fd8, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_colour(colour_ink(colour_of_hex(cases[i].ground)), cases[i].ink, 0);
}
