#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "format/dtype.h"
#include "format/gguf.h"

enum { MOST = 512 };

static const enum dtype types[] = {DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_0,   DTYPE_Q5_1,
                                   DTYPE_Q8_0, DTYPE_Q2_K, DTYPE_Q3_K,   DTYPE_Q4_K,
                                   DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_IQ4_NL, DTYPE_IQ4_XS};

/* tests/gguf/quants.py has asked ggml; read at an odd address. */
TEST_LOOP(numbers_are_those_of_ggml_to_the_bit, COUNT(types))
{
    static char blocks[1 + MOST * 2];
    float found[MOST];
    char name[16];
    struct gguf gguf = {0};
    struct err err;
    ck_assert_int_eq(COUNT(types), DTYPE_END - DTYPE_COUNT);
    ck_assert_msg(!gguf_open(&gguf, "tests/gguf/quants.gguf", &err), "%s", err.text);
    const struct gguf_tensor *tensor = gguf_find(&gguf, dtype_name(types[_i]));
    snprintf(name, sizeof name, "%s.F32", dtype_name(types[_i]));
    const struct gguf_tensor *judge = gguf_find(&gguf, name);
    ck_assert(tensor && judge && tensor->count == MOST && judge->count == MOST);
    ck_assert_str_eq(tensor->type->name, dtype_name(types[_i]));
    ck_assert_uint_eq(dtype_bytes(types[_i], MOST), tensor->end - tensor->begin);
    ck_assert_uint_eq(dtype_whole(types[_i], 1), tensor->type->block);
    memcpy(blocks + 1, gguf.file.bytes + tensor->begin, tensor->end - tensor->begin);
    dtype_to_float(found, blocks + 1, types[_i], MOST);
    for (size_t i = 0; i < MOST; i++) {
        float expected = 0;
        memcpy(&expected, gguf.file.bytes + judge->begin + i * sizeof expected, sizeof expected);
        ck_assert_msg(memcmp(&found[i], &expected, sizeof expected) == 0,
                      "number %zu: expected %a, found %a", i, (double)expected, (double)found[i]);
    }
    gguf_release(&gguf);
}

/* --- by hand: F16 0.5 is 3800, 2 is 4000, -1 is bc00 ------------------------------------------ */

TEST(four_bits_are_counted_from_eight)
{
    unsigned char block[18] = {0x00, 0x38};
    float found[32];
    for (unsigned i = 0; i < 16; i++)
        block[2 + i] = (unsigned char)(i | (15 - i) << 4);
    dtype_to_float(found, block, DTYPE_Q4_0, 32);
    for (int i = 0; i < 16; i++) {
        ck_assert_float_eq(found[i], 0.5f * (float)(i - 8));
        ck_assert_float_eq(found[16 + i], 0.5f * (float)(7 - i));
    }
}

TEST(a_fifth_bit_stands_apart_and_a_minimum_is_added)
{
    unsigned char block[24] = {0x00, 0x40, 0x00, 0xbc, 0x01, 0x00, 0x00, 0x80};
    float found[32];
    block[8] = 0x21;
    block[8 + 15] = 0x43;
    dtype_to_float(found, block, DTYPE_Q5_1, 32);
    ck_assert_float_eq(found[0], 2 * 17 - 1);
    ck_assert_float_eq(found[16], 2 * 2 - 1);
    ck_assert_float_eq(found[15], 2 * 3 - 1);
    ck_assert_float_eq(found[31], 2 * 20 - 1);
    ck_assert_float_eq(found[1], -1);
}

/* Parts 0 and 7: scales 3 and 0x21, minima 5 and 0x12, of which six bits lie in three places. */
TEST(parts_have_scales_and_minima_of_six_bits)
{
    unsigned char block[144] = {0x00, 0x38, 0x00, 0x40};
    float found[256];
    block[4] = 3;           /* scale 0 */
    block[4 + 3] = 2 << 6;  /* upper bits of scale 7 */
    block[4 + 4] = 5;       /* minimum 0 */
    block[4 + 7] = 1 << 6;  /* upper bits of minimum 7 */
    block[4 + 11] = 0x21;   /* lower bits of both: 1 and 2 */
    block[16] = 0x0f;       /* number 0 of part 0 */
    block[16 + 127] = 0x90; /* number 31 of part 7 */
    dtype_to_float(found, block, DTYPE_Q4_K, 256);
    ck_assert_float_eq(found[0], 0.5f * 3 * 15 - 2 * 5);
    ck_assert_float_eq(found[31], -2 * 5);
    ck_assert_float_eq(found[255], 0.5f * 0x21 * 9 - 2 * 0x12);
    ck_assert_float_eq(found[40], 0);
}

TEST(six_bits_lie_in_two_places_and_are_counted_from_32)
{
    unsigned char block[210] = {0};
    float found[256];
    block[209] = 0x38;
    block[192] = 0xff;      /* part 0: -1 */
    block[192 + 15] = 4;    /* part 15 */
    block[0] = 0x0a;        /* number 0, lower bits */
    block[128] = 0x03;      /* its upper ones */
    block[127] = 0x70;      /* number 255, lower bits */
    block[128 + 63] = 0x80; /* its upper ones */
    dtype_to_float(found, block, DTYPE_Q6_K, 256);
    ck_assert_float_eq(found[0], 0.5f * -1 * (0x3a - 32));
    ck_assert_float_eq(found[1], 0.5f * -1 * -32);
    ck_assert_float_eq(found[255], 0.5f * 4 * (0x27 - 32));
    ck_assert_float_eq(found[100], 0);
}
