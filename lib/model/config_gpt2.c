#include <stdint.h>

#include "model/config_read.h"

static const struct size_row gpt2_sizes[] = {
    {"vocab_size", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(vocab_size)},
    {"n_ctx", NULL, CONFIG_DIMENSION_MAX,
     CONFIG_SIZE(n_positions)}, /* older checkpoints; n_positions wins */
    {"n_positions", "max_position_embeddings", CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_positions)},
    {"n_embd", "hidden_size", CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_embd)},
    {"n_layer", "num_hidden_layers", CONFIG_LAYERS_MAX, CONFIG_SIZE(n_layer)},
    {"n_head", "num_attention_heads", CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_head)},
    {"n_inner", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_inner)},
};

int config_gpt2(struct config *config, const struct json *root, struct err *err)
{
    *config = (struct config){
        .kind = MODEL_GPT2,
        .vocab_size = 50257,
        .n_positions = 1024,
        .n_embd = 768,
        .n_layer = 12,
        .n_head = 12,
        .embedding_scale = 1,
        .norm_first = true,
        .final_norm = true,
        .tied = true,
        .causal = true,
        .projections = true,
        .out_proj = true,
        .bias = true,
        .initializer_range = 0.02,
        .bos_id = 50256,
        .eos_id = 50256,
    };
    bool scaled = true;
    bool cross = false;
    size_t rows = sizeof gpt2_sizes / sizeof *gpt2_sizes;
    if (config_read_sizes(config, root, gpt2_sizes, rows, err) ||
        config_read_activation(config, root, "gelu_new", err) || config_check_heads(config, err) ||
        config_read_epsilon(config, root, err) ||
        json_double(root, "initializer_range", 0, 1e3, &config->initializer_range, err) ||
        json_bool(root, "scale_attn_weights", &scaled, err) ||
        json_bool(root, "scale_attn_by_inverse_layer_idx", &config->scale_by_layer, err) ||
        json_bool(root, "tie_word_embeddings", &config->tied, err) ||
        json_bool(root, "add_cross_attention", &cross, err) ||
        config_read_token_id(&config->bos_id, root, "bos_token_id", err) ||
        config_read_token_id(&config->eos_id, root, "eos_token_id", err))
        return -1;
    if (cross)
        return err_unsupported(err, "field 'add_cross_attention': expected false, found true");
    config_fill_sizes(config);
    if (!scaled)
        config->scale = 1;
    return 0;
}
