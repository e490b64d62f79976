#include <math.h>
#include <string.h>

#include "model/config_read.h"

static const struct size_row attention_sizes[] = {
    {"vocab_size", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(vocab_size)},
    {"n_embd", "hidden_size", CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_embd)},
    {"n_layer", "num_hidden_layers", CONFIG_LAYERS_MAX, CONFIG_SIZE(n_layer)},
    {"n_head", "num_attention_heads", CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_head)},
    {"n_kv_head", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(n_kv_head)},
    {"d_k", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(d_k)},
    {"d_v", NULL, CONFIG_DIMENSION_MAX, CONFIG_SIZE(d_v)},
};

/* All heads side by side are a dimension like any other. */
static int check_width(const struct config *config, const char *key, size_t size, struct err *err)
{
    size_t width = config->n_head * size;
    if (width > CONFIG_DIMENSION_MAX)
        return err_set(err, "field '%s': expected n_head · %s of at most %d, found %zu", key, key,
                       CONFIG_DIMENSION_MAX, width);
    return 0;
}

/* Fill in the sizes of heads that were not given, and refuse those that contradict. */
static int settle_heads(struct config *config, struct err *err)
{
    if (!config->n_kv_head)
        config->n_kv_head = config->n_head;
    if (config->n_head % config->n_kv_head)
        return err_set(err, "field 'n_head': expected a multiple of n_kv_head = %zu, found %zu",
                       config->n_kv_head, config->n_head);
    if ((!config->d_k || !config->d_v || !config->projections) && config_check_heads(config, err))
        return -1;
    size_t natural = config->n_embd / config->n_head;
    if (!config->d_k)
        config->d_k = natural;
    if (!config->d_v)
        config->d_v = natural;
    if (check_width(config, "d_k", config->d_k, err) ||
        check_width(config, "d_v", config->d_v, err))
        return -1;
    if (config->projections)
        return 0;
    if (config->d_k != natural || config->d_v != natural || config->n_kv_head != config->n_head)
        return err_set(err,
                       "field 'projections': false makes every head %zu wide (n_embd / n_head) "
                       "with keys of its own, found d_k = %zu, d_v = %zu, n_kv_head = %zu",
                       natural, config->d_k, config->d_v, config->n_kv_head);
    return 0;
}

static int read_attention_type(struct config *config, const struct json *root, struct err *err)
{
    const char *name = "self";
    if (json_text(root, "attention", &name, err))
        return -1;
    config->cross = strcmp(name, "cross") == 0;
    if (!config->cross && strcmp(name, "self") != 0)
        return err_unsupported(
            err, "field 'attention': expected \"self\" or \"cross\", found \"%s\"", name);
    if (config->cross && config->causal)
        return err_set(err,
                       "field 'causal': expected false where attention is \"cross\", found true");
    return 0;
}

/* Without an output projection a further layer must fit the width of the heads side by side. */
static int check_stack(const struct config *config, struct err *err)
{
    size_t width = config->n_head * config->d_v;
    if (config->n_layer > 1 && !config->out_proj && width != config->n_embd)
        return err_set(err,
                       "field 'n_layer': expected 1 where the heads side by side are not n_embd = "
                       "%zu wide (n_head · d_v = %zu), found %zu",
                       config->n_embd, width, config->n_layer);
    return 0;
}

int config_attention(struct config *config, const struct json *root, struct err *err)
{
    *config = (struct config){
        .kind = MODEL_ATTENTION,
        .n_layer = 1,
        .n_head = 1,
        .embedding_scale = 1,
        .projections = true,
        .bos_id = -1,
        .eos_id = -1,
    };
    size_t rows = sizeof attention_sizes / sizeof *attention_sizes;
    if (config_read_sizes(config, root, attention_sizes, rows, err) ||
        config_check_required(config, err) || json_bool(root, "causal", &config->causal, err) ||
        json_bool(root, "projections", &config->projections, err) ||
        json_bool(root, "out_proj", &config->out_proj, err) ||
        json_bool(root, "bias", &config->bias, err) || settle_heads(config, err) ||
        read_attention_type(config, root, err) || check_stack(config, err))
        return -1;
    double scale = 1.0 / sqrt((double)config->d_k);
    if (json_double(root, "scale", -1e6, 1e6, &scale, err))
        return -1;
    config->scale = (float)scale;
    return 0;
}
