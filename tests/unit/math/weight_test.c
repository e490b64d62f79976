#include "math/gemm.h"

#include "../unit.h"

static const float data[1024], bias[1024], panels[1024];

static const struct weight whole = {
    .data = data, .bias = bias, .in = 3, .out = 200, .stride = 300, .panels = panels};

TEST(columns_keep_the_rows_and_their_stride)
{
    struct weight part = weight_columns(&whole, 7, 50);
    ck_assert_ptr_eq(part.data, data + 7);
    ck_assert_ptr_eq(part.bias, bias + 7);
    ck_assert_uint_eq(part.in, 3);
    ck_assert_uint_eq(part.out, 50);
    ck_assert_uint_eq(part.stride, 300);
}

TEST(columns_that_begin_with_a_panel_keep_the_panels)
{
    ck_assert_ptr_eq(weight_columns(&whole, 0, 50).panels, panels);
    ck_assert_ptr_eq(weight_columns(&whole, 2 * PANEL_COLUMNS, 5).panels,
                     panels + 2 * PANEL_COLUMNS * 3);
    ck_assert_ptr_null(weight_columns(&whole, 1, 50).panels);
    ck_assert_ptr_null(weight_columns(&whole, PANEL_COLUMNS + 1, 50).panels);
}

TEST(what_a_weight_does_not_have_its_columns_do_not_have)
{
    struct weight plain = {.data = data, .in = 3, .out = 200, .stride = 200};
    ck_assert_ptr_null(weight_columns(&plain, PANEL_COLUMNS, 50).panels);
    ck_assert_ptr_null(weight_columns(&plain, PANEL_COLUMNS, 50).bias);
}

/* What is neither there as it is nor packed, as a matrix that is still to be rounded, has no panel
 * that a slice could begin within. */
TEST(only_panels_that_are_all_there_is_bind_where_columns_begin)
{
    struct weight sizes = {.in = 3, .out = 200};
    struct weight packed = {.in = 3, .out = 200, .panels = panels};
    ck_assert(weight_can_slice(&sizes, 1) && weight_can_slice(&whole, 1));
    ck_assert_uint_eq(weight_columns(&sizes, 24, 50).out, 50);
    ck_assert(!weight_can_slice(&packed, 1) && weight_can_slice(&packed, PANEL_COLUMNS));
}
