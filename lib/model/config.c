#include "model/config.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "base/num.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "model/family/family.h"

size_t config_most_heads(const struct config *config)
{
    return num_max(num_max(config->n_head, config->n_encoder_head), config->mixer.heads);
}

size_t config_layers(const struct config *config)
{
    return config->n_layer + config->n_encoder_layer;
}

bool config_rotates(const struct config *config)
{
    return config->rotary.components > 0;
}

unsigned config_layer_flags(const struct config *config, size_t layer)
{
    return layer < CONFIG_FLAGS_MAX ? config->layer_flags[layer] : 0;
}

size_t config_own_layers(const struct config *config, size_t layers)
{
    return config->n_group ? config->n_group * config->group_layers : layers;
}

const struct rotary *config_rotary(const struct config *config, size_t layer)
{
    unsigned flags = config_layer_flags(config, layer);
    if (!config_rotates(config) || flags & LAYER_UNROTATED)
        return NULL;
    return flags & LAYER_ROTARY_LOCAL ? &config->rotary_local : &config->rotary;
}

size_t config_kv_layer(const struct config *config, size_t layer)
{
    size_t own = config->n_layer - config->n_borrowing, from = layer < own ? layer : own;
    unsigned flags = config_layer_flags(config, layer);
    while (layer >= own && from-- > 0 && config_layer_flags(config, from) != flags)
        ;
    return from;
}

size_t config_inner(const struct config *config, size_t layer)
{
    size_t own = layer < CONFIG_FLAGS_MAX ? config->inners[layer] : 0;
    return own ? own : config->n_inner;
}

unsigned config_flags(const struct config *config)
{
    unsigned flags = 0;
    for (size_t i = 0; i < config->n_layer && i < CONFIG_FLAGS_MAX; i++)
        flags |= config->layer_flags[i];
    return flags;
}

size_t config_window(const struct config *config, size_t layer)
{
    return config_layer_flags(config, layer) & LAYER_WINDOW ? config->window : 0;
}

size_t config_chosen(const struct config *config, size_t layer)
{
    return layer < CONFIG_FLAGS_MAX ? config->mixture.chosen[layer] : 0;
}

size_t config_position(const struct config *config, const uint32_t *ids, size_t token)
{
    size_t position = token;
    for (size_t i = 0; config->counted && i < token; i++)
        position -= ids[i] == config->padding_id;
    return config->counted && ids[token] == config->padding_id ? SIZE_MAX : position;
}

bool config_ties(const struct config *config)
{
    return config->tied || config->lacks_unembed;
}

bool config_has_start(const struct config *config)
{
    return config->n_encoder_layer && config->bos_id >= 0;
}

const char *config_kind_name(const struct config *config)
{
    const struct family *family = config->family;
    while (strchr(family->name, ' ')) /* a variant, whose name has a space, comes after its family
                                       * in the list */
        family--;
    return family->name;
}

/* --- other values ----------------------------------------------------------------------------- */

enum {
    GPT2 = 1 << MODEL_GPT2,
    ATTENTION = 1 << MODEL_ATTENTION,
    DECODER = 1 << MODEL_DECODER,
    BOTH = GPT2 | DECODER,
    ANY = BOTH | ATTENTION,
};

const struct config_key config_keys[] = {
    {"vocab_size", ANY, "rows of the embedding (default: the size of the vocabulary)"},
    {"n_embd", ANY, "channels", {"hidden_size"}},
    {"n_layer", ANY, "layers", {"num_hidden_layers"}},
    {"n_head", ANY, "heads per layer", {"num_attention_heads"}},
    {"n_positions", BOTH, "context length, in tokens", {"max_position_embeddings", "n_ctx"}},
    {"n_inner", GPT2, "hidden channels of the MLP (default: 4 n_embd)"},
    {"activation_function", GPT2, "activation of the MLP, such as gelu_new or relu"},
    {"layer_norm_epsilon", GPT2, "epsilon of the layer norms"},
    {"initializer_range", BOTH, "standard deviation of initial weights (default: 0.02)"},
    {"tie_word_embeddings", BOTH, "true: the unembedding is the transposed embedding"},
    {"scale_attn_weights", GPT2, "false: scores are not scaled"},
    {"scale_attn_by_inverse_layer_idx", GPT2,
     "true: scores are also divided by the layer number: 1, 2, 3, …"},
    {"bos_token_id", BOTH, "beginning-of-text token, or null"},
    {"eos_token_id", BOTH, "end-of-text token, or null"},
    {"num_key_value_heads", DECODER, "key/value heads per layer"},
    {"head_dim", DECODER, "width of a head (default: n_embd / n_head)"},
    {"intermediate_size", DECODER, "hidden channels of the MLP"},
    {"hidden_act", DECODER, "activation of the MLP: silu, gelu_new, …"},
    {"rms_norm_eps", DECODER, "epsilon of the norms"},
    {"rope_theta", DECODER, "base of the rotary embedding"},
    {"attention_bias", DECODER, "true: attention projections have biases"},
    {"mlp_bias", DECODER, "true: the MLP has biases"},
    {"n_kv_head", ATTENTION, "key/value heads (default: n_head)"},
    {"d_k", ATTENTION, "width of a query and a key (default: n_embd / n_head)"},
    {"d_v", ATTENTION, "width of a value (default: n_embd / n_head)"},
    {"causal", ATTENTION, "true: causal mask"},
    {"projections", ATTENTION, "false: queries, keys and values are the embedding"},
    {"out_proj", ATTENTION, "true: output projection after the heads"},
    {"d_out", ATTENTION, "with out_proj: columns of the output projection (default: n_embd)"},
    {"bias", ATTENTION, "true: projections have biases; out: only the output projection"},
    {"scale", ATTENTION, "factor of the scores: none, sqrt (1/√d_k, default) or a number"},
    {"attention", ATTENTION, "self, or cross: keys and values come from a second text"},
};

const size_t config_key_count = sizeof config_keys / sizeof *config_keys;

static int parse_change(struct config_edit *edit, const char *item, size_t size,
                        struct arena *arena, struct err *err)
{
    const char *equals = memchr(item, '=', size);
    if (!equals || equals == item || equals + 1 == item + size)
        return err_usage(err, "--set: expected KEY=VALUE, found '%.*s'", (int)size, item);
    size_t value_size = (size_t)(item + size - equals - 1);
    size_t index = 0;
    if (names_choose_item(&index, NAMES(config_keys, config_key_count), "--set", item,
                          (size_t)(equals - item), err))
        return -1;
    struct json_cursor cursor;
    struct buf text = {0};
    /* a value that is valid JSON is used as it is; any other value becomes a JSON string */
    if (json_cursor_open(&cursor, NULL, equals + 1, value_size, NULL))
        json_append_text(&text, equals + 1, value_size);
    else
        buf_bytes(&text, equals + 1, value_size);
    const char *value = buf_keep(&text, arena, err);
    if (!value)
        return -1;

    const struct config_key *key = &config_keys[index];
    size_t change = 0;
    while (change < edit->count && edit->changes[change].key != key)
        change++;
    if (change == edit->count) {
        edit->changes = arena_grow(arena, edit->changes, edit->count, sizeof *edit->changes, err);
        if (!edit->changes)
            return -1;
        edit->count++;
    }
    edit->changes[change] = (struct config_change){key, value};
    return 0;
}

int config_edit_read(struct config_edit *edit, const char *list, struct arena *arena,
                     struct err *err)
{
    for (;; list++) {
        size_t size = strcspn(list, ",");
        if (parse_change(edit, list, size, arena, err))
            return -1;
        list += size;
        if (!*list)
            return 0;
    }
}

int config_edit_check(const struct config_edit *edit, const struct config *config, struct err *err)
{
    const char *own = config->family->activation_key;
    for (size_t i = 0; i < edit->count; i++) {
        const struct config_key *key = edit->changes[i].key;
        bool has = key->kinds & 1 << config->kind;
        if (config->kind == MODEL_DECODER && strcmp(key->name, "hidden_act") == 0)
            has = own && strcmp(own, key->name) == 0; /* only some families read "hidden_act" */
        if (!has)
            return err_usage(err, "--set: a model of type \"%s\" has no '%s'",
                             config_kind_name(config), key->name);
    }
    return 0;
}

/* The index of the change for the key with this name or alias; edit->count: `edit` has no change
 * for this key. */
static size_t change_of(const struct config_edit *edit, struct json_span name)
{
    size_t index = 0;
    for (; index < edit->count; index++) {
        const struct config_key *key = edit->changes[index].key;
        if (json_span_is(name, key->name) ||
            (key->aliases[0] && json_span_is(name, key->aliases[0])) ||
            (key->aliases[1] && json_span_is(name, key->aliases[1])))
            break;
    }
    return index;
}

/* A new value replaces the old one in the text. New members are added after the last
 * member, each on its own line if the closing bracket is on its own line. */
int config_edit_apply(struct buf *out, const struct config_edit *edit, const char *text,
                      size_t size, struct err *err)
{
    struct json_cursor cursor;
    uint64_t found = 0;        /* bit i: the text has the key of change i */
    assert(edit->count <= 64); /* `found` has 64 bits, and config_keys has fewer keys */
    if (json_cursor_open(&cursor, NULL, text, size, err))
        return -1;
    struct json_cursor inside = cursor;
    size_t members = 0;
    json_cursor_count(&cursor, &members);
    if (json_cursor_kind(&inside) != '{' || !members)
        return err_set(err, "expected a JSON object with members");
    const char *from = text; /* the text before `from` was already appended to `out` */
    const char *end = text, *stop = text + size;
    json_cursor_enter(&inside);
    while (json_cursor_next(&inside)) {
        size_t change = change_of(edit, json_cursor_name(&inside));
        struct json_span value = json_cursor_value(&inside);
        end = value.bytes + value.size;
        if (change == edit->count)
            continue;
        buf_bytes(out, from, (size_t)(value.bytes - from));
        buf_text(out, edit->changes[change].value);
        from = end;
        found |= (uint64_t)1 << change;
    }
    buf_bytes(out, from, (size_t)(end - from));
    const char *bracket = memchr(end, '}', (size_t)(stop - end));
    bool lines = memchr(end, '\n', (size_t)(bracket - end)) != NULL;
    for (size_t i = 0; i < edit->count; i++)
        if (!(found >> i & 1))
            buf_format(out, ",%s\"%s\": %s", lines ? "\n  " : " ", edit->changes[i].key->name,
                       edit->changes[i].value);
    buf_bytes(out, end, (size_t)(stop - end));
    return buf_check(out, err);
}
