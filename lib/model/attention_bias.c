/* attention_bias.c: what else than their scale makes scores what the softmax is taken of. */
#include <math.h>

#include "math/bf16.h"
#include "math/rows.h"
#include "model/attention_strip.h"

/* 2^(-8 (h + 1) / n) of the first n heads, a power of two; the others lie between these. */
float attention_slope(const struct config *c, size_t head)
{
    size_t power = 1;
    while (2 * power <= c->n_head)
        power *= 2;
    double step = -8.0 / (double)power;
    double exponent =
        head < power ? step * (double)(head + 1) : step / 2 * (double)(2 * (head - power) + 1);
    return (float)exp2(exponent);
}

static float rounded(float x)
{
    return bf16_value(bf16_round(x));
}

/* cap · tanh(scaled / cap), and what the distance adds. */
void attention_bend(const struct attention_head *head, float *row, size_t count)
{
    const struct attention_layer *layer = head->layer;
    bool falcon = layer->pass->config->alibi == ALIBI_FALCON;
    scale_row(row, row, count, layer->scale);
    if (layer->cap > 0)
        cap_row(row, count, layer->cap);
    for (size_t key = 0; head->slope > 0 && key < count; key++)
        row[key] += falcon ? layer->scale * rounded(rounded(head->slope) * (float)key)
                           : head->slope * (float)key;
}
