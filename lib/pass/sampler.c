#include "pass/sampler.h"

#include <math.h>
#include <stdbool.h>

#include "math/isa.h"
#include "math/portable_math.h"
#include "math/rng.h"
#include "math/rows.h"

struct candidate {
    float logit;
    float weight;
    uint32_t id;
};

int sampler_init(struct sampler *sampler, const struct sampling *how, size_t count,
                 struct arena *arena, struct err *err)
{
    *sampler = (struct sampler){.how = *how, .state = how->seed, .count = count};
    if (how->temperature == 0)
        return 0;
    sampler->weights = arena_alloc(arena, count, sizeof *sampler->weights, err);
    sampler->candidates = arena_alloc(arena, count, sizeof *sampler->candidates, err);
    return sampler->weights && sampler->candidates ? 0 : -1;
}

uint64_t sampler_random(uint64_t *state)
{
    uint64_t number = splitmix64(*state);
    *state += 0x9e3779b97f4a7c15u;
    return number;
}

/* weights = e^((logit - max) / temperature). The quotient is computed in double, where even the
 * smallest temperature does not lead to 0 / 0. */
FOR_EACH_ISA
static void weigh(float *weights, const float *logits, size_t count, float max, double temperature)
{
    for (size_t i = 0; i < count; i++)
        weights[i] = exp_float((float)((double)(logits[i] - max) / temperature));
}

/* Whether candidate a comes before b: the more likely candidate first and, if both are equally
 * likely, the lower id. There are no branches, because the processor could not predict them. */
static bool comes_before(const struct candidate *a, const struct candidate *b)
{
    return (a->logit > b->logit) | ((a->logit == b->logit) & (a->id < b->id));
}

static void swap(struct candidate *a, struct candidate *b)
{
    struct candidate kept = *a;
    *a = *b;
    *b = kept;
}

/* Move the median of the first, the middle and the last candidate to the front. */
static void choose_pivot(struct candidate *candidates, size_t count)
{
    struct candidate *middle = &candidates[count / 2];
    struct candidate *last = &candidates[count - 1];
    if (comes_before(last, middle))
        swap(middle, last);
    if (comes_before(candidates, middle))
        swap(candidates, middle);
    if (comes_before(last, candidates))
        swap(candidates, last);
}

/* Move the candidates that come before the pivot, which is the first candidate, before it; returns
 * the pivot's new index. Each candidate is swapped to the boundary, which then includes the
 * candidate if it comes before the pivot. */
static size_t part(struct candidate *candidates, size_t count)
{
    const struct candidate pivot = candidates[0];
    size_t before = 0;
    for (size_t i = 1; i < count; i++) {
        swap(&candidates[before + 1], &candidates[i]);
        before += comes_before(&candidates[before + 1], &pivot);
    }
    swap(&candidates[0], &candidates[before]);
    return before;
}

/* The amount that a candidate adds to the sum that top_k or top_p limits: 1 for top_k, its weight
 * for top_p. */
static double amount(const struct candidate *candidate, bool weighed)
{
    return weighed ? (double)candidate->weight : 1.0;
}

static double sum(const struct candidate *candidates, size_t count, bool weighed)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += amount(&candidates[i], weighed);
    return total;
}

/* Quickselect: move the most likely candidates to the front, in any order, up to the candidate at
 * which the sum of their amounts reaches `limit`; return the number of these candidates. Only the
 * part that contains the limit is partitioned again. */
static size_t take_front(struct candidate *candidates, size_t count, double limit, bool weighed)
{
    double taken = 0; /* sum of the amounts of the candidates before `first` */
    size_t first = 0;
    size_t end = count; /* candidates from index `end` on are excluded */
    while (first < end) {
        choose_pivot(candidates + first, end - first);
        size_t pivot = first + part(candidates + first, end - first);
        double before = taken + sum(candidates + first, pivot - first, weighed);
        if (before >= limit) {
            end = pivot;
        } else {
            taken = before + amount(&candidates[pivot], weighed);
            first = pivot + 1;
        }
    }
    return first;
}

static float least_logit(const struct candidate *candidates, size_t count)
{
    float least = candidates[0].logit;
    for (size_t i = 1; i < count; i++)
        least = candidates[i].logit < least ? candidates[i].logit : least;
    return least;
}

static size_t drop_below(struct candidate *candidates, size_t count, float logit, double weight)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (candidates[i].logit >= logit && (double)candidates[i].weight >= weight)
            candidates[kept++] = candidates[i];
    return kept;
}

/* Keep the k most likely candidates, and all candidates that are as likely as the k-th. The k-th
 * candidate of a subset is at most as likely as the k-th of all, which allows dropping less likely
 * candidates first. */
static size_t take_k(struct candidate *candidates, size_t count, size_t k)
{
    if (k == 0 || k >= count)
        return count;
    size_t few = count / 16 + 4 * k < count ? count / 16 + 4 * k : count;
    take_front(candidates, few, (double)k, false);
    count = drop_below(candidates, count, least_logit(candidates, k), 0);
    take_front(candidates, count, (double)k, false);
    return drop_below(candidates, count, least_logit(candidates, k), 0);
}

/* Keep the most likely candidates up to the one at which the sum of weights reaches the share p of
 * all weights, and at least one candidate. Candidates whose weight is below an equal share of the
 * remainder, 1 - p, are dropped first: together they weigh less than the remainder. (Half of that
 * share is used, since sums are rounded.) */
static size_t take_p(struct candidate *candidates, size_t count, double p)
{
    if (p >= 1)
        return count;
    double total = sum(candidates, count, true);
    count = drop_below(candidates, count, -INFINITY, 0.5 * (1 - p) * total / (double)count);
    size_t kept = take_front(candidates, count, p * total, true);
    return kept ? kept : take_front(candidates, count, 1, false);
}

/* Set the weights of the tokens that top_k and top_p exclude to 0. */
static void narrow(struct sampler *sampler, const float *logits)
{
    struct candidate *candidates = sampler->candidates;
    size_t count = sampler->count;
    for (size_t i = 0; i < count; i++) {
        candidates[i] = (struct candidate){logits[i], sampler->weights[i], (uint32_t)i};
        sampler->weights[i] = 0;
    }
    count = take_k(candidates, count, sampler->how.top_k);
    count = take_p(candidates, count, sampler->how.top_p);
    for (size_t i = 0; i < count; i++)
        sampler->weights[candidates[i].id] = candidates[i].weight;
}

static uint32_t draw(struct sampler *sampler)
{
    double total = 0, passed = 0;
    size_t last = 0;
    for (size_t i = 0; i < sampler->count; i++)
        total += (double)sampler->weights[i];
    double goal = (double)(sampler_random(&sampler->state) >> 11) * 0x1p-53 * total;
    for (size_t i = 0; i < sampler->count; i++) {
        if (sampler->weights[i] == 0)
            continue;
        last = i;
        passed += (double)sampler->weights[i];
        if (passed > goal)
            break;
    }
    return (uint32_t)last;
}

uint32_t sampler_next(struct sampler *sampler, const float *logits)
{
    struct likely best = {0};
    const struct sampling *how = &sampler->how;
    topk(&best, 1, logits, sampler->count, 0);
    if (how->temperature == 0)
        return best.id;
    weigh(sampler->weights, logits, sampler->count, best.logprob, how->temperature);
    if ((how->top_k > 0 && how->top_k < sampler->count) || how->top_p < 1)
        narrow(sampler, logits);
    return draw(sampler);
}

/* --- how likely each token is ---------------------------------------------------------------- */

/* Σ e^x and Σ e^x · x, where x = logit - max, in double. Each is summed in LANES chains, in a fixed
 * order. */
struct moments {
    double total[LANES], weighted[LANES];
};

FOR_EACH_ISA
static void add_moments(struct moments *moments, const float *logits, size_t count, float max)
{
    FOR_LANES(count, {
        double e = (double)exp_negative(logits[i] - max);
        moments->total[lane] += e;
        moments->weighted[lane] += e * (double)(logits[i] - max);
    });
}

double logsumexp_entropy(double *entropy, const float *logits, size_t count)
{
    struct moments moments = {0};
    float max = max_row(logits, count);
    add_moments(&moments, logits, count, max);
    double total = sum_lanes(moments.total);
    double log_total = log_double(total);
    *entropy = log_total - sum_lanes(moments.weighted) / total;
    return (double)max + log_total;
}

double logsumexp(const float *logits, size_t count)
{
    double entropy;
    return logsumexp_entropy(&entropy, logits, count);
}

FOR_EACH_ISA
double logits_divergence(const float *x, double x_sum, const float *y, double y_sum, size_t count)
{
    double lanes[LANES] = {0};
    double shift = x_sum - y_sum;
    FOR_LANES(count, {
        double log_p = (double)x[i] - x_sum;
        double p = (double)exp_negative((float)(log_p < 0 ? log_p : 0));
        lanes[lane] += p * ((double)x[i] - (double)y[i] - shift);
    });
    double sum = sum_lanes(lanes);
    return sum > 0 ? sum : 0; /* rounding may give a sum below 0 */
}

FOR_EACH_ISA
size_t likelier(const float *logits, size_t count, uint32_t id)
{
    float logit = logits[id];
    uint32_t before = 0; /* 32 bits are enough, since ids are uint32_t */
    for (size_t i = 0; i < id; i++)
        before += logits[i] >= logit;
    for (size_t i = id; i < count; i++)
        before += logits[i] > logit;
    return before;
}

/* Insert a logit into the sorted list of the largest logits. */
static void insert(struct likely *best, size_t best_count, size_t id, float logit)
{
    size_t rank = best_count;
    for (; rank > 0 && logit > best[rank - 1].logprob; rank--)
        best[rank] = best[rank - 1];
    best[rank] = (struct likely){(uint32_t)id, logit};
}

/* Return the first index from `at` on whose logit is above `least`, or `count` if there is none.
 * Parts of 64 logits are skipped at once if none is above, which is usual. */
FOR_EACH_ISA
static size_t next_above(const float *logits, size_t at, size_t count, float least)
{
    enum { PART = 64 };
    for (; at + PART <= count; at += PART) {
        uint32_t above = 0;
        for (size_t i = at; i < at + PART; i++)
            above |= logits[i] > least;
        if (above)
            break;
    }
    while (at < count && !(logits[at] > least))
        at++;
    return at;
}

void topk(struct likely *best, size_t best_count, const float *logits, size_t count, double log_sum)
{
    size_t found = best_count < count ? best_count : count;
    for (size_t i = 0; i < found; i++)
        insert(best, i, i, logits[i]);
    for (size_t at = found; found > 0; at++) {
        at = next_above(logits, at, count, best[found - 1].logprob);
        if (at == count)
            break;
        insert(best, found - 1, at, logits[at]);
    }
    for (size_t i = 0; i < found; i++)
        best[i].logprob = (float)((double)best[i].logprob - log_sum);
}
