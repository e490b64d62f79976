/* bent_config.h: adds windows, score caps or ALiBi, which some families have, to any causal config.
 *
 *     for (size_t way = 0; way < BENT_WAYS; way++)
 *         bend_config(&model.config, way);
 */
#pragma once

#include "model/config.h"

enum { BENT_WAYS = 6, BENT_WINDOWS = 2 }; /* the first ways have only windows */

static inline void bend_config(struct config *config, size_t way)
{
    static const struct {
        size_t window;
        unsigned char layers[3];
        float cap;
        enum score_bias bias;
    } ways[BENT_WAYS] = {
        {9, {LAYER_WINDOW, 0, LAYER_WINDOW}, 0, NO_BIAS},
        {70, {0, LAYER_WINDOW, LAYER_WINDOW}, 0, NO_BIAS},
        {0, {0}, 0.4f, NO_BIAS},
        {0, {0}, 0, BIAS_ALIBI},
        {0, {0}, 0, BIAS_ALIBI_ROUNDED},
        {33, {LAYER_WINDOW, 0, LAYER_WINDOW}, 0.7f, BIAS_ALIBI},
    };
    config->window = ways[way].window;
    config->score_cap = ways[way].cap;
    config->score_bias = ways[way].bias;
    for (size_t layer = 0; layer < 3; layer++)
        config->layer_flags[layer] = ways[way].layers[layer];
}
