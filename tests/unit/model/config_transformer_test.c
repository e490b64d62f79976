#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/config_text.h"
#include "../rigs/tiny_model.h"
#include "model/config.h"

/* clang-format off */
TEST(unless_it_is_told_it_is_the_papers_as_torch_has_it)
{
    struct config c = config_of(JSON({"model_type": "transformer", "vocab_size": 6, "n_embd": 16}));
    ck_assert_int_eq(c.kind, MODEL_TRANSFORMER);
    ck_assert_str_eq(config_kind_name(&c), "transformer");
    ck_assert_uint_eq(c.vocab_size, 6);
    ck_assert_uint_eq(c.n_positions, 0);
    ck_assert_uint_eq(c.n_embd, 16);
    ck_assert_uint_eq(c.n_layer, 1);
    ck_assert_uint_eq(c.n_encoder_layer, 1);
    ck_assert_uint_eq(config_layers(&c), 2);
    ck_assert_uint_eq(c.n_head, 1);
    ck_assert_uint_eq(c.n_kv_head, 1);
    ck_assert_uint_eq(c.d_k, 16);
    ck_assert_uint_eq(c.d_v, 16);
    ck_assert_uint_eq(c.n_inner, 64);
    ck_assert_int_eq(c.activation, ACTIVATION_RELU);
    ck_assert(c.epsilon == 1e-5f);
    ck_assert(c.scale == 0.25f && config_scale(&c, 5) == 0.25f);
    ck_assert(c.embedding_scale == 4);
    ck_assert(c.sinusoids && !c.norm_first && c.final_norm && c.tied);
    ck_assert(c.causal && c.cross && c.projections && c.out_proj && c.biases == BIAS_ALL);
    ck_assert_int_eq(c.bos_id, -1);
    ck_assert_int_eq(c.eos_id, -1);
}

TEST(every_key_is_read)
{
    struct config c = config_of(JSON({
        "model_type": "transformer", "vocab_size": 6, "n_embd": 15, "n_positions": 9,
        "n_encoder_layer": 4, "n_layer": 3, "n_head": 5, "n_inner": 7,
        "activation_function": "gelu", "layer_norm_epsilon": 0.5, "positions": "learned",
        "scale_embedding": false, "norm_first": true, "final_norm": false, "bias": false,
        "tie_word_embeddings": false}));
    ck_assert_uint_eq(c.n_positions, 9);
    ck_assert_uint_eq(c.n_encoder_layer, 4);
    ck_assert_uint_eq(c.n_layer, 3);
    ck_assert_uint_eq(c.n_head, 5);
    ck_assert_uint_eq(c.d_k, 3);
    ck_assert_uint_eq(c.n_inner, 7);
    ck_assert_int_eq(c.activation, ACTIVATION_GELU);
    ck_assert(c.epsilon == 0.5f && c.embedding_scale == 1);
    ck_assert(!c.sinusoids && c.norm_first && !c.final_norm && c.biases == BIAS_MLP && !c.tied);
    c = config_of(JSON({"model_type": "transformer", "vocab_size": 6, "n_embd": 6, "n_positions": 9,
                   "positions": "sinusoidal"}));
    ck_assert(c.sinusoids);
    ck_assert_uint_eq(c.n_positions, 9);
}

#define SMALL "\"model_type\": \"transformer\", \"vocab_size\": 3, \"n_embd\": 4"

static const struct refusal {
    const char *config;
    const char *message; /* after "'m/config.json': field " */
    enum err_kind kind;
} refusals[] = {
    {"{\"model_type\": \"transformer\"}", "'vocab_size': expected a number, found nothing",
     ERR_INPUT},
    {"{\"model_type\": \"transformer\", \"vocab_size\": 3}",
     "'n_embd': expected a number, found nothing", ERR_INPUT},
    {"{" SMALL ", \"n_head\": 3}", "'n_embd': expected a multiple of n_head = 3, found 4",
     ERR_INPUT},
    {"{" SMALL ", \"n_encoder_layer\": 0}",
     "'n_encoder_layer': expected an integer from 1 to 16384, found 0", ERR_INPUT},
    {"{" SMALL ", \"n_layer\": 20000}",
     "'n_layer': expected an integer from 1 to 16384, found 20000", ERR_INPUT},
    {"{" SMALL ", \"positions\": true}", "'positions': expected a text, found true", ERR_INPUT},
    {"{" SMALL ", \"positions\": \"rotary\"}",
     "'positions': expected \"sinusoidal\" or \"learned\", found \"rotary\"", ERR_UNSUPPORTED},
    {"{" SMALL ", \"positions\": \"learned\"}",
     "'n_positions': expected a number where positions are \"learned\", found nothing", ERR_INPUT},
    {"{" SMALL ", \"norm_first\": 1}", "'norm_first': expected true or false, found 1", ERR_INPUT},
    {"{" SMALL ", \"final_norm\": 1}", "'final_norm': expected true or false, found 1", ERR_INPUT},
    {"{" SMALL ", \"scale_embedding\": 1}", "'scale_embedding': expected true or false, found 1",
     ERR_INPUT},
    {"{" SMALL ", \"bias\": 1}", "'bias': expected true or false, found 1", ERR_INPUT},
    {"{" SMALL ", \"tie_word_embeddings\": 1}",
     "'tie_word_embeddings': expected true or false, found 1", ERR_INPUT},
    {"{" SMALL ", \"layer_norm_epsilon\": 2}",
     "'layer_norm_epsilon': expected a number from 0 to 1, found 2", ERR_INPUT},
    {"{" SMALL ", \"activation_function\": \"mish\"}",
     "'activation_function': expected gelu_new, gelu_pytorch_tanh, gelu_python_tanh, "
     "gelu_accurate, gelu_fast, gelu, gelu_python, relu, silu, swish, tanh or quick_gelu, found "
     "\"mish\"", ERR_UNSUPPORTED},
};
/* clang-format on */

TEST(what_is_wrong_or_not_supported_is_named)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        char expected[512];
        struct config config;
        struct err err;
        snprintf(expected, sizeof expected, "'m/config.json': field %s", refusals[i].message);
        ck_assert_msg(config_open_text(&config, refusals[i].config, &err) == -1, "accepted: %s",
                      refusals[i].config);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(err.kind, refusals[i].kind);
    }
}
