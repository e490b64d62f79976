#include "math/scattered_dots.h"

#include <check.h>
#include <math.h>

#include "math/noise.h"

Suite *scattered_dots_suite(void);

enum { ROWS = 40, WIDTH = 130 };

static float rows[ROWS * WIDTH], x[WIDTH];

/* One chain of fused multiply-adds, in order. */
static float chain(const float *row, size_t width, size_t step)
{
    float sum = 0;
    for (size_t i = 0; i < width; i++)
        sum = fmaf(x[i], row[i * step], sum);
    return sum;
}

START_TEST(each_is_one_chain_in_the_order_of_the_elements)
{
    noise_fill(rows, ROWS * WIDTH, 1, 0.0f, 1.0f);
    noise_fill(x, WIDTH, 2, 0.0f, 1.0f);
    for (size_t step = 1; step <= 2; step++)
        for (size_t width = 1; width <= WIDTH / step; width += 1 + width / 2)
            for (size_t count = 0; count <= ROWS; count++) {
                const float *where[ROWS];
                float found[ROWS + 1];
                for (size_t i = 0; i < count; i++) /* anywhere, some twice */
                    where[i] = rows + (i * 7 % 13 + i % 3) * WIDTH;
                found[count] = 5;
                scattered_dots(found, x, where, count, (struct scattered_form){width, step});
                for (size_t i = 0; i < count; i++)
                    ck_assert_float_eq(found[i], chain(where[i], width, step));
                ck_assert_float_eq(found[count], 5);
            }
}
END_TEST

Suite *scattered_dots_suite(void)
{
    Suite *suite = suite_create("scattered_dots");
    TCase *tests = tcase_create("scattered_dots");
    tcase_add_test(tests, each_is_one_chain_in_the_order_of_the_elements);
    suite_add_tcase(suite, tests);
    return suite;
}
