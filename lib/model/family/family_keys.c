/* family_keys.c: keys that several families have, under whichever of their names. */
#include <math.h>
#include <string.h>

#include "model/family/family.h"

#define SIZE(field) offsetof(struct config, field)

static const struct size_key {
    const char *names[FAMILY_NAMES_MAX];
    size_t offset;
} size_keys[] = {
    {{"vocab_size"}, SIZE(vocab_size)},
    {{"hidden_size", "n_embed", "n_embd", "d_model", "dim"}, SIZE(n_embd)},
    {{"num_hidden_layers", "n_layer", "num_layers", "n_layers"}, SIZE(n_layer)},
    {{"num_attention_heads", "n_head", "num_heads", "n_heads"}, SIZE(n_head)},
    {{"num_key_value_heads", "num_kv_heads"}, SIZE(n_kv_head)},
    {{"head_dim"}, SIZE(d_k)},
    {{"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}, SIZE(n_inner)},
    {{"max_position_embeddings", "n_positions"}, SIZE(n_positions)},
};

bool family_is_null(const struct reading *reading, const char *key)
{
    const struct json *member = json_member(reading->root, key);
    return member && json_is_null(member);
}

int family_size(struct reading *reading, const char *key, size_t *value)
{
    long long number = 0;
    if (json_integer(reading->root, key, 1, DIMENSION_MAX, &number, reading->err))
        return -1;
    if (number)
        *value = (size_t)number;
    return 0;
}

int family_flag(struct reading *reading, const char *key, bool *value)
{
    if (family_is_null(reading, key))
        *value = false;
    return json_bool(reading->root, key, value, reading->err);
}

int family_list(struct reading *reading, const char *key, const struct json **list)
{
    return json_list(reading->root, key, list, reading->err);
}

int family_expect(struct reading *reading, const char *key, bool value, bool otherwise)
{
    bool found = otherwise;
    if (family_flag(reading, key, &found))
        return -1;
    if (found == value)
        return 0;
    return err_unsupported(reading->err, "field '%s': expected %s, found %s", key,
                           value ? "true" : "false", found ? "true" : "false");
}

int family_positive(struct reading *reading, const char *key, double *value)
{
    if (json_double(reading->root, key, -1e9, 1e9, value, reading->err))
        return -1;
    if (*value > 0)
        return 0;
    return err_set(reading->err, "field '%s': expected a number above 0, found %g", key, *value);
}

int family_named(struct reading *reading, const char *const names[FAMILY_NAMES_MAX], double min,
                 double max, double *value)
{
    const char *first = NULL;
    for (size_t i = 0; i < FAMILY_NAMES_MAX && names[i]; i++) {
        double found = 0;
        if (!json_given(reading->root, names[i]))
            continue;
        if (json_double(reading->root, names[i], min, max, &found, reading->err))
            return -1;
        if (first && found != *value)
            return err_set(reading->err, "field '%s': expected the same as in '%s', %g, found %g",
                           names[i], first, *value, found);
        first = first ? first : names[i];
        *value = found;
    }
    return 0;
}

/* A size under all of its names, which must agree. */
static int read_size(struct reading *reading, const struct size_key *key)
{
    size_t *field = (size_t *)(void *)((char *)reading->config + key->offset);
    const char *first = NULL;
    for (size_t i = 0; i < FAMILY_NAMES_MAX && key->names[i]; i++) {
        size_t found = 0;
        if (family_size(reading, key->names[i], &found))
            return -1;
        if (found && first && found != *field)
            return err_set(reading->err, "field '%s': expected the same as in '%s', %zu, found %zu",
                           key->names[i], first, *field, found);
        if (found && !first)
            first = key->names[i];
        if (found)
            *field = found;
    }
    return 0;
}

static int read_epsilon(struct reading *reading)
{
    static const char *const of_roots[FAMILY_NAMES_MAX] = {"rms_norm_eps"};
    static const char *const names[FAMILY_NAMES_MAX] = {"layer_norm_eps", "layer_norm_epsilon",
                                                        "norm_epsilon"};
    double epsilon = (double)reading->config->epsilon;
    if (family_named(reading, reading->config->rms ? of_roots : names, 0, 1, &epsilon))
        return -1;
    reading->config->epsilon = (float)epsilon;
    return 0;
}

int family_activation(struct reading *reading, const char *key, const char *name)
{
    if (activation_find(name, &reading->config->activation))
        return 0;
    return err_unsupported(reading->err, "field '%s': expected %s, found \"%s\"", key,
                           activation_names, name);
}

static int read_activation(struct reading *reading, const struct family *family)
{
    const char *key = family->activation_key;
    const char *name = family->activation;
    if (key && json_text(reading->root, key, &name, reading->err))
        return -1;
    return family_activation(reading, key, name);
}

int family_check_undone(const struct json *object, struct err *err)
{
    static const char *const keys[] = {
        "text_config", "num_local_experts",   "num_experts",        "n_routed_experts",
        "clip_qkv",    "add_cross_attention", "is_encoder_decoder", "use_bidirectional_attention",
        "mscale",      "mscale_all_dim",      "short_mscale",       "long_mscale",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct json *member = json_given(object, keys[i]);
        double number = 1;
        bool flag = true;
        char found[64];
        if (!member || (json_get_bool(member, &flag) && !flag) ||
            (json_get_number(member, &number) && number == 0))
            continue;
        return err_unsupported(err, "field '%s': expected a model without it, found %s", keys[i],
                               json_describe(member, found, sizeof found));
    }
    return 0;
}

/* As transformers has it, and MLX. */
static int check_quantization(const struct json *root, struct err *err)
{
    static const char *const keys[] = {"quantization_config", "quantization"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_is_object(json_member(root, keys[i])))
            return err_unsupported(err,
                                   "field '%s': expected weights in F32, F16, BF16 or F64, found "
                                   "quantised ones: use the original model or a GGUF file of it",
                                   keys[i]);
    return 0;
}

/* --- layers ----------------------------------------------------------------------------------- */

void family_set_layers(struct config *config, enum layer_flag flag)
{
    for (size_t i = 0; i < config->n_layer && i < CONFIG_FLAGS_MAX; i++)
        config->layer_flags[i] |= (unsigned char)flag;
}

int family_window(struct reading *reading, const char *key)
{
    if (family_is_null(reading, key))
        reading->config->window = 0;
    return family_size(reading, key, &reading->config->window);
}

int family_layer_types(struct reading *reading, bool *given)
{
    struct config *c = reading->config;
    const struct json *list = json_given(reading->root, "layer_types");
    size_t layer = 0;
    *given = list != NULL;
    if (!*given)
        return 0;
    if (!json_is_array(list) || json_count(list) != c->n_layer)
        return err_set(reading->err, "field 'layer_types': expected a list of %zu layers",
                       c->n_layer);
    for (const struct json *item = json_first(list); item; item = json_next(item), layer++) {
        const char *text = "";
        json_get_text(item, &text);
        bool sliding = strcmp(text, "sliding_attention") == 0;
        if (!sliding && strcmp(text, "full_attention") != 0)
            return err_unsupported(reading->err,
                                   "field 'layer_types': expected full_attention or "
                                   "sliding_attention, found \"%s\"",
                                   text);
        if (sliding)
            c->layer_flags[layer] |= LAYER_WINDOW;
    }
    return 0;
}

static int check_sizes(struct reading *reading)
{
    struct config *c = reading->config;
    const char *missing = !c->vocab_size ? "vocab_size"
                          : !c->n_embd   ? "hidden_size"
                          : !c->n_layer  ? "num_hidden_layers"
                          : !c->n_head   ? "num_attention_heads"
                                         : NULL;
    if (missing)
        return err_set(reading->err, "field '%s': expected a number, found nothing", missing);
    if (c->n_layer > CONFIG_FLAGS_MAX)
        return err_set(reading->err, "field 'num_hidden_layers': expected at most %d, found %zu",
                       CONFIG_FLAGS_MAX, c->n_layer);
    if (!c->n_kv_head)
        c->n_kv_head = c->n_head;
    if (c->n_head % c->n_kv_head)
        return err_set(reading->err,
                       "field 'num_attention_heads': expected a multiple of num_key_value_heads = "
                       "%zu, found %zu",
                       c->n_kv_head, c->n_head);
    if (!c->d_k && c->n_embd % c->n_head)
        return err_set(reading->err,
                       "field 'hidden_size': expected a multiple of num_attention_heads = %zu, "
                       "found %zu",
                       c->n_head, c->n_embd);
    if (!c->d_k)
        c->d_k = c->n_embd / c->n_head;
    if (c->n_head * c->d_k > DIMENSION_MAX)
        return err_set(reading->err, "field 'head_dim': expected heads of at most %d channels",
                       DIMENSION_MAX);
    c->d_v = c->d_k;
    if (!c->n_inner)
        c->n_inner = 4 * c->n_embd;
    if (c->scale == 0)
        c->scale = 1.0f / sqrtf((float)c->d_k);
    return 0;
}

int family_read_ends(struct config *c, const struct json *root, struct err *err)
{
    static const char key[] = "eos_token_id";
    const struct json *list = json_member(root, key);
    size_t count = 0;
    char found[64];
    c->more_end_count = list ? 0 : c->more_end_count;
    if (!list || !json_is_array(list))
        return json_integer(root, key, 0, INT32_MAX, &c->eos_id, err);
    for (const struct json *item = json_first(list); item; item = json_next(item), count++) {
        long long *id = count ? &c->more_ends[count - 1] : &c->eos_id;
        c->more_end_count = count;
        if (count == CONFIG_ENDS_MAX || !json_get_integer(item, 0, INT32_MAX, id))
            return err_set(
                err, "field '%s': expected at most %d ids, found %s", key, CONFIG_ENDS_MAX,
                count == CONFIG_ENDS_MAX ? "more" : json_describe(item, found, sizeof found));
    }
    return 0;
}

int family_read(struct config *config, const struct family *family, const struct json *root,
                struct err *err)
{
    struct reading reading = {.config = config, .root = root, .err = err};
    *config = *family->defaults;
    if (check_quantization(root, err))
        return -1;
    config->family = family;
    if (config->kind != MODEL_DECODER)
        return family->settle(&reading); /* it reads all keys */
    if (family_check_undone(root, err))
        return -1;
    if (family_is_null(&reading, "num_key_value_heads"))
        config->n_kv_head = 0; /* as many as there are heads */
    if (family_is_null(&reading, "head_dim"))
        config->d_k = 0; /* hidden_size / num_attention_heads */
    for (size_t i = 0; i < sizeof size_keys / sizeof *size_keys; i++)
        if (read_size(&reading, &size_keys[i]))
            return -1;
    if (read_epsilon(&reading) || read_activation(&reading, family) || check_sizes(&reading) ||
        family_flag(&reading, "tie_word_embeddings", &config->tied) ||
        json_double(root, "initializer_range", 0, 1e3, &config->initializer_range, err) ||
        json_integer(root, "bos_token_id", 0, INT32_MAX, &config->bos_id, err) ||
        family_read_ends(config, root, err))
        return -1;
    if (family->theta > 0 && family_read_rotary(&reading, family->turning, family->theta))
        return -1;
    if (family->settle && family->settle(&reading))
        return -1;
    if (config->rotary.components && config->rotary.scaling == ROTARY_DYNAMIC)
        config->n_positions = 0; /* that is what it is for */
    return 0;
}
