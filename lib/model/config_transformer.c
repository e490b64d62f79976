/* config_transformer.c: model_type "transformer": the encoder and decoder of "Attention is all you
 * need", with the choices of torch.nn.Transformer: models/README.md lists the fields.
 */
#include <math.h>
#include <string.h>

#include "model/config_read.h"

static const struct size_row transformer_sizes[] = {
    {"vocab_size", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(vocab_size)},
    {"n_positions", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_positions)},
    {"n_embd", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_embd)},
    {"n_encoder_layer", NULL, CONFIG_LAYERS_MAX, CONFIG_SIZE(n_encoder_layer)},
    {"n_layer", NULL, CONFIG_LAYERS_MAX, CONFIG_SIZE(n_layer)},
    {"n_head", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_head)},
    {"n_inner", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_inner)},
};

static int read_positions(struct config *config, const struct json *root, struct err *err)
{
    const char *name = "sinusoidal";
    if (json_text(root, "positions", &name, err))
        return -1;
    config->sinusoids = strcmp(name, "sinusoidal") == 0;
    if (!config->sinusoids && strcmp(name, "learned") != 0)
        return err_unsupported(
            err, "field 'positions': expected \"sinusoidal\" or \"learned\", found \"%s\"", name);
    if (!config->sinusoids && !config->n_positions)
        return err_set(err, "field 'n_positions': expected a number where positions are "
                            "\"learned\", found nothing");
    return 0;
}

int config_transformer(struct config *config, const struct json *root, struct err *err)
{
    *config = (struct config){
        .kind = MODEL_TRANSFORMER,
        .n_layer = 1,
        .n_encoder_layer = 1,
        .n_head = 1,
        .final_norm = true,
        .tied = true,
        .causal = true,
        .cross = true,
        .projections = true,
        .out_proj = true,
        .bias = true,
        .bos_id = -1,
        .eos_id = -1,
    };
    bool scaled = true;
    size_t rows = sizeof transformer_sizes / sizeof *transformer_sizes;
    if (config_read_sizes(config, root, transformer_sizes, rows, err) ||
        config_check_required(config, err) || config_check_heads(config, err) ||
        config_read_activation(config, root, "relu", err) ||
        config_read_epsilon(config, root, err) || read_positions(config, root, err) ||
        json_bool(root, "scale_embedding", &scaled, err) ||
        json_bool(root, "norm_first", &config->norm_first, err) ||
        json_bool(root, "final_norm", &config->final_norm, err) ||
        json_bool(root, "bias", &config->bias, err) ||
        json_bool(root, "tie_word_embeddings", &config->tied, err) ||
        config_read_token_id(&config->bos_id, root, "bos_token_id", err) ||
        config_read_token_id(&config->eos_id, root, "eos_token_id", err))
        return -1;
    config_fill_sizes(config);
    config->embedding_scale = scaled ? sqrtf((float)config->n_embd) : 1.0f;
    return 0;
}
