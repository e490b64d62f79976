#include "model/score_rule.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/platform.h"
#include "math/precision.h"
#include "math/rng.h"
#include "math/rows.h"

/* --- biases ----------------------------------------------------------------------------------- */

size_t score_biases_count(const struct score_rule *rule)
{
    size_t distances = 2 * (size_t)rule->reach + 1;
    return rule->bias == BIAS_BUCKETS ? rule->heads * distances : distances;
}

/* DeBERTa: set the index of the row for each distance from key to query. Distances up to half of
 * the buckets have a row each. Larger distances share rows, in ranges that grow logarithmically
 * (TERM_LOG), or also have a row each. The outermost rows are for all distances beyond them. */
static void fill_rows(float *rows, const struct score_rule *rule)
{
    long reach = rule->reach, all = rule->buckets, near = all / 2;
    double range = log((double)(reach - 1) / (double)near);
    for (long d = reach; d >= -reach; d--) {
        long row = labs(d);
        if (rule->terms & TERM_LOG && row > near)
            row = near + (long)ceil(log((double)row / (double)near) / range * (double)(near - 1));
        row = d < 0 ? -row : row;
        *rows++ = (float)((row < -all ? -all : row >= all ? all - 1 : row) + all);
    }
}

/* T5: each bucket of the first half is for one distance, each bucket of the second half for a range
 * of distances; these ranges grow logarithmically. If later keys are visible, the table has a
 * second set of buckets for them. */
size_t score_bucket(const struct score_rule *rule, long distance)
{
    size_t buckets = rule->ahead ? rule->buckets / 2 : rule->buckets, exact = buckets / 2;
    size_t bucket = (size_t)labs(distance);
    if (bucket >= exact) {
        double share =
            log((double)bucket / (double)exact) / log((double)rule->reach / (double)exact);
        bucket = num_min(buckets - 1, exact + (size_t)(share * (double)(buckets - exact)));
    }
    return bucket + (distance > 0 && rule->ahead ? buckets : 0);
}

void score_biases_fill(float *biases, const struct score_rule *rule, const float *table)
{
    long reach = rule->reach;
    if (rule->bias == BIAS_DISENTANGLED) {
        fill_rows(biases, rule);
        return;
    }
    for (size_t head = 0; head < rule->heads; head++)
        for (long d = -reach; d <= reach; d++)
            *biases++ = table[score_bucket(rule, d) * rule->heads + head];
}

/* ALiBi: the first n heads have the slopes 2^(-8 (h + 1) / n), where n is the largest power of two
 * up to the number of heads; the other heads have slopes between these. */
struct head_bias score_head_bias(const struct score_rule *rule, const float *biases, size_t head,
                                 struct matrix q, struct matrix k)
{
    size_t reach = rule->reach, power = 1;
    if (rule->bias == NO_BIAS || (rule->bias >= BIAS_BUCKETS && !biases))
        return (struct head_bias){0};
    if (rule->bias == BIAS_BUCKETS)
        return (struct head_bias){.near = biases + head * (2 * reach + 1) + reach};
    if (rule->bias == BIAS_DISENTANGLED) {
        size_t stride = rule->heads * q.columns;
        const float *keys = biases + score_biases_count(rule) + head * q.columns;
        const float *queries =
            keys + (rule->terms & TERM_KEYS ? 2 * (size_t)rule->buckets * stride : 0);
        return (struct head_bias){.near = biases + reach,
                                  .keys = rule->terms & TERM_KEYS ? keys : NULL,
                                  .queries = rule->terms & TERM_QUERIES ? queries : NULL,
                                  .stride = stride,
                                  .q = q,
                                  .k = k};
    }
    while (2 * power <= rule->heads)
        power *= 2;
    double step = -8.0 / (double)power;
    double exponent =
        head < power ? step * (double)(head + 1) : step / 2 * (double)(2 * (head - power) + 1);
    return (struct head_bias){.slope = (float)exp2(exponent)};
}

static float rounded(float x)
{
    return bf16_value(bf16_round(x));
}

/* a · b + c · d, computed as sixteen partial sums that are added in a fixed order. If b or d is
 * NULL its product is left out. */
FOR_EACH_ISA
static float two_dots(const float *a, const float *b, const float *c, const float *d, size_t count)
{
    enum { LANES = 16 };
    float sums[LANES] = {0}, sum = 0;
    size_t whole = count / LANES * LANES;
    for (size_t i = 0; b && i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] = fmaf(a[i + lane], b[i + lane], sums[lane]);
    for (size_t i = 0; d && i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] = fmaf(c[i + lane], d[i + lane], sums[lane]);
    for (size_t i = whole; i < count; i++) {
        sums[i - whole] = b ? fmaf(a[i], b[i], sums[i - whole]) : sums[i - whole];
        sums[i - whole] = d ? fmaf(c[i], d[i], sums[i - whole]) : sums[i - whole];
    }
    for (size_t lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

/* The element of bias->near for the distance of a key from a query; distances beyond `reach` have
 * the outermost element. */
static float near_of(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                     size_t key)
{
    long distance = (long)key - (long)query, reach = rule->reach;
    return bias->near[distance < -reach ? -reach : distance > reach ? reach : distance];
}

size_t score_place(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                   size_t key)
{
    return (size_t)near_of(rule, bias, query, key) * bias->stride;
}

float score_bias(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                 size_t key, size_t keys)
{
    float slope = bias->slope;
    if (bias->near && rule->bias == BIAS_BUCKETS)
        return near_of(rule, bias, query, key);
    if (bias->near) {
        size_t row = score_place(rule, bias, query, key);
        return rule->scale * two_dots(matrix_row(bias->q, query),
                                      bias->keys ? bias->keys + row : NULL,
                                      matrix_row(bias->k, key),
                                      bias->queries ? bias->queries + row : NULL, bias->q.columns);
    }
    if (rule->bias == BIAS_ALIBI_FROM_END)
        return slope * ((float)key - (float)(keys - 1));
    if (rule->bias == BIAS_ALIBI_APART)
        return -slope * fabsf((float)key - (float)query);
    if (rule->bias == BIAS_ALIBI_ROUNDED)
        return rule->scale * rounded(rounded(slope) * (float)key);
    return slope * (float)key;
}

/* A score becomes (cap · tanh(score · scale / cap) + bias) / temperature. The steps for a cap, a
 * bias and a temperature are left out if the rule has none. */
void score_apply(const struct score_rule *rule, const struct head_bias *bias, size_t query,
                 float *scores, struct key_range some, size_t keys)
{
    size_t count = some.end - some.first;
    scale_row(scores, scores, count, rule->scale);
    if (rule->cap > 0)
        cap_row(scores, count, rule->cap);
    for (size_t i = 0; (bias->near || bias->slope > 0) && i < count; i++)
        scores[i] += score_bias(rule, bias, query, some.first + i, keys);
    if (rule->temperature > 0)
        scale_row(scores, scores, count, 1.0f / rule->temperature);
}

/* --- patterns of visible keys ----------------------------------------------------------------- */

/* The size of both the window and the stride of the pattern `sqrt`; 0: the pattern does not include
 * `sqrt`. */
static size_t root_of(const struct pattern *pattern, size_t keys)
{
    return pattern->root ? (size_t)ceil(sqrt((double)keys)) : 0;
}

size_t score_most(const struct score_rule *rule, size_t keys)
{
    const struct pattern *pattern = rule->pattern;
    if (!pattern || pattern->global)
        return keys;
    size_t window = num_min(pattern->window, keys);
    size_t strided = pattern->stride ? keys / pattern->stride + 1 : 0;
    size_t random = pattern->random ? num_min(pattern->random, keys) + 1 : 0;
    size_t root = root_of(pattern, keys);
    size_t others =
        (root ? 2 * root + keys / root + 1 : 0) + (pattern->log ? 2 * sizeof keys * CHAR_BIT : 0);
    return num_min(keys, 2 * window + strided + random + others);
}

/* Insert a key into an ascending list of `count` keys; false: the list already has the key. */
static bool add_key(uint32_t *keys, size_t count, size_t key)
{
    size_t i = count;
    while (i > 0 && keys[i - 1] > key)
        i--;
    if (i > 0 && keys[i - 1] == key)
        return false;
    memmove(keys + i + 1, keys + i, (count - i) * sizeof *keys);
    keys[i] = (uint32_t)key;
    return true;
}

/* List random keys below `end`, and the query's own key, in ascending order, and return their
 * number. Floyd's algorithm draws a set of keys with one random number for each key, such that all
 * sets are equally likely. */
static size_t draw(const struct pattern *pattern, size_t query, size_t end, uint32_t *drawn)
{
    if (!pattern->random)
        return 0;
    size_t others = end - 1; /* number of keys other than the query's own */
    size_t count = num_min(pattern->random, others);
    uint64_t row = splitmix64(splitmix64(pattern->seed) + query);
    for (size_t i = 0; i < count; i++) {
        size_t last = others - count + i;
        size_t pick = (splitmix64(row + i) >> 32) * (last + 1) >> 32;
        if (!add_key(drawn, i, pick + (pick >= query)))
            add_key(drawn, i, last + (last >= query));
    }
    add_key(drawn, count, query);
    return count + 1;
}

/* The first key from `from` on that is in a query's window, or whose distance from the query is a
 * multiple of the stride; SIZE_MAX: there is none. */
static size_t next_near(size_t window, size_t stride, size_t query, size_t from)
{
    size_t next = SIZE_MAX;
    if (window && from < query + window)
        next = num_max(from, query < window ? 0 : query - window + 1);
    if (stride) {
        size_t beyond = (from + stride - query % stride) % stride;
        next = num_min(next, beyond ? from + stride - beyond : from);
    }
    return next;
}

/* The first key from `from` on whose distance from the query is 0 or a power of two. */
static size_t next_power(size_t query, size_t from)
{
    size_t distance = from < query ? query - from : from - query;
    size_t power = 1;
    while (power <= distance / 2)
        power *= 2;
    if (from <= query)
        return distance ? query - power : query;
    return query + (power < distance ? 2 * power : power);
}

/* The first key from `from` on that is in the pattern. `random`: the first of the random keys from
 * `from` on. */
static size_t next_key(const struct pattern *pattern, size_t query, size_t root, size_t from,
                       size_t random)
{
    size_t next = num_min(random, next_near(pattern->window, pattern->stride, query, from));
    if (from < pattern->global || query < pattern->global)
        return from;
    if (root)
        next = num_min(next, next_near(root, root, query, from));
    return pattern->log ? num_min(next, next_power(query, from)) : next;
}

size_t score_keys(const struct score_rule *rule, size_t query, size_t keys, uint32_t *list,
                  uint32_t *drawn)
{
    const struct pattern *pattern = rule->pattern;
    struct key_range visible = score_visible(rule, query, keys);
    size_t count = 0, next = 0;
    size_t root = pattern ? root_of(pattern, keys) : 0;
    size_t drawn_count = pattern ? draw(pattern, query, visible.end, drawn) : 0;
    for (size_t key = visible.first; key < visible.end; key++) {
        while (next < drawn_count && drawn[next] < key)
            next++;
        if (pattern)
            key =
                next_key(pattern, query, root, key, next < drawn_count ? drawn[next] : visible.end);
        if (key < visible.end)
            list[count++] = (uint32_t)key;
    }
    return count;
}
