#include "model/weights.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "base/heap.h"
#include "math/bf16.h"
#include "math/gemm.h"

static const struct row_view all = {0, SIZE_MAX, 0};

enum { ROWS = 7, COLUMNS = 201, PARTS = 3, CELLS = ROWS * COLUMNS };

/* Numbers that bf16 holds, and a matrix of them in types of files; one byte more, so that nothing
 * lies well. */
static float numbers[CELLS];
static char files[DTYPE_COUNT][CELLS * sizeof(double) + 1];

static void fill_files(void)
{
    uint32_t dice = 3;
    for (size_t i = 0; i < CELLS; i++) {
        numbers[i] = (float)((int)(dice_bits(&dice) % 255) - 127) / 64;
        double wide = (double)numbers[i];
        uint16_t upper = bf16_round(numbers[i]);
        memcpy(files[DTYPE_F32] + 1 + i * sizeof(float), &numbers[i], sizeof(float));
        memcpy(files[DTYPE_F64] + 1 + i * sizeof wide, &wide, sizeof wide);
        memcpy(files[DTYPE_BF16] + 1 + i * sizeof upper, &upper, sizeof upper);
    }
}

FIXTURE_ONCE(fill_files, NULL)

static struct safetensors_entry entry_of(enum dtype dtype, const void *data)
{
    return (struct safetensors_entry){
        .dtype = dtype, .rank = 2, .shape = {ROWS, COLUMNS}, .count = CELLS, .data = data};
}

/* The number of row and column in the panels of a matrix. */
static uint16_t half_at(const uint32_t *pairs, const struct weight *w, size_t row, size_t column)
{
    size_t panel = column / PAIR_COLUMNS * PAIR_COLUMNS * bf16_pairs(w->in);
    uint32_t pair = pairs[panel + row / 2 * PAIR_COLUMNS + column % PAIR_COLUMNS];
    return (uint16_t)(row % 2 ? pair >> 16 : pair);
}

TEST(matrices_side_by_side_become_panels_of_their_own)
{
    static const size_t counts[] = {1, PARTS};
    struct safetensors_entry entry = entry_of(DTYPE_F32, numbers);
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct arena arena = {0};
        struct weight part = {.in = ROWS, .out = COLUMNS / counts[i]};
        const uint32_t *pairs = weights_bf16_matrix(&entry, &part, &arena, NULL);
        ck_assert_ptr_nonnull(pairs);
        for (size_t cell = 0; cell < CELLS; cell++) {
            size_t column = cell % COLUMNS;
            const uint32_t *panels = pairs + column / part.out * pairs_size(&part);
            ck_assert_uint_eq(half_at(panels, &part, cell / COLUMNS, column % part.out),
                              bf16_round(numbers[cell]));
        }
        arena_release(&arena);
    }
}

TEST(rows_of_the_file_may_be_columns)
{
    struct safetensors_entry entry = entry_of(DTYPE_F32, numbers);
    struct arena arena = {0};
    struct weight weight = {.in = COLUMNS, .out = ROWS};
    const uint32_t *pairs = weights_bf16_rows(&entry, &all, &weight, &arena, NULL);
    ck_assert_ptr_nonnull(pairs);
    for (size_t cell = 0; cell < CELLS; cell++)
        ck_assert_uint_eq(half_at(pairs, &weight, cell % COLUMNS, cell / COLUMNS),
                          bf16_round(numbers[cell]));
    arena_release(&arena);
}

TEST(every_type_and_place_gives_the_same_panels)
{
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16};
    struct weight weight = {.in = ROWS, .out = COLUMNS};
    struct weight turned = {.in = COLUMNS, .out = ROWS};
    struct safetensors_entry aligned = entry_of(DTYPE_F32, numbers);
    for (size_t i = 0; i < COUNT(types); i++) {
        struct arena arena = {0};
        struct safetensors_entry entry = entry_of(types[i], files[types[i]] + 1);
        ck_assert_mem_eq(weights_bf16_matrix(&entry, &weight, &arena, NULL),
                         weights_bf16_matrix(&aligned, &weight, &arena, NULL),
                         pairs_size(&weight) * sizeof(uint32_t));
        ck_assert_mem_eq(weights_bf16_rows(&entry, &all, &turned, &arena, NULL),
                         weights_bf16_rows(&aligned, &all, &turned, &arena, NULL),
                         pairs_size(&turned) * sizeof(uint32_t));
        arena_release(&arena);
    }
}

TEST(without_memory_there_are_no_panels)
{
    struct safetensors_entry entry = entry_of(DTYPE_F32, numbers);
    struct weight weight = {.in = ROWS, .out = COLUMNS};
    struct weight turned = {.in = COLUMNS, .out = ROWS};
    for (size_t nth = 1; nth <= 2; nth++) {
        struct arena arena = {0};
        struct err err = {0};
        heap_fail_at(nth, 0);
        ck_assert_ptr_null(weights_bf16_matrix(&entry, &weight, &arena, &err));
        ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
        heap_fail_at(nth, 0);
        ck_assert_ptr_null(weights_bf16_rows(&entry, &all, &turned, &arena, &err));
        heap_fail_at(0, 0);
        arena_release(&arena);
    }
}
