#include "math/rows.h"

#include <math.h>
#include <string.h>

#include "../unit.h"

enum { COLUMNS = 67, ROWS = 3 };

static float numbers[ROWS][COLUMNS];

static void add(size_t rows, size_t columns, size_t first)
{
    memset(numbers, 0, sizeof numbers);
    add_sinusoids((struct matrix){numbers[0], rows, columns, COLUMNS}, first);
}

/* The formula, by the C library. */
static double expected(size_t position, size_t column, size_t columns)
{
    double angle = (double)position / pow(10000, (double)(column / 2 * 2) / (double)columns);
    return column % 2 ? cos(angle) : sin(angle);
}

TEST(positions_are_as_the_formula_says)
{
    static const size_t widths[] = {1, 2, 3, 8, 32, 66, 67};
    static const size_t positions[] = {0, 1, 2, 3, 4, 7, 100, 355, 511, 1023, 44444, 16777213};
    for (size_t w = 0; w < COUNT(widths); w++) {
        for (size_t p = 0; p < COUNT(positions); p++) {
            add(ROWS, widths[w], positions[p]);
            for (size_t i = 0; i < ROWS * widths[w]; i++) {
                size_t row = i / widths[w];
                size_t column = i % widths[w];
                double wanted = expected(positions[p] + row, column, widths[w]);
                ck_assert_double_eq_tol((double)numbers[row][column], wanted, 3.1e-8);
            }
        }
    }
}

/* Near the ends of the four quarters of a turn the signs change. */
TEST(every_angle_is_in_its_quarter)
{
    for (size_t position = 0; position < 3000; position++) {
        add(1, 2, position);
        ck_assert_double_eq_tol((double)numbers[0][0], sin((double)position), 3.1e-8);
        ck_assert_double_eq_tol((double)numbers[0][1], cos((double)position), 3.1e-8);
    }
}

TEST(they_are_added_to_what_is_there_and_to_nothing_else)
{
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        numbers[i / COLUMNS][i % COLUMNS] = 2;
    add_sinusoids((struct matrix){numbers[0], 2, 3, COLUMNS}, 0);
    ck_assert_float_eq(numbers[0][0], 2);
    ck_assert_float_eq(numbers[0][1], 3);
    ck_assert_float_eq(numbers[0][2], 2);
    ck_assert_float_eq(numbers[0][3], 2);
    ck_assert_float_ne(numbers[1][2], 2);
    ck_assert_float_eq(numbers[1][3], 2);
    ck_assert_float_eq(numbers[2][0], 2);
}

/* On every machine. */
TEST(a_position_has_the_same_bits_for_ever)
{
    static const float bits[] = {-0.958924294f, 0.2836622f,    0.230001718f,
                                 0.973190248f,  0.0107719647f, 0.999942005f};
    add(1, 6, 5);
    for (size_t i = 0; i < COUNT(bits); i++)
        ck_assert_float_eq(numbers[0][i], bits[i]);
}
