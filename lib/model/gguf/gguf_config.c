/* gguf_config.c: llama.cpp's architectures, and the keys of a file as a config.json. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "format/json_writer.h"
#include "model/family/family.h"
#include "model/gguf/gguf_model.h"

#define SIZE GGUF_KEY_SIZE
#define REAL GGUF_KEY_REAL
#define FLAG GGUF_KEY_FLAG

static const struct gguf_architecture architectures[] = {
    {"gpt2", "gpt2"},
    {"llama", "llama", .pairs = true},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
    {"gemma", "gemma"},
    {"gemma3", "gemma3_text", /* layers with a window have another theta */
     .keys = {{"attention.sliding_window", "sliding_window", SIZE, true},
              {"rope.freq_base_swa", "rope_local_base_freq", REAL}}},
    {"gptneox", "gpt_neox", .keys = {{"use_parallel_residual", "use_parallel_residual", FLAG}}},
};

/* Keys of all architectures, with names that all families read. */
static const struct gguf_config_key common_keys[] = {
    {"embedding_length", "hidden_size", SIZE, true},
    {"block_count", "num_hidden_layers", SIZE, true},
    {"attention.head_count", "num_attention_heads", SIZE, true},
    {"attention.head_count_kv", "num_key_value_heads", SIZE},
    {"feed_forward_length", "n_inner", SIZE, true},
    {"context_length", "max_position_embeddings", SIZE, true},
    {"rope.freq_base", "rope_theta", REAL},
};

enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

int gguf_find_architecture(const struct gguf_architecture **architecture, const struct gguf *gguf,
                           struct err *err)
{
    static const char key[] = "general.architecture";
    struct gguf_text name = {NULL, 0};
    struct buf known = {0};
    if (gguf_text(gguf, key, &name, err))
        return -1;
    if (!name.bytes)
        return err_set(err, "key '%s': expected a name such as \"llama\", found nothing", key);
    for (size_t i = 0; i < ARCHITECTURES; i++) {
        *architecture = &architectures[i];
        if (gguf_is(name, architectures[i].name)) {
            buf_release(&known);
            return 0;
        }
        buf_format(&known, "%s%s",
                   i == 0                  ? ""
                   : i + 1 < ARCHITECTURES ? ", "
                                           : " or ",
                   architectures[i].name);
    }
    if (!buf_check(&known, err))
        err_unsupported(err,
                        "key '%s': expected %s, found \"%.*s\": read other models from their "
                        "Hugging Face files",
                        key, known.bytes, (int)(name.size < 64 ? name.size : 64), name.bytes);
    buf_release(&known);
    return -1;
}

const char *gguf_key(char full[GGUF_KEY_BYTES], const struct gguf_architecture *architecture,
                     const char *key)
{
    snprintf(full, GGUF_KEY_BYTES, "%s.%s", architecture->name, key);
    return full;
}

int gguf_size(const struct gguf *gguf, const struct gguf_architecture *architecture,
              const char *key, long long *size, struct err *err)
{
    char full[GGUF_KEY_BYTES];
    return gguf_integer(gguf, gguf_key(full, architecture, key), 1, INT32_MAX, size, err);
}

/* --- config.json ------------------------------------------------------------------------------
 *
 * A reader returns the value of a key after the architecture's name, or a default. The first error
 * stops the writing: later readers return defaults.
 */

struct writer {
    struct json_writer json;
    const struct gguf *gguf;
    const struct gguf_architecture *architecture;
    const struct family *family;
    struct err *err;
    bool failed;
};

static struct err *fail(struct writer *w)
{
    struct err *err = w->failed ? NULL : w->err;
    w->failed = true;
    return err;
}

static bool has_key(const struct writer *w, const char *key)
{
    char full[GGUF_KEY_BYTES];
    return gguf_value(w->gguf, gguf_key(full, w->architecture, key));
}

static long long read_size(struct writer *w, const char *key, long long otherwise)
{
    w->failed = w->failed || gguf_size(w->gguf, w->architecture, key, &otherwise, w->err);
    return otherwise;
}

static double read_number(struct writer *w, const char *key, double min, double max)
{
    char full[GGUF_KEY_BYTES];
    double value = 0;
    gguf_key(full, w->architecture, key);
    w->failed = w->failed || gguf_double(w->gguf, full, min, max, &value, w->err);
    return value;
}

static void put_double(struct writer *w, const char *name, double value)
{
    char text[NUM_DOUBLE_BYTES];
    num_double(text, value);
    json_put_raw(&w->json, name, text);
}

/* A number of float32 as the shortest that reads back the same. */
static void put_real(struct writer *w, const char *name, const char *key, double value)
{
    char full[GGUF_KEY_BYTES];
    if (gguf_value(w->gguf, gguf_key(full, w->architecture, key))->kind == GGUF_F32)
        json_put_float(&w->json, name, (float)value);
    else
        put_double(w, name, value);
}

static void put_key(struct writer *w, const struct gguf_config_key *row)
{
    char key[GGUF_KEY_BYTES];
    bool flag = false;
    gguf_key(key, w->architecture, row->theirs);
    if (!has_key(w, row->theirs)) {
        if (row->needed)
            err_set(fail(w), "key '%s': expected a number, found nothing", key);
    } else if (row->kind == GGUF_KEY_SIZE) {
        json_put_integer(&w->json, row->ours, read_size(w, row->theirs, 0));
    } else if (row->kind == GGUF_KEY_FLAG) {
        w->failed = w->failed || gguf_bool(w->gguf, key, &flag, w->err);
        json_put_bool(&w->json, row->ours, flag);
    } else {
        put_real(w, row->ours, row->theirs, read_number(w, row->theirs, 0, 1e12));
    }
}

static void put_keys(struct writer *w)
{
    static const struct gguf_config_key epsilons[] = {
        {"attention.layer_norm_epsilon", "layer_norm_epsilon", REAL, true},
        {"attention.layer_norm_rms_epsilon", "rms_norm_eps", REAL, true}};
    const struct gguf_config_key *own = w->architecture->keys;
    for (size_t i = 0; i < sizeof common_keys / sizeof *common_keys; i++)
        put_key(w, &common_keys[i]);
    for (size_t i = 0; i < GGUF_KEYS_MAX && own[i].theirs; i++)
        put_key(w, &own[i]);
    put_key(w, &epsilons[w->family->defaults->rms]);
}

/* Refuse keys that change what a model computes, unless they are 0 or the architecture's first own
 * key. (Caps of scores and logits belong to other architectures; llama.cpp writes them into every
 * file that it saves.) */
static void refuse_undone(struct writer *w)
{
    static const char *const undone[] = {"expert_count",
                                         "attention.sliding_window",
                                         "attention.scale",
                                         "attention.clamp_kqv",
                                         "attention.max_alibi_bias",
                                         "embedding_scale",
                                         "residual_scale",
                                         "logit_scale"};
    const char *own = w->architecture->keys[0].theirs;
    for (size_t i = 0; i < sizeof undone / sizeof *undone; i++) {
        bool is_own = own && strcmp(own, undone[i]) == 0;
        double value = is_own ? 0 : read_number(w, undone[i], -1e300, 1e300);
        if (value != 0)
            err_unsupported(fail(w), "key '%s.%s': expected 0 or no such key, found %g",
                            w->architecture->name, undone[i], value);
    }
}

/* Llama 3 rotates slow pairs more slowly, by a factor per pair: longrope with the same factors for
 * every length. */
static void put_factors(struct writer *w, const struct gguf_tensor *factors)
{
    float numbers[256];
    size_t count = factors->count;
    if (factors->type != &gguf_types[GGUF_TYPE_F32] || factors->rank != 1 ||
        count > sizeof numbers / sizeof *numbers) {
        err_unsupported(fail(w),
                        "tensor 'rope_freqs.weight': expected at most 256 numbers of F32, found "
                        "%zu of %s",
                        count, factors->type->name);
        return;
    }
    memcpy(numbers, w->gguf->file.bytes + factors->begin, count * sizeof *numbers);
    json_put_text(&w->json, "rope_type", "longrope");
    json_put_integer(&w->json, "attention_factor", 1);
    json_put_integer(&w->json, "original_max_position_embeddings",
                     read_size(w, "context_length", 1));
    json_put_floats(&w->json, "short_factor", numbers, count);
    json_put_floats(&w->json, "long_factor", numbers, count);
}

/* The factor of all positions, 0 or at least 1; or factors of pairs. */
static void put_scaling(struct writer *w)
{
    char key[GGUF_KEY_BYTES];
    struct gguf_text type = {"linear", strlen("linear")};
    const struct gguf_tensor *factors = gguf_find(w->gguf, "rope_freqs.weight");
    bool is_new = has_key(w, "rope.scaling.factor");
    const char *factor_key = is_new ? "rope.scaling.factor" : "rope.scale_linear";
    gguf_key(key, w->architecture, "rope.scaling.type");
    w->failed = w->failed || gguf_text(w->gguf, key, &type, w->err);
    bool linear = gguf_is(type, "linear");
    double factor = linear ? read_number(w, factor_key, 0, 1e6) : 0;
    if (factor > 0 && factor < 1)
        err_unsupported(fail(w), "key '%s.%s': expected 0, or at least 1, found %g",
                        w->architecture->name, factor_key, factor);
    if ((!linear && !gguf_is(type, "none")) || (factor > 1 && factors))
        err_unsupported(fail(w), "key '%s': expected \"none\" or \"linear\"%s, found \"%.*s\"", key,
                        factors ? " by 0 with tensor 'rope_freqs.weight'" : "",
                        (int)num_min(type.size, 64), type.bytes);
    if (w->failed || (factor == 0 && !factors))
        return;
    json_put_open(&w->json, "rope_scaling", '{');
    if (factors) {
        put_factors(w, factors);
    } else {
        json_put_text(&w->json, "rope_type", "linear");
        put_real(w, "factor", factor_key, factor);
    }
    json_put_close(&w->json, '}');
}

/* The share of a head that is rotated: the smallest number that gives that many channels. */
static void put_share(struct writer *w, long long turning, long long width)
{
    const char *key = w->family->share_key;
    double share = (double)turning / (double)width;
    if ((long long)((double)width * share) < turning)
        share = nextafter(share, 1);
    put_double(w, key ? key : "partial_rotary_factor", share);
}

/* llama.cpp's values without a key: every sixth layer has no window, and scores are divided by the
 * root of a head's size; in the model of 62 layers, of the channels per head. */
static void put_gemma3(struct writer *w, long long width)
{
    long long heads = read_size(w, "attention.head_count", 1);
    long long channels = read_size(w, "embedding_length", 0) / heads;
    json_put_integer(&w->json, "sliding_window_pattern",
                     read_size(w, "attention.sliding_window_pattern", 6));
    json_put_integer(&w->json, "query_pre_attn_scalar",
                     read_size(w, "block_count", 0) == 62 ? channels : width);
}

static void put_rotation(struct writer *w)
{
    const char *name = w->architecture->name;
    long long heads = read_size(w, "attention.head_count", 1);
    long long width =
        read_size(w, "attention.key_length", read_size(w, "embedding_length", 0) / heads);
    long long values = read_size(w, "attention.value_length", width);
    long long turning = read_size(w, "rope.dimension_count", width);
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
    if (strcmp(name, "gemma3") == 0)
        put_gemma3(w, width);
    if (turning != width)
        put_share(w, turning, width);
    put_scaling(w);
}

static void put_id(struct writer *w, const char *key, const char *name)
{
    long long id = -1;
    w->failed = w->failed || gguf_integer(w->gguf, key, 0, UINT32_MAX, &id, w->err);
    if (id >= 0)
        json_put_integer(&w->json, name, id);
    else
        json_put_raw(&w->json, name, "null");
}

/* The vocabulary has a token for each row of the embedding, as in llama.cpp. */
static void put_vocabulary(struct writer *w)
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

/* What tensors show: whether the head is tied, and which matrices have a bias. */
static void put_tensors(struct writer *w)
{
    const struct gguf *gguf = w->gguf;
    unsigned biases = w->family->defaults->biases;
    bool has_qkv = gguf_find(gguf, "blk.0.attn_q.bias") || gguf_find(gguf, "blk.0.attn_qkv.bias");
    json_put_bool(&w->json, "tie_word_embeddings", !gguf_find(gguf, "output.weight"));
    if (has_qkv != (bool)(biases & BIAS_QKV))
        json_put_bool(&w->json, "attention_bias", has_qkv);
    if (gguf_find(gguf, "blk.0.ffn_up.bias") && !(biases & BIAS_MLP))
        json_put_bool(&w->json, "mlp_bias", true);
}

int gguf_write_config(struct buf *out, const struct gguf *gguf, struct err *err)
{
    struct writer w = {.json = {.buf = out}, .gguf = gguf, .err = err};
    if (gguf_find_architecture(&w.architecture, gguf, err))
        return -1;
    w.family = family_find(w.architecture->model_type);
    refuse_undone(&w);
    json_put_open(&w.json, NULL, '{');
    json_put_text(&w.json, "model_type", w.architecture->model_type);
    put_keys(&w);
    if (w.family->theta > 0)
        put_rotation(&w);
    put_vocabulary(&w);
    put_tensors(&w);
    put_id(&w, "tokenizer.ggml.bos_token_id", "bos_token_id");
    put_id(&w, "tokenizer.ggml.eos_token_id", "eos_token_id");
    json_put_close(&w.json, '}');
    return w.failed ? -1 : buf_check(out, err);
}
