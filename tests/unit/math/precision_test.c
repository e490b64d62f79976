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
