/* family_house.c: the types whose files are laid out for this program: "gpt2", whose keys and
 * defaults are Hugging Face's, "attention" and "transformer". They read all of their keys
 * themselves. */
#include <math.h>
#include <string.h>

#include "model/family/family.h"

enum {
    GPT2 = 1 << MODEL_GPT2,
    ATTENTION = 1 << MODEL_ATTENTION,
    TRANSFORMER = 1 << MODEL_TRANSFORMER,
    ANY = GPT2 | ATTENTION | TRANSFORMER,
};

/* --- fields ---------------------------------------------------------------------------------- */

#define SIZE(field) offsetof(struct config, field)

/* A whole number of the config: its key, the key other checkpoints use, its range, its place, and
 * the kinds of models that have it. */
static const struct size_row {
    const char *key, *alias; /* which a "transformer" has not */
    long long max;
    size_t offset;
    int kinds;
} size_rows[] = {
    {"vocab_size", NULL, DIMENSION_MAX, SIZE(vocab_size), ANY},
    {"n_ctx", NULL, DIMENSION_MAX, SIZE(n_positions), GPT2}, /* older; n_positions wins */
    {"n_positions", "max_position_embeddings", DIMENSION_MAX, SIZE(n_positions),
     GPT2 | TRANSFORMER},
    {"n_embd", "hidden_size", DIMENSION_MAX, SIZE(n_embd), ANY},
    {"n_encoder_layer", NULL, LAYERS_MAX, SIZE(n_encoder_layer), TRANSFORMER},
    {"n_layer", "num_hidden_layers", LAYERS_MAX, SIZE(n_layer), ANY},
    {"n_head", "num_attention_heads", DIMENSION_MAX, SIZE(n_head), ANY},
    {"n_inner", NULL, DIMENSION_MAX, SIZE(n_inner), GPT2 | TRANSFORMER},
    {"n_kv_head", NULL, DIMENSION_MAX, SIZE(n_kv_head), ATTENTION},
    {"d_k", NULL, DIMENSION_MAX, SIZE(d_k), ATTENTION},
    {"d_v", NULL, DIMENSION_MAX, SIZE(d_v), ATTENTION},
    {"d_out", NULL, DIMENSION_MAX, SIZE(d_out), ATTENTION},
};

static int read_sizes(struct config *config, const struct json *root, struct err *err)
{
    for (size_t i = 0; i < sizeof size_rows / sizeof *size_rows; i++) {
        const struct size_row *row = &size_rows[i];
        const char *alias = config->kind == MODEL_TRANSFORMER ? NULL : row->alias;
        long long value = 0;
        if (!(row->kinds & 1 << config->kind))
            continue;
        if ((alias && json_integer(root, alias, 1, row->max, &value, err)) ||
            json_integer(root, row->key, 1, row->max, &value, err))
            return -1;
        if (value)
            *(size_t *)(void *)((char *)config + row->offset) = (size_t)value;
    }
    return 0;
}

/* `name` is the activation where none is given. */
static int read_activation(struct reading *reading, const char *name)
{
    static const char key[] = "activation_function";
    if (json_text(reading->root, key, &name, reading->err))
        return -1;
    return family_activation(reading, key, name);
}

static int read_epsilon(struct config *config, const struct json *root, struct err *err)
{
    double epsilon = 1e-5;
    if (json_double(root, "layer_norm_epsilon", 0, 1, &epsilon, err))
        return -1;
    config->epsilon = (float)epsilon;
    return 0;
}

/* A token that texts begin or end with; null: there is none. */
static int read_token_id(long long *id, const struct json *root, const char *key, struct err *err)
{
    if (json_is_null(json_member(root, key)))
        *id = -1;
    return json_integer(root, key, 0, INT32_MAX, id, err);
}

static int check_required(const struct config *config, struct err *err)
{
    if (config->vocab_size && config->n_embd)
        return 0;
    return err_set(err, "field '%s': expected a number, found nothing",
                   config->vocab_size ? "n_embd" : "vocab_size");
}

static int check_heads(const struct config *config, struct err *err)
{
    if (config->n_embd % config->n_head)
        return err_set(err, "field 'n_embd': expected a multiple of n_head = %zu, found %zu",
                       config->n_head, config->n_embd);
    return 0;
}

/* Heads that share the channels, each with keys of its own, and the usual scale; the MLP's width
 * where none is given. */
static void fill_sizes(struct config *config)
{
    if (!config->n_inner)
        config->n_inner = 4 * config->n_embd;
    config->n_kv_head = config->n_head;
    config->d_k = config->d_v = config->n_embd / config->n_head;
    config->scale = 1.0f / sqrtf((float)config->d_k);
}

/* --- "gpt2" ---------------------------------------------------------------------------------- */

int family_settle_gpt2(struct reading *reading)
{
    struct config *config = reading->config;
    const struct json *root = reading->root;
    struct err *err = reading->err;
    bool scaled = true;
    if (read_sizes(config, root, err) || read_activation(reading, "gelu_new") ||
        check_heads(config, err) || read_epsilon(config, root, err) ||
        json_double(root, "initializer_range", 0, 1e3, &config->initializer_range, err) ||
        family_flag(reading, "scale_attn_weights", &scaled) ||
        family_flag(reading, "scale_attn_by_inverse_layer_idx", &config->scale_by_layer) ||
        family_flag(reading, "tie_word_embeddings", &config->tied) ||
        read_token_id(&config->bos_id, root, "bos_token_id", err) ||
        read_token_id(&config->eos_id, root, "eos_token_id", err) ||
        family_expect(reading, "add_cross_attention", false, false))
        return -1;
    fill_sizes(config);
    if (!scaled)
        config->scale = 1;
    return 0;
}

/* --- "attention" ----------------------------------------------------------------------------- */

static int check_width(const struct config *config, const char *key, size_t size, struct err *err)
{
    size_t width = config->n_head * size;
    if (width > DIMENSION_MAX)
        return err_set(err, "field '%s': expected n_head · %s of at most %d, found %zu", key, key,
                       DIMENSION_MAX, width);
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
    if ((!config->d_k || !config->d_v || !config->projections) && check_heads(config, err))
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

/* true: of all four projections; "out": of the output projection, as torch's qkv_bias=False. */
static int read_biases(struct config *config, const struct json *root, struct err *err)
{
    const struct json *member = json_given(root, "bias");
    const char *word = "";
    bool all = false;
    if (!member || json_get_bool(member, &all))
        config->biases = all ? BIAS_QKV | BIAS_OUT : 0;
    else if (json_get_text(member, &word) && strcmp(word, "out") == 0 && config->out_proj)
        config->biases = BIAS_OUT;
    else
        return json_refuse(member, config->out_proj ? "true, false or \"out\"" : "true or false",
                           err);
    return 0;
}

/* Fill in the width of the output, which is the next layer's input. */
static int settle_output(struct config *config, struct err *err)
{
    if (config->d_out && !config->out_proj)
        return err_set(err, "field 'd_out': expected out_proj = true, found false");
    if (!config->d_out)
        config->d_out = config->n_embd;
    if (config->n_layer > 1 && config->d_out != config->n_embd)
        return err_set(err, "field 'd_out': expected n_embd = %zu with n_layer > 1, found %zu",
                       config->n_embd, config->d_out);
    size_t width = config_out_width(config);
    if (config->n_layer > 1 && width != config->n_embd)
        return err_set(err,
                       "field 'n_layer': expected 1 where the heads side by side are not n_embd = "
                       "%zu wide (n_head · d_v = %zu), found %zu",
                       config->n_embd, width, config->n_layer);
    return 0;
}

int family_settle_attention(struct reading *reading)
{
    struct config *config = reading->config;
    const struct json *root = reading->root;
    struct err *err = reading->err;
    if (read_sizes(config, root, err) || check_required(config, err) ||
        family_flag(reading, "causal", &config->causal) ||
        family_flag(reading, "projections", &config->projections) ||
        family_flag(reading, "out_proj", &config->out_proj) || read_biases(config, root, err) ||
        settle_heads(config, err) || read_attention_type(config, root, err) ||
        settle_output(config, err))
        return -1;
    double scale = 1.0 / sqrt((double)config->d_k);
    if (json_double(root, "scale", -1e6, 1e6, &scale, err))
        return -1;
    config->scale = (float)scale;
    return 0;
}

/* --- "transformer", with the choices of torch.nn.Transformer --------------------------------- */

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

int family_settle_transformer(struct reading *reading)
{
    struct config *config = reading->config;
    const struct json *root = reading->root;
    struct err *err = reading->err;
    bool scaled = true;
    bool first = false;
    bool bias = true;
    if (read_sizes(config, root, err) || check_required(config, err) || check_heads(config, err) ||
        read_activation(reading, "relu") || read_epsilon(config, root, err) ||
        read_positions(config, root, err) || family_flag(reading, "scale_embedding", &scaled) ||
        family_flag(reading, "norm_first", &first) ||
        family_flag(reading, "final_norm", &config->final_norm) ||
        family_flag(reading, "bias", &bias) ||
        family_flag(reading, "tie_word_embeddings", &config->tied) ||
        read_token_id(&config->bos_id, root, "bos_token_id", err) ||
        read_token_id(&config->eos_id, root, "eos_token_id", err))
        return -1;
    fill_sizes(config);
    config->style = first ? STYLE_PRE : STYLE_POST;
    config->biases = bias ? BIAS_ALL : BIAS_MLP;
    config->embedding_scale = scaled ? sqrtf((float)config->n_embd) : 1.0f;
    return 0;
}
