#include "math/rotary.h"

#include <math.h>
#include <string.h>

#include "../rigs/dice.h"
#include "../rigs/patience.h"
#include "../rigs/reference_rotary.h"
#include "../unit.h"

enum { WIDTH = 20, HEADS = 2, ROWS = 4 };

/* --- all kinds -------------------------------------------------------------------------------- */

static const struct scaled {
    struct rotary rotary;
    double amplitude; /* factor of cosines and sines */
} kinds[] = {
    {{.components = 20, .theta = 10000}, 1},
    {{.components = 6, .theta = 1e6, .neighbours = true}, 1},
    {{.components = 20, .theta = 10000, .scaling = ROTARY_LINEAR, .factor = 4}, 1},
    {{.components = 20, .theta = 10000, .scaling = ROTARY_DYNAMIC, .factor = 3, .positions = 100},
     1},
    {{.components = 20,
      .theta = 5e5,
      .scaling = ROTARY_LLAMA3,
      .factor = 8,
      .low_frequency = 1,
      .high_frequency = 4,
      .trained_positions = 8192},
     1},
    {{.components = 20,
      .theta = 10000,
      .scaling = ROTARY_YARN,
      .factor = 8,
      .fast = 32,
      .slow = 1,
      .trained_positions = 4096},
     1.2079441541679836}, /* 0.1 ln 8 + 1 */
    {{.components = 20,
      .theta = 10000,
      .scaling = ROTARY_YARN,
      .factor = 2,
      .fast = 1e5,
      .slow = 1e4,
      .trained_positions = 24,
      .amplitude = 1.5},
     1.5}, /* a ramp of width 0 */
    {{.components = 8,
      .theta = 10000,
      .scaling = ROTARY_LONGROPE,
      .positions = 64,
      .trained_positions = 16,
      .short_factors = {1, 1.1f, 1.5f, 2},
      .long_factors = {1.5f, 3, 9, 30}},
     1.2247448713915890}, /* sqrt(1 + ln 4 / ln 16) */
};

static const size_t lengths[] = {1, 16, 17, 100, 101, 4096, 32768};

TEST_LOOP(frequencies_agree_with_the_formula, COUNT(kinds))
{
    const struct rotary *rotary = &kinds[_i].rotary;
    ck_assert_double_eq_tol(rotary_amplitude(rotary, 1), kinds[_i].amplitude, 1e-14);
    ck_assert_double_eq_tol((double)reference_amplitude(rotary), kinds[_i].amplitude, 1e-14);
    for (size_t l = 0; l < COUNT(lengths); l++)
        for (size_t pair = 0; pair < rotary->components / 2; pair++) {
            double expected = (double)reference_frequency(rotary, pair, lengths[l]);
            double found = rotary_frequency(rotary, pair, lengths[l]);
            ck_assert_double_eq_tol(found, expected, 1e-13 * expected);
        }
}

/* Up to the longest context: the nearest float32, except for the last bit. */
TEST_LOOP(cosines_and_sines_are_exact_at_every_position, COUNT(kinds))
{
    static const size_t lengths_of_texts[] = {32768, 131072};
    float numbers[ROWS][WIDTH];
    const struct rotary *rotary = &kinds[_i].rotary;
    size_t pairs = rotary->components / 2;
    struct matrix waves = {numbers[0], ROWS, rotary->components, WIDTH};
    for (size_t l = 0; l < COUNT(lengths_of_texts); l++) {
        size_t length = lengths_of_texts[l];
        for (size_t first = 0; first < length; first += 61 * ROWS * one_of(10)) {
            size_t at = first + ROWS < length ? first : length - ROWS;
            rotary_fill(waves, rotary, at, length);
            for (size_t i = 0; i < ROWS * pairs; i++) {
                const float *row = numbers[i / pairs];
                long double angle =
                    (long double)(at + i / pairs) * reference_frequency(rotary, i % pairs, length);
                double wide = kinds[_i].amplitude;
                ck_assert_double_eq_tol((double)row[i % pairs], wide * (double)cosl(angle),
                                        7e-8 * wide);
                ck_assert_double_eq_tol((double)row[pairs + i % pairs], wide * (double)sinl(angle),
                                        7e-8 * wide);
            }
        }
    }
}

static const struct dependence {
    size_t kind, before, length;
    bool depends;
} dependences[] = {
    {0, 1, 32768, false}, {4, 1, 32768, false}, {5, 1, 32768, false}, {3, 99, 100, false},
    {3, 100, 101, true},  {3, 101, 102, true},  {3, 102, 102, false}, {7, 15, 16, false},
    {7, 16, 17, true},    {7, 17, 18, false},   {7, 1, 32768, true},  {7, 17, 32768, false},
};

TEST_LOOP(rotary_depends_reports_whether_frequencies_depend_on_the_length, COUNT(dependences))
{
    const struct dependence *d = &dependences[_i];
    const struct rotary *rotary = &kinds[d->kind].rotary;
    bool differ = false;
    for (size_t pair = 0; pair < rotary->components / 2; pair++) {
        double before = rotary_frequency(rotary, pair, d->before);
        double after = rotary_frequency(rotary, pair, d->length);
        differ = differ || before < after || before > after;
    }
    ck_assert_int_eq(differ, d->depends);
    ck_assert_int_eq(rotary_depends(rotary, d->before, d->length), d->depends);
}

/* --- rotation --------------------------------------------------------------------------------- */

static float from[ROWS][HEADS * WIDTH], to[ROWS][HEADS * WIDTH];

static void turn_at(const struct rotary *rotary, size_t first, size_t length)
{
    float numbers[ROWS][WIDTH];
    struct matrix waves = {numbers[0], ROWS, rotary->components, WIDTH};
    struct matrix x = {from[0], ROWS, HEADS * WIDTH, HEADS * WIDTH};
    struct matrix y = {to[0], ROWS, HEADS * WIDTH, HEADS * WIDTH};
    rotary_fill(waves, rotary, first, length);
    rotate(y, x, WIDTH, rotary, waves);
}

static void roll(void)
{
    uint32_t dice = 11;
    dice_fill(from[0], ROWS * HEADS * WIDTH, &dice);
}

FIXTURE(roll, NULL)

TEST_LOOP(pairs_are_rotated_and_other_channels_copied, COUNT(kinds))
{
    const struct rotary *rotary = &kinds[_i].rotary;
    size_t pairs = rotary->components / 2;
    size_t apart = rotary->neighbours ? 1 : pairs;
    turn_at(rotary, 5, 9);
    for (size_t i = 0; i < ROWS * HEADS * WIDTH; i++) {
        size_t row = i / (HEADS * WIDTH);
        size_t column = i % (HEADS * WIDTH);
        size_t channel = column % WIDTH;
        size_t pair = rotary->neighbours ? channel / 2 : channel % pairs;
        bool second = rotary->neighbours ? channel % 2 : channel >= pairs;
        double angle = (double)((5 + row) * reference_frequency(rotary, pair, 9));
        const float *x = &from[row][column - (second ? apart : 0)];
        double a = (double)x[0] * kinds[_i].amplitude;
        double b = (double)x[channel < rotary->components ? apart : 0] * kinds[_i].amplitude;
        double expected =
            second ? b * cos(angle) + a * sin(angle) : a * cos(angle) - b * sin(angle);
        if (channel >= rotary->components)
            ck_assert_float_eq(to[row][column], from[row][column]);
        else
            ck_assert_double_eq_tol((double)to[row][column], expected, 4e-7);
    }
}

/* Scores of one head, of all rows with all rows. */
static void score(double scores[ROWS][ROWS])
{
    for (size_t i = 0; i < ROWS * ROWS; i++) {
        double sum = 0;
        for (size_t k = 0; k < WIDTH; k++)
            sum += (double)to[i / ROWS][k] * (double)to[i % ROWS][k];
        scores[i / ROWS][i % ROWS] = sum;
    }
}

TEST_LOOP(shifting_all_positions_does_not_change_scores, COUNT(kinds))
{
    static const size_t shifts[] = {1, 7, 1000, 30000};
    double near[ROWS][ROWS];
    double far[ROWS][ROWS];
    const struct rotary *rotary = &kinds[_i].rotary;
    enum { LENGTH = 32768 }; /* one length, so that frequencies are the same */
    turn_at(rotary, 0, LENGTH);
    score(near);
    for (size_t s = 0; s < COUNT(shifts); s++) {
        turn_at(rotary, shifts[s], LENGTH);
        score(far);
        for (size_t i = 0; i < ROWS * ROWS; i++)
            ck_assert_double_eq_tol(far[i / ROWS][i % ROWS], near[i / ROWS][i % ROWS], 5e-6);
    }
}

TEST(position_0_is_not_rotated)
{
    turn_at(&kinds[0].rotary, 0, 1);
    ck_assert_mem_eq(to[0], from[0], sizeof to[0]);
}

TEST(rotation_works_in_place)
{
    float kept[ROWS][HEADS * WIDTH];
    float numbers[ROWS][WIDTH];
    struct matrix waves = {numbers[0], ROWS, 20, WIDTH};
    struct matrix x = {from[0], ROWS, HEADS * WIDTH, HEADS * WIDTH};
    turn_at(&kinds[0].rotary, 3, 7);
    memcpy(kept, to, sizeof kept);
    rotary_fill(waves, &kinds[0].rotary, 3, 7);
    rotate(x, x, WIDTH, &kinds[0].rotary, waves);
    ck_assert_mem_eq(from, kept, sizeof kept);
}
