#include "model/gguf/gguf_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "model/model.h"

static struct err err;

static size_t digits_of(char digits[SHA256_DIGITS + 1], const char *path)
{
    struct model model = {0};
    ck_assert_msg(!model_open(&model, path, &err), "%s", err.text);
    weights_hash(&model.weights, digits);
    size_t count = model.weights.parameter_count;
    model_release(&model);
    return count;
}

/* A file of tests/references/gguf and the model from which it was written. Not Gemma, whose scales
 * lose bits because 1 is added to them. */
static const struct twin {
    const char *file, *folder;
} twins[] = {
    {"gpt2", "golden/gpt2-micro-f16"},
    {"llama", "golden-families/llama"},
    {"llama-bf16", "golden-families/llama-bf16-tied-biases"},
    {"qwen2", "golden-families/qwen2"},
    {"qwen3", "golden-families/qwen3"},
    {"gpt_neox", "golden-families/gpt_neox"},
    {"granite", "golden-families/granite"},
    {"smollm3", "golden-families/smollm3"},
    {"phi3", "golden-families/phi3"},
    {"olmo2", "golden-families/olmo2"},
    {"phi", "golden-families/phi"},
    {"stablelm", "golden-families/stablelm"},
    {"starcoder2", "golden-families/starcoder2"},
    {"bloom", "golden-families/bloom"},
    {"falcon", "golden-families/falcon"},
    {"falcon-7b-style", "golden-families/falcon-7b-style"},
    {"olmo", "golden-families/olmo"},
    {"olmo3", "golden-families/olmo3"},
    {"exaone4", "golden-families/exaone4"},
    {"seed_oss", "golden-families/seed_oss"},
    {"arcee", "golden-families/arcee"},
    {"hunyuan_v1_dense", "golden-families/hunyuan_v1_dense"},
    {"ernie4_5-biases", "golden-families/ernie4_5-biases"},
    {"glm", "golden-families/glm"},
    {"glm4", "golden-families/glm4"},
    {"cohere-qk-norm", "golden-families/cohere-qk-norm"},
    {"cohere2", "golden-families/cohere2"},
    {"gpt_bigcode", "golden-families/gpt_bigcode"},
    {"mpt-clip", "golden-families/mpt-clip"},
    {"t5", "golden-families/t5"},
    {"t5-gated-untied", "golden-families/t5-gated-untied"},
    {"umt5", "golden-families/umt5"},
};

TEST_LOOP(names_shapes_and_numbers_are_those_of_the_original_model, COUNT(twins))
{
    char path[128];
    char found[SHA256_DIGITS + 1];
    char expected[SHA256_DIGITS + 1];
    snprintf(path, sizeof path, "tests/references/gguf/%s.gguf", twins[_i].file);
    size_t count = digits_of(found, path);
    snprintf(path, sizeof path, "tests/references/%s", twins[_i].folder);
    ck_assert_uint_eq(digits_of(expected, path), count);
    ck_assert_str_eq(found, expected);
}

/* The hash is of the numbers that ggml computes (tests/references/gguf/quants.py). */
TEST(a_quantised_model_has_the_numbers_of_ggml)
{
    char found[SHA256_DIGITS + 1];
    digits_of(found, "tests/references/gguf/q5_0.gguf");
    ck_assert_str_eq(found, "b12ba621b7eeb3848db867d68f4994cf3233a5b4c968dd3fc00a64c6ba53aa5c");
}

/* --- files with one matrix of a llama with two heads ------------------------------------------ */

static void put_number(struct buf *out, unsigned long long number, int size)
{
    for (int i = 0; i < size; i++)
        buf_char(out, (char)(number >> 8 * i & 0xff));
}

static void put_text(struct buf *out, const char *text)
{
    put_number(out, strlen(text), 8);
    buf_text(out, text);
}

static void put_head(struct buf *out, const char *architecture, const char *tensor, size_t columns,
                     size_t rows, unsigned type)
{
    char heads[64];
    snprintf(heads, sizeof heads, "%s.attention.head_count", architecture);
    buf_text(out, "GGUF");
    put_number(out, 3, 4);
    put_number(out, 1, 8);
    put_number(out, 2, 8);
    put_text(out, "general.architecture");
    put_number(out, GGUF_TEXT, 4);
    put_text(out, architecture);
    put_text(out, heads);
    put_number(out, GGUF_U32, 4);
    put_number(out, 2, 4);
    put_text(out, tensor);
    put_number(out, 2, 4);
    put_number(out, columns, 8);
    put_number(out, rows, 8);
    put_number(out, type, 4);
    put_number(out, 0, 8);
    buf_repeat(out, "", 1, (0 - out->size) % 32);
}

/* Matrices of GPT-2 are transposed, so their blocks cannot be used in place. */
TEST(transposed_quantised_matrices_become_float32)
{
    struct safetensors tensors = {0};
    struct buf bytes = {0};
    put_head(&bytes, "gpt2", "blk.0.ffn_up.weight", 32, 2, 2);
    for (int row = 0; row < 2; row++) {
        put_number(&bytes, row ? 0x3800 : 0xc000, 2); /* 0.5 and -2 as F16 */
        for (int i = 0; i < 16; i++)
            buf_char(&bytes, (char)i);
    }
    struct folder_file file = {.name = "x", .bytes = bytes.bytes, .size = bytes.size};
    struct folder folder = {.path = "x.gguf", .files = &file, .file_count = 1};
    ck_assert_msg(!gguf_tensors_open(&tensors, &folder, "x", &err), "%s", err.text);
    const struct safetensors_entry *entry = &tensors.entries[0];
    ck_assert_int_eq(entry->dtype, DTYPE_F32);
    ck_assert(entry->shape[0] == 32 && entry->shape[1] == 2);
    for (int i = 0; i < 16; i++) {
        ck_assert_float_eq(((const float *)entry->data)[2 * i], -2.0f * (float)(i - 8));
        ck_assert_float_eq(((const float *)entry->data)[2 * i + 1], 0.5f * (float)(i - 8));
    }
    safetensors_release(&tensors);
    buf_release(&bytes);
}

TEST(unsupported_types_are_named)
{
    struct safetensors tensors = {0};
    struct buf bytes = {0};
    put_head(&bytes, "llama", "output.weight", 256, 1, 16);
    buf_repeat(&bytes, "", 1, 66);
    struct folder_file file = {.name = "x", .bytes = bytes.bytes, .size = bytes.size};
    struct folder folder = {.path = "x.gguf", .files = &file, .file_count = 1};
    ck_assert_int_ne(gguf_tensors_open(&tensors, &folder, "x", &err), 0);
    ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
    ck_assert_str_eq(
        err.text,
        "'x.gguf': tensor 'output.weight': expected F32, F16, BF16, F64, "
        "Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, "
        "IQ4_NL, IQ4_XS or MXFP4, found IQ2_XXS: llama-quantize writes them from an F16 model");
    buf_release(&bytes);
}

/* GGUF has the rotary scaling of Llama 3 as one float32 factor for each pair. */
TEST(factors_of_pairs_agree_with_the_formula)
{
    struct model found = {0};
    struct model expected = {0};
    ck_assert_msg(
        !model_open(&found, "tests/references/gguf/llama-rope-llama3.gguf", &err) &&
            !model_open(&expected, "tests/references/golden-families/llama-rope-llama3", &err),
        "%s", err.text);
    const struct rotary *rotary = &found.config.rotary;
    const struct rotary *judge = &expected.config.rotary;
    ck_assert_uint_eq(rotary->components, judge->components);
    ck_assert_double_eq(rotary_amplitude(rotary, 1), 1);
    ck_assert(!rotary_depends(rotary, 1, found.config.n_positions));
    for (size_t pair = 0; pair < rotary->components / 2; pair++) {
        double frequency = rotary_frequency(judge, pair, 1);
        double found_frequency = rotary_frequency(rotary, pair, 1);
        ck_assert_double_eq_tol(found_frequency / frequency, 1, 1e-7);
    }
    ck_assert_double_lt(rotary_frequency(judge, judge->components / 2 - 1, 1),
                        0.5 * pow(judge->theta, -14.0 / 16));
    model_release(&expected);
    model_release(&found);
}

/* GGUF has Phi-3's factor of vectors as a float32. */
TEST(factors_for_short_and_long_texts_are_those_of_the_config)
{
    struct model found = {0};
    struct model expected = {0};
    ck_assert_msg(
        !model_open(&found, "tests/references/gguf/phi3-longrope.gguf", &err) &&
            !model_open(&expected, "tests/references/golden-families/phi3-longrope", &err),
        "%s", err.text);
    const struct rotary *rotary = &found.config.rotary;
    const struct rotary *judge = &expected.config.rotary;
    size_t trained = (size_t)judge->trained_positions;
    ck_assert_double_eq_tol(rotary_amplitude(rotary, 1) / rotary_amplitude(judge, 1), 1, 1e-7);
    ck_assert_double_gt(rotary_amplitude(judge, 1), 1.1);
    for (size_t pair = 0; pair < judge->components / 2; pair++)
        for (size_t length = trained; length <= trained + 1; length++)
            ck_assert_double_eq(rotary_frequency(rotary, pair, length),
                                rotary_frequency(judge, pair, length));
    ck_assert_double_ne(rotary_frequency(rotary, 1, trained),
                        rotary_frequency(rotary, 1, trained + 1));
    model_release(&expected);
    model_release(&found);
}

/* --- keys ------------------------------------------------------------------------------------- */

static const char plain_rotation[] = "no rope_scaling";

/* One more key, a number or a text, or two, of the architecture that the first begins with;
 * `message`: a part of the config or of the error. */
static const struct key_case {
    const char *key;
    enum gguf_kind kind;
    double number;
    const char *message;
    const char *text, *second_key;
    float second;
    bool whole; /* the second number */
} key_cases[] = {
    {"llama.rope.freq_base", GGUF_F32, 5e5, "\"rope_theta\": 500000"},
    {"llama.attention.head_count_kv", GGUF_U32, 1, "\"num_key_value_heads\": 1"},
    {"llama.attention.key_length", GGUF_U32, 6, "\"head_dim\": 6"},
    {"llama.attention.value_length", GGUF_U32, 6,
     "key 'llama.attention.value_length': expected 4, the size of keys, found 6"},
    {"llama.rope.dimension_count", GGUF_U32, 2,
     "key 'llama.rope.dimension_count': expected 4, the size of heads, found 2"},
    {"llama.expert_count", GGUF_U32, 0, "\"vocab_size\": 3"},
    {"llama.expert_count", GGUF_U32, 8,
     "key 'llama.expert_count': expected 0 or no such key, found 8"},
    {"llama.attn_logit_softcapping", GGUF_F32, 50, "\"vocab_size\": 3"},
    {"llama.logit_scale", GGUF_F32, 0.5,
     "key 'llama.logit_scale': expected 0 or no such key, found 0.5"},
    {"tokenizer.ggml.eos_token_id", GGUF_U32, 2, "\"bos_token_id\": null, \"eos_token_id\": 2"},
    {"llama.rope.scaling.type", GGUF_TEXT, 0,
     "key 'llama.rope.scaling.type': expected \"none\", \"linear\" or \"yarn\", found \"dynamic\"",
     "dynamic"},
    {"llama.rope.scaling.type", GGUF_TEXT, 0,
     "key 'llama.rope.scaling.factor': expected a number, found nothing", "yarn"},
    {"llama.rope.scaling.type", GGUF_TEXT, 0,
     "key 'llama.rope.scaling.original_context_length': expected a number, found nothing", "yarn",
     "llama.rope.scaling.factor", 4},
    {"llama.rope.scaling.type", GGUF_TEXT, 0,
     "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4}", "linear",
     "llama.rope.scaling.factor", 4},
    {"llama.rope.scaling.type", GGUF_TEXT, 0, plain_rotation, "none", "llama.rope.scaling.factor",
     4},
    {"llama.rope.scaling.type", GGUF_TEXT, 0, plain_rotation, "linear", "llama.rope.scaling.factor",
     0},
    {"llama.rope.scaling.type", GGUF_TEXT, 0, plain_rotation, "linear"},
    {"llama.rope.scaling.type", GGUF_TEXT, 0,
     "key 'llama.rope.scaling.factor': expected 0, or at least 1, found 0.5", "linear",
     "llama.rope.scaling.factor", 0.5f},
    {"llama.rope.scaling.factor", GGUF_F32, 4,
     "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4}"},
    {"llama.rope.scale_linear", GGUF_F32, 2,
     "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}"},
    {"llama.rope.scaling.type", GGUF_TEXT, 0,
     "key 'llama.rope.scaling.type': expected \"none\", \"linear\" or \"yarn\", found \"longrope\"",
     "longrope"},
    {"qwen2.vocab_size", GGUF_U32, 3, "\"num_key_value_heads\": null"},
    {"gptneox.rope.dimension_count", GGUF_U32, 4, "\"rotary_share\": 1"},
    {"gptneox.rope.dimension_count", GGUF_U32, 2, "\"rotary_share\": 0.5"},
    {"phi3.attention.sliding_window", GGUF_U32, 5, "\"sliding_window\": 5"},
    {"phi3.attention.sliding_window", GGUF_U32, 0, "\"sliding_window\": null"},
    {"olmo2.attention.sliding_window", GGUF_U32, 5, "{\"model_type\": \"olmo3\""},
    {"olmo2.attention.sliding_window", GGUF_U32, 5, "\"rope_local_base_freq\": 50", NULL,
     "olmo2.rope.freq_base", 50},
    {"olmo2.vocab_size", GGUF_U32, 3, "{\"model_type\": \"olmo2\""},
    {"exaone4.vocab_size", GGUF_U32, 3, "\"sliding_window\": null"},
    {"command-r.vocab_size", GGUF_U32, 3,
     "key 'command-r.logit_scale': expected a number, found nothing"},
    {"qwen3.nextn_predict_layers", GGUF_U32, 1, "\"num_hidden_layers\": 2", NULL,
     "qwen3.block_count", 3, true},
    {"qwen2.attention.sliding_window", GGUF_U32, 5,
     "key 'qwen2.attention.sliding_window': expected 0 or no such key, found 5"},
    {"granite.attention.scale", GGUF_F32, 0.25, "\"attention_multiplier\": 0.25"},
    {"granite.residual_scale", GGUF_F32, 0.25,
     "key 'granite.attention.scale': expected a number, found nothing"},
    {"gemma2.attention.scale", GGUF_F32, 0.5, "\"query_pre_attn_scalar\": 4"},
    {"gemma2.attention.scale", GGUF_F32, 0.25,
     "key 'gemma2.attention.scale': expected 0 or no such key, found 0.25"},
    {"gemma2.attention.key_length", GGUF_U32, 6, "\"query_pre_attn_scalar\": 6"},
    {"gemma2.attention.key_length", GGUF_U32, 6, "\"query_pre_attn_scalar\": 4", NULL,
     "gemma2.block_count", 46, true},
    {"gemma3.attention.sliding_window", GGUF_U32, 5, "\"sliding_window_pattern\": 3", NULL,
     "gemma3.attention.sliding_window_pattern", 3, true},
    {"bloom.attention.max_alibi_bias", GGUF_F32, 8, "\"vocab_size\": 3"},
    {"bloom.attention.max_alibi_bias", GGUF_F32, 4,
     "key 'bloom.attention.max_alibi_bias': expected 0 or no such key, found 4"},
    {"stablelm.use_parallel_residual", GGUF_U32, 0, "\"use_parallel_residual\": true"},
};

static void put_float_key(struct buf *bytes, const char *key, float number)
{
    put_text(bytes, key);
    put_number(bytes, GGUF_F32, 4);
    buf_bytes(bytes, &number, sizeof number);
}

static void put_whole_key(struct buf *bytes, const char *key, unsigned number)
{
    put_text(bytes, key);
    put_number(bytes, GGUF_U32, 4);
    put_number(bytes, number, 4);
}

static void put_key(struct buf *bytes, const struct key_case *row)
{
    if (row->kind == GGUF_F32) {
        put_float_key(bytes, row->key, (float)row->number);
        return;
    }
    put_text(bytes, row->key);
    put_number(bytes, row->kind, 4);
    if (row->kind == GGUF_TEXT)
        put_text(bytes, row->text);
    else
        put_number(bytes, (unsigned long long)row->number, 4);
}

/* Write a GGUF file with the keys of a small model and of the row, and its embedding. */
static void put_file(struct buf *bytes, const struct key_case *row)
{
    static const struct {
        const char *key;
        unsigned number;
    } sizes[] = {{"embedding_length", 8},
                 {"attention.head_count", 2},
                 {"feed_forward_length", 8},
                 {"context_length", 16},
                 {"attention.layer_norm_epsilon", 0},
                 {"attention.layer_norm_rms_epsilon", 0},
                 {"block_count", 1}};
    char name[16];
    char key[64];
    bool layers = row->second_key && strstr(row->second_key, ".block_count");
    size_t size_count = COUNT(sizes) - layers;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(row->key, "."), row->key);
    if (strcmp(name, "tokenizer") == 0)
        snprintf(name, sizeof name, "llama");
    buf_text(bytes, "GGUF");
    put_number(bytes, 3, 4);
    put_number(bytes, 1, 8);
    put_number(bytes, size_count + 2 + (row->second_key ? 1 : 0), 8);
    put_text(bytes, "general.architecture");
    put_number(bytes, GGUF_TEXT, 4);
    put_text(bytes, name);
    for (size_t i = 0; i < size_count; i++) {
        snprintf(key, sizeof key, "%s.%s", name, sizes[i].key);
        put_whole_key(bytes, key, sizes[i].number);
    }
    put_key(bytes, row);
    if (row->second_key && row->whole)
        put_whole_key(bytes, row->second_key, (unsigned)row->second);
    else if (row->second_key)
        put_float_key(bytes, row->second_key, row->second);
    put_text(bytes, "token_embd.weight");
    put_number(bytes, 2, 4);
    put_number(bytes, 8, 8);
    put_number(bytes, 3, 8);
    put_number(bytes, 0, 4);
    put_number(bytes, 0, 8);
    buf_repeat(bytes, "", 1, (0 - bytes->size) % 32 + 96);
}

TEST_LOOP(keys_are_converted_to_a_config_or_refused, COUNT(key_cases))
{
    const struct key_case *row = &key_cases[_i];
    struct buf bytes = {0};
    struct buf config = {0};
    struct gguf gguf = {0};
    put_file(&bytes, row);
    struct file file = file_borrow(bytes.bytes, bytes.size);
    ck_assert_msg(!gguf_read(&gguf, &file, &err), "%s", err.text);
    bool refused = gguf_write_config(&config, &gguf, &err);
    const char *found = refused ? err.text : config.bytes;
    bool plain = row->message == plain_rotation;
    ck_assert_msg(plain ? !refused && !strstr(found, "scaling") : !!strstr(found, row->message),
                  "%s", found);
    gguf_release(&gguf);
    buf_release(&config);
    buf_release(&bytes);
}
