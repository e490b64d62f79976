/* family_keys.c: reads the keys of config.json that several families have, under any of their
 * names. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "model/family/family.h"

/* --- values ----------------------------------------------------------------------------------- */

struct err *family_fail(struct reading *r)
{
    struct err *err = r->failed ? NULL : r->err;
    r->failed = true;
    return err;
}

bool family_is_null(const struct reading *r, const char *key)
{
    const struct json *member = json_member(r->root, key);
    return member && json_is_null(member);
}

/* --- keys that are absent, and tried with other values ---------------------------------------- */

int family_trial_begin(struct family_trial *trial, size_t layers, struct err *err)
{
    static const char *const items[] = {"\"full_attention\"", "\"linear_attention\"", "\"sparse\"",
                                        "\"dense\""};
    enum { KINDS = sizeof items / sizeof *items, FROM_0 = KINDS, FROM_1, TERMS, CODE };
    int failed = 0;
    *trial = (struct family_trial){.key = SIZE_MAX};
    for (size_t form = 0; form < FAMILY_VALUES && !failed; form++) {
        struct buf text = {0};
        buf_text(&text, form == CODE ? "{\"\": \"qk-post-norm\"}" : "[");
        if (form == TERMS)
            buf_text(&text, "\"c2p\", \"p2c\"");
        for (size_t i = 0; i < layers && form <= FROM_1; i++)
            if (form < KINDS)
                buf_format(&text, "%s%s", i ? "," : "", items[form]);
            else
                buf_format(&text, "%s%zu", i ? "," : "", i + (form == FROM_1));
        buf_text(&text, form == CODE ? "" : "]");
        failed =
            buf_check(&text, err) || json_parse(&trial->lists[form], text.bytes, text.size, err);
        buf_release(&text);
    }
    return err_if(failed);
}

void family_trial_end(struct family_trial *trial)
{
    for (size_t i = 0; i < FAMILY_VALUES; i++)
        json_free(trial->lists[i]);
}

/* Add an absent key with all its names to the list of the trial, if it is not there yet. True: this
 * key is on trial, so its value must not be the default. */
static bool is_tried(struct reading *r, const char *const names[FAMILY_NAMES_MAX])
{
    struct family_trial *trial = r->trial;
    size_t i = 0;
    if (!trial || r->failed)
        return false;
    while (i < trial->count && strcmp(trial->absent[i][0], names[0]) != 0)
        i++;
    if (i == trial->count && i < FAMILY_ABSENT_MAX)
        memcpy(trial->absent[trial->count++], names, sizeof trial->absent[0]);
    return i == trial->key;
}

static bool is_tried_alone(struct reading *r, const char *key)
{
    const char *const names[FAMILY_NAMES_MAX] = {key};
    return r->trial && !json_member(r->root, key) && is_tried(r, names);
}

/* The number that a trial gives to a key whose default is `otherwise`; the default itself if the
 * number is not in [min, max]. */
static long long another(const struct reading *r, long long min, long long max, long long otherwise)
{
    const long long numbers[FAMILY_VALUES] = {2 * otherwise, otherwise + 1, 1, 2, 3, 4, 0};
    long long number = numbers[r->trial->value];
    return number >= min && number <= max ? number : otherwise;
}

/* --- values ----------------------------------------------------------------------------------- */

bool family_flag(struct reading *r, const char *key, bool otherwise)
{
    bool value = otherwise && !family_is_null(r, key);
    if (is_tried_alone(r, key))
        return !otherwise;
    r->failed = r->failed || json_bool(r->root, key, &value, r->err);
    return value;
}

long long family_integer(struct reading *r, const char *key, long long min, long long max,
                         long long otherwise)
{
    if (is_tried_alone(r, key))
        return another(r, min, max, otherwise);
    r->failed = r->failed || json_integer(r->root, key, min, max, &otherwise, r->err);
    return otherwise;
}

size_t family_size(struct reading *r, const char *key, size_t otherwise)
{
    return (size_t)family_integer(r, key, 1, DIMENSION_MAX, (long long)otherwise);
}

size_t family_layers(struct reading *r, const char *key, size_t otherwise)
{
    return (size_t)family_integer(r, key, 1, CONFIG_FLAGS_MAX, (long long)otherwise);
}

double family_number(struct reading *r, const char *key, double min, double max, double otherwise)
{
    r->failed = r->failed || json_double(r->root, key, min, max, &otherwise, r->err);
    return otherwise;
}

double family_positive(struct reading *r, const char *key, double otherwise)
{
    double value = family_number(r, key, -1e9, 1e9, otherwise);
    if (!(value > 0))
        err_set(family_fail(r), "field '%s': expected a number above 0, found %g", key, value);
    return value > 0 ? value : 1;
}

const char *family_text(struct reading *r, const char *key, const char *otherwise)
{
    static const char *const words[FAMILY_VALUES] = {"rotary",     "alibi", "layer_norm",
                                                     "gated-gelu", "relu",  "*-EM"};
    if (is_tried_alone(r, key) && words[r->trial->value])
        return words[r->trial->value];
    r->failed = r->failed || json_text(r->root, key, &otherwise, r->err);
    return otherwise;
}

const struct json *family_list(struct reading *r, const char *key)
{
    const struct json *list = NULL;
    if (is_tried_alone(r, key))
        return r->trial->lists[r->trial->value];
    r->failed = r->failed || json_list(r->root, key, &list, r->err);
    return list;
}

const struct json *family_object(struct reading *r, const char *key)
{
    const struct json *object = NULL;
    r->failed = r->failed || json_object(r->root, key, &object, r->err);
    return r->failed ? NULL : object;
}

const struct json *family_given(struct reading *r, const char *key)
{
    return is_tried_alone(r, key) ? r->trial->lists[r->trial->value] : json_given(r->root, key);
}

const struct json *family_enter(struct reading *r, const char *key)
{
    const struct json *root = r->root, *own = family_object(r, key);
    r->root = own ? own : root;
    return root;
}

double family_named(struct reading *r, const char *const names[FAMILY_NAMES_MAX], double min,
                    double max, double otherwise)
{
    const char *first = NULL;
    double value = otherwise;
    bool whole = min == 1 && max == DIMENSION_MAX;
    for (size_t i = 0; i < FAMILY_NAMES_MAX && names[i]; i++) {
        if (!json_given(r->root, names[i]))
            continue;
        double found =
            whole ? (double)family_size(r, names[i], 0) : family_number(r, names[i], min, max, 0);
        if (first && found != value)
            err_set(family_fail(r), "field '%s': expected the same as in '%s', %.10g, found %.10g",
                    names[i], first, value, found);
        first = first ? first : names[i];
        value = found;
    }
    if (!first && *names && is_tried(r, names) && whole)
        value = (double)another(r, 1, DIMENSION_MAX, (long long)otherwise);
    return value;
}

/* --- keys that many families have ------------------------------------------------------------- */

void family_expect(struct reading *r, const char *key, bool value, bool otherwise)
{
    bool found = family_flag(r, key, otherwise);
    if (found != value)
        err_unsupported(family_fail(r), "field '%s': expected %s, found %s", key,
                        value ? "true" : "false", found ? "true" : "false");
}

void family_bias(struct reading *r, const char *key, unsigned biases)
{
    struct config *c = r->config;
    bool has = family_flag(r, key, (c->biases & biases) == biases);
    c->biases = has ? c->biases | biases : c->biases & ~biases;
}

void family_activation(struct reading *r, const char *key, const char *name)
{
    const char *usual = r->config->family->activation;
    r->config->xielu = usual && strcmp(usual, "xielu") == 0 && strcmp(name, usual) == 0;
    if (!r->config->xielu && !activation_find(name, &r->config->activation))
        err_unsupported(family_fail(r), "field '%s': expected %s, found \"%s\"", key,
                        activation_names, name);
}

/* Refuse an object of config.json with keys for features that the family does not support, unless
 * their value is false, 0 or null. */
static void check_undone(struct reading *r, const struct json *object)
{
    static const char *const keys[] = {
        "text_config",  "num_local_experts",   "num_experts",        "n_routed_experts",
        "clip_qkv",     "add_cross_attention", "is_encoder_decoder", "use_bidirectional_attention",
        "short_mscale", "long_mscale",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct json *member = json_given(object, keys[i]);
        double number = 1;
        bool flag = true;
        char found[64];
        bool counts_experts = r->config->mixture.experts && strstr(keys[i], "_experts");
        if (!member || counts_experts || name_is_among(r->config->family->reads, keys[i]) ||
            (json_get_bool(member, &flag) && !flag) ||
            (json_get_number(member, &number) && number == 0))
            continue;
        err_unsupported(family_fail(r), "field '%s': expected a model without it, found %s",
                        keys[i], json_describe(member, found, sizeof found));
    }
}

float family_limit(struct reading *r, const char *key, float otherwise)
{
    const struct json *member = json_member(r->root, key);
    bool none = member ? json_is_null(member) : otherwise <= 0;
    return none ? 0 : (float)family_positive(r, key, (double)otherwise);
}

void family_window(struct reading *r, const char *key)
{
    size_t *window = &r->config->window;
    *window = family_is_null(r, key) ? 0 : family_size(r, key, *window);
}

bool family_layer_types(struct reading *r)
{
    struct config *c = r->config;
    const struct json *list = family_given(r, "layer_types");
    size_t layer = 0;
    if (!list)
        return false;
    if (!json_is_array(list) || json_count(list) != c->n_layer)
        err_set(family_fail(r),
                "field 'layer_types': expected a list of num_hidden_layers = %zu layers",
                c->n_layer);
    for (const struct json *item = json_first(list); item && !r->failed;
         item = json_next(item), layer++) {
        const char *text = "";
        json_get_text(item, &text);
        bool sliding = strcmp(text, "sliding_attention") == 0;
        if (!sliding && strcmp(text, "full_attention") != 0)
            err_unsupported(family_fail(r),
                            "field 'layer_types': expected full_attention or sliding_attention, "
                            "found \"%s\"",
                            text);
        if (sliding)
            c->layer_flags[layer] |= LAYER_WINDOW;
    }
    return true;
}

/* --- rotary embeddings ------------------------------------------------------------------------ */

static const struct scaling_row {
    const char *name;
    enum rotary_scaling scaling;
} scaling_rows[] = {
    {"default", ROTARY_PLAIN}, {"linear", ROTARY_LINEAR}, {"dynamic", ROTARY_DYNAMIC},
    {"llama3", ROTARY_LLAMA3}, {"yarn", ROTARY_YARN},     {"longrope", ROTARY_LONGROPE},
    {"su", ROTARY_LONGROPE},
};

static void find_scaling(struct reading *r, struct rotary *rotary)
{
    const char *kind = family_text(r, "rope_type", family_text(r, "type", "default"));
    size_t row = 0;
    if (names_find(&row, NAMES(scaling_rows, sizeof scaling_rows / sizeof *scaling_rows), kind,
                   strlen(kind)))
        rotary->scaling = scaling_rows[row].scaling;
    else
        err_unsupported(family_fail(r),
                        "field 'rope_type': expected default, linear, dynamic, llama3, yarn or "
                        "longrope, found \"%s\"",
                        kind);
}

static void read_factors(struct reading *r, float *factors, const char *key, size_t count)
{
    const struct json *list = json_member(r->root, key);
    const struct json *item = json_first(list);
    if (!list || !json_is_array(list) || json_count(list) != count)
        err_set(family_fail(r),
                "field '%s': expected %zu numbers, one per pair of channels, found %zu", key, count,
                list ? json_count(list) : 0);
    for (size_t i = 0; i < count && !r->failed; i++, item = json_next(item)) {
        double factor = 0;
        if (!json_get_number(item, &factor) || !((float)factor > 0) || !(factor < 1e9))
            err_set(family_fail(r), "field '%s': expected numbers above 0", key);
        factors[i] = (float)factor;
    }
}

/* Refuse a rotary scaling whose numbers are missing or out of range for its kind. */
static void check_scaling(struct reading *r, const struct rotary *rotary)
{
    if (rotary->scaling == ROTARY_PLAIN)
        return;
    if (!(rotary->factor >= 1))
        err_set(family_fail(r),
                "field 'factor': expected a number of at least 1 in 'rope_scaling', "
                "found %s",
                rotary->factor > 0 ? "less" : "nothing");
    if (rotary->scaling == ROTARY_YARN && !(rotary->fast > 0 && rotary->slow > 0))
        err_set(family_fail(r),
                "field 'beta_%s': expected a number above 0 in 'rope_scaling', found 0",
                rotary->fast > 0 ? "slow" : "fast");
    if (rotary->scaling == ROTARY_YARN && !(rotary->theta > 1))
        err_set(family_fail(r), "field 'rope_theta': expected a number above 1 with yarn, found 1");
    if (rotary->scaling == ROTARY_LLAMA3 && !(rotary->high_frequency > rotary->low_frequency))
        err_set(family_fail(r), "field 'high_freq_factor': expected more than low_freq_factor");
}

/* Set the numbers of a rotary scaling to their defaults, before an object such as "rope_scaling" is
 * read. */
static void begin_scaling(struct reading *r, struct rotary *rotary)
{
    rotary->positions = rotary->trained_positions = (double)r->config->n_positions;
    rotary->fast = 32;
    rotary->slow = rotary->low_frequency = 1;
    rotary->high_frequency = 4;
}

/* Read an object of rotary scaling. If it is NULL the rotary embedding does not change. */
static void read_scaling(struct reading *r, const struct json *scaling, struct rotary *rotary)
{
    const struct json *root = r->root;
    size_t pairs = rotary->components / 2;
    if (!scaling)
        return;
    r->root = scaling;
    find_scaling(r, rotary);
    check_undone(r, scaling);
    rotary->theta = family_number(r, "rope_theta", 1, 1e12, rotary->theta);
    double alpha = family_number(r, "alpha", 0, 1e9, 0); /* with dynamic scaling, alpha changes θ
                                                          * for texts of every length */
    if (rotary->scaling == ROTARY_DYNAMIC && alpha > 0 && rotary->components > 2) {
        double d = (double)rotary->components;
        rotary->theta *= pow(alpha, d / (d - 2));
        rotary->scaling = ROTARY_PLAIN;
    }
    rotary->factor = family_number(r, "factor", 0, 1e6, rotary->factor);
    rotary->low_frequency = family_number(r, "low_freq_factor", 0, 1e6, rotary->low_frequency);
    rotary->high_frequency = family_number(r, "high_freq_factor", 0, 1e6, rotary->high_frequency);
    rotary->fast = family_number(r, "beta_fast", 0, 1e6, rotary->fast);
    rotary->slow = family_number(r, "beta_slow", 0, 1e6, rotary->slow);
    rotary->amplitude = family_number(r, "attention_factor", 0, 1e6, rotary->amplitude);
    if (rotary->scaling == ROTARY_LONGROPE) {
        rotary->amplitude = family_number(r, "short_mscale", 0, 1e6, rotary->amplitude);
        rotary->long_amplitude = family_number(r, "long_mscale", 0, 1e6, 0);
    }
    double mscale = family_number(r, "mscale", 0, 1e6, 0);
    double of_all = family_number(r, "mscale_all_dim", 0, 1e6, 0);
    if (mscale > 0 && of_all > 0 && rotary->amplitude == 0 && rotary->factor > 1)
        rotary->amplitude =
            (0.1 * mscale * log(rotary->factor) + 1) / (0.1 * of_all * log(rotary->factor) + 1);
    rotary->exact = !family_flag(r, "truncate", true);
    if (name_is_among(r->config->family->reads, "llama_4_scaling_beta"))
        rotary->growth = family_number(r, "llama_4_scaling_beta", 0, 1e6, 0);
    long long trained = family_integer(r, "original_max_position_embeddings", 1, DIMENSION_MAX, 0);
    r->root = root;
    if (rotary->scaling >= ROTARY_LLAMA3) /* original_max_position_embeddings at the top level of
                                           * config.json has precedence over the one in the scaling
                                           * object */
        trained = family_integer(r, "original_max_position_embeddings", 1, DIMENSION_MAX,
                                 trained ? trained : r->config->family->trained_positions);
    r->root = scaling;
    if (trained)
        rotary->trained_positions = (double)trained;
    if (rotary->scaling != ROTARY_LONGROPE) {
        check_scaling(r, rotary);
    } else if (pairs > ROTARY_PAIRS_MAX) {
        err_unsupported(family_fail(r),
                        "field 'rope_type': expected at most %d rotary channels with longrope, "
                        "found %zu",
                        2 * ROTARY_PAIRS_MAX, rotary->components);
    } else {
        read_factors(r, rotary->short_factors, "short_factor", pairs);
        read_factors(r, rotary->long_factors, "long_factor", pairs);
    }
    r->root = root;
}

/* The object that is the value of a key of the rotary embedding; NULL: the key is absent, the
 * object is empty, or the family ignores the key. */
static const struct json *rotary_object(struct reading *r, const char *key)
{
    const struct json *object = r->config->family->fixed_rotary ? NULL : family_object(r, key);
    return json_first(object) ? object : NULL;
}

/* The object for one kind of layers, such as "full_attention", inside the object `parameters`;
 * NULL: there is none. */
static const struct json *rotary_part(struct reading *r, const struct json *parameters,
                                      const char *kind)
{
    const struct json *part = NULL;
    r->failed = r->failed || json_object(parameters, kind, &part, r->err);
    return r->failed ? NULL : part;
}

void family_read_rotary(struct reading *r, double turning, double theta)
{
    static const char share_name[] = "partial_rotary_factor";
    struct config *c = r->config;
    const struct family *family = c->family;
    const char *const thetas[FAMILY_NAMES_MAX] = {family->fixed_rotary ? NULL : "rope_theta",
                                                  family->theta_key};
    const bool shares = turning < 1 || name_is_among(family->reads, share_name);
    const char *outer = shares && !family->nested_share ? share_name : NULL;
    const char *const names[FAMILY_NAMES_MAX] = {GGUF_SHARE, outer ? outer : family->share_key,
                                                 outer ? family->share_key : NULL};
    const struct json *scaling = rotary_object(r, "rope_scaling");
    const struct json *parameters = rotary_object(r, "rope_parameters");
    const struct json *full = rotary_part(r, parameters, "full_attention");
    c->rotary.theta = family_named(r, thetas, 1, 1e12, theta);
    turning = family_named(r, names, 0, 1, turning);
    /* as in transformers 5, "rope_scaling" replaces "rope_parameters", except for an object
     * "full_attention" in the latter, which is for layers without a window: it is read first, and
     * "rope_scaling" after it. */
    const struct json *own = full ? full : scaling ? NULL : parameters;
    if (!r->failed && shares)
        r->failed = json_double(own, share_name, 0, 1, &turning, r->err) ||
                    json_double(scaling, share_name, 0, 1, &turning, r->err);
    size_t *components = &c->rotary.components;
    /* The number of rotated channels is the value of the key width_key, by default *components. If
     * the family has no such key, if it is null, or if it is absent and *components is 0, the
     * number follows from the share of rotated channels. */
    const char *width_key = family->width_key;
    bool by_width = width_key && !family_is_null(r, width_key) &&
                    (*components || json_given(r->root, width_key));
    *components =
        by_width ? family_size(r, width_key, *components) : (size_t)((double)c->d_k * turning);
    c->rotary.odd = family->rounds_share && *components % 2;
    *components += c->rotary.odd;
    bool fits = *components % 2 == 0 && *components <= c->d_k;
    if (!fits && !by_width && turning < 1)
        err_set(family_fail(r),
                "field '%s': expected an even number of rotary channels of 'head_dim' = %zu, found "
                "%zu",
                family->share_key ? family->share_key : share_name, c->d_k, *components);
    if (!fits)
        err_set(family_fail(r),
                "field '%s': expected an even number of rotary channels, at most %zu, found %zu",
                by_width ? width_key : "head_dim", c->d_k, *components);
    begin_scaling(r, &c->rotary);
    read_scaling(r, own, &c->rotary);
    read_scaling(r, scaling, &c->rotary);
}

void family_flag_layers(struct config *c, bool with_window, unsigned short flag)
{
    for (size_t i = 0; i < c->n_layer; i++)
        if (with_window == ((c->layer_flags[i] & LAYER_WINDOW) != 0))
            c->layer_flags[i] |= flag;
}

void family_local_rotary(struct reading *r, const char *theta_key, double otherwise, bool scaled)
{
    struct config *c = r->config;
    const struct json *parameters = rotary_object(r, "rope_parameters");
    struct rotary local = {.components = c->rotary.components,
                           .theta = family_positive(r, theta_key, otherwise)};
    begin_scaling(r, &local);
    read_scaling(r, rotary_part(r, parameters, "sliding_attention"), &local);
    read_scaling(r, scaled ? rotary_object(r, "rope_scaling") : NULL, &local);
    if (c->rotary.scaling == ROTARY_PLAIN && local.scaling == ROTARY_PLAIN &&
        local.theta == c->rotary.theta)
        return;
    c->rotary_local = local;
    family_flag_layers(c, true, LAYER_ROTARY_LOCAL);
}

void family_kind_rotary(struct reading *r, struct rotary *rotary, const char *kind, size_t width,
                        double theta, double share)
{
    const struct json *root = r->root;
    const struct json *parameters = rotary_object(r, "rope_parameters");
    const struct json *own = rotary_part(r, parameters, kind);
    const char *scaling = share < 1 ? "proportional" : "default";
    *rotary = (struct rotary){.components = width, .theta = theta, .factor = 1};
    begin_scaling(r, rotary);
    rotary->scaling = share < 1 ? ROTARY_PROPORTIONAL : ROTARY_PLAIN;
    if (own) {
        r->root = own;
        const char *name = family_text(r, "rope_type", "default");
        if (strcmp(name, scaling) != 0)
            err_unsupported(family_fail(r), "field 'rope_type': expected %s for %s, found \"%s\"",
                            scaling, kind, name);
        rotary->theta = family_number(r, "rope_theta", 1, 1e12, theta);
        share = family_number(r, "partial_rotary_factor", 0, 1, 1);
        r->root = root;
    } else if (parameters) {
        err_set(family_fail(r), "field 'rope_parameters': expected an object '%s'", kind);
    }
    rotary->turning = (size_t)(share * (double)width / 2);
    if (width % 2)
        err_set(family_fail(r), "field 'head_dim': expected even sizes of heads, found %zu", width);
}

/* --- configs ---------------------------------------------------------------------------------- */

#define SIZE(field) offsetof(struct config, field)

static const struct size_key {
    const char *names[FAMILY_NAMES_MAX];
    size_t offset;
} size_keys[] = {
    {{"vocab_size"}, SIZE(vocab_size)},
    {{"hidden_size", "n_embed", "n_embd", "d_model", "dim"}, SIZE(n_embd)},
    {{"num_hidden_layers", "n_layer", "num_layers", "n_layers"}, SIZE(n_layer)},
    {{"num_attention_heads", "n_head", "num_heads", "n_heads", "attention_heads"}, SIZE(n_head)},
    {{"num_key_value_heads", "num_kv_heads"}, SIZE(n_kv_head)},
    {{"head_dim"}, SIZE(d_k)},
    {{"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}, SIZE(n_inner)},
    {{"max_position_embeddings", "n_positions", "max_seq_len"}, SIZE(n_positions)},
};

/* The name of a size for messages: the first of its names that config.json has or, if it has none
 * of them, the first of all. `offset`: the size's offset in struct config. */
static const char *size_name(const struct reading *r, size_t offset)
{
    const struct size_key *key = size_keys;
    while (key->offset != offset)
        key++;
    for (size_t i = 0; i < FAMILY_NAMES_MAX && key->names[i]; i++)
        if (json_given(r->root, key->names[i]))
            return key->names[i];
    return key->names[0];
}

/* Refuse a config that lacks a size without a default. The message has all names of the size's
 * key. */
static void refuse_missing(struct reading *r)
{
    static const size_t needed[] = {SIZE(vocab_size), SIZE(n_embd), SIZE(n_layer), SIZE(n_head)};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        const struct size_key *key = size_keys;
        char others[128] = "";
        while (key->offset != needed[i])
            key++;
        if (*(const size_t *)(const void *)((const char *)r->config + key->offset))
            continue;
        for (size_t k = 1; k < FAMILY_NAMES_MAX && key->names[k]; k++)
            snprintf(others + strlen(others), sizeof others - strlen(others), "%s'%s'",
                     k == 1 ? " here or in " : ", ", key->names[k]);
        err_set(family_fail(r), "field '%s': expected a number%s, found nothing", key->names[0],
                others);
    }
}

/* Refuse a number of key/value heads that does not divide the number of heads. */
static void refuse_kv_heads(struct reading *r)
{
    const struct config *c = r->config;
    const char *heads = size_name(r, SIZE(n_head)), *kv_heads = size_name(r, SIZE(n_kv_head));
    if (json_given(r->root, kv_heads))
        err_set(family_fail(r), "field '%s': expected a multiple of %s = %zu, found %zu", heads,
                kv_heads, c->n_kv_head, c->n_head);
    else
        err_set(family_fail(r),
                "field '%s': expected a divisor of %s = %zu, found nothing, which means %zu",
                kv_heads, heads, c->n_head, c->n_kv_head);
}

/* Set the sizes that config.json lacks, and refuse sizes that contradict each other. */
static void settle_sizes(struct reading *r)
{
    struct config *c = r->config;
    refuse_missing(r);
    if (c->n_layer > CONFIG_FLAGS_MAX)
        err_set(family_fail(r), "field 'num_hidden_layers': expected at most %d, found %zu",
                CONFIG_FLAGS_MAX, c->n_layer);
    if (!c->n_kv_head)
        c->n_kv_head = c->n_head;
    if (!r->failed && c->n_head % c->n_kv_head)
        refuse_kv_heads(r);
    if (!r->failed && !c->d_k && c->n_embd % c->n_head)
        err_set(family_fail(r), "field '%s': expected a multiple of %s = %zu%s, found %zu",
                size_name(r, SIZE(n_embd)), size_name(r, SIZE(n_head)), c->n_head,
                c->rms ? ", or a number in 'head_dim'" : "", c->n_embd);
    if (!r->failed && !c->d_k)
        c->d_k = c->n_embd / c->n_head;
    if (c->n_head * c->d_k > DIMENSION_MAX)
        err_set(family_fail(r), "field 'head_dim': expected heads of at most %d channels",
                DIMENSION_MAX);
    c->d_v = c->d_k;
    if (!c->n_inner)
        c->n_inner = 4 * c->n_embd;
    if (c->scale == 0)
        c->scale = 1.0f / sqrtf((float)c->d_k);
}

/* Read eos_token_id: the id of an end-of-text token, or a list of ids. If it is absent or null
 * eos_id does not change. */
static int read_ends(struct config *c, const struct json *root, struct err *err)
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

/* Read "bad_words_ids", a list of lists of ids. Each inner list must have one id, and this token is
 * never generated. */
static void read_banned(struct reading *r, struct generation_rules *rules)
{
    const struct json *list = family_list(r, "bad_words_ids");
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        long long *id = &rules->banned[rules->banned_count];
        if (rules->banned_count++ == CONFIG_ENDS_MAX || !json_is_array(item) ||
            json_count(item) != 1 || !json_get_integer(json_first(item), 0, INT32_MAX, id))
            err_unsupported(family_fail(r),
                            "field 'bad_words_ids': expected at most %d lists of one id",
                            CONFIG_ENDS_MAX);
        if (r->failed)
            return;
    }
}

/* Refuse keys of generation that are not supported and would change which tokens are generated. */
static void refuse_rules(struct reading *r)
{
    static const struct {
        const char *key;
        double none; /* the value with which the key has no effect */
    } rules[] = {
        {"repetition_penalty", 1},
        {"encoder_repetition_penalty", 1},
        {"encoder_no_repeat_ngram_size", 0},
        {"num_beam_groups", 1},
        {"diversity_penalty", 0},
        {"suppress_tokens", 0},
        {"begin_suppress_tokens", 0},
        {"exponential_decay_length_penalty", 0},
        {"sequence_bias", 0},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !r->failed; i++) {
        const struct json *member = json_given(r->root, rules[i].key);
        double number = 0;
        char found[64];
        if (member && (!json_get_number(member, &number) || number != rules[i].none))
            err_unsupported(family_fail(r), "field '%s': expected none, found %s", rules[i].key,
                            json_describe(member, found, sizeof found));
    }
}

int family_read_generation(void *config, const struct json *root, struct err *err)
{
    struct config *c = config;
    struct reading reading = {.config = c, .root = root, .err = err}, *r = &reading;
    struct generation_rules *rules = &c->generation;
    const char *early = NULL;
    if (!json_is_object(root))
        return err_set(err, "expected a JSON object");
    if (read_ends(c, root, err))
        return -1;
    if (!c->n_encoder_layer)
        return 0;
    *rules = (struct generation_rules){.length_penalty = 1, .first = -1, .last = -1};
    rules->max_length = family_size(r, "max_length", 0);
    rules->max_new = family_size(r, "max_new_tokens", 0);
    rules->min_length = (size_t)family_integer(r, "min_length", 0, DIMENSION_MAX, 0);
    rules->min_new = (size_t)family_integer(r, "min_new_tokens", 0, DIMENSION_MAX, 0);
    rules->beams = (size_t)family_integer(r, "num_beams", 1, 100, 1);
    rules->length_penalty = family_number(r, "length_penalty", -1e3, 1e3, 1);
    rules->no_repeat = (size_t)family_integer(r, "no_repeat_ngram_size", 0, DIMENSION_MAX, 0);
    rules->first = family_integer(r, "forced_bos_token_id", 0, INT32_MAX, -1);
    rules->last = family_integer(r, "forced_eos_token_id", 0, INT32_MAX, -1);
    rules->renormalised = family_flag(r, "renormalize_logits", false);
    if (json_get_text(json_member(root, "early_stopping"), &early))
        rules->early = EARLY_NEVER;
    else if (family_flag(r, "early_stopping", false))
        rules->early = EARLY_YES;
    read_banned(r, rules);
    c->bos_id = family_integer(r, "decoder_start_token_id", 0, INT32_MAX, c->bos_id);
    refuse_rules(r);
    return err_if(r->failed);
}

bool family_is_for(const struct reading *r, const char *task)
{
    const char *class = "";
    json_get_text(json_first(json_given(r->root, "architectures")), &class);
    return name_ends_in(class, task);
}

int family_read_classes(struct config *c, const struct json *root, struct err *err)
{
    const struct reading reading = {.config = c, .root = root, .err = err};
    const struct json *names = json_given(root, "id2label");
    const struct classifier *head = classifier_of_sequences(c);
    if (!family_is_for(&reading, "ForSequenceClassification")) {
        c->answers = ANSWER_OF_FIRST;
        return 0;
    }
    if (!head)
        return err_unsupported(err,
                               "field 'architectures': a new head of classes is not supported for "
                               "models of type \"%s\"",
                               config_kind_name(c));
    class_head_take(c, head, names ? json_count(names) : 2);
    c->biases = c->causal ? c->biases & ~(unsigned)BIASED_LOGITS : c->biases | BIASED_LOGITS;
    return 0;
}

void family_read_causal(struct reading *r)
{
    struct config *c = r->config;
    c->causal = family_flag(r, "is_causal", true);
    if (!c->causal && c->window)
        c->window++; /* without a causal mask a window of `window` keys also includes the key at the
                      * distance `window` */
}

/* Read "intermediate_size" if its value is a list with the MLP's width in each layer; false: it is
 * not a list, or the family has no such list. */
static bool read_inners(struct reading *r)
{
    struct config *c = r->config;
    const struct json *list = json_member(r->root, "intermediate_size");
    const struct json *item = json_first(list);
    if (!list || !json_is_array(list) || !name_is_among(c->family->reads, "intermediate_size"))
        return false;
    if (json_count(list) != c->n_layer)
        err_set(
            family_fail(r),
            "field 'intermediate_size': expected a list of num_hidden_layers = %zu layers, found "
            "%zu",
            c->n_layer, json_count(list));
    c->n_inner = 0;
    for (size_t i = 0; item && i < c->n_layer && i < CONFIG_FLAGS_MAX;
         i++, item = json_next(item)) {
        long long width = 1;
        if (!json_get_integer(item, 1, DIMENSION_MAX, &width))
            err_set(family_fail(r), "field 'intermediate_size': expected whole numbers above 0");
        c->inners[i] = (unsigned)width;
        c->n_inner = (size_t)width > c->n_inner ? (size_t)width : c->n_inner;
    }
    return true;
}

/* Read the keys of a MODEL_DECODER, each under any of its names. */
static void read_decoder(struct reading *r)
{
    static const char *const of_roots[FAMILY_NAMES_MAX] = {"rms_norm_eps"};
    static const char *const of_means[FAMILY_NAMES_MAX] = {"layer_norm_eps", "layer_norm_epsilon",
                                                           "norm_epsilon", "norm_eps"};
    struct config *c = r->config;
    const struct family *family = c->family;
    check_undone(r, r->root);
    if (family_is_null(r, "num_key_value_heads"))
        c->n_kv_head = 0; /* 0: as many as query heads */
    if (family_is_null(r, "head_dim"))
        c->d_k = 0; /* 0: hidden_size / num_attention_heads */
    for (size_t i = 0; i < sizeof size_keys / sizeof *size_keys; i++) {
        size_t *field = (size_t *)(void *)((char *)c + size_keys[i].offset);
        const char *const *names = size_keys[i].names;
        if (size_keys[i].offset == SIZE(n_inner) && read_inners(r))
            continue;
        *field = family->first_names && json_given(r->root, *names)
                     ? family_size(r, *names, 0)
                     : (size_t)family_named(r, names, 1, DIMENSION_MAX, (double)*field);
    }
    c->epsilon = (float)family_named(r, c->rms ? of_roots : of_means, 0, 1, (double)c->epsilon);
    family_activation(r, family->activation_key,
                      family->activation_key
                          ? family_text(r, family->activation_key, family->activation)
                          : family->activation);
    settle_sizes(r);
    c->tied = family_flag(r, "tie_word_embeddings", c->tied);
    c->initializer_range = family_number(r, "initializer_range", 0, 1e3, c->initializer_range);
    c->bos_id = family_integer(r, "bos_token_id", 0, INT32_MAX, c->bos_id);
    r->failed = r->failed || read_ends(c, r->root, r->err);
    if (family->theta > 0)
        family_read_rotary(r, family->turning, family->theta);
    if (family->settle && !r->failed)
        family->settle(r);
    if (c->rotary.components && c->rotary.scaling == ROTARY_DYNAMIC)
        c->n_positions = 0; /* with dynamic scaling texts may have any length */
    if (c->causal && !family->own_mask)
        family_read_causal(r);
}

int family_read(struct config *config, const struct family *family, const struct json *root,
                struct err *err)
{
    return family_try(config, family, root, NULL, err);
}

int family_try(struct config *config, const struct family *family, const struct json *root,
               struct family_trial *trial, struct err *err)
{
    /* the keys for quantised weights in transformers and in MLX */
    static const char *const quantisations[] = {"quantization_config", "quantization"};
    struct reading reading = {.config = config, .root = root, .err = err, .trial = trial};
    *config = *family->defaults;
    config->family = family;
    for (size_t i = 0; i < sizeof quantisations / sizeof *quantisations; i++)
        if (json_is_object(json_member(root, quantisations[i])))
            err_unsupported(
                family_fail(&reading),
                "field '%s': expected weights in F32, F16, BF16 or F64, found "
                "quantised ones: use a copy in one of these types, or a GGUF file of it",
                quantisations[i]);
    if (family->wrapped) {
        reading.root = json_given(root, "text_config");
        if (!json_is_object(reading.root))
            return json_refuse("text_config", reading.root, "an object", err);
        const char *kind = strrchr(family[1].name ? family[1].name : "", ' ');
        if (kind && strcmp(family_text(&reading, "model_type", ""), kind + 1) == 0) {
            *config = *family[1].defaults; /* the next row of the table is for text models of this
                                            * type */
            config->family = family + 1;
        }
    }
    if (family_is_for(&reading, "ForTokenClassification") ||
        family_is_for(&reading, "ForQuestionAnswering")) /* tensor names may not tell these models
                                                          * from classifiers of sequences */
        config->answers = ANSWER_OF_EACH;
    if (config->kind == MODEL_DECODER)
        read_decoder(&reading);
    else if (!reading.failed)
        family->settle(&reading); /* reads all keys of this kind of model */
    return err_if(reading.failed || (family->wrapped && read_ends(config, root, err)));
}

/* --- keys that were not read ------------------------------------------------------------------ */

/* Keys without an effect on the values of a pass: they are for training, for generation or about
 * files. idle_keys: whole keys; idle_parts: parts of keys. */
static const char idle_keys[] =
    " architectures auto_map cache_implementation do_sample dtype early_stopping id2label init_std "
    "initializer_range is_decoder label2id layerdrop max_length min_length pretraining_tp "
    "return_dict task_specific_params temperature tokenizer_class top_k top_p torch_dtype "
    "transformers_version transformers.js_config use_cache ";
static const char *const idle_parts[] = {"dropout", "_pdrop", "_token_id", "summary_",
                                         "attn_implementation"};

static bool is_idle(const char *key)
{
    bool idle = *key == '_';
    for (size_t i = 0; i < sizeof idle_parts / sizeof *idle_parts; i++)
        idle = idle || strstr(key, idle_parts[i]);
    return idle || name_is_among(idle_keys, key);
}

/* Whether an unread key may have an effect, judged by its value: false, null, 0, 1 and an empty
 * list or object have none. */
static bool says_something(const struct json *value)
{
    bool flag = true;
    double number = 2;
    if (json_get_bool(value, &flag))
        return flag;
    if (json_get_number(value, &number))
        return number != 0 && number != 1;
    return !json_is_null(value) &&
           !((json_is_object(value) || json_is_array(value)) && !json_first(value));
}

static void list(struct config *config, const struct json *object, size_t *left_out)
{
    char *text = config->unread;
    for (const struct json *member = json_first(object); member; member = json_next(member)) {
        size_t used = strlen(text);
        size_t left = CONFIG_UNREAD_BYTES - used;
        if (json_was_read(member) && json_is_object(member))
            list(config, member, left_out); /* list the unread keys in an object such as
                                             * rope_scaling */
        if (json_was_read(member) || !says_something(member) || is_idle(json_key(member)))
            continue;
        enum { REST_BYTES = 32 }; /* room for "and 262144 others" */
        if (strlen(json_key(member)) + 4 + REST_BYTES > left)
            ++*left_out;
        else
            snprintf(text + used, left, "%s'%s'", used ? ", " : "", json_key(member));
    }
}

void family_note_unread(struct config *config, const struct json *root)
{
    size_t left_out = 0;
    list(config, root, &left_out);
    size_t used = strlen(config->unread);
    if (left_out)
        snprintf(config->unread + used, CONFIG_UNREAD_BYTES - used, " and %zu others", left_out);
}
