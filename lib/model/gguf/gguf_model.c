#include "model/gguf/gguf_model.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "format/json_writer.h"
#include "model/family/family.h"
#include "model/gguf/gguf_architectures.h"

enum { KEY_BYTES = 128 };

/* Names of tensors with divisors of rotary frequencies. Their numbers are written into
 * config.json. */
#define FACTORS "rope_freqs.weight"
#define FACTORS_SHORT "rope_factors_short.weight"
#define FACTORS_LONG "rope_factors_long.weight"

/* Keys of all architectures, and their names in config.json, which all families read. */
static const struct gguf_key common_keys[] = {
    {"embedding_length", "hidden_size", KEY_SIZE, true},
    {"block_count", "num_hidden_layers", KEY_DEPTH, true},
    {"attention.head_count", "num_attention_heads", KEY_SIZE, true},
    {"attention.head_count_kv", "num_key_value_heads", KEY_SIZE},
    {"feed_forward_length", "n_inner", KEY_SIZE, true},
    {"attention.causal", "is_causal", KEY_FLAG},
    {"token_types.weight", "type_vocab_size", KEY_ROWS},
};

/* Write the full name of a key, which begins with the architecture, such as "llama.block_count";
 * returns `full`. */
static const char *full_key(char full[KEY_BYTES], const struct gguf_architecture *architecture,
                            const char *key)
{
    snprintf(full, KEY_BYTES, "%s.%s", architecture->name, key);
    return full;
}

/* Read a whole number above 0 under the architecture's key. If it is a list with a number for each
 * layer, read the first one above 0: layers with a mixer have 0 heads. */
static int whole_number(const struct gguf *gguf, const struct gguf_architecture *architecture,
                        const char *key, long long *size, struct err *err)
{
    char full[KEY_BYTES];
    const struct gguf_value *list = gguf_value(gguf, full_key(full, architecture, key));
    bool is_list = list && list->kind == GGUF_ARRAY && list->item_kind < GGUF_TEXT;
    for (size_t i = 0; is_list && i < list->count; i++)
        if (gguf_item(list, i) >= 1 && gguf_item(list, i) <= INT32_MAX) {
            *size = (long long)gguf_item(list, i);
            return 0;
        }
    return gguf_integer(gguf, full_key(full, architecture, key), 1, INT32_MAX, size, err);
}

/* The number of layers, without the last layers that are only for multi-token prediction. */
static long long depth(const struct gguf *gguf, const struct gguf_architecture *architecture)
{
    long long layers = LAYERS_MAX, further = 0;
    whole_number(gguf, architecture, "block_count", &layers, NULL);
    whole_number(gguf, architecture, "nextn_predict_layers", &further, NULL);
    return (layers < LAYERS_MAX ? layers : LAYERS_MAX) - further;
}

/* Whether a layer has a mixer. Only tensors that attention lacks show this, since a mixer's
 * queries, keys and values may have the same names as in attention. */
static bool has_mixer(const struct gguf *gguf, long layer)
{
    char decay[KEY_BYTES], taps[KEY_BYTES];
    snprintf(decay, sizeof decay, "blk.%ld.ssm_a", layer);
    snprintf(taps, sizeof taps, "blk.%ld.shortconv.conv.weight", layer);
    return gguf_find(gguf, decay) || gguf_find(gguf, taps);
}

/* --- config.json ------------------------------------------------------------------------------
 *
 * The functions read_… return the value of a key, which is given without the architecture's name,
 * or a default. After the first error they return defaults, and gguf_write_config fails. */

struct gguf_writer {
    struct json_writer json;
    const struct gguf *gguf;
    const struct gguf_architecture *architecture;
    const struct family *family;
    struct err *err;
    bool failed;
};

static struct err *fail(struct gguf_writer *w)
{
    struct err *err = w->failed ? NULL : w->err;
    w->failed = true;
    return err;
}

static bool has_key(const struct gguf_writer *w, const char *key)
{
    char full[KEY_BYTES];
    return gguf_value(w->gguf, full_key(full, w->architecture, key));
}

static long long read_size(struct gguf_writer *w, const char *key, long long otherwise)
{
    w->failed = w->failed || whole_number(w->gguf, w->architecture, key, &otherwise, w->err);
    return otherwise;
}

static double read_number(struct gguf_writer *w, const char *key, double min, double max)
{
    char full[KEY_BYTES];
    double value = 0;
    full_key(full, w->architecture, key);
    w->failed = w->failed || gguf_double(w->gguf, full, min, max, &value, w->err);
    return value;
}

static void put_double(struct gguf_writer *w, const char *name, double value)
{
    char text[NUM_DOUBLE_BYTES];
    num_double(text, value);
    json_put_raw(&w->json, name, text);
}

/* Write a number. If the file has it as float32, it gets the fewest digits that read back as the
 * same float32. */
static void put_real(struct gguf_writer *w, const char *name, const char *key, double value)
{
    char full[KEY_BYTES];
    if (gguf_value(w->gguf, full_key(full, w->architecture, key))->kind == GGUF_F32)
        json_put_float(&w->json, name, (float)value);
    else
        put_double(w, name, value);
}

/* Write a list with an item for each layer or, if the file's value is not a list, one number. */
static void put_layers(struct gguf_writer *w, const struct gguf_key *row, const char *key)
{
    const struct gguf_value *list = gguf_value(w->gguf, key);
    if (list->kind != GGUF_ARRAY || list->item_kind == GGUF_TEXT || list->item_kind == GGUF_ARRAY) {
        json_put_integer(&w->json, row->ours, read_size(w, row->theirs, 1));
        return;
    }
    json_put_open(&w->json, row->kind == KEY_LAYERS ? "layer_types" : row->ours, '[');
    for (size_t i = 0; i < list->count; i++) {
        double item = gguf_item(list, i);
        if (row->kind == KEY_LAYERS)
            json_put_text(&w->json, NULL, item != 0 ? "sliding_attention" : "full_attention");
        else if (row->kind == KEY_SHARES) /* convert a threshold in standard deviations back to the
                                           * float32 share from which llama.cpp's converter computed
                                           * it */
            json_put_float(&w->json, NULL, (float)(erfc(-item / sqrt(2)) / 2));
        else
            json_put_integer(&w->json, NULL, item >= 0 && item <= INT32_MAX ? (long long)item : -1);
    }
    json_put_close(&w->json, ']');
}

/* The kind of a layer's only sublayer, as config.json names it. `attends`: the layer has
 * attention. */
static const char *sublayer(const struct gguf *gguf, long layer, bool attends)
{
    char router[KEY_BYTES];
    snprintf(router, sizeof router, "blk.%ld.ffn_gate_inp.weight", layer);
    return attends                   ? "full_attention"
           : has_mixer(gguf, layer)  ? "linear_attention"
           : gguf_find(gguf, router) ? "moe"
                                     : "mlp";
}

static void put_key(struct gguf_writer *w, const struct gguf_key *row)
{
    char key[KEY_BYTES];
    bool flag = false;
    full_key(key, w->architecture, row->theirs);
    if (row->kind == KEY_HAS && row->needed && !gguf_find(w->gguf, row->theirs))
        err_unsupported(fail(w),
                        "tensor '%s': expected this tensor, as the file has no factor of the "
                        "logits of tied models, found none: read the model's Hugging Face files",
                        row->theirs);
    if (!row->ours && row->kind != KEY_CLOSE)
        return;
    if (row->kind == KEY_PLAIN || row->kind == KEY_MIXERS || row->kind == KEY_SUBLAYERS) {
        json_put_open(&w->json, row->ours, '[');
        for (long long i = 0; i < depth(w->gguf, w->architecture); i++) {
            snprintf(key, sizeof key, row->theirs, (size_t)i);
            bool has = gguf_find(w->gguf, key);
            if (row->kind == KEY_MIXERS)
                json_put_text(&w->json, NULL, has ? "linear_attention" : "full_attention");
            else if (row->kind == KEY_SUBLAYERS)
                json_put_text(&w->json, NULL, sublayer(w->gguf, (long)i, has));
            else if (!has)
                json_put_integer(&w->json, NULL, i);
        }
        json_put_close(&w->json, ']');
    } else if (row->kind == KEY_OPEN) {
        json_put_open(&w->json, row->ours, '{');
    } else if (row->kind == KEY_CLOSE) {
        json_put_close(&w->json, '}');
    } else if (row->kind == KEY_VALUE) {
        json_put_raw(&w->json, row->ours, row->theirs);
    } else if (row->kind == KEY_HAS || row->kind == KEY_LACKS) {
        bool has = gguf_find(w->gguf, row->theirs);
        json_put_bool(&w->json, row->ours, has == (row->kind == KEY_HAS));
    } else if (row->kind == KEY_ROWS) {
        const struct gguf_tensor *tensor = gguf_find(w->gguf, row->theirs);
        if (tensor && tensor->rank == 2)
            json_put_integer(&w->json, row->ours, (long long)tensor->sizes[1]);
    } else if (!has_key(w, row->theirs)) {
        if (row->needed)
            err_set(fail(w), "key '%s': expected a number, found nothing", key);
        else if (row->kind == KEY_WINDOW || row->kind == KEY_SWITCH)
            json_put_raw(&w->json, row->ours, row->kind == KEY_WINDOW ? "null" : "false");
    } else if (row->kind == KEY_DEPTH) {
        long long further = (long long)read_number(w, "nextn_predict_layers", 0, LAYERS_MAX);
        json_put_integer(&w->json, row->ours, read_size(w, row->theirs, 0) - further);
    } else if (row->kind == KEY_COUNT) {
        double count = read_number(w, row->theirs, 0, INT32_MAX);
        json_put_integer(&w->json, row->ours, (long long)count);
    } else if (row->kind == KEY_SIZE) {
        long long size = read_size(w, row->theirs, 0), by = row->by ? read_size(w, row->by, 1) : 1;
        if (size % by)
            err_unsupported(fail(w), "key '%s': expected a multiple of %s = %lld, found %lld", key,
                            row->by, by, size);
        json_put_integer(&w->json, row->ours, size / by);
    } else if (row->kind == KEY_LAYERS || row->kind == KEY_LIST || row->kind == KEY_SHARES) {
        put_layers(w, row, key);
    } else if (row->kind == KEY_FLAG || row->kind == KEY_SWITCH) {
        w->failed = w->failed || gguf_bool(w->gguf, key, &flag, w->err);
        json_put_bool(&w->json, row->ours, flag);
    } else {
        double value = read_number(w, row->theirs, 0, row->kind == KEY_WINDOW ? INT32_MAX : 1e12);
        if (value == 0 && row->kind == KEY_WINDOW)
            json_put_raw(&w->json, row->ours, "null");
        else if (value != 0 || row->needed)
            put_real(w, row->ours, row->theirs, row->kind == KEY_TENTH ? 10 * value : value);
    }
}

/* Whether the lists `keys` and `scaling` of the architecture contain a key of the file. */
static bool own_key(const struct gguf_writer *w, const char *key)
{
    const struct gguf_key *own = w->architecture->keys, *scaling = w->architecture->scaling;
    for (size_t i = 0; i < KEYS_MAX && own[i].theirs; i++)
        if (strcmp(own[i].theirs, key) == 0)
            return true;
    for (size_t i = 0; i < SCALING_MAX && scaling[i].theirs; i++)
        if (strcmp(scaling[i].theirs, key) == 0)
            return true;
    return false;
}

static void put_keys(struct gguf_writer *w)
{
    static const struct gguf_key epsilons[] = {
        {"attention.layer_norm_epsilon", "layer_norm_epsilon", KEY_REAL, true},
        {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_REAL, true}};
    static const struct gguf_key context = {"context_length", "max_position_embeddings", KEY_SIZE,
                                            true};
    const struct gguf_key *own = w->architecture->keys;
    for (size_t i = 0; i < sizeof common_keys / sizeof *common_keys; i++)
        if (!own_key(w, common_keys[i].theirs))
            put_key(w, &common_keys[i]);
    if (w->family->defaults->n_kv_head && !has_key(w, "attention.head_count_kv") &&
        !own_key(w, "attention.head_count_kv"))
        json_put_raw(&w->json, "num_key_value_heads", "null"); /* null: as many key/value heads as
                                                                * query heads */
    for (size_t i = 0; i < KEYS_MAX && own[i].theirs; i++)
        put_key(w, &own[i]);
    if (!own_key(w, epsilons[w->family->defaults->rms].theirs))
        put_key(w, &epsilons[w->family->defaults->rms]);
    if (!w->family->defaults->score_bias) /* skipped for ALiBi: in BLOOM's files context_length does
                                           * not limit the length of texts */
        put_key(w, &context);
}

/* The number of channels of a query or key in one head. */
static long long head_width(struct gguf_writer *w)
{
    long long heads = read_size(w, "attention.head_count", 1);
    return read_size(w, "attention.key_length", read_size(w, "embedding_length", 0) / heads);
}

/* The number by whose root scores are divided, which Gemma's files lack. As in llama.cpp it is the
 * width of a head, but n_embd / n_head for the largest model, where these two numbers differ. */
static long long divisor(struct gguf_writer *w)
{
    bool wide = read_size(w, "block_count", 1) == w->architecture->wide_layers;
    return wide ? read_size(w, "embedding_length", 1) / read_size(w, "attention.head_count", 1)
                : head_width(w);
}

/* The value of a key that agrees with what models of the architecture always compute, so it need
 * not be refused; 0: there is no such value. */
static double own_value(struct gguf_writer *w, const char *key)
{
    if (strcmp(key, "expert_gating_func") == 0) /* values of the key: 1 for softmax, 2 for the
                                                 * logistic function */
        return w->family->defaults->mixture.router == ROUTER_SIGMOID ? 2 : 1;
    if (w->architecture->wide_layers && strcmp(key, "attention.scale") == 0)
        return 1 / sqrtf((float)divisor(w));
    return strcmp(key, "attention.max_alibi_bias") == 0 && w->family->defaults->score_bias ? 8 : 0;
}

/* Refuse keys that would change the values of a pass, unless their value is 0 or changes nothing,
 * or the architecture reads them. (Caps of scores and logits are not refused: llama.cpp writes
 * these keys into every file that it saves, but uses them only for some architectures.) */
static void refuse_undone(struct gguf_writer *w)
{
    static const char *const undone[] = {"expert_count",
                                         "expert_gating_func",
                                         "attention.sliding_window",
                                         "attention.scale",
                                         "attention.clamp_kqv",
                                         "attention.max_alibi_bias",
                                         "attention.temperature_scale",
                                         "embedding_scale",
                                         "residual_scale",
                                         "logit_scale",
                                         "rope.dimension_sections",
                                         "rope.scaling.yarn_log_multiplier"};
    char key[KEY_BYTES];
    for (size_t i = 0; i < sizeof undone / sizeof *undone; i++) {
        const struct gguf_value *list =
            gguf_value(w->gguf, full_key(key, w->architecture, undone[i]));
        bool is_list =
            list && list->kind == GGUF_ARRAY && list->count && list->item_kind < GGUF_TEXT;
        double value = own_key(w, undone[i]) ? 0
                       : is_list             ? gguf_item(list, 0)
                                             : read_number(w, undone[i], -1e300, 1e300);
        if (value != 0 && value != own_value(w, undone[i]))
            err_unsupported(fail(w), "key '%s.%s': expected 0 or no such key, found %g",
                            w->architecture->name, undone[i], value);
    }
    bool causal = true; /* a mixer runs from the first token to the last; config.json has no key for
                         * another direction */
    w->failed = w->failed || gguf_bool(w->gguf, full_key(key, w->architecture, "attention.causal"),
                                       &causal, w->err);
    for (long i = 0; !causal && i < depth(w->gguf, w->architecture); i++)
        if (has_mixer(w->gguf, i))
            err_unsupported(fail(w),
                            "key '%s': expected true, as layer %ld keeps a state, found false", key,
                            i);
}

static void put_factors(struct gguf_writer *w, const char *name, const char *tensor)
{
    float numbers[256];
    const struct gguf_tensor *factors = gguf_find(w->gguf, tensor);
    size_t count = factors ? factors->count : 0;
    if (!factors || factors->type != &gguf_types[GGUF_TYPE_F32] || factors->rank != 1 ||
        count > sizeof numbers / sizeof *numbers) {
        err_unsupported(fail(w),
                        "tensor '%s': expected at most 256 numbers of F32, found %zu of %s", tensor,
                        count, factors ? factors->type->name : "F32");
        return;
    }
    memcpy(numbers, w->gguf->file.bytes + factors->begin, count * sizeof *numbers);
    json_put_floats(&w->json, name, numbers, count);
}

/* Write scaling with a factor for each pair of rotated channels as longrope. `same`: as in Llama 3,
 * one list of factors for texts of every length. Otherwise, as in Phi-3, one list for short and one
 * for long texts, and a factor of the rotated vectors. */
static void put_longrope(struct gguf_writer *w, bool same)
{
    static const char amplitude[] = "rope.scaling.attn_factor";
    const char *trained = same ? "context_length" : "rope.scaling.original_context_length";
    json_put_text(&w->json, "rope_type", "longrope");
    if (same)
        json_put_integer(&w->json, "attention_factor", 1);
    else if (has_key(w, amplitude))
        put_real(w, "attention_factor", amplitude, read_number(w, amplitude, 0, 1e6));
    json_put_integer(&w->json, "original_max_position_embeddings",
                     read_size(w, trained, read_size(w, "context_length", 1)));
    put_factors(w, "short_factor", same ? FACTORS : FACTORS_SHORT);
    put_factors(w, "long_factor", same ? FACTORS : FACTORS_LONG);
}

/* Write the keys of yarn. An attention factor of 1 is left out: llama.cpp saves it in every file,
 * but uses yarn's own formula for the factor. */
static void put_yarn(struct gguf_writer *w)
{
    static const struct gguf_key keys[] = {
        {"rope.scaling.factor", "factor", KEY_REAL, true},
        {"rope.scaling.original_context_length", "original_max_position_embeddings", KEY_SIZE,
         true},
        {"rope.scaling.yarn_beta_fast", "beta_fast", KEY_REAL},
        {"rope.scaling.yarn_beta_slow", "beta_slow", KEY_REAL},
        {"rope.scaling.yarn_attn_factor", "attention_factor", KEY_REAL}};
    size_t count = sizeof keys / sizeof *keys;
    if (read_number(w, keys[count - 1].theirs, 0, 1e6) == 1)
        count--;
    json_put_text(&w->json, "rope_type", "yarn");
    for (size_t i = 0; i < count; i++)
        put_key(w, &keys[i]);
    for (size_t i = 0; i < SCALING_MAX && w->architecture->scaling[i].theirs; i++)
        put_key(w, &w->architecture->scaling[i]);
}

/* Write "rope_scaling", if the file has a scaling or the family has one by default. The file's
 * scaling may be linear, by a factor of at least 1; longrope, by a factor for each pair of
 * channels; or yarn. */
static void put_scaling(struct gguf_writer *w)
{
    char key[KEY_BYTES];
    struct gguf_text type = {"linear", strlen("linear")};
    bool same = gguf_find(w->gguf, FACTORS);
    bool factors = same || gguf_find(w->gguf, FACTORS_LONG);
    bool is_new = has_key(w, "rope.scaling.factor");
    const char *factor_key = is_new ? "rope.scaling.factor" : "rope.scale_linear";
    full_key(key, w->architecture, "rope.scaling.type");
    w->failed = w->failed || gguf_text(w->gguf, key, &type, w->err);
    bool linear = gguf_is(type, "linear");
    bool longrope = factors && !same && gguf_is(type, "longrope");
    bool yarn = !factors && gguf_is(type, "yarn");
    double factor = linear ? read_number(w, factor_key, 0, 1e6) : 0;
    if (factor > 0 && factor < 1)
        err_unsupported(fail(w), "key '%s.%s': expected 0, or at least 1, found %g",
                        w->architecture->name, factor_key, factor);
    if ((!linear && !longrope && !yarn && !gguf_is(type, "none")) || (factor > 1 && factors))
        err_unsupported(fail(w), "key '%s': expected \"none\"%s%s%s, found \"%.*s\"", key,
                        factors ? " or \"linear\" by 0 with tensor '" : ", \"linear\" or \"yarn\"",
                        !factors ? ""
                        : same   ? FACTORS
                                 : FACTORS_LONG,
                        factors ? "'" : "", (int)num_min(type.size, 64), type.bytes);
    bool none = factor == 0 && !factors && !yarn;
    if (w->failed || (none && !w->architecture->scaling[0].theirs))
        return;
    json_put_open(&w->json, "rope_scaling", '{');
    if (none) { /* written even without scaling, since the family has a scaling by default */
        json_put_text(&w->json, "rope_type", "default");
    } else if (factors) {
        put_longrope(w, same);
    } else if (yarn) {
        put_yarn(w);
    } else {
        json_put_text(&w->json, "rope_type", "linear");
        put_real(w, "factor", factor_key, factor);
    }
    json_put_close(&w->json, '}');
}

/* Write the sizes of heads of latent attention. Newer files have them under keys that end in
 * "_mla"; in these files the same keys without "_mla" have the sizes of the vectors that llama.cpp
 * caches for each token. */
static void put_latent(struct gguf_writer *w)
{
    long long width = read_size(w, "attention.key_length_mla", head_width(w));
    long long values = read_size(w, "attention.value_length", width);
    long long turning = read_size(w, "rope.dimension_count", width);
    json_put_integer(&w->json, "qk_rope_head_dim", turning);
    json_put_integer(&w->json, "qk_nope_head_dim", width - turning);
    json_put_integer(&w->json, "v_head_dim", read_size(w, "attention.value_length_mla", values));
}

static void put_heads(struct gguf_writer *w)
{
    const char *name = w->architecture->name;
    long long width = head_width(w);
    long long values = read_size(w, "attention.value_length", width);
    long long turning =
        own_key(w, "rope.dimension_count") ? width : read_size(w, "rope.dimension_count", width);
    if (values != width)
        err_unsupported(fail(w),
                        "key '%s.attention.value_length': expected %lld, the size of keys, found "
                        "%lld",
                        name, width, values);
    if (turning > width || (w->architecture->pairs && turning != width))
        err_unsupported(fail(w),
                        "key '%s.rope.dimension_count': expected %lld, the size of heads, found "
                        "%lld",
                        name, width, turning);
    json_put_integer(&w->json, "head_dim", width);
    if (w->architecture->wide_layers)
        json_put_integer(&w->json, "query_pre_attn_scalar", divisor(w));
    if (w->failed || w->family->turning == 0 || own_key(w, "rope.dimension_count") ||
        turning == (long long)((double)width * w->family->turning))
        return;
    /* write the share of a head's channels that are rotated; if it was rounded down, raise it, so
     * that share · width gives the number of channels again */
    double share = (double)turning / (double)width;
    if ((long long)((double)width * share) < turning)
        share = nextafter(share, 1);
    put_double(w, GGUF_SHARE, share);
}

/* An item of the list that is the value of a key; if the value is a single number, this number. */
static long long item_of(struct gguf_writer *w, const char *key, size_t index)
{
    char full[KEY_BYTES];
    const struct gguf_value *list = gguf_value(w->gguf, full_key(full, w->architecture, key));
    bool is_list = list && list->kind == GGUF_ARRAY && list->item_kind < GGUF_TEXT;
    return is_list && index < list->count ? (long long)gguf_item(list, index)
                                          : read_size(w, key, 1);
}

/* Write the rotary embedding of a kind of layers, "full_attention" or "sliding_attention". `base`:
 * key of the base; `share`: share of the pairs of channels that are rotated; 0: all of them,
 * without a scaling. */
static void put_rotary_of(struct gguf_writer *w, const char *kind, const char *base, double share)
{
    json_put_open(&w->json, kind, '{');
    json_put_text(&w->json, "rope_type", share > 0 ? "proportional" : "default");
    if (has_key(w, base))
        put_real(w, "rope_theta", base, read_number(w, base, 0, 1e12));
    if (share > 0)
        put_double(w, "partial_rotary_factor", share);
    json_put_close(&w->json, '}');
}

/* Write the sizes of heads of Gemma 4, their rotary embeddings, and whether the last layers have
 * MLPs of twice the width. Layers without a window have wider heads, in which only some pairs of
 * channels are rotated: the tensor FACTORS has 1 for these pairs, and 1e30 for the others. */
static void put_mixed(struct gguf_writer *w)
{
    enum { STILL = 2 }; /* a pair whose divisor is at least this is not rotated */
    const long long layers = read_size(w, "block_count", 1), wide = head_width(w);
    const long long narrow = read_size(w, "attention.key_length_swa", wide);
    const struct gguf_tensor *factors = gguf_find(w->gguf, FACTORS);
    const float *numbers = factors ? (const void *)(w->gguf->file.bytes + factors->begin) : NULL;
    size_t turning = 0;         /* number of pairs that are rotated */
    size_t full = 0, local = 0; /* full: the first layer without a window; local: the first layer
                                 * with one */
    char key[KEY_BYTES];
    const struct gguf_value *pattern =
        gguf_value(w->gguf, full_key(key, w->architecture, "attention.sliding_window_pattern"));
    if (factors && (factors->type != &gguf_types[GGUF_TYPE_F32] || factors->rank != 1 ||
                    factors->count != (size_t)wide / 2)) {
        err_unsupported(fail(w), "tensor '%s': expected %lld numbers of F32, found %zu of %s",
                        FACTORS, wide / 2, factors->count, factors->type->name);
        return;
    }
    while (factors && turning < factors->count && numbers[turning] == 1)
        turning++;
    for (size_t i = turning; factors && i < factors->count && !w->failed; i++)
        if (!turning || numbers[i] < STILL)
            err_unsupported(fail(w), "tensor '%s': expected 1, then 1e30, found %g", FACTORS,
                            (double)numbers[i]);
    if (!pattern || pattern->kind != GGUF_ARRAY || pattern->count != (size_t)layers) {
        err_set(fail(w), "key '%s': expected a list of %lld layers", key, layers);
        return;
    }
    while (full + 1 < pattern->count && gguf_item(pattern, full) != 0)
        full++;
    while (local + 1 < pattern->count && gguf_item(pattern, local) == 0)
        local++;
    snprintf(key, sizeof key, "blk.%zu.attn_v.weight", full);
    json_put_bool(&w->json, "attention_k_eq_v", !gguf_find(w->gguf, key));
    json_put_integer(&w->json, "head_dim", narrow);
    json_put_integer(&w->json, "global_head_dim", wide);
    json_put_integer(&w->json, "num_key_value_heads", item_of(w, "attention.head_count_kv", local));
    json_put_integer(&w->json, "num_global_key_value_heads",
                     item_of(w, "attention.head_count_kv", full));
    json_put_bool(&w->json, "use_double_wide_mlp",
                  item_of(w, "feed_forward_length", (size_t)layers - 1) ==
                      2 * item_of(w, "feed_forward_length", 0));
    double share = factors ? 2 * (double)turning / (double)wide : 1;
    if (factors && (size_t)(share * (double)wide / 2) < turning)
        share = nextafter(share, 1);
    json_put_open(&w->json, "rope_parameters", '{');
    put_rotary_of(w, "full_attention", "rope.freq_base", share);
    put_rotary_of(w, "sliding_attention", "rope.freq_base_swa", 0);
    json_put_close(&w->json, '}');
}

static void put_id(struct gguf_writer *w, const char *key, const char *name)
{
    long long id = -1;
    w->failed = w->failed || gguf_integer(w->gguf, key, 0, UINT32_MAX, &id, w->err);
    if (id >= 0)
        json_put_integer(&w->json, name, id);
    else
        json_put_raw(&w->json, name, "null");
}

/* Write the size of the vocabulary, which is the number of rows of the embedding, as in
 * llama.cpp. */
static void put_vocabulary(struct gguf_writer *w)
{
    const struct gguf_tensor *words = gguf_find(w->gguf, "token_embd.weight");
    const struct gguf_value *tokens = NULL;
    if (!words || words->rank != 2) {
        err_set(fail(w), "tensor 'token_embd.weight': expected a matrix, found %s",
                words ? "another shape" : "no such tensor");
        return;
    }
    size_t rows = words->sizes[1];
    long long size = read_size(w, "vocab_size", (long long)rows);
    w->failed =
        w->failed || gguf_array(w->gguf, "tokenizer.ggml.tokens", GGUF_TEXT, &tokens, w->err);
    if (size != (long long)rows)
        err_set(fail(w),
                "key '%s.vocab_size': expected %zu, the rows of tensor 'token_embd.weight', found "
                "%lld",
                w->architecture->name, rows, size);
    if (tokens && tokens->count != rows)
        err_set(fail(w),
                "key 'tokenizer.ggml.tokens': expected %zu items, the rows of tensor "
                "'token_embd.weight', found %zu",
                rows, tokens->count);
    json_put_integer(&w->json, "vocab_size", size);
}

/* Write the keys that the file's tensors decide: whether the unembedding is tied, and which
 * matrices have biases. */
static void put_tensors(struct gguf_writer *w)
{
    const struct gguf *gguf = w->gguf;
    unsigned biases = w->family->defaults->biases;
    const char *bias_key = w->architecture->bias_key;
    bool has_qkv = gguf_find(gguf, "blk.0.attn_q.bias") || gguf_find(gguf, "blk.0.attn_qkv.bias");
    json_put_bool(&w->json, "tie_word_embeddings", !gguf_find(gguf, "output.weight"));
    if (has_qkv != (bool)(biases & BIASED_QKV))
        json_put_bool(&w->json, bias_key ? bias_key : "attention_bias", has_qkv);
    if (gguf_find(gguf, "blk.0.ffn_up.bias") && !(biases & BIASED_MLP))
        json_put_bool(&w->json, "mlp_bias", true);
}

int gguf_write_config(struct buf *out, const struct gguf *gguf, struct err *err)
{
    static const struct gguf_key theta = {"rope.freq_base", "rope_theta", KEY_REAL};
    struct gguf_writer w = {.json = {.buf = out}, .gguf = gguf, .err = err};
    if (gguf_find_architecture(&w.architecture, gguf, err))
        return -1;
    w.family = family_find(w.architecture->model_type);
    refuse_undone(&w);
    json_put_open(&w.json, NULL, '{');
    json_put_text(&w.json, "model_type", w.architecture->model_type);
    put_keys(&w);
    if (!family_row(w.family, slot_of_text(SLOT_POSITIONS)) && !w.family->defaults->score_bias &&
        !w.architecture->alone) {
        (w.architecture->latent ? put_latent : w.architecture->mixed ? put_mixed : put_heads)(&w);
        if (!w.architecture->mixed) {
            put_key(&w, &theta);
            put_scaling(&w);
        }
    }
    put_vocabulary(&w);
    put_tensors(&w);
    put_id(&w, "tokenizer.ggml.bos_token_id", "bos_token_id");
    put_id(&w, "tokenizer.ggml.eos_token_id", "eos_token_id");
    json_put_close(&w.json, '}');
    return w.failed ? -1 : buf_check(out, err);
}

/* Whether a tensor has queries, keys and values together, as llama.cpp's converter may join them.
 * `stem`: its name inside a layer. */
static bool is_joined(const char *stem)
{
    return strncmp(stem, "attn_qkv.", strlen("attn_qkv.")) == 0;
}

/* --- tensors, with the names and layouts of their family -------------------------------------- */

struct tensor_reading {
    struct safetensors *tensors;
    const struct gguf *gguf;
    const struct gguf_architecture *architecture;
    const struct family *family;
    long long heads[2]; /* number of query heads, number of key/value heads */
    long long tiles[2]; /* if architecture->tiled: number of a mixer's heads of values, number of
                         * its heads of keys */
    long long layers;   /* number of layers, without further layers for multi-token prediction */
    struct err *err;
};

/* Find the slot of a tensor's name, such as "blk.3.attn_q.weight"; returns the slot's row, or NULL
 * if the family has no such slot. In a model with an encoder, names begin with "enc." or "dec.",
 * and attention to the source is called "cross_attn", not "attn". */
static const struct family_row *find_slot(struct slot *slot, const char *name,
                                          const struct tensor_reading *reading)
{
    static const char cross[] = "cross_";
    bool of_source = strncmp(name, "enc.", 4) == 0;
    name += of_source || strncmp(name, "dec.", 4) == 0 ? 4 : 0;
    char *stem = (char *)name;
    bool in_layer = strncmp(name, "blk.", 4) == 0 && name[4] >= '0' && name[4] <= '9';
    long layer = in_layer ? strtol(name + 4, &stem, 10) : -1;
    if (layer >= LAYERS_MAX || (in_layer && *stem++ != '.'))
        return NULL;
    bool is_cross = strncmp(stem, cross, strlen(cross)) == 0;
    stem += is_cross ? strlen(cross) : 0;
    bool is_bias = name_has_ending(stem, ".bias");
    size_t size = strlen(stem), ending = is_bias ? strlen(".bias") : strlen(".weight");
    bool has_ending = is_bias || name_has_ending(stem, ".weight");
    bool mixes = in_layer && has_mixer(reading->gguf, layer);
    for (size_t i = 0; i < NAMES_MAX || gguf_tensor_names[i - NAMES_MAX].name; i++) {
        const struct gguf_tensor_name *at =
            i < NAMES_MAX ? &reading->architecture->names[i] : &gguf_tensor_names[i - NAMES_MAX];
        size_t length = at->name ? strlen(at->name) : 0;
        bool whole = length == size; /* the row's name includes the ending, or the tensor has
                                      * none */
        if (!length || (!whole && (!has_ending || length + ending != size)) ||
            memcmp(at->name, stem, length) != 0 || (at->id >= SLOTS_OF_ENDS) != in_layer ||
            (at->branch == BRANCH_MIXER && !mixes))
            continue;
        *slot = slot_of_end(at->branch  ? (int)at->branch
                            : is_cross  ? BRANCH_CROSS
                            : of_source ? BRANCH_SOURCE
                                        : BRANCH_TEXT,
                            at->id + (is_bias && !whole));
        slot->layer = (short)layer;
        const struct family_row *row = family_row(reading->family, *slot);
        bool fits = row && (row->members[1] ? at->fused && row->members[0] == at->id : !at->fused);
        if (fits || (row && is_joined(stem) && !at->branch))
            return row;
    }
    return NULL;
}

static int read_numbers(struct safetensors_entry *entry, const struct gguf_tensor *tensor,
                        struct tensor_reading *reading)
{
    entry->count = tensor->count;
    entry->begin = tensor->begin;
    entry->end = tensor->end;
    entry->data = reading->tensors->file.bytes + tensor->begin;
    entry->rank = tensor->rank;
    for (size_t i = 0; i < tensor->rank; i++)
        entry->shape[i] = tensor->sizes[tensor->rank - 1 - i];
    if (dtype_find(tensor->type->name, &entry->dtype) && dtype_is_weight(entry->dtype))
        return 0;
    return err_unsupported(
        reading->err,
        "expected F32, F16, BF16, F64, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, "
        "IQ4_NL, IQ4_XS or MXFP4, found %s: llama-quantize writes them from an F16 model",
        tensor->type->name);
}

/* Convert a tensor to float32 numbers in the arena of reading->tensors. */
static int convert(struct safetensors_entry *entry, struct tensor_reading *reading)
{
    float *numbers =
        arena_room(&reading->tensors->arena, entry->count, sizeof *numbers, reading->err);
    if (!numbers)
        return -1;
    dtype_to_float(numbers, entry->data, entry->dtype, entry->count);
    entry->dtype = DTYPE_F32;
    entry->data = numbers;
    return 0;
}

/* The order of a tensor's rows in a GGUF file, compared with the family's tensor. */
enum order {
    ORDER_SAME,
    ORDER_PAIRS, /* in each head, the two channels that are rotated together follow each other */
    ORDER_PARTS, /* all queries, then all keys, then all values; in the family's tensor the rows of
                  * each key/value head, with its queries, are together */
    ORDER_TILES, /* the first head of values for each of a mixer's heads of keys, then the second
                  * head of values for each, … */
};

/* The index, in a GGUF file's tensor, of the row that is row `row` of the family's tensor. `size`:
 * rows of a head; `heads`: number of query heads and of key/value heads, or, for ORDER_TILES, of a
 * mixer's heads of values and of keys. */
static size_t stored_row(size_t row, size_t size, enum order order, const long long heads[2])
{
    size_t at = row % size;
    size_t head = row / size;
    size_t shared_by = (size_t)(heads[0] / heads[1]);
    size_t group = head / (shared_by + 2);
    size_t member = head % (shared_by + 2);
    if (order == ORDER_PAIRS)
        return head * size + at % (size / 2) * 2 + at / (size / 2);
    if (order == ORDER_TILES)
        return (head % shared_by * (size_t)heads[1] + head / shared_by) * size + at;
    head = member < shared_by ? group * shared_by + member
                              : (size_t)heads[0] + (member - shared_by) * (size_t)heads[1] + group;
    return head * size + at;
}

static int refuse_rows(size_t multiple, size_t heads, size_t rows, struct err *err)
{
    return err_set(err, "expected a multiple of %zu rows, for each of %zu heads, found %zu rows",
                   multiple, heads, rows);
}

static int order_rows(struct safetensors_entry *entry, enum order order, bool is_key,
                      struct tensor_reading *reading)
{
    const long long *heads = reading->heads;
    size_t rows = entry->shape[0];
    size_t bytes = dtype_bytes(entry->dtype, entry->count / rows);
    size_t count = (size_t)(order == ORDER_PARTS ? heads[0] + 2 * heads[1] : heads[is_key]);
    size_t multiple = count * (order == ORDER_PARTS ? 1 : 2);
    if (rows % multiple || heads[0] % heads[1])
        return refuse_rows(multiple, count, rows, reading->err);
    char *to = arena_room(&reading->tensors->arena, rows * bytes, 1, reading->err);
    for (size_t i = 0; to && i < rows; i++)
        memcpy(to + i * bytes,
               (const char *)entry->data + stored_row(i, rows / count, order, heads) * bytes,
               bytes);
    entry->data = to;
    return to ? 0 : -1;
}

/* Put the heads of values in a mixer's tensor into the family's order. `columns`: the heads are
 * columns of the tensor; otherwise they are rows, and the first `kept` rows belong to no head of
 * values and stay where they are. */
static int order_tiles(struct safetensors_entry *entry, size_t kept, bool columns,
                       struct tensor_reading *reading)
{
    const size_t heads = (size_t)reading->tiles[0], keys = (size_t)reading->tiles[1];
    const size_t rows = entry->shape[0], width = entry->count / rows;
    const size_t count = columns ? width : rows - kept, size = count / heads;
    if (rows < kept || count % heads || heads % keys)
        return refuse_rows(heads, heads, count, reading->err);
    if (columns && dtype_whole(entry->dtype, size) != size && convert(entry, reading))
        return -1;
    const size_t bytes = dtype_bytes(entry->dtype, columns ? size : size * width);
    const size_t before = dtype_bytes(entry->dtype, kept * width);
    char *to = arena_room(&reading->tensors->arena, dtype_bytes(entry->dtype, entry->count), 1,
                          reading->err);
    const char *from = entry->data;
    if (!to)
        return -1;
    memcpy(to, from, before);
    entry->data = to;
    for (size_t i = 0; i < (columns ? rows : 1) * heads; i++)
        memcpy(to + before + i * bytes,
               from + before +
                   (i / heads * heads + stored_row(i % heads, 1, ORDER_TILES, reading->tiles)) *
                       bytes,
               bytes);
    return 0;
}

static int transpose_entry(struct safetensors_entry *entry, struct tensor_reading *reading)
{
    size_t rows = entry->shape[0];
    size_t columns = entry->shape[1];
    size_t bytes = dtype_size_bytes(entry->dtype);
    char *to = arena_room(&reading->tensors->arena, entry->count * bytes, 1, reading->err);
    for (size_t i = 0; to && i < columns; i++)
        for (size_t j = 0; j < rows; j++)
            memcpy(to + (i * rows + j) * bytes,
                   (const char *)entry->data + (j * columns + i) * bytes, bytes);
    entry->shape[0] = columns;
    entry->shape[1] = rows;
    entry->data = to;
    return to ? 0 : -1;
}

/* Bring a mixer's tensor into the layout of its family. GGUF files have -exp(A_log) as decays, the
 * family has A_log. */
static int lay_out_mixer(struct safetensors_entry *entry, struct slot slot,
                         const struct family_row *row, struct tensor_reading *reading)
{
    if (entry->rank != 2 && dtype_is_quantised(entry->dtype) && convert(entry, reading))
        return -1;
    if (slot.id == SLOT_DECAY) {
        if (convert(entry, reading))
            return -1;
        float *numbers = (float *)entry->data;
        for (size_t i = 0; i < entry->count; i++) {
            if (!(numbers[i] <= 0))
                return err_set(reading->err, "expected numbers of at most 0, found %g",
                               (double)numbers[i]);
            numbers[i] = logf(-numbers[i]);
        }
    }
    if (slot.id == SLOT_OUT_NORM) { /* the file has a row for each group of heads, the family one
                                     * vector */
        entry->shape[0] = entry->count;
        entry->rank = 1;
    }
    if (!reading->architecture->tiled || slot.id == SLOT_OUT_NORM)
        return 0;
    long long state = 0;
    if (whole_number(reading->gguf, reading->architecture, "ssm.state_size", &state, reading->err))
        return -1;
    size_t kept = row->members[1] ? 2 * (size_t)(reading->tiles[1] * state) : 0;
    return order_tiles(entry, kept, slot.id == SLOT_O, reading);
}

/* Bring a tensor of a GGUF file into the layout of its family. */
static int lay_out(struct safetensors_entry *entry, struct slot slot, const struct family_row *row,
                   struct tensor_reading *reading)
{
    if (slot.branch == BRANCH_MIXER)
        return lay_out_mixer(entry, slot, row, reading);
    if (slot.id == SLOT_SHARED_SWITCH && entry->rank == 1) { /* files that llama.cpp itself wrote
                                                              * have a vector, not a matrix with one
                                                              * row */
        entry->shape[1] = entry->shape[0];
        entry->shape[0] = 1;
        entry->rank = 2;
    }
    bool is_matrix = entry->rank == 2;
    bool is_scale = entry->rank == 1 && !(slot.id & 1);
    bool is_key = (slot.id & ~1) == SLOT_K;
    enum order order = row->groups == GROUPS_KV_HEAD && row->members[0] == SLOT_Q ? ORDER_PARTS
                       : reading->architecture->pairs && (is_key || (slot.id & ~1) == SLOT_Q)
                           ? ORDER_PAIRS
                           : ORDER_SAME;
    bool transposed = row->transposed && is_matrix;
    bool is_offset = is_scale && reading->family->defaults->norm_offset;
    bool unpacked = dtype_is_quantised(entry->dtype) && (transposed || !is_matrix);
    if ((is_offset || unpacked) && convert(entry, reading))
        return -1;
    /* the file has w + 1, the family w. No bit is lost: for a float32 w, ((w + 1) - 1) + 1 is w + 1
     * again */
    for (size_t i = 0; is_offset && i < entry->count; i++)
        ((float *)entry->data)[i] -= 1.0f;
    if (order != ORDER_SAME)
        return order_rows(entry, order, is_key, reading);
    return transposed ? transpose_entry(entry, reading) : 0;
}

/* Split the tensor that was added last, which has all experts or all copies, into an entry for each
 * expert or copy. */
static int split_stack(struct slot slot, const struct config *config,
                       struct tensor_reading *reading)
{
    struct safetensors *tensors = reading->tensors;
    struct safetensors_entry all = tensors->entries[--tensors->count];
    char name[PARAMETER_NAME_BYTES];
    size_t experts = all.shape[0];
    size_t bytes = dtype_bytes(all.dtype, all.count / experts);
    if (experts > EXPERTS_MAX)
        return err_set(reading->err, "expected at most %d experts, found %zu", EXPERTS_MAX,
                       experts);
    for (size_t e = 0; e < experts; e++) {
        struct safetensors_entry *entry = &tensors->entries[tensors->count++];
        *entry = (struct safetensors_entry){.dtype = all.dtype,
                                            .count = all.count / experts,
                                            .rank = all.rank - 1,
                                            .shape = {all.shape[1], all.shape[2]},
                                            .begin = all.begin + e * bytes,
                                            .end = all.begin + (e + 1) * bytes,
                                            .data = (const char *)all.data + e * bytes};
        slot.expert = (short)e;
        family_tensor_name(name, config, slot);
        entry->name = arena_text(&tensors->arena, name, strlen(name), reading->err);
        if (!entry->name)
            return -1;
    }
    return 0;
}

/* Split the tensor that was added last, which has queries, keys and values, into an entry for each
 * of the three. */
static int split_heads(struct slot slot, const struct config *config,
                       struct tensor_reading *reading)
{
    struct safetensors *tensors = reading->tensors;
    const struct safetensors_entry all = tensors->entries[--tensors->count];
    const size_t heads[3] = {(size_t)reading->heads[0], (size_t)reading->heads[1],
                             (size_t)reading->heads[1]};
    char name[PARAMETER_NAME_BYTES];
    size_t count = heads[0] + heads[1] + heads[2], first = 0, row = all.count / all.shape[0];
    if (all.shape[0] % count)
        return err_set(reading->err, "expected a multiple of %zu rows, for each head, found %zu",
                       count, all.shape[0]);
    for (size_t i = 0; i < 3; i++, slot.id = (unsigned char)(slot.id + 2)) {
        struct safetensors_entry *entry = &tensors->entries[tensors->count++];
        size_t rows = all.shape[0] / count * heads[i];
        *entry = all;
        entry->shape[0] = rows;
        entry->count = rows * row;
        entry->begin += dtype_bytes(all.dtype, first * row);
        entry->end = entry->begin + dtype_bytes(all.dtype, entry->count);
        entry->data = (const char *)all.data + dtype_bytes(all.dtype, first * row);
        first += rows;
        family_tensor_name(name, config, slot);
        entry->name = arena_text(&tensors->arena, name, strlen(name), reading->err);
        if (!entry->name || lay_out(entry, slot, family_row(reading->family, slot), reading))
            return -1;
    }
    return 0;
}

/* Join the tensors of keys and of values of latent attention: for each head the rows of its keys,
 * which the file has as columns, then the rows of its values. The result is float32, in the arena
 * of reading->tensors. */
static int join_heads(struct safetensors_entry *entry, const char *name,
                      struct tensor_reading *reading)
{
    char other[PARAMETER_NAME_BYTES];
    struct safetensors_entry values = {0};
    size_t heads = entry->shape[0], rank = entry->shape[1], width = entry->shape[2];
    snprintf(other, sizeof other, "%.*sattn_v_b.weight", (int)strcspn(name, "a"), name);
    const struct gguf_tensor *tensor = gguf_find(reading->gguf, other);
    if (!tensor || tensor->rank != 3 || tensor->sizes[2] != heads || tensor->sizes[0] != rank)
        return err_set(reading->err, "expected tensor '%s' of as many heads and channels", other);
    size_t rows = tensor->sizes[1];
    float *joined = arena_room(&reading->tensors->arena, entry->count + tensor->count,
                               sizeof *joined, reading->err);
    if (!joined || read_numbers(&values, tensor, reading) || convert(entry, reading) ||
        convert(&values, reading))
        return -1;
    const float *from = entry->data, *of_values = values.data;
    entry->data = joined;
    for (size_t head = 0; head < heads; head++, from += rank * width) {
        for (size_t i = 0; i < width * rank; i++)
            *joined++ = from[i % rank * width + i / rank];
        for (size_t i = 0; i < rows * rank; i++)
            *joined++ = *of_values++;
    }
    entry->count += values.count;
    entry->end += values.end - values.begin; /* the size in bytes of both tensors in the file */
    entry->rank = 2;
    entry->shape[0] = heads * (width + rows);
    return 0;
}

/* Read the numbers of heads and layers into `reading`. */
static int read_counts(struct tensor_reading *reading)
{
    static const char *const keys[4] = {"attention.head_count", "attention.head_count_kv",
                                        "ssm.time_step_rank", "ssm.group_count"};
    long long *const counts[4] = {&reading->heads[0], &reading->heads[1], &reading->tiles[0],
                                  &reading->tiles[1]};
    const struct gguf_architecture *architecture = reading->architecture;
    for (size_t i = architecture->alone ? 4 : 0; i < (architecture->tiled ? 4 : 2); i++) {
        *counts[i] = i == 1 ? reading->heads[0] : 1;
        if (whole_number(reading->gguf, architecture, keys[i], counts[i], reading->err))
            return -1;
    }
    reading->layers = depth(reading->gguf, architecture);
    return 0;
}

/* Whether a tensor gets no entry: it is joined with another tensor, was written into config.json,
 * or belongs to a layer for multi-token prediction. */
static bool is_left_out(const char *name, const struct tensor_reading *reading)
{
    bool joined = reading->architecture->latent && name_has_ending(name, ".attn_v_b.weight");
    return joined || strcmp(name, FACTORS) == 0 || strcmp(name, FACTORS_SHORT) == 0 ||
           strcmp(name, FACTORS_LONG) == 0 || strstr(name, ".nextn.") ||
           (strncmp(name, "blk.", 4) == 0 && strtol(name + 4, NULL, 10) >= reading->layers);
}

static int read_tensors(struct tensor_reading *reading)
{
    struct safetensors *tensors = reading->tensors;
    const struct gguf *gguf = reading->gguf;
    char name[PARAMETER_NAME_BYTES];
    size_t count = gguf->tensor_count + 1;
    for (size_t i = 0; i < gguf->tensor_count; i++)
        if (gguf->tensors[i].rank == 3 || name_has_ending(gguf->tensors[i].name, "_exps.bias"))
            count += gguf->tensors[i].sizes[gguf->tensors[i].rank - 1];
        else if (strstr(gguf->tensors[i].name, ".attn_qkv."))
            count += 2;
    tensors->entries = arena_alloc(&tensors->arena, count, sizeof *tensors->entries, reading->err);
    if (!tensors->entries || gguf_find_architecture(&reading->architecture, gguf, reading->err) ||
        read_counts(reading))
        return -1;
    reading->family =
        family_find(reading->architecture->model_type) + reading->architecture->variant;
    const struct config config = {.family = reading->family};
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const struct gguf_tensor *tensor = &gguf->tensors[i];
        struct safetensors_entry *entry = &tensors->entries[tensors->count];
        if (is_left_out(tensor->name, reading))
            continue;
        struct slot slot;
        const struct family_row *row = find_slot(&slot, tensor->name, reading);
        /* a tensor without a slot keeps its name in the file, by which it is refused later */
        const char *to = row ? family_tensor_name(name, &config, slot) : tensor->name;
        entry->name = arena_text(&tensors->arena, to, strlen(to), reading->err);
        if (!entry->name)
            return -1;
        bool of_several =
            row && tensor->rank == (slot.id & 1 ? 2 : 3) && slot_is_of_several(slot.id);
        tensors->count++;
        if (read_numbers(entry, tensor, reading) ||
            (of_several ? split_stack(slot, &config, reading)
             : row && row->members[0] == SLOT_Q && !row->members[1] &&
                     strstr(tensor->name, ".attn_qkv.")
                 ? split_heads(slot, &config, reading)
             : row && tensor->rank == 3 && reading->architecture->latent &&
                     slot.branch != BRANCH_MIXER
                 ? join_heads(entry, tensor->name, reading)
             : row ? lay_out(entry, slot, row, reading)
                   : 0))
            return err_prefix(reading->err, "tensor '%s'", tensor->name);
    }
    return safetensors_list(tensors, reading->err);
}

int gguf_tensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                      struct err *err)
{
    struct gguf gguf = {0};
    struct file file = {0};
    struct tensor_reading reading = {.tensors = tensors, .gguf = &gguf, .err = err};
    *tensors = (struct safetensors){0};
    if (folder_open(&file, folder, name, err))
        return -1;
    int failed = gguf_read(&gguf, &file, err);
    tensors->file = gguf.file;
    gguf.file = (struct file){0};
    failed = failed || read_tensors(&reading);
    gguf_release(&gguf);
    if (!failed)
        return 0;
    safetensors_release(tensors);
    return err_prefix(err, "'%s'", folder->path);
}

/* --- the folder ------------------------------------------------------------------------------- */

enum { FILES_MAX = 4 };

bool gguf_is_named(const char *path)
{
    return name_has_ending(path, ".gguf");
}

const char *gguf_file_name(const struct folder *folder)
{
    const char *slash = strrchr(folder->path, '/');
    bool is_file = folder->files && gguf_is_named(folder->path);
    return !is_file ? NULL : slash ? slash + 1 : folder->path;
}

static int add_file(struct folder *folder, struct folder_file *files, const char *name,
                    struct buf *buf, struct arena *arena, struct err *err)
{
    size_t size = buf->size;
    const char *bytes = buf_keep(buf, arena, err);
    files[folder->file_count++] = (struct folder_file){.name = name, .bytes = bytes, .size = size};
    return bytes ? 0 : -1;
}

/* Refuse a file with only a part of a model's tensors: models in several GGUF files are not
 * supported. */
static int check_split(const struct gguf *gguf, struct err *err)
{
    long long part = 0, parts = 1;
    if (gguf_integer(gguf, "split.no", 0, UINT16_MAX, &part, err) ||
        gguf_integer(gguf, "split.count", 0, UINT16_MAX, &parts, err))
        return -1;
    return parts <= 1
               ? 0
               : err_unsupported(err,
                                 "key 'split.count': expected a model in one file, found part %lld "
                                 "of %lld: 'llama-gguf-split --merge NAME-00001-of-%05lld.gguf "
                                 "NAME.gguf' of llama.cpp joins all parts",
                                 part + 1, parts, parts);
}

/* Fill a folder with the files that are made from a GGUF file, and with `weights`, the GGUF file
 * itself (by its path or in memory). */
static int fill_folder(struct folder *folder, struct gguf *gguf, struct folder_file weights,
                       struct arena *arena, struct err *err)
{
    struct folder_file *files = arena_alloc(arena, FILES_MAX, sizeof *files, err);
    struct buf config = {0};
    struct gguf_tokenizer tokenizer = {0};
    folder->files = files;
    int failed = !files || check_split(gguf, err) || gguf_write_config(&config, gguf, err) ||
                 add_file(folder, files, "config.json", &config, arena, err) ||
                 gguf_write_tokenizer(&tokenizer, gguf, err);
    if (!failed && tokenizer.name)
        failed = add_file(folder, files, tokenizer.name, &tokenizer.file, arena, err) ||
                 add_file(folder, files, "tokenizer_config.json", &tokenizer.config, arena, err);
    buf_release(&config);
    buf_release(&tokenizer.file);
    buf_release(&tokenizer.config);
    gguf_release(gguf);
    if (!failed)
        files[folder->file_count++] = weights;
    return err_if(failed);
}

int gguf_folder(struct folder *folder, const char *path, struct arena *arena, struct err *err)
{
    struct gguf gguf = {0};
    struct folder_file weights = {.name = GGUF_WEIGHTS_NAME, .path = path};
    *folder = (struct folder){.path = path};
    if (gguf_open(&gguf, path, err))
        return -1;
    return fill_folder(folder, &gguf, weights, arena, err) ? err_prefix(err, "'%s'", path) : 0;
}

int gguf_folder_held(struct folder *folder, const char *name, const char *bytes, size_t size,
                     struct arena *arena, struct err *err)
{
    struct gguf gguf = {0};
    struct file file = file_borrow(bytes, size);
    struct folder_file weights = {.name = GGUF_WEIGHTS_NAME, .bytes = bytes, .size = size};
    *folder = (struct folder){.path = name};
    return gguf_read(&gguf, &file, err) ? -1 : fill_folder(folder, &gguf, weights, arena, err);
}
