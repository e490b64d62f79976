#include "measure/reduction.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "base/heap.h"

enum { LAYERS = 2, HEADS = 3, LONGEST = 9, TEXTS = 40, ALL = (1 << MEASURE_COUNT) - 1 };

static struct arena arena;
static struct err err;

/* Attention of many texts, made up: [text][layer][head][T, S]. */
struct text {
    size_t queries, keys;
    float weights[LAYERS][HEADS][LONGEST * LONGEST];
};

static struct text texts[TEXTS];
static struct reduction_size size;

static void make_texts(bool causal, bool square)
{
    uint32_t dice = 7;
    arena = (struct arena){0};
    err = (struct err){0};
    size = (struct reduction_size){LAYERS, HEADS, LONGEST, LONGEST, causal};
    for (size_t t = 0; t < TEXTS; t++) {
        texts[t].queries = 1 + dice_bits(&dice) % LONGEST;
        texts[t].keys = square ? texts[t].queries : 1 + dice_bits(&dice) % LONGEST;
        for (size_t i = 0; i < LAYERS * HEADS; i++)
            for (size_t c = 0; c < texts[t].queries * texts[t].keys; c++) {
                bool future = causal && c % texts[t].keys > c / texts[t].keys;
                float weight = fabsf(dice_float(&dice));
                texts[t].weights[i / HEADS][i % HEADS][c] = future ? 0 : weight;
            }
    }
}

static void release(void)
{
    arena_release(&arena);
}

static void add_text(struct reduction *reduction, const struct text *text)
{
    for (size_t i = 0; i < LAYERS * HEADS; i++) {
        struct tensor weights = {
            .data = text->weights[i / HEADS][i % HEADS],
            .rank = 2,
            .shape = {text->queries, text->keys},
            .stride = {text->keys, 1},
        };
        ck_assert_int_eq(reduction_add(reduction, i / HEADS, i % HEADS, &weights, NULL, &err), 0);
    }
}

static struct reduction opened(unsigned measures)
{
    struct reduction reduction;
    ck_assert_int_eq(reduction_init(&reduction, measures, &size, &arena, &err), 0);
    return reduction;
}

/* The judge: over all texts again, for one entry. */
static double judged(const struct reduction_entry *at, double *count)
{
    double sum = 0;
    double largest = 0;
    const struct measure_row *measure = &measure_rows[at->measure];
    *count = 0;
    for (size_t t = 0; t < TEXTS; t++) {
        const struct text *text = &texts[t];
        const float *weights = text->weights[at->layer][at->head];
        for (size_t q = 0; q < text->queries; q++) {
            size_t keys = size.causal ? q + 1 : text->keys;
            struct attention_row row = {weights + q * text->keys, keys, q, NULL, NULL};
            if (measure->of_row && q >= measure->first_query) {
                sum += measure->of_row(&row);
                *count += 1;
            } else if (!measure->of_row && q == at->query && at->key < keys) {
                sum += (double)row.weights[at->key];
                largest = fmax(largest, (double)row.weights[at->key]);
                *count += 1;
            }
        }
    }
    return at->measure == MEASURE_MAX ? largest : sum / *count;
}

/* Every entry is what the judge says; returns how many there are. */
static size_t expect_judged(const struct reduction *reduction)
{
    size_t entries = 0;
    struct reduction_walk walk = {.reduction = reduction};
    for (; reduction_next(&walk); entries++) {
        double count = 0;
        double value = judged(&walk.entry, &count);
        ck_assert_double_eq(count, (double)walk.entry.cell.count);
        ck_assert_double_eq_tol(reduction_value(&walk.entry), value, 1e-13);
    }
    return entries;
}

static size_t longest_queries(void)
{
    size_t longest = 0;
    for (size_t t = 0; t < TEXTS; t++)
        longest = texts[t].queries > longest ? texts[t].queries : longest;
    return longest;
}

TEST(causal_attention_is_counted_up_to_the_diagonal)
{
    make_texts(true, true);
    struct reduction reduction = opened(ALL);
    for (size_t t = 0; t < TEXTS; t++)
        add_text(&reduction, &texts[t]);
    size_t longest = longest_queries();
    ck_assert_uint_eq(longest, LONGEST);
    ck_assert_uint_eq(expect_judged(&reduction), LAYERS * HEADS * (4 + longest * (longest + 1)));
    release();
}

TEST(other_attention_is_counted_whole)
{
    for (int square = 0; square < 2; square++) {
        make_texts(false, square);
        struct reduction reduction = opened(ALL);
        for (size_t t = 0; t < TEXTS; t++)
            add_text(&reduction, &texts[t]);
        ck_assert_uint_gt(expect_judged(&reduction), LAYERS * HEADS * 4);
        release();
    }
}

TEST(parts_in_any_order_merge_to_the_same_bits)
{
    make_texts(true, true);
    struct reduction whole = opened(ALL);
    struct reduction parts[3] = {opened(ALL), opened(ALL), opened(ALL)};
    struct reduction merged = opened(ALL);
    for (size_t t = 0; t < TEXTS; t++) {
        add_text(&whole, &texts[t]);
        add_text(&parts[t % COUNT(parts)], &texts[TEXTS - 1 - t]);
    }
    for (size_t i = 0; i < COUNT(parts); i++) {
        struct reduction_walk walk = {.reduction = &parts[i]};
        while (reduction_next(&walk)) {
            ck_assert(reduction_fits(&merged, &walk.entry));
            ck_assert_int_eq(reduction_merge(&merged, &walk.entry, &err), 0);
        }
    }
    struct reduction_walk one = {.reduction = &whole};
    struct reduction_walk other = {.reduction = &merged};
    while (reduction_next(&one)) {
        ck_assert(reduction_next(&other));
        ck_assert_mem_eq(&one.entry, &other.entry, sizeof one.entry);
    }
    ck_assert(!reduction_next(&other));
    release();
}

/* Sums that another process wrote: a line is refused before it is counted. */
TEST(anything_else_is_no_line_of_sums)
{
    static const char *const good[] = {"entropy,1,2,,,3,1f", "mean,0,0,8,8,1,1f"};
    static const char *const wrong[] = {
        "",
        "entropy",
        "entropy,0,1,,,3",
        "entropy,0,1,,,3,1f,",
        "entropy,,1,,,3,1f",
        "entropy,0,1,,,0,1f",
        "entropy,0,1,,,-3,1f",
        "entropy,0,1,,,3,1.5",
        "entropy,0,1,0,0,3,1f",
        "entropy,2,0,,,3,1f",
        "entropy,0,3,,,3,1f",
        "entropies,0,1,,,3,1f",
        "distance,0,1,,,3,1f",
        "mean,0,1,,,3,1f",
        "mean,0,1,3,4,3,1f",
        "mean,0,1,9,0,3,1f",
        "mean,0,1,0,0,99999999999999999999,1f",
    };
    char longer[400];
    make_texts(true, true);
    struct reduction reduction = opened(1u << MEASURE_MEAN | 1u << MEASURE_ENTROPY);
    for (size_t i = 0; i < COUNT(good); i++)
        ck_assert(!reduction_read_sum(&reduction, good[i], strlen(good[i]), &err));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        err = (struct err){0};
        ck_assert_msg(reduction_read_sum(&reduction, wrong[i], strlen(wrong[i]), &err), "%s",
                      wrong[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "expected a line of sums, found '"));
    }
    memset(longer, '1', sizeof longer);
    memcpy(longer, "entropy,0,1,,,3,", 16);
    err = (struct err){0};
    for (size_t bytes = 100; bytes < sizeof longer; bytes++) /* of the last field 127 have room */
        ck_assert(reduction_read_sum(&reduction, longer, bytes, &err));
    release();
}

TEST(without_memory_nothing_is_counted)
{
    make_texts(true, true);
    struct tensor weights = {texts[0].weights[0][0], 2, {1, 1}, {1, 1}};
    size = (struct reduction_size){1, 1, 2000, 2000, true};
    struct reduction reduction = opened(ALL);
    for (size_t nth = 1; nth < 3; nth++) {
        err = (struct err){0};
        heap_fail_at(nth, 0);
        ck_assert_int_eq(reduction_add(&reduction, 0, 0, &weights, NULL, &err), -1);
        ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
        heap_fail_at(nth, 0);
        ck_assert_int_eq(reduction_merge(&reduction, &(struct reduction_entry){0}, &err), -1);
    }
    heap_fail_at(0, 0);
    ck_assert_int_eq(reduction_add(&reduction, 0, 0, &weights, NULL, &err), 0);
    size_t bytes = 0;
    ck_assert(reduction_bytes(&bytes, ALL, &size));
    ck_assert_uint_gt(bytes, 2000 * 2000 / 2 * sizeof(struct reduction_cell));
    ck_assert_uint_lt(bytes, 2000 * 2000 * sizeof(struct reduction_cell));
    size.queries = SIZE_MAX / 2;
    ck_assert(!reduction_bytes(&bytes, ALL, &size));
    reduction = opened(ALL);
    err = (struct err){0};
    ck_assert_int_eq(reduction_add(&reduction, 0, 0, &weights, NULL, &err), -1);
    release();
}
