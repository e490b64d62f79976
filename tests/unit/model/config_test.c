#include "model/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/config_text.h"
#include "../rigs/tiny_model.h"
#include "base/heap.h"

/* clang-format off */
TEST(an_empty_gpt2_config_is_the_smallest_gpt2)
{
    struct config c = config_of(JSON({"model_type": "gpt2"}));
    ck_assert_int_eq(c.kind, MODEL_GPT2);
    ck_assert_str_eq(config_kind_name(&c), "gpt2");
    ck_assert_uint_eq(c.vocab_size, 50257);
    ck_assert_uint_eq(c.n_positions, 1024);
    ck_assert_uint_eq(c.n_embd, 768);
    ck_assert_uint_eq(c.n_layer, 12);
    ck_assert_uint_eq(c.n_head, 12);
    ck_assert_uint_eq(c.n_kv_head, 12);
    ck_assert_uint_eq(c.d_k, 64);
    ck_assert_uint_eq(c.d_v, 64);
    ck_assert_uint_eq(c.n_inner, 3072);
    ck_assert_int_eq(c.activation, ACTIVATION_GELU_NEW);
    ck_assert(c.epsilon == 1e-5f);
    ck_assert(c.scale == 0.125f);
    ck_assert(c.tied && c.causal && c.projections && c.out_proj && c.biases == BIAS_ALL);
    ck_assert(c.norm_first && c.final_norm && !c.sinusoids && c.embedding_scale == 1);
    ck_assert(!c.scale_by_layer && !c.cross && !c.n_encoder_layer);
    ck_assert_int_eq(c.bos_id, 50256);
    ck_assert_int_eq(c.eos_id, 50256);
}

TEST(every_key_of_gpt2_is_read)
{
    struct config c = config_of(JSON({
        "model_type": "gpt2", "vocab_size": 11, "n_positions": 22, "n_embd": 36, "n_layer": 3,
        "n_head": 9, "n_inner": 55, "activation_function": "relu", "layer_norm_epsilon": 0.25,
        "scale_attn_weights": false, "scale_attn_by_inverse_layer_idx": true,
        "tie_word_embeddings": false, "add_cross_attention": false, "bos_token_id": 6,
        "eos_token_id": 7, "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1}));
    ck_assert_uint_eq(c.vocab_size, 11);
    ck_assert_uint_eq(c.n_positions, 22);
    ck_assert_uint_eq(c.n_embd, 36);
    ck_assert_uint_eq(c.n_layer, 3);
    ck_assert_uint_eq(c.n_head, 9);
    ck_assert_uint_eq(c.d_k, 4);
    ck_assert_uint_eq(c.d_v, 4);
    ck_assert_uint_eq(c.n_inner, 55);
    ck_assert_int_eq(c.activation, ACTIVATION_RELU);
    ck_assert(c.epsilon == 0.25f);
    ck_assert(c.scale == 1 && c.scale_by_layer && !c.tied);
    ck_assert_int_eq(c.bos_id, 6);
    ck_assert_int_eq(c.eos_id, 7);
    ck_assert(config_scale(&c, 0) == 1.0f && config_scale(&c, 2) == 1.0f / 3);
}

TEST(the_names_of_other_checkpoints_are_known)
{
    struct config c = config_of(
                           JSON({"model_type": "gpt2", "hidden_size": 10, "num_hidden_layers": 2,
                                 "num_attention_heads": 5, "max_position_embeddings": 33}));
    ck_assert_uint_eq(c.n_embd, 10);
    ck_assert_uint_eq(c.n_layer, 2);
    ck_assert_uint_eq(c.n_head, 5);
    ck_assert_uint_eq(c.n_positions, 33);
    c = config_of(JSON({"model_type": "attention", "vocab_size": 3, "hidden_size": 10,
                   "num_hidden_layers": 2, "num_attention_heads": 5}));
    ck_assert_uint_eq(c.n_embd, 10);
    ck_assert_uint_eq(c.n_layer, 2);
    ck_assert_uint_eq(c.n_head, 5);
}

TEST(a_keys_own_name_counts_more_than_its_others)
{
    struct config c = config_of(JSON({"model_type": "gpt2", "n_positions": 5, "n_ctx": 6,
                                 "max_position_embeddings": 7, "n_embd": 24, "hidden_size": 12}));
    ck_assert_uint_eq(c.n_positions, 5);
    ck_assert_uint_eq(c.n_embd, 24);
    c = config_of(JSON({"model_type": "gpt2", "n_ctx": 6}));
    ck_assert_uint_eq(c.n_positions, 6);
}

TEST(null_switches_off_and_is_else_as_good_as_absent)
{
    struct config c = config_of(JSON({
        "model_type": "gpt2", "n_inner": null, "n_embd": 24, "n_head": null, "hidden_size": null,
        "activation_function": null, "layer_norm_epsilon": null, "scale_attn_weights": null,
        "tie_word_embeddings": null, "bos_token_id": null}));
    ck_assert_uint_eq(c.n_inner, 96);
    ck_assert_uint_eq(c.n_head, 12);
    ck_assert_int_eq(c.activation, ACTIVATION_GELU_NEW);
    ck_assert(!c.tied);
    ck_assert_float_eq(c.scale, 1);
    ck_assert_int_eq(c.bos_id, -1); /* null: no such token */
    ck_assert_int_eq(c.eos_id, 50256);
}

TEST(bare_attention_has_one_head_unless_it_is_told)
{
    struct config c = config_of(JSON({"model_type": "attention", "vocab_size": 6, "n_embd": 16}));
    ck_assert_int_eq(c.kind, MODEL_ATTENTION);
    ck_assert_str_eq(config_kind_name(&c), "attention");
    ck_assert_uint_eq(c.vocab_size, 6);
    ck_assert_uint_eq(c.n_positions, 0);
    ck_assert_uint_eq(c.n_embd, 16);
    ck_assert_uint_eq(c.n_layer, 1);
    ck_assert_uint_eq(c.n_head, 1);
    ck_assert_uint_eq(c.n_kv_head, 1);
    ck_assert_uint_eq(c.d_k, 16);
    ck_assert_uint_eq(c.d_v, 16);
    ck_assert(c.scale == 0.25f && config_scale(&c, 5) == 0.25f);
    ck_assert(c.projections && !c.out_proj && !c.biases && !c.causal && !c.cross);
    ck_assert_int_eq(c.bos_id, -1);
    ck_assert_int_eq(c.eos_id, -1);
}

TEST(every_key_of_bare_attention_is_read)
{
    struct config c = config_of(JSON({
        "model_type": "attention", "vocab_size": 6, "n_embd": 15, "n_layer": 4, "n_head": 6,
        "n_kv_head": 3, "d_k": 7, "d_v": 2, "causal": true, "projections": true, "out_proj": true,
        "bias": true, "scale": -2.5, "attention": "self"}));
    ck_assert_uint_eq(c.n_layer, 4);
    ck_assert_uint_eq(c.n_head, 6);
    ck_assert_uint_eq(c.n_kv_head, 3);
    ck_assert_uint_eq(c.d_k, 7);
    ck_assert_uint_eq(c.d_v, 2);
    ck_assert(c.causal && c.projections && c.out_proj && c.biases && !c.cross);
    ck_assert(c.scale == -2.5f);
    c = config_of(JSON({"model_type": "attention", "vocab_size": 6, "n_embd": 12, "n_head": 3,
                   "attention": "cross", "projections": false, "n_layer": 2}));
    ck_assert(c.cross && !c.projections);
    ck_assert_uint_eq(c.d_k, 4);
}

static const struct refusal {
    const char *config;
    const char *message; /* after "'m/config.json': " */
} refusals[] = {
    {"", "byte 0: expected a value, found the end"},
    {"[]", "expected a JSON object"},
    {"{}",
     "field 'model_type': expected a type such as \"gpt2\" or \"llama\", found nothing"},
    {JSON({"model_type": null}),
     "field 'model_type': expected a type such as \"gpt2\" or \"llama\", found nothing"},
    {JSON({"model_type": 5}), "field 'model_type': expected a text, found 5"},
    {JSON({"model_type": "gpt2", "n_head": 2, "n_head": 3}),
     "field 'n_head': expected once, found twice"},
    {JSON({"model_type": "gpt2", "n_embd": 770}),
     "field 'n_embd': expected a multiple of n_head = 12, found 770"},
    {JSON({"model_type": "gpt2", "n_embd": 768.5}),
     "field 'n_embd': expected an integer from 1 to 16777216, found 768.5"},
    {JSON({"model_type": "gpt2", "n_embd": "768"}),
     "field 'n_embd': expected an integer from 1 to 16777216, found \"768\""},
    {JSON({"model_type": "gpt2", "n_head": 0}),
     "field 'n_head': expected an integer from 1 to 16777216, found 0"},
    {JSON({"model_type": "gpt2", "n_inner": -1}),
     "field 'n_inner': expected an integer from 1 to 16777216, found -1"},
    {JSON({"model_type": "gpt2", "n_layer": 16385}),
     "field 'n_layer': expected an integer from 1 to 16384, found 16385"},
    {JSON({"model_type": "gpt2", "n_layer": 1e999}),
     "field 'n_layer': expected an integer from 1 to 16384, found a number that is too large"},
    {JSON({"model_type": "gpt2", "vocab_size": 9007199254740993}),
     "field 'vocab_size': expected an integer from 1 to 16777216, found 9007199254740992"},
    {JSON({"model_type": "gpt2", "n_positions": 2147483648}),
     "field 'n_positions': expected an integer from 1 to 16777216, found 2147483648"},
    {JSON({"model_type": "gpt2", "hidden_size": 0}),
     "field 'hidden_size': expected an integer from 1 to 16777216, found 0"},
    {JSON({"model_type": "gpt2", "n_ctx": []}),
     "field 'n_ctx': expected an integer from 1 to 16777216, found an array"},
    {JSON({"model_type": "gpt2", "layer_norm_epsilon": -1}),
     "field 'layer_norm_epsilon': expected a number from 0 to 1, found -1"},
    {JSON({"model_type": "gpt2", "scale_attn_weights": 1}),
     "field 'scale_attn_weights': expected true or false, found 1"},
    {JSON({"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": "no"}),
     "field 'scale_attn_by_inverse_layer_idx': expected true or false, found \"no\""},
    {JSON({"model_type": "gpt2", "tie_word_embeddings": {}}),
     "field 'tie_word_embeddings': expected true or false, found an object"},
    {JSON({"model_type": "gpt2", "add_cross_attention": 0}),
     "field 'add_cross_attention': expected true or false, found 0"},
    {JSON({"model_type": "gpt2", "activation_function": 1}),
     "field 'activation_function': expected a text, found 1"},
    {JSON({"model_type": "gpt2", "bos_token_id": -1}),
     "field 'bos_token_id': expected an integer from 0 to 2147483647, found -1"},
    {JSON({"model_type": "gpt2", "eos_token_id": 0.5}),
     "field 'eos_token_id': expected an integer from 0 to 2147483647, found 0.5"},
    {JSON({"model_type": "attention"}), "field 'vocab_size': expected a number, found nothing"},
    {JSON({"model_type": "attention", "vocab_size": 3}),
     "field 'n_embd': expected a number, found nothing"},
    {JSON({"model_type": "attention", "vocab_size": null, "n_embd": 3}),
     "field 'vocab_size': expected a number, found nothing"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "n_head": 3}),
     "field 'n_embd': expected a multiple of n_head = 3, found 4"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "n_head": 3, "d_k": 1}),
     "field 'n_embd': expected a multiple of n_head = 3, found 4"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "n_head": 4, "n_kv_head": 3}),
     "field 'n_head': expected a multiple of n_kv_head = 3, found 4"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "n_kv_head": 2}),
     "field 'n_head': expected a multiple of n_kv_head = 2, found 1"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "n_head": 2, "d_k": 3,
           "projections": false}),
     "field 'projections': false makes every head 2 wide (n_embd / n_head) with keys of its own, "
     "found d_k = 3, d_v = 2, n_kv_head = 2"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "n_head": 2, "n_kv_head": 1,
           "projections": false}),
     "field 'projections': false makes every head 2 wide (n_embd / n_head) with keys of its own, "
     "found d_k = 2, d_v = 2, n_kv_head = 1"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "n_head": 16777216, "d_k": 2,
           "d_v": 1}),
     "field 'd_k': expected n_head · d_k of at most 16777216, found 33554432"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "n_head": 16777216, "d_k": 1,
           "d_v": 16777216}),
     "field 'd_v': expected n_head · d_v of at most 16777216, found 281474976710656"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "causal": 0}),
     "field 'causal': expected true or false, found 0"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "projections": "yes"}),
     "field 'projections': expected true or false, found \"yes\""},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "attention": true}),
     "field 'attention': expected a text, found true"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "attention": "cross",
           "causal": true}),
     "field 'causal': expected false where attention is \"cross\", found true"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "d_v": 3, "n_layer": 2}),
     "field 'n_layer': expected 1 where the heads side by side are not n_embd = 4 wide "
     "(n_head · d_v = 3), found 2"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "scale": 1e7}),
     "field 'scale': expected a number from -1e+06 to 1e+06, found 10000000"},
};

#define KNOWN_TYPES                                                                    \
    "field 'model_type': expected one of gpt2, attention, transformer, llama, mistral, " \
    "qwen2, qwen3, granite, smollm3, phi3, olmo2, gemma, gemma2, gemma3_text, phi, "     \
    "stablelm, starcoder2, gpt_neox, gpt_neo, gptj, opt, bloom, falcon, "

static const struct refusal unsupported[] = {
    {JSON({"model_type": "mamba"}),
     KNOWN_TYPES "found \"mamba\""},
    {JSON({"model_type": "GPT2"}),
     KNOWN_TYPES "found \"GPT2\""},
    {JSON({"model_type": "gpt2", "activation_function": "mish"}),
     "field 'activation_function': expected gelu_new, gelu_pytorch_tanh, gelu_python_tanh, "
     "gelu_accurate, gelu_fast, gelu, gelu_python, relu, silu, swish, tanh or quick_gelu, found "
     "\"mish\""},
    {JSON({"model_type": "gpt2", "add_cross_attention": true}),
     "field 'add_cross_attention': expected false, found true"},
    {JSON({"model_type": "attention", "vocab_size": 3, "n_embd": 4, "attention": "linear"}),
     "field 'attention': expected \"self\" or \"cross\", found \"linear\""},
};
/* clang-format on */

static void check_refusal(const struct refusal *refusal, enum err_kind kind)
{
    char expected[512];
    struct config config;
    struct err err;
    snprintf(expected, sizeof expected, "'m/config.json': %s", refusal->message);
    ck_assert_msg(config_open_text(&config, refusal->config, &err) == -1, "accepted: %s",
                  refusal->config);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(err.kind, kind);
}

TEST(what_is_wrong_is_named)
{
    for (size_t i = 0; i < COUNT(refusals); i++)
        check_refusal(&refusals[i], ERR_INPUT);
}

TEST(what_is_not_supported_is_named)
{
    for (size_t i = 0; i < COUNT(unsupported); i++)
        check_refusal(&unsupported[i], ERR_UNSUPPORTED);
}

TEST(every_name_in_the_list_of_activations_is_one)
{
    struct config config;
    struct err err;
    char text[128];
    config_open_text(&config, unsupported[2].config, &err);
    const char *list = strstr(err.text, "expected ") + strlen("expected ");
    for (; strncmp(list, "found", 5) != 0; list += strspn(list, " ,")) {
        size_t size = strcspn(list, " ,");
        if (strncmp(list, "or ", 3) != 0) {
            snprintf(text, sizeof text,
                     "{\"model_type\":\"gpt2\",\"activation_function\":\"%.*s\"}", (int)size, list);
            config_of(text);
        }
        list += size;
    }
}

TEST(a_folder_without_a_config_is_no_model)
{
    struct folder_file file = {"model.safetensors", "", 0};
    struct folder folder = {.path = "m", .files = &file, .file_count = 1};
    struct config config;
    struct err err = {0};
    ck_assert_int_eq(config_open(&config, &folder, &err), -1);
    ck_assert_str_eq(err.text, "the bundled model 'm' has no file 'config.json'");
    folder = (struct folder){.path = "/nowhere"};
    err_clear(&err);
    ck_assert_int_eq(config_open(&config, &folder, &err), -1);
    ck_assert_str_eq(err.text, "cannot open '/nowhere/config.json': No such file or directory");
}

TEST(an_allocation_that_fails_is_an_error)
{
    int failed = -1;
    for (size_t nth = 1; failed; nth++) {
        struct config config;
        struct err err;
        heap_fail_at(nth, 0);
        failed = config_open_text(&config, "{\"model_type\":\"gpt2\"}", &err);
        heap_fail_at(0, 0);
        ck_assert(!failed || strstr(err.text, "out of memory"));
        ck_assert(failed || nth > 3);
    }
}
