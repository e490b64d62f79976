#include "model/config_read.h"

#include <math.h>

static int read_size(struct config *config, const struct json *root, const struct size_row *row,
                     struct err *err)
{
    long long value = 0;
    if (row->alias && json_integer(root, row->alias, 1, row->max, &value, err))
        return -1;
    if (json_integer(root, row->key, 1, row->max, &value, err))
        return -1;
    if (value)
        *(size_t *)((char *)config + row->offset) = (size_t)value;
    return 0;
}

int config_read_sizes(struct config *config, const struct json *root, const struct size_row *rows,
                      size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (read_size(config, root, &rows[i], err))
            return -1;
    return 0;
}

int config_read_activation(struct config *config, const struct json *root, const char *name,
                           struct err *err)
{
    if (json_text(root, "activation_function", &name, err))
        return -1;
    if (!activation_find(name, &config->activation))
        return err_unsupported(err,
                               "field 'activation_function': expected gelu_new, "
                               "gelu_pytorch_tanh, gelu, relu, silu, tanh or quick_gelu, "
                               "found \"%s\"",
                               name);
    return 0;
}

int config_read_epsilon(struct config *config, const struct json *root, struct err *err)
{
    double epsilon = 1e-5;
    if (json_double(root, "layer_norm_epsilon", 0, 1, &epsilon, err))
        return -1;
    config->epsilon = (float)epsilon;
    return 0;
}

int config_read_token_id(long long *id, const struct json *root, const char *key, struct err *err)
{
    const struct json *value = json_member(root, key);
    if (value && json_is_null(value))
        *id = -1;
    return json_integer(root, key, 0, INT32_MAX, id, err);
}

int config_check_required(const struct config *config, struct err *err)
{
    if (config->vocab_size && config->n_embd)
        return 0;
    return err_set(err, "field '%s': expected a number, found nothing",
                   config->vocab_size ? "n_embd" : "vocab_size");
}

int config_check_heads(const struct config *config, struct err *err)
{
    if (config->n_embd % config->n_head)
        return err_set(err, "field 'n_embd': expected a multiple of n_head = %zu, found %zu",
                       config->n_head, config->n_embd);
    return 0;
}

void config_fill_sizes(struct config *config)
{
    if (!config->n_inner)
        config->n_inner = 4 * config->n_embd;
    config->n_kv_head = config->n_head;
    config->d_k = config->d_v = config->n_embd / config->n_head;
    config->scale = 1.0f / sqrtf((float)config->d_k);
}
