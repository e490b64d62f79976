#include "math/tensor.h"

#include "../unit.h"

/* 0, 1, 2, …: an element's value says where it stood. */
static float numbers[60];

static void count_up(void)
{
    for (size_t i = 0; i < COUNT(numbers); i++)
        numbers[i] = (float)i;
}

FIXTURE_ONCE(count_up, NULL)

TEST(rows_and_columns_are_cut_out_of_a_matrix)
{
    struct matrix whole = {numbers, 6, 8, 10};
    struct matrix rows = matrix_rows(whole, 2, 3);
    struct matrix part = matrix_columns(rows, 5, 2);
    ck_assert(rows.data[0] == 20);
    ck_assert_uint_eq(rows.rows, 3);
    ck_assert_uint_eq(rows.columns, 8);
    ck_assert(part.data[0] == 25 && part.data[part.stride] == 35);
    ck_assert_uint_eq(part.rows, 3);
    ck_assert_uint_eq(part.columns, 2);
    ck_assert_uint_eq(part.stride, 10);
}

TEST(a_matrix_is_a_tensor_of_two_axes)
{
    struct tensor tensor = tensor_of_matrix((struct matrix){numbers + 1, 3, 2, 10});
    float out[6];
    ck_assert_uint_eq(tensor.rank, 2);
    ck_assert_uint_eq(tensor_count(&tensor), 6);
    tensor_copy(out, &tensor);
    ck_assert_mem_eq(out, ((float[]){1, 2, 11, 12, 21, 22}), sizeof out);
}

TEST(a_copy_is_dense_whatever_the_strides)
{
    static const struct {
        struct tensor tensor;
        float copy[8];
        size_t count;
    } cases[] = {
        {{numbers, 1, {4}, {1}}, {0, 1, 2, 3}, 4},
        {{numbers, 1, {4}, {3}}, {0, 3, 6, 9}, 4},
        {{numbers, 2, {2, 3}, {1, 10}}, {0, 10, 20, 1, 11, 21}, 6},             /* transposed */
        {{numbers, 3, {2, 2, 2}, {2, 20, 1}}, {0, 1, 20, 21, 2, 3, 22, 23}, 8}, /* heads */
        {{numbers, 3, {1, 1, 1}, {9, 9, 9}}, {0}, 1},
        {{numbers, 2, {3, 0}, {1, 1}}, {0}, 0},
        {{numbers, 2, {0, 3}, {1, 1}}, {0}, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        float out[8] = {0};
        ck_assert_uint_eq(tensor_count(&cases[i].tensor), cases[i].count);
        tensor_copy(out, &cases[i].tensor);
        ck_assert_mem_eq(out, cases[i].copy, cases[i].count * sizeof *out);
    }
}

TEST(a_slice_has_the_axes_that_remain)
{
    struct tensor heads = {numbers, 3, {3, 2, 4}, {4, 20, 1}};
    struct tensor slice = tensor_slice(&heads, 2);
    float out[8];
    ck_assert_uint_eq(slice.rank, 2);
    ck_assert_uint_eq(tensor_count(&slice), 8);
    tensor_copy(out, &slice);
    ck_assert_mem_eq(out, ((float[]){8, 9, 10, 11, 28, 29, 30, 31}), sizeof out);
}
