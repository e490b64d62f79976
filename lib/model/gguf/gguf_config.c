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

/* --- config.json ------------------------------------------------------------------------------ */

struct writer {
    struct json_writer json;
    const struct gguf *gguf;
    const struct gguf_architecture *architecture;
    const struct family *family;
    struct err *err;
};

static void put_double(struct writer *writer, const char *name, double value)
{
    char text[NUM_DOUBLE_BYTES];
    num_double(text, value);
    json_put_raw(&writer->json, name, text);
}

/* A number of float32 as the shortest that reads back the same. */
static void put_real(struct writer *writer, const char *name, const char *key, double value)
{
    if (gguf_value(writer->gguf, key)->kind == GGUF_F32)
        json_put_float(&writer->json, name, (float)value);
    else
        put_double(writer, name, value);
}

static int put_key(struct writer *writer, const struct gguf_config_key *row)
{
    char key[GGUF_KEY_BYTES];
    long long size = 0;
    double real = 0;
    bool flag = false;
    gguf_key(key, writer->architecture, row->theirs);
    if (!gguf_value(writer->gguf, key))
        return row->needed ? err_set(writer->err, "key '%s': expected a number, found nothing", key)
                           : 0;
    if (row->kind == GGUF_KEY_SIZE) {
        if (gguf_integer(writer->gguf, key, 1, INT32_MAX, &size, writer->err))
            return -1;
        json_put_integer(&writer->json, row->ours, size);
    } else if (row->kind == GGUF_KEY_FLAG) {
        if (gguf_bool(writer->gguf, key, &flag, writer->err))
            return -1;
        json_put_bool(&writer->json, row->ours, flag);
    } else {
        if (gguf_double(writer->gguf, key, 0, 1e12, &real, writer->err))
            return -1;
        put_real(writer, row->ours, key, real);
    }
    return 0;
}

static int put_keys(struct writer *writer)
{
    static const struct gguf_config_key epsilons[] = {
        {"attention.layer_norm_epsilon", "layer_norm_epsilon", REAL, true},
        {"attention.layer_norm_rms_epsilon", "rms_norm_eps", REAL, true}};
    const struct gguf_config_key *own = writer->architecture->keys;
    for (size_t i = 0; i < sizeof common_keys / sizeof *common_keys; i++)
        if (put_key(writer, &common_keys[i]))
            return -1;
    for (size_t i = 0; i < GGUF_KEYS_MAX && own[i].theirs; i++)
        if (put_key(writer, &own[i]))
            return -1;
    return put_key(writer, &epsilons[writer->family->defaults->rms]);
}

/* Refuse keys that change what a model computes, unless they are 0 or the architecture's first own
 * key. (Caps of scores and logits belong to other architectures; llama.cpp writes them into every
 * file that it saves.) */
static int refuse_undone(const struct writer *writer)
{
    static const char *const undone[] = {"expert_count",
                                         "attention.sliding_window",
                                         "attention.scale",
                                         "attention.clamp_kqv",
                                         "attention.max_alibi_bias",
                                         "embedding_scale",
                                         "residual_scale",
                                         "logit_scale"};
    char key[GGUF_KEY_BYTES];
    for (size_t i = 0; i < sizeof undone / sizeof *undone; i++) {
        double value = 0;
        const char *own = writer->architecture->keys[0].theirs;
        if (own && strcmp(own, undone[i]) == 0)
            continue;
        if (gguf_double(writer->gguf, gguf_key(key, writer->architecture, undone[i]), -1e300, 1e300,
                        &value, writer->err))
            return -1;
        if (value != 0)
            return err_unsupported(writer->err, "key '%s': expected 0 or no such key, found %g",
                                   key, value);
    }
    return 0;
}

/* Llama 3 lets slow pairs turn more slowly, by a factor per pair: longrope with
 * the same factors for every length. */
static int put_factors(struct writer *writer, const struct gguf_tensor *factors)
{
    static const char *const lists[] = {"short_factor", "long_factor"};
    float numbers[256];
    size_t count = factors->count;
    long long positions = 1;
    if (gguf_size(writer->gguf, writer->architecture, "context_length", &positions, writer->err))
        return -1;
    if (factors->type != &gguf_types[GGUF_TYPE_F32] || factors->rank != 1 ||
        count > sizeof numbers / sizeof *numbers)
        return err_unsupported(writer->err,
                               "tensor 'rope_freqs.weight': expected at most 256 numbers of F32, "
                               "found %zu of %s",
                               count, factors->type->name);
    memcpy(numbers, writer->gguf->file.bytes + factors->begin, count * sizeof *numbers);
    json_put_text(&writer->json, "rope_type", "longrope");
    json_put_integer(&writer->json, "attention_factor", 1);
    json_put_integer(&writer->json, "original_max_position_embeddings", positions);
    for (size_t i = 0; i < 2; i++)
        json_put_floats(&writer->json, lists[i], numbers, count);
    return 0;
}

/* By how much all positions are scaled: by 0, or where nothing is said, they are not. */
static int read_linear(const struct writer *writer, const char *key, double *factor)
{
    if (gguf_double(writer->gguf, key, 0, 1e6, factor, writer->err))
        return -1;
    if (*factor > 0 && *factor < 1)
        return err_unsupported(writer->err, "key '%s': expected 0, or at least 1, found %g", key,
                               *factor);
    return 0;
}

static int put_scaling(struct writer *writer)
{
    char key[GGUF_KEY_BYTES];
    char factor_key[GGUF_KEY_BYTES];
    double factor = 0;
    struct gguf_text type = {"linear", strlen("linear")};
    const struct gguf_tensor *factors = gguf_find(writer->gguf, "rope_freqs.weight");
    gguf_key(factor_key, writer->architecture, "rope.scaling.factor");
    if (!gguf_value(writer->gguf, factor_key)) /* older files */
        gguf_key(factor_key, writer->architecture, "rope.scale_linear");
    if (gguf_text(writer->gguf, gguf_key(key, writer->architecture, "rope.scaling.type"), &type,
                  writer->err))
        return -1;
    bool linear = gguf_is(type, "linear");
    if (linear && read_linear(writer, factor_key, &factor))
        return -1;
    if ((!linear && !gguf_is(type, "none")) || (factor > 1 && factors))
        return err_unsupported(writer->err,
                               "key '%s': expected \"none\" or \"linear\"%s, found "
                               "\"%.*s\"",
                               key, factors ? " by 0 with tensor 'rope_freqs.weight'" : "",
                               (int)num_min(type.size, 64), type.bytes);
    if (factor == 0 && !factors)
        return 0;
    json_put_open(&writer->json, "rope_scaling", '{');
    if (factors && put_factors(writer, factors))
        return -1;
    if (!factors) {
        json_put_text(&writer->json, "rope_type", "linear");
        put_real(writer, "factor", factor_key, factor);
    }
    json_put_close(&writer->json, '}');
    return 0;
}

/* The share of a head that turns, as a number of which that many channels are the whole part. */
static void put_share(struct writer *writer, long long turning, long long width)
{
    const char *key = writer->family->share_key;
    double share = (double)turning / (double)width;
    if ((long long)((double)width * share) < turning)
        share = nextafter(share, 1);
    put_double(writer, key ? key : "partial_rotary_factor", share);
}

/* What llama.cpp computes with where no key says it: every sixth layer sees all keys, and scores
 * are divided by the root of a head's size, in the model of 62 layers of the channels a head. */
static int put_gemma3(struct writer *writer, long long width)
{
    long long pattern = 6;
    long long layers = 0;
    long long channels = 0;
    long long heads = 1;
    if (gguf_size(writer->gguf, writer->architecture, "attention.sliding_window_pattern", &pattern,
                  writer->err) ||
        gguf_size(writer->gguf, writer->architecture, "block_count", &layers, writer->err) ||
        gguf_size(writer->gguf, writer->architecture, "embedding_length", &channels, writer->err) ||
        gguf_size(writer->gguf, writer->architecture, "attention.head_count", &heads, writer->err))
        return -1;
    json_put_integer(&writer->json, "sliding_window_pattern", pattern);
    json_put_integer(&writer->json, "query_pre_attn_scalar",
                     layers == 62 ? channels / heads : width);
    return 0;
}

static int put_rotation(struct writer *writer)
{
    const struct gguf_architecture *architecture = writer->architecture;
    long long width = 0;
    long long heads = 0;
    long long values = 0;
    long long turning = 0;
    if (gguf_size(writer->gguf, architecture, "embedding_length", &width, writer->err) ||
        gguf_size(writer->gguf, architecture, "attention.head_count", &heads, writer->err))
        return -1;
    width = heads ? width / heads : width;
    if (gguf_size(writer->gguf, architecture, "attention.key_length", &width, writer->err))
        return -1;
    values = turning = width;
    if (gguf_size(writer->gguf, architecture, "attention.value_length", &values, writer->err) ||
        gguf_size(writer->gguf, architecture, "rope.dimension_count", &turning, writer->err))
        return -1;
    if (values != width)
        return err_unsupported(writer->err,
                               "key '%s.attention.value_length': expected %lld, the "
                               "size of keys, found %lld",
                               architecture->name, width, values);
    if (turning > width || (architecture->pairs && turning != width))
        return err_unsupported(writer->err,
                               "key '%s.rope.dimension_count': expected %lld, the "
                               "size of heads, found %lld",
                               architecture->name, width, turning);
    json_put_integer(&writer->json, "head_dim", width);
    if (strcmp(architecture->name, "gemma3") == 0 && put_gemma3(writer, width))
        return -1;
    if (turning != width)
        put_share(writer, turning, width);
    return put_scaling(writer);
}

static int put_ids(struct writer *writer)
{
    static const char *const roles[][2] = {{"tokenizer.ggml.bos_token_id", "bos_token_id"},
                                           {"tokenizer.ggml.eos_token_id", "eos_token_id"}};
    for (size_t i = 0; i < 2; i++) {
        long long id = -1;
        if (gguf_integer(writer->gguf, roles[i][0], 0, UINT32_MAX, &id, writer->err))
            return -1;
        if (id >= 0)
            json_put_integer(&writer->json, roles[i][1], id);
        else
            json_put_raw(&writer->json, roles[i][1], "null");
    }
    return 0;
}

/* A token for each row of the embedding, as llama.cpp demands. */
static int check_vocabulary(struct writer *writer, size_t rows)
{
    const struct gguf_value *tokens = NULL;
    long long size = (long long)rows;
    if (gguf_size(writer->gguf, writer->architecture, "vocab_size", &size, writer->err) ||
        gguf_array(writer->gguf, "tokenizer.ggml.tokens", GGUF_TEXT, &tokens, writer->err))
        return -1;
    if (size != (long long)rows)
        return err_set(
            writer->err,
            "key '%s.vocab_size': expected %zu, the rows of tensor 'token_embd.weight', found %lld",
            writer->architecture->name, rows, size);
    if (tokens && tokens->count != rows)
        return err_set(writer->err,
                       "key 'tokenizer.ggml.tokens': expected %zu items, the rows of tensor "
                       "'token_embd.weight', found %zu",
                       rows, tokens->count);
    return 0;
}

/* What tensors say by being there. */
static int put_tensors(struct writer *writer)
{
    const struct gguf *gguf = writer->gguf;
    const struct gguf_tensor *words = gguf_find(gguf, "token_embd.weight");
    if (!words || words->rank != 2)
        return err_set(writer->err, "tensor 'token_embd.weight': expected a matrix, found %s",
                       words ? "another shape" : "no such tensor");
    if (check_vocabulary(writer, words->sizes[1]))
        return -1;
    json_put_integer(&writer->json, "vocab_size", (long long)words->sizes[1]);
    json_put_bool(&writer->json, "tie_word_embeddings", !gguf_find(gguf, "output.weight"));
    unsigned biases = writer->family->defaults->biases;
    bool has_qkv = gguf_find(gguf, "blk.0.attn_q.bias") || gguf_find(gguf, "blk.0.attn_qkv.bias");
    if (has_qkv != (bool)(biases & BIAS_QKV))
        json_put_bool(&writer->json, "attention_bias", has_qkv);
    if (gguf_find(gguf, "blk.0.ffn_up.bias") && !(biases & BIAS_MLP))
        json_put_bool(&writer->json, "mlp_bias", true);
    return 0;
}

int gguf_write_config(struct buf *out, const struct gguf *gguf, struct err *err)
{
    struct writer writer = {.json = {.buf = out}, .gguf = gguf, .err = err};
    if (gguf_find_architecture(&writer.architecture, gguf, err))
        return -1;
    writer.family = family_find(writer.architecture->model_type);
    if (refuse_undone(&writer))
        return -1;
    json_put_open(&writer.json, NULL, '{');
    json_put_text(&writer.json, "model_type", writer.architecture->model_type);
    if (put_keys(&writer) || (writer.family->theta > 0 && put_rotation(&writer)) ||
        put_tensors(&writer) || put_ids(&writer))
        return -1;
    json_put_close(&writer.json, '}');
    return buf_check(out, err);
}
