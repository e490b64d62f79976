#include "pass/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"

enum { WORDS = 3000 };

/* --- reference: sorts all tokens, in double, with libm ---------------------------------------- */

static const float *sorted_by;

static int compare(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a;
    uint32_t two = *(const uint32_t *)b;
    if (sorted_by[one] != sorted_by[two])
        return sorted_by[one] > sorted_by[two] ? -1 : 1;
    return one < two ? -1 : 1;
}

/* Probabilities after temperature, top_k and top_p; 0 for excluded tokens. `edge`: top_p is so near
 * a cumulative sum that rounding decides. */
struct plain {
    double probabilities[WORDS];
    size_t kept;
    bool edge;
};

static void plain_distribution(struct plain *plain, const float *logits, size_t count,
                               const struct sampling *how)
{
    static uint32_t order[WORDS];
    double total = 0;
    double passed = 0;
    size_t kept = how->top_k && how->top_k < count ? how->top_k : count;
    *plain = (struct plain){0};
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    sorted_by = logits;
    qsort(order, count, sizeof *order, compare);
    while (kept < count && logits[order[kept]] == logits[order[kept - 1]])
        kept++;
    for (size_t i = 0; i < kept; i++) {
        double x = ((double)logits[order[i]] - (double)logits[order[0]]) / how->temperature;
        plain->probabilities[order[i]] = exp(x);
        total += exp(x);
    }
    for (size_t i = 0; i < kept; i++) {
        double *p = &plain->probabilities[order[i]];
        *p /= total;
        plain->edge |= how->top_p < 1 && fabs(passed - how->top_p) < 1e-6;
        if (i > 0 && how->top_p < 1 && passed >= how->top_p) {
            *p = 0;
            continue;
        }
        passed += *p;
        plain->kept++;
    }
    for (size_t i = 0; i < count; i++)
        plain->probabilities[i] /= passed;
}

/* --- helpers ---------------------------------------------------------------------------------- */

static struct arena arena;

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static struct sampler sampler_of(const struct sampling *how, size_t count)
{
    struct sampler sampler;
    ck_assert_int_eq(sampler_init(&sampler, how, count, &arena, NULL), 0);
    return sampler;
}

/* Numbers in ±spread / 2, some of them equal. */
static void make_logits(float *logits, size_t count, float spread, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        float whole = (float)(sampler_random(&seed) >> 44); /* below 2^20 */
        logits[i] = (whole / (float)(1 << 20) - 0.5f) * spread;
        if (i % 7 == 0)
            logits[i] = rintf(logits[i] * 4) / 4;
    }
}

/* The ids with a weight above 0, as text. */
static const char *kept_ids(const struct sampler *sampler)
{
    static char text[256];
    size_t size = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sampler->count; i++)
        if (sampler->weights[i] > 0)
            size += (size_t)snprintf(text + size, sizeof text - size, size ? " %zu" : "%zu", i);
    return text;
}

/* --- tests ------------------------------------------------------------------------------------ */

TEST(temperature_0_chooses_the_most_likely_token_and_the_first_of_equals)
{
    struct sampling greedy = {.top_p = 1};
    struct sampler sampler = sampler_of(&greedy, 5);
    ck_assert_uint_eq(sampler_next(&sampler, (float[]){-3, 2, 5, 5, 1}), 2);
    ck_assert_uint_eq(sampler_next(&sampler, (float[]){-3, -2, -5, -5, -2}), 1);
    ck_assert_uint_eq(sampler_next(&sampler, (float[]){0, 0, 0, 0, 0}), 0);
}

TEST(top_k_and_top_p_keep_the_expected_tokens)
{
    /* probabilities ½, ¼, ⅛, ⅛ of ids 2, 0, 1, 3 */
    static const float logits[] = {-0.6931472f, -1.3862944f, 0, -1.3862944f};
    static const struct {
        size_t top_k;
        double top_p;
        const char *stays;
    } cases[] = {
        {0, 1, "0 1 2 3"},  {9, 1, "0 1 2 3"},    {4, 1, "0 1 2 3"},
        {3, 1, "0 1 2 3"}, /* the fourth equals the third */
        {2, 1, "0 2"},      {1, 1, "2"},          {0, 0, "2"},
        {0, 0.4, "2"},      {0, 0.6, "0 2"},      {0, 0.74, "0 2"},
        {0, 0.76, "0 1 2"}, /* the lower id of equal ones */
        {0, 0.87, "0 1 2"}, {0, 0.88, "0 1 2 3"}, {0, 0.999999, "0 1 2 3"},
        {2, 0.6, "2"}, /* the two that are left have ⅔ and ⅓: 0.6 is less than ⅔ */
        {2, 0.7, "0 2"},    {1, 0.1, "2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sampling how = {.temperature = 1, cases[i].top_k, cases[i].top_p, 1};
        struct sampler sampler = sampler_of(&how, 4);
        sampler_next(&sampler, logits);
        ck_assert_msg(strcmp(kept_ids(&sampler), cases[i].stays) == 0,
                      "k = %zu, p = %g: expected %s, found %s", how.top_k, how.top_p,
                      cases[i].stays, kept_ids(&sampler));
    }
}

TEST(probabilities_agree_with_the_reference)
{
    static const size_t counts[] = {1, 2, 3, 10, 97, WORDS};
    static const double temperatures[] = {0.01, 0.7, 1, 3, 100};
    static const size_t ks[] = {0, 1, 2, 40, 1000};
    static const double ps[] = {1, 0.99, 0.9, 0.5, 0.01};
    static float logits[WORDS];
    static struct plain plain;
    size_t edges = 0;
    size_t tried = 0;
    for (size_t c = 0; c < 6; c++)
        for (size_t t = 0; t < 5; t++)
            for (size_t k = 0; k < 5; k++)
                for (size_t p = 0; p < 5; p++) {
                    struct sampling how = {temperatures[t], ks[k], ps[p], tried};
                    struct sampler sampler = sampler_of(&how, counts[c]);
                    make_logits(logits, counts[c], 20, tried++);
                    plain_distribution(&plain, logits, counts[c], &how);
                    sampler_next(&sampler, logits);
                    if (plain.edge) {
                        edges++;
                        continue;
                    }
                    double total = 0;
                    for (size_t i = 0; i < counts[c]; i++)
                        total += (double)sampler.weights[i];
                    for (size_t i = 0; i < counts[c]; i++)
                        ck_assert_double_eq_tol((double)sampler.weights[i] / total,
                                                plain.probabilities[i], 1e-6);
                    arena_clear(&arena);
                }
    ck_assert_uint_lt(edges, tried / 20);
}

TEST(a_seed_determines_the_tokens)
{
    static float logits[WORDS];
    struct sampling how = {.temperature = 1, .top_p = 0.9, .seed = 42};
    static const uint32_t known[] = {2293, 499, 907, 1168, 105, 2599}; /* by another program */
    make_logits(logits, WORDS, 10, 1);
    for (int round = 0; round < 2; round++) {
        struct sampler sampler = sampler_of(&how, WORDS);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            ck_assert_uint_eq(sampler_next(&sampler, logits), known[i]);
    }
    how.seed = 43;
    struct sampler other = sampler_of(&how, WORDS);
    ck_assert_uint_ne(sampler_next(&other, logits), known[0]);
}

TEST(extreme_numbers_give_a_token_with_a_weight_above_0)
{
    static const double temperatures[] = {4.9e-324, 1e-300, 1e-30, 1e30, 1e300};
    static const float logits[][3] = {{-3e38f, 3e38f, 0}, {1e-45f, 0, -1e-45f}, {88, 88, -88}};
    for (size_t t = 0; t < 5; t++)
        for (size_t i = 0; i < 3; i++)
            for (int narrowed = 0; narrowed < 2; narrowed++) {
                struct sampling how = {temperatures[t], 0, narrowed ? 0.9 : 1, 9};
                struct sampler sampler = sampler_of(&how, 3);
                uint32_t id = sampler_next(&sampler, logits[i]);
                ck_assert_uint_lt(id, 3);
                ck_assert_float_gt(sampler.weights[id], 0);
            }
}

/* --- log-probabilities ------------------------------------------------------------------------ */

static float logits[WORDS];

static void spread_logits(size_t count, float spread, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        logits[i] = ((float)(sampler_random(&seed) >> 50) / (float)(1 << 14) - 0.5f) * spread;
}

TEST(logsumexp_agrees_with_libm)
{
    static const float spreads[] = {0, 1e-6f, 1, 10, 80, 1000, 1e6f};
    static const size_t counts[] = {1, 2, 3, 64, WORDS};
    for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            spread_logits(counts[c], spreads[s], s + c);
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

TEST(logsumexp_of_equal_logits_is_the_logarithm_of_their_number)
{
    spread_logits(WORDS, 0, 1);
    for (size_t count = 1; count <= WORDS; count++)
        ck_assert_double_eq_tol(logsumexp(logits, count), log((double)count), 4e-15);
}

TEST(logsumexp_is_accurate_for_a_nearly_certain_token)
{
    logits[0] = 0;
    logits[1] = -30;
    ck_assert_double_eq_tol(logsumexp(logits, 2), log1p(exp(-30)), 1e-15);
}

TEST(the_most_likely_tokens_are_in_order)
{
    enum { BEST = 5 };
    static const size_t counts[] = {5, 6, 50, WORDS};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct likely best[BEST];
            spread_logits(counts[c], 0.01f, seed); /* at most 16384 values: some are equal */
            topk(best, BEST, logits, counts[c], 2);
            for (size_t b = 0; b < BEST; b++) {
                size_t before = 0;
                for (size_t i = 0; i < counts[c]; i++)
                    before += logits[i] > logits[best[b].id] ||
                              (logits[i] == logits[best[b].id] && i < best[b].id);
                ck_assert_uint_eq(before, b);
                ck_assert(best[b].logprob == (float)((double)logits[best[b].id] - 2));
            }
        }
}

TEST(a_rank_is_the_number_of_likelier_tokens)
{
    static const size_t counts[] = {1, 2, 17, 50, WORDS};
    for (size_t c = 0; c < COUNT(counts); c++) {
        spread_logits(counts[c], 0.001f, c); /* many logits are equal */
        for (uint32_t id = 0; id < counts[c]; id += id < 64 ? 1 : 61) {
            size_t before = 0;
            for (size_t i = 0; i < counts[c]; i++)
                before += logits[i] > logits[id] || (logits[i] == logits[id] && i < id);
            ck_assert_uint_eq(likelier(logits, counts[c], id), before);
        }
    }
}
