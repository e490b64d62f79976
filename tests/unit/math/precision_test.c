#include "math/kernel.h"
#include "math/precision.h"

#include <stdlib.h>
#include <string.h>

#include "../unit.h"

TEST(each_has_a_name)
{
    static const char *const names[] = {"fp32", "bf16"};
    ck_assert_uint_eq(COUNT(names), PRECISIONS);
    for (int i = 0; i < PRECISIONS; i++) {
        enum precision found = PRECISIONS;
        ck_assert_str_eq(precision_name((enum precision)i), names[i]);
        ck_assert_int_eq(precision_choose(&found, "--precision", names[i], NULL), 0);
        ck_assert_int_eq(found, i);
    }
}

TEST(what_is_no_name_finds_nothing)
{
    static const char *const words[] = {"", "fp", "fp16", "BF16", "bf16 ", "float32"};
    enum precision found = PRECISION_BF16;
    for (size_t i = 0; i < COUNT(words); i++)
        ck_assert_msg(precision_choose(&found, "--precision", words[i], NULL), "'%s'", words[i]);
    ck_assert_int_eq(found, PRECISION_BF16);
}

TEST(bf16_without_instructions_for_it_is_not_supported)
{
    static const char *const targets[] = {"generic", "hsw", "skx", "clx"};
    for (size_t i = 0; i < COUNT(targets); i++) {
        struct kernels *kernels = NULL;
        struct err err = {0};
        char expected[128] = "--precision bf16: expected a processor with AVX512_BF16, found ";
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", targets[i], 1), 0);
        ck_assert_int_eq(kernels_open(&kernels, NULL), 0);
        strcat(strcat(expected, kernels_target(kernels)), " kernels");
        ck_assert_int_eq(precision_check(PRECISION_FP32, kernels, &err), 0);
        ck_assert_int_eq(precision_check(PRECISION_BF16, kernels, &err), -1);
        ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, expected);
        kernels_free(kernels);
    }
}

TEST(bf16_is_there_where_its_instructions_are)
{
    struct kernels *kernels = NULL;
    ck_assert_int_eq(kernels_open(&kernels, NULL), 0);
    ck_assert_int_eq(precision_check(PRECISION_BF16, kernels, NULL) == 0,
                     kernels_have_bf16(kernels));
    kernels_free(kernels);
}
