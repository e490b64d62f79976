#include <math.h>

#include "../unit.h"
#include "model/sampler.h"

enum { WORDS = 5000 };

static float logits[WORDS];

static void make_logits(size_t count, float spread, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        logits[i] = ((float)(sampler_random(&seed) >> 50) / (float)(1 << 14) - 0.5f) * spread;
}

TEST(the_total_is_libms_to_a_part_in_ten_million)
{
    static const float spreads[] = {0, 1e-6f, 1, 10, 80, 1000, 1e6f};
    static const size_t counts[] = {1, 2, 3, 64, WORDS};
    for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            make_logits(counts[c], spreads[s], s + c);
            double max = (double)logits[0];
            double total = 0;
            for (size_t i = 0; i < counts[c]; i++)
                if ((double)logits[i] > max)
                    max = (double)logits[i];
            for (size_t i = 0; i < counts[c]; i++)
                total += exp((double)logits[i] - max);
            ck_assert_double_eq_tol(logsumexp(logits, counts[c]), max + log(total), 1e-7);
        }
}

TEST(equal_words_are_equally_likely)
{
    make_logits(WORDS, 0, 1);
    for (size_t count = 1; count <= WORDS; count++) /* the logarithm of every whole number */
        ck_assert_double_eq_tol(logsumexp(logits, count), log((double)count), 4e-15);
}

TEST(a_word_that_is_all_but_certain_keeps_its_doubt)
{
    logits[0] = 0;
    logits[1] = -30;
    ck_assert_double_eq_tol(logsumexp(logits, 2), log1p(exp(-30)), 1e-15);
}

TEST(the_best_come_in_their_order)
{
    enum { BEST = 5 };
    static const size_t counts[] = {5, 6, 50, WORDS};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            uint32_t best[BEST];
            make_logits(counts[c], 0.01f, seed); /* 16384 values or fewer: some are equal */
            topk(best, BEST, logits, counts[c]);
            for (size_t b = 0; b < BEST; b++) {
                size_t before = 0; /* how many come before it */
                for (size_t i = 0; i < counts[c]; i++)
                    before += logits[i] > logits[best[b]] ||
                              (logits[i] == logits[best[b]] && i < best[b]);
                ck_assert_uint_eq(before, b);
            }
        }
}

TEST(a_rank_counts_those_that_come_before)
{
    static const size_t counts[] = {1, 2, 17, 50, WORDS};
    for (size_t c = 0; c < COUNT(counts); c++) {
        make_logits(counts[c], 0.001f, c); /* many are equal */
        for (uint32_t id = 0; id < counts[c]; id += id < 64 ? 1 : 61) {
            size_t before = 0;
            for (size_t i = 0; i < counts[c]; i++)
                before += logits[i] > logits[id] || (logits[i] == logits[id] && i < id);
            ck_assert_uint_eq(likelier(logits, counts[c], id), before);
        }
    }
}
