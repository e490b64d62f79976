#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "format/dtype.h"
#include "format/gguf.h"

enum { MOST = 512 };

static const enum dtype types[] = {DTYPE_Q4_0,   DTYPE_Q4_1,   DTYPE_Q5_0, DTYPE_Q5_1, DTYPE_Q8_0,
                                   DTYPE_Q2_K,   DTYPE_Q3_K,   DTYPE_Q4_K, DTYPE_Q5_K, DTYPE_Q6_K,
                                   DTYPE_IQ4_NL, DTYPE_IQ4_XS, DTYPE_MXFP4};

/* Rows that each begin at a block of the numbers become columns. */
static void check_columns(const char *blocks, const float *numbers, enum dtype type)
{
    enum { STRIDE = DTYPE_ROWS + 3 };
    size_t count = dtype_whole(type, 1);
    const char *rows[DTYPE_ROWS];
    static float columns[DTYPE_BLOCK_MAX * STRIDE];
    for (size_t row = 0; row < DTYPE_ROWS; row++)
        rows[row] = blocks + dtype_bytes(type, row * count % MOST);
    dtype_to_columns(columns, STRIDE, rows, type, count, 0);
    for (size_t i = 0; i < count * DTYPE_ROWS; i++) {
        size_t row = i % DTYPE_ROWS;
        ck_assert_mem_eq(&columns[i / DTYPE_ROWS * STRIDE + row],
                         &numbers[row * count % MOST + i / DTYPE_ROWS], sizeof(float));
    }
}

/* The same rows times a row of floats: each a chain of fused multiply-adds that goes on. */
static void check_dots(const char *blocks, const float *numbers, enum dtype type)
{
    size_t count = dtype_whole(type, 1);
    const char *rows[DTYPE_ROWS];
    float x[DTYPE_BLOCK_MAX];
    float sums[DTYPE_ROWS];
    for (size_t i = 0; i < count; i++)
        x[i] = (float)i / 7 - 3;
    for (size_t row = 0; row < DTYPE_ROWS; row++) {
        rows[row] = blocks + dtype_bytes(type, row * count % MOST);
        sums[row] = (float)row;
    }
    dtype_add_dots(sums, x, rows, type, count, 0);
    for (size_t row = 0; row < DTYPE_ROWS; row++) {
        float expected = (float)row;
        for (size_t i = 0; i < count; i++)
            expected = fmaf(x[i], numbers[row * count % MOST + i], expected);
        ck_assert_mem_eq(&sums[row], &expected, sizeof expected);
    }
}

/* Expected numbers: ggml, by tests/references/gguf/quants.py. Reads at an odd address. */
TEST_LOOP(numbers_have_the_bits_of_ggml, COUNT(types))
{
    static char blocks[1 + MOST * 2];
    float found[MOST];
    char name[16];
    struct gguf gguf = {0};
    struct err err;
    ck_assert_int_eq(COUNT(types), DTYPE_END - DTYPE_COUNT);
    ck_assert_msg(!gguf_open(&gguf, "tests/references/gguf/quants.gguf", &err), "%s", err.text);
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
    check_columns(blocks + 1, found, types[_i]);
    check_dots(blocks + 1, found, types[_i]);
    gguf_release(&gguf);
}
