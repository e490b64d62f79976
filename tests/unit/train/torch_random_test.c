#include "train/weight_init.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/digest.h"
#include "../rigs/torch_numbers.h"
#include "base/memory.h"

enum { MOST = 64, LONG = 100003 };

static struct torch_random torch;
static float x[MOST];

typedef void draw_function(struct torch_random *, float *, size_t, double, double);

static void must_be(const float *found, const float *expected, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(memcmp(&found[i], &expected[i], sizeof *found) == 0,
                      "%s: number %zu: expected %.9g, found %.9g", what, i, (double)expected[i],
                      (double)found[i]);
}

static void check_table(const struct torch_row *rows, size_t count, draw_function *draw)
{
    for (size_t i = 0; i < count; i++) {
        torch_random_seed(&torch, rows[i].seed);
        x[rows[i].count] = 7;
        draw(&torch, x, rows[i].count, 0, 1);
        ck_assert_msg(digest(x, rows[i].count) == rows[i].digest, "seed %llu, size %zu",
                      (unsigned long long)rows[i].seed, rows[i].count);
        ck_assert_float_eq(x[rows[i].count], 7);
    }
}

TEST(uniform_numbers_agree_with_torch_rand)
{
    check_table(torch_uniform, COUNT(torch_uniform), torch_random_uniform);
}

TEST(normal_numbers_agree_with_torch_randn)
{
    check_table(torch_normal, COUNT(torch_normal), torch_random_normal);
}

/* Expected values: sequence() in tests/references/torch/tables.py. */
TEST(tensors_continue_the_sequence_of_the_last_one)
{
    torch_random_seed(&torch, 7);
    torch_random_normal(&torch, x, 3, 0, 1);
    torch_random_normal(&torch, x + 3, 20, 0, 1);
    torch_random_normal(&torch, x + 23, 2, 0, 1);
    torch_random_uniform(&torch, x + 25, 5, 0, 1);
    torch_random_normal(&torch, x + 30, 17, 0.25, 0.02);
    torch_random_normal(&torch, x + 47, 5, 0.25, 0.02);
    torch_random_uniform(&torch, x + 52, 9, -0.5, 0.25);
    torch_random_normal(&torch, x + 61, 1, 0, 1);
    ck_assert_uint_eq(digest(x, 62), torch_sequence);
}

TEST(a_hundred_thousand_numbers_have_the_same_bits)
{
    float *numbers = heap_alloc(LONG, sizeof *numbers, NULL);
    torch_random_seed(&torch, 5);
    torch_random_normal(&torch, numbers, LONG, 0, 1);
    ck_assert_uint_eq(digest(numbers, LONG), torch_long_normal);
    torch_random_uniform(&torch, numbers, LONG, 0, 1);
    ck_assert_uint_eq(digest(numbers, LONG), torch_long_uniform);
    heap_free(numbers);
}

TEST(skipping_leaves_the_state_of_drawing)
{
    static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 623, 624, 625, 1000};
    static float unwanted[1000];
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct torch_random other;
        torch_random_seed(&torch, 1);
        torch_random_seed(&other, 1);
        torch_random_normal(&torch, unwanted, sizes[i], 0, 1);
        torch_random_uniform(&torch, unwanted, sizes[i], 0, 1);
        torch_random_skip_normal(&other, sizes[i]);
        torch_random_skip_uniform(&other, sizes[i]);
        torch_random_normal(&torch, x, 3, 0, 1);
        torch_random_normal(&other, x + 3, 3, 0, 1);
        must_be(x + 3, x, 3, "numbers after a skip");
    }
}

TEST(a_new_seed_discards_the_cached_number)
{
    torch_random_seed(&torch, 123);
    torch_random_normal(&torch, x, 1, 0, 1);
    torch_random_seed(&torch, 123);
    torch_random_normal(&torch, x + 1, 1, 0, 1);
    must_be(x + 1, x, 1, "the first");
}

TEST(a_seed_has_32_bits)
{
    torch_random_seed(&torch, 123);
    torch_random_uniform(&torch, x, 5, 0, 1);
    torch_random_seed(&torch, 123 + (UINT64_C(1) << 32));
    torch_random_uniform(&torch, x + 5, 5, 0, 1);
    must_be(x + 5, x, 5, "the seed");
}

/* Draw numbers from a state in which all words are the same. */
static void draw_from_words(uint32_t word)
{
    torch_random_seed(&torch, 0);
    for (size_t i = 0; i < TWISTER_WORDS; i++)
        torch.words.words[i] = word;
    torch.words.next = 0;
    torch_random_normal(&torch, x, 16, 0, 1);
}

TEST(the_smallest_and_the_largest_uniform_number_give_finite_numbers)
{
    const uint32_t all_bits = 0xf62d7a6f; /* 0x00ffffff after tempering */
    draw_from_words(0);                   /* ln 1 */
    for (size_t i = 0; i < 16; i++)
        ck_assert_float_eq(x[i], 0);
    draw_from_words(all_bits); /* ln 2^-24, and an angle next to 2π */
    for (size_t i = 0; i < 8; i++) {
        ck_assert_double_eq_tol((double)x[i], sqrt(48 * log(2)), 1e-6);
        ck_assert_double_eq_tol((double)x[i + 8], 0, 4e-6);
    }
}
