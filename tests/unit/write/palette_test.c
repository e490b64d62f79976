#include "write/style.h"

#include <math.h>
#include <stdlib.h>

#include "../unit.h"

enum { MIDDLE = RAMP_LEVELS / 2 };

static void check_colour(struct colour found, uint32_t expected, int off)
{
    struct colour wanted = colour_of_hex(expected);
    bool near = abs(found.red - wanted.red) <= off && abs(found.green - wanted.green) <= off &&
                abs(found.blue - wanted.blue) <= off;
    ck_assert_msg(near, "expected #%06x, found #%02x%02x%02x", expected, found.red, found.green,
                  found.blue);
}

/* Values from the page of Oklab's author. */
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

TEST(colours_survive_a_round_trip_through_oklab)
{
    for (uint32_t hex = 0; hex <= 0xffffff; hex += 0x030507)
        check_colour(colour_of_oklab(oklab_of(colour_of_hex(hex))), hex, 0);
}

TEST(ink_contrasts_with_its_background)
{
    static const struct {
        uint32_t ground, ink;
    } cases[] = {{0xffffff, 0}, {0, 0xffffff}, {0xffff00, 0}, {0x0000ff, 0xffffff}, {0x5e9fd8, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_colour(colour_ink(colour_of_hex(cases[i].ground)), cases[i].ink, 0);
}

/* --- ramps ------------------------------------------------------------------------------------ */

static struct oklab lab_of(const struct ramp *ramp, size_t level)
{
    return oklab_of(ramp->colours[level]);
}

/* Colours are rounded to bytes, so steps differ a little. */
static void check_even(const struct ramp *ramp, size_t first, size_t last)
{
    enum { STEP = 16 };
    float whole = 0;
    for (size_t level = first; level + STEP <= last; level += STEP)
        whole += oklab_distance(lab_of(ramp, level), lab_of(ramp, level + STEP));
    float mean = whole / (float)((last - first) / STEP);
    for (size_t level = first; level + STEP <= last; level += STEP) {
        float step = oklab_distance(lab_of(ramp, level), lab_of(ramp, level + STEP));
        ck_assert_float_eq_tol(step, mean, 0.2f * mean);
    }
}

TEST(steps_are_perceptually_uniform)
{
    for (size_t i = 0; i < palette_count; i++) {
        struct ramp ramp;
        ramp_make(&ramp, &palette_rows[i]);
        if (palette_rows[i].two_sided) {
            check_even(&ramp, 1, MIDDLE);
            check_even(&ramp, MIDDLE, RAMP_LEVELS - 1);
        } else {
            check_even(&ramp, 1, RAMP_LEVELS - 1);
        }
    }
}

/* Lightness is monotonic, so that the order is visible without colours. */
static void check_one_way(const struct ramp *ramp, size_t first, size_t last)
{
    float way = lab_of(ramp, last).lightness - lab_of(ramp, first).lightness;
    ck_assert_float_gt(fabsf(way), 0.5f);
    for (size_t level = first; level + 4 <= last; level += 4) {
        float step = lab_of(ramp, level + 4).lightness - lab_of(ramp, level).lightness;
        ck_assert_msg(step * way > 0, "level %zu", level);
    }
}

TEST(lightness_keeps_the_order)
{
    for (size_t i = 0; i < palette_count; i++) {
        struct ramp ramp;
        ramp_make(&ramp, &palette_rows[i]);
        if (palette_rows[i].two_sided) {
            check_one_way(&ramp, 1, MIDDLE);
            check_one_way(&ramp, MIDDLE, RAMP_LEVELS - 1);
        } else {
            check_one_way(&ramp, 1, RAMP_LEVELS - 1);
        }
    }
}

/* A colour as seen without red or green cones, after Viénot, Brettel and Mollon (1999). */
static struct oklab seen_without(struct colour colour, bool red)
{
    float r = powf((float)colour.red / 255, 2.2f);
    float g = powf((float)colour.green / 255, 2.2f);
    float b = powf((float)colour.blue / 255, 2.2f);
    float yellow = red ? 0.11238f * r + 0.88762f * g : 0.29275f * r + 0.70725f * g;
    float rest = red ? 0.00401f * r - 0.00401f * g + b : -0.02234f * r + 0.02234f * g + b;
    uint8_t light = (uint8_t)lroundf(255 * powf(yellow, 1 / 2.2f));
    uint8_t blue = (uint8_t)lroundf(255 * powf(fminf(fmaxf(rest, 0), 1), 1 / 2.2f));
    return oklab_of((struct colour){light, light, blue});
}

TEST(sides_of_a_diverging_scale_differ_for_colour_blind_readers)
{
    for (size_t i = 0; i < palette_count; i++) {
        struct ramp ramp;
        if (!palette_rows[i].two_sided)
            continue;
        ramp_make(&ramp, &palette_rows[i]);
        for (size_t off = 40; off < MIDDLE; off += 29) {
            for (int red = 0; red < 2; red++) {
                struct oklab below = seen_without(ramp.colours[MIDDLE - off], red);
                struct oklab above = seen_without(ramp.colours[MIDDLE + off], red);
                ck_assert_msg(oklab_distance(below, above) > 0.06f, "%s: %zu off the middle: %g",
                              palette_rows[i].name, off, (double)oklab_distance(below, above));
            }
        }
    }
}

TEST(viridis_has_the_published_colours)
{
    struct ramp ramp;
    ramp_make(&ramp, palette_find("viridis"));
    struct oklab published = oklab_of(colour_of_hex(0x21918c)); /* its middle */
    ck_assert_float_lt(oklab_distance(lab_of(&ramp, MIDDLE), published), 0.04f);
    ck_assert_uint_eq(ramp.colours[1].red, 0x44);
    ck_assert_uint_eq(ramp.colours[255].green, 0xe7);
}
