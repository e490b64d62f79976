/* attention_bias.c: what else than the mask and their scale makes scores what the softmax is taken
 * of. */
#include <math.h>

#include "math/precision.h"
#include "math/rows.h"
#include "model/attention_strip.h"

size_t attention_first(const struct attention_head *head, size_t query)
{
    size_t window = head->layer->window;
    size_t visible = strip_visible(head, query);
    return window && visible > window ? visible - window : 0;
}

/* 2^(-8 (h + 1) / n) of the first n heads, a power of two; the others lie between these. */
float attention_slope(const struct config *c, size_t head)
{
    size_t power = 1;
    if (!c->alibi || mechanism_lacks(&c->mechanism, PART_POSITIONS))
        return 0;
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

/* scale · scores, or (cap · tanh(scale · scores / cap) + what the distance adds) / temperature. */
void attention_scale(const struct attention_head *head, float *scores, struct key_range keys)
{
    const struct attention_layer *layer = head->layer;
    const struct config *c = layer->pass->config;
    bool falcon = c->alibi == ALIBI_FALCON;
    size_t count = keys.end - keys.first;
    scale_row(scores, scores, count, layer->scale);
    if (!layer->bends)
        return;
    if (layer->cap > 0)
        cap_row(scores, count, layer->cap);
    for (size_t i = 0; head->slope > 0 && i < count; i++) {
        float key = (float)(keys.first + i);
        scores[i] +=
            falcon ? layer->scale * rounded(rounded(head->slope) * key) : head->slope * key;
    }
    if (c->mechanism.temperature > 0)
        scale_row(scores, scores, count, 1.0f / c->mechanism.temperature);
}

struct key_range attention_seen(const struct attention_head *head, size_t query)
{
    return (struct key_range){attention_first(head, query), strip_visible(head, query)};
}
