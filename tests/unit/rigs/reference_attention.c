#include "reference_attention.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "asserts.h"
#include "model/score_rule.h"

enum { DRAWN_MAX = 600 };

/* --- visible keys ----------------------------------------------------------------------------- */

/* The random keys of a row. */
struct draw {
    uint32_t keys[DRAWN_MAX];
    size_t count;
};

/* The model's window of a decoder, in both directions without its mask; 0: there is none. */
static size_t window_of(const struct reference_row *row)
{
    bool decodes = row->causal || mechanism_lacks(&row->config->mechanism, BLOCK_MASK);
    return decodes ? config_window(row->config, row->layer) : 0;
}

static void draw(struct draw *drawn, const struct reference_row *row)
{
    const struct pattern *whole = &row->config->mechanism.pattern;
    const struct pattern alone = {.random = whole->random, .seed = whole->seed};
    uint32_t memory[DRAWN_MAX];
    size_t window = window_of(row);
    struct score_rule rule = {.back = SIZE_MAX,
                              .ahead = row->causal ? 0
                                       : window    ? window - 1
                                                   : SIZE_MAX,
                              .pattern = &alone};
    ck_assert_uint_lt(whole->random, DRAWN_MAX);
    drawn->count = score_keys(&rule, row->query, row->keys, drawn->keys, memory);
}

static bool is_drawn(const struct draw *drawn, size_t key)
{
    for (size_t i = 0; i < drawn->count; i++)
        if (drawn->keys[i] == key)
            return true;
    return false;
}

static bool sees(const struct reference_row *row, const struct draw *drawn, size_t key)
{
    const struct mechanism *m = &row->config->mechanism;
    const struct pattern *p = &m->pattern;
    size_t distance = key > row->query ? key - row->query : row->query - key;
    size_t window = window_of(row);
    if ((row->causal && key > row->query) || (window && distance >= window))
        return false;
    if (m->kind != ATTENTION_SPARSE || row->across)
        return true;
    return (p->window && distance < p->window) || (p->stride && distance % p->stride == 0) ||
           key < p->global || row->query < p->global || is_drawn(drawn, key);
}

/* --- one row ---------------------------------------------------------------------------------- */

static double phi(double x)
{
    return x > 0 ? x + 1 : exp(x);
}

static void score(const struct reference_row *row)
{
    bool linear = row->config->mechanism.kind == ATTENTION_LINEAR;
    size_t width = row->config->d_k;
    for (size_t key = 0; key < row->keys; key++) {
        const double *k = row->k + key * width;
        row->scores[key] = 0;
        for (size_t i = 0; i < width; i++)
            row->scores[key] += linear ? phi(row->q[i]) * phi(k[i]) : row->q[i] * k[i];
    }
}

static double scale_of(const struct reference_row *row)
{
    const struct config *c = row->config;
    const struct mechanism *m = &c->mechanism;
    double scale =
        c->scale_by_layer ? (double)c->scale / (double)(row->layer + 1) : (double)c->scale;
    if (m->scale_method == SCALE_SQRT)
        scale = 1 / sqrt((double)c->d_k);
    if (m->scale_method == SCALE_NUMBER)
        scale = (double)m->scale;
    return scale;
}

/* Round to eight bits, ties to even. */
static double rounded(double x)
{
    int exponent;
    double part = frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(part, 8)), exponent - 8);
}

/* The input of softmax, with score cap and ALiBi for at most 15 heads. */
static double bent(const struct reference_row *row, double score, size_t key)
{
    const struct config *c = row->config;
    const struct mechanism *m = &c->mechanism;
    double scale = scale_of(row);
    double cap = (double)c->score_cap;
    double temperature = m->temperature > 0 ? (double)m->temperature : 1;
    size_t power = c->n_head >= 8 ? 8 : c->n_head >= 4 ? 4 : c->n_head >= 2 ? 2 : 1;
    size_t head = row->head;
    double eighths = head < power ? (double)(head + 1) : (double)(head - power) + 0.5;
    double slope = pow(2, -8 * eighths / (double)power);
    double x = score * scale;
    if (cap > 0)
        x = cap * tanh(x / cap);
    if (c->score_bias == BIAS_ALIBI && !mechanism_lacks(m, BLOCK_POSITIONS))
        x += slope * (double)key;
    if (c->score_bias == BIAS_ALIBI_ROUNDED && !mechanism_lacks(m, BLOCK_POSITIONS))
        x += scale * rounded(rounded(slope) * (double)key);
    return x / temperature;
}

static void softmax(double *y, const double *x, size_t count)
{
    double max = -INFINITY;
    double total = 0;
    for (size_t i = 0; i < count; i++)
        max = fmax(max, x[i]);
    for (size_t i = 0; i < count; i++)
        total += exp(x[i] - max);
    for (size_t i = 0; i < count; i++)
        y[i] = exp(x[i] - max) / total;
}

/* y = x / Σ x. */
static void share(double *y, const double *x, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += x[i];
    for (size_t i = 0; i < count; i++)
        y[i] = x[i] / total;
}

void reference_attend(const struct reference_row *row)
{
    const struct mechanism *m = &row->config->mechanism;
    bool after = m->renormalise && row->causal;
    bool zeroed = m->kind == ATTENTION_LINEAR || after;
    struct draw drawn;
    draw(&drawn, row);
    score(row);
    for (size_t key = 0; key < row->keys; key++)
        row->masked[key] =
            m->kind == ATTENTION_LINEAR ? row->scores[key] : bent(row, row->scores[key], key);
    if (after) {
        softmax(row->softmax, row->masked, row->keys);
        for (size_t key = 0; key < row->keys; key++)
            row->masked[key] = row->softmax[key];
    }
    for (size_t key = 0; key < row->keys; key++)
        if (!sees(row, &drawn, key))
            row->masked[key] = zeroed ? 0 : -INFINITY;
    (zeroed ? share : softmax)(row->weights, row->masked, row->keys);
}
