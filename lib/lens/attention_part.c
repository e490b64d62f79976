#include "lens/attention_part.h"

const struct attention_part attention_parts[] = {
    [PART_SENTENCE] = {"self", "self-attention of the decoder"},
    [PART_SOURCE] = {"encoder", "self-attention of the encoder"},
    [PART_CROSS] = {"cross", "cross-attention"},
};

const size_t attention_part_count = sizeof attention_parts / sizeof *attention_parts;

enum site_part attention_part_first(const struct config *config)
{
    return config_is_cross(config) ? PART_CROSS : PART_SENTENCE;
}

bool attention_part_is_there(enum site_part part, const struct config *config)
{
    return config->n_encoder_layer || part == attention_part_first(config);
}

enum site_part attention_part_sites(enum site_part part, const struct config *config)
{
    return config->n_encoder_layer ? part : PART_SENTENCE;
}
