#include <math.h>
#include <string.h>

#include "../unit.h"
#include "format/gguf.h"
#include "math/rotary.h"
#include "model/gguf/gguf_model.h"

/* Numbers that float32 has not. */
static const struct rotary llama3 = {.components = 16,
                                     .theta = 12345.6,
                                     .scaling = ROTARY_LLAMA3,
                                     .factor = 7.1,
                                     .low_frequency = 1.1,
                                     .high_frequency = 4.3,
                                     .trained_positions = 63};

static struct gguf gguf;
static struct err err;
static float factors[ROTARY_PAIRS_MAX];

static void put(const struct rotary *rotary)
{
    gguf = (struct gguf){0};
    gguf_factors(factors, &llama3);
    ck_assert_msg(!gguf_put_llama3(&gguf, rotary, &err), "%s", err.text);
}

static enum rotary_scaling read_of(double theta)
{
    struct rotary found = {.components = llama3.components, .theta = theta};
    ck_assert_msg(!gguf_read_llama3(&found, &gguf, factors, &err), "%s", err.text);
    gguf_release(&gguf);
    return found.scaling;
}

TEST(no_bit_of_the_formula_is_lost)
{
    struct rotary found = {.components = llama3.components, .theta = llama3.theta};
    put(&llama3);
    ck_assert_msg(!gguf_read_llama3(&found, &gguf, factors, &err), "%s", err.text);
    ck_assert_int_eq(found.scaling, ROTARY_LLAMA3);
    for (size_t pair = 0; pair < llama3.components / 2; pair++)
        ck_assert_double_eq(rotary_frequency(&found, pair, 1), rotary_frequency(&llama3, pair, 1));
    gguf_release(&gguf);
}

TEST(a_formula_of_other_factors_is_passed_over)
{
    put(&llama3);
    factors[3] = nextafterf(factors[3], 0);
    ck_assert_int_eq(read_of(llama3.theta), ROTARY_PLAIN);
    put(&llama3);
    ck_assert_int_eq(read_of(2 * llama3.theta), ROTARY_PLAIN);
}

TEST(what_is_no_formula_is_passed_over)
{
    static const double numbers[] = {NAN, INFINITY, -8, 1e300};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct rotary odd = llama3;
        odd.factor = numbers[i];
        put(&odd);
        ck_assert_int_eq(read_of(llama3.theta), ROTARY_PLAIN);
    }
    gguf = (struct gguf){0};
    ck_assert_int_eq(read_of(llama3.theta), ROTARY_PLAIN);
}

TEST(a_key_of_another_kind_is_refused)
{
    struct rotary found = {.components = llama3.components, .theta = llama3.theta};
    gguf = (struct gguf){0};
    ck_assert(!gguf_put_text(&gguf, "attn_cli.rope_scaling.llama3", "8", &err));
    ck_assert_int_eq(gguf_read_llama3(&found, &gguf, factors, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "key 'attn_cli.rope_scaling.llama3': expected "));
    gguf_release(&gguf);
}
