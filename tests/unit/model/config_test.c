#include "model/config.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"

/* The keys of the models of families in these tests; more keys follow. */
#define SIZES                                                                        \
    "\"vocab_size\": 29, \"hidden_size\": 24, \"num_hidden_layers\": 2, "            \
    "\"num_attention_heads\": 4, \"num_key_value_heads\": 4, "                       \
    "\"intermediate_size\": 20, \"layer_norm_eps\": 1e-5, "                          \
    "\"rms_norm_eps\": 1e-6, \"layer_norm_epsilon\": 1e-5, \"norm_epsilon\": 1e-5, " \
    "\"max_position_embeddings\": 64, "
#define NOTHING "\"use_cache\": true"
#define MODEL(type, keys) "{\"model_type\": \"" type "\", " SIZES keys "}"
#define LAYERS_30(type, keys)                                                             \
    "{\"model_type\": \"" type "\", \"vocab_size\": 9, \"hidden_size\": 24, "             \
    "\"num_hidden_layers\": 30, \"num_attention_heads\": 4, \"num_key_value_heads\": 4, " \
    "\"intermediate_size\": 20, "                                                         \
    "\"max_position_embeddings\": 64, " keys "}"
#define GPT2(keys) "{\"model_type\": \"gpt2\", " keys "}"
#define HOUSE(type) "{\"model_type\": \"" type "\", \"vocab_size\": 6, \"n_embd\": 16}"

static void parse(struct config *config, const char *text)
{
    struct err err = {0};
    memset(config, 0, sizeof *config);
    ck_assert_msg(!config_parse(config, text, strlen(text), &err), "%s", err.text);
}

/* --- defaults --------------------------------------------------------------------------------- */

static const struct defaults {
    const char *text;
    struct config config; /* the fields that the test compares */
} defaults[] = {
    {"{\"model_type\": \"gpt2\"}",
     {MODEL_GPT2, 50257, 1024, 768, 12, 0, 12, 12, 64, 64, 0, 3072, ACTIVATION_GELU_NEW,
      .scale = 0.125f, .bos_id = 50256, .eos_id = 50256}},
    {HOUSE("attention"),
     {MODEL_ATTENTION, 6, 0, 16, 1, 0, 1, 1, 16, 16, 16, 0, .scale = 0.25f, .bos_id = -1,
      .eos_id = -1}},
    {HOUSE("transformer"),
     {MODEL_TRANSFORMER, 6, 0, 16, 1, 1, 1, 1, 16, 16, 0, 64, ACTIVATION_RELU, .scale = 0.25f,
      .bos_id = -1, .eos_id = -1}},
};

TEST_LOOP(missing_sizes_have_defaults, COUNT(defaults))
{
    const struct config *expected = &defaults[_i].config;
    struct config found;
    parse(&found, defaults[_i].text);
    ck_assert_int_eq(found.kind, expected->kind);
    ck_assert_uint_eq(found.vocab_size, expected->vocab_size);
    ck_assert_uint_eq(found.n_positions, expected->n_positions);
    ck_assert_uint_eq(found.n_embd, expected->n_embd);
    ck_assert_uint_eq(found.n_layer, expected->n_layer);
    ck_assert_uint_eq(found.n_encoder_layer, expected->n_encoder_layer);
    ck_assert_uint_eq(found.n_head, expected->n_head);
    ck_assert_uint_eq(found.n_kv_head, expected->n_kv_head);
    ck_assert_uint_eq(found.d_k, expected->d_k);
    ck_assert_uint_eq(found.d_v, expected->d_v);
    ck_assert_uint_eq(found.d_out, expected->d_out);
    ck_assert_int_eq(found.activation, expected->activation);
    ck_assert_float_eq(found.scale, expected->scale);
    ck_assert_int_eq(found.bos_id, expected->bos_id);
    ck_assert_int_eq(found.eos_id, expected->eos_id);
    if (expected->n_inner)
        ck_assert_uint_eq(found.n_inner, expected->n_inner);
}

/* --- equivalent configs ----------------------------------------------------------------------- */

static const struct same {
    const char *config, *plain;
} same[] = {
    /* aliases of a key, and their precedence */
    {GPT2("\"n_positions\": 5, \"n_ctx\": 6, \"max_position_embeddings\": 7"),
     GPT2("\"n_positions\": 5")},
    {GPT2("\"n_ctx\": 6"), GPT2("\"n_positions\": 6")},
    {GPT2("\"n_embd\": 24, \"hidden_size\": 12"), GPT2("\"n_embd\": 24")},
    {GPT2("\"hidden_size\": 24, \"num_hidden_layers\": 2, \"num_attention_heads\": 3"),
     GPT2("\"n_embd\": 24, \"n_layer\": 2, \"n_head\": 3")},
    /* null is false for a flag that is true by default, otherwise the same as a missing key */
    {GPT2("\"n_inner\": null, \"n_head\": null, \"activation_function\": null"),
     GPT2("\"n_layer\": 12")},
    {GPT2("\"scale_attn_weights\": null, \"tie_word_embeddings\": null"),
     GPT2("\"scale_attn_weights\": false, \"tie_word_embeddings\": false")},
    {MODEL("gpt_neox", "\"rotary_pct\": 1, \"use_parallel_residual\": null"),
     MODEL("gpt_neox", "\"rotary_pct\": 1, \"use_parallel_residual\": false")},
    {MODEL("gpt_neox", "\"rotary_pct\": 1, \"attention_bias\": null"),
     MODEL("gpt_neox", "\"rotary_pct\": 1, \"attention_bias\": false")},
    {MODEL("falcon", "\"multi_query\": null, \"parallel_attn\": null"),
     MODEL("falcon", "\"multi_query\": false, \"parallel_attn\": false")},
    {MODEL("opt", "\"enable_bias\": null, \"do_layer_norm_before\": null"),
     MODEL("opt", "\"enable_bias\": false, \"do_layer_norm_before\": false")},
    {MODEL("starcoder2", "\"use_bias\": null, \"tie_word_embeddings\": null"),
     MODEL("starcoder2", "\"use_bias\": false, \"tie_word_embeddings\": false")},
    {MODEL("gemma", "\"head_dim\": null"), MODEL("gemma", "\"head_dim\": 6")},
    /* an activation under another name */
    {MODEL("gpt_neox", "\"rotary_pct\": 1, \"hidden_act\": \"gelu_fast\""),
     MODEL("gpt_neox", "\"rotary_pct\": 1, \"hidden_act\": \"gelu_new\"")},
    {MODEL("phi", "\"partial_rotary_factor\": 1, \"hidden_act\": \"gelu_python\""),
     MODEL("phi", "\"partial_rotary_factor\": 1, \"hidden_act\": \"gelu\"")},
    {MODEL("llama", "\"hidden_act\": \"swish\""), MODEL("llama", NOTHING)},
    /* a key of another family is ignored */
    {MODEL("llama", "\"hidden_act\": \"silu\", \"activation_function\": \"relu\", "
                    "\"hidden_activation\": \"gelu\", \"activation\": \"tanh\""),
     MODEL("llama", NOTHING)},
    {MODEL("llama", "\"rotary_dim\": 2, \"rotary_pct\": 0.5, \"rotary_emb_base\": 5"),
     MODEL("llama", NOTHING)},
    {MODEL("gpt_neo", "\"hidden_act\": \"relu\""), MODEL("gpt_neo", NOTHING)},
    {MODEL("opt", "\"hidden_act\": \"gelu\""), MODEL("opt", NOTHING)},
    {MODEL("falcon", "\"hidden_act\": \"relu\", \"activation_function\": \"relu\""),
     MODEL("falcon", NOTHING)},
    {MODEL("bloom", "\"hidden_act\": \"relu\", \"activation_function\": \"relu\""),
     MODEL("bloom", NOTHING)},
    {MODEL("gemma", "\"head_dim\": 6, \"hidden_act\": \"gelu\""),
     MODEL("gemma", "\"head_dim\": 6")},
    {MODEL("gemma", "\"head_dim\": 6, \"hidden_act\": \"relu\", \"hidden_activation\": null"),
     MODEL("gemma", "\"head_dim\": 6, \"hidden_activation\": \"relu\"")},
    {MODEL("gemma", "\"head_dim\": 6, \"hidden_act\": \"relu\", \"hidden_activation\": \"gelu\""),
     MODEL("gemma", "\"head_dim\": 6, \"hidden_activation\": \"gelu\"")},
    {MODEL("gemma2", "\"hidden_act\": \"relu\", \"hidden_activation\": \"gelu\""),
     MODEL("gemma2", "\"hidden_activation\": \"gelu\"")},
    /* the older keys of the rotary embedding, and the newer ones */
    {MODEL("llama", "\"rope_theta\": 500, \"rope_scaling\": {\"type\": \"linear\", "
                    "\"factor\": 4}"),
     MODEL("llama", "\"rope_parameters\": {\"rope_theta\": 500, \"rope_type\": \"linear\", "
                    "\"factor\": 4}")},
};

TEST_LOOP(equivalent_configs_are_parsed_alike, COUNT(same))
{
    static struct config found, expected;
    parse(&found, same[_i].config);
    parse(&expected, same[_i].plain);
    memset(found.unread, 0, sizeof found.unread); /* lists keys of other families */
    memset(expected.unread, 0, sizeof expected.unread);
    ck_assert_mem_eq(&found, &expected, sizeof found);
}

/* --- sizes of families ------------------------------------------------------------------------ */

/* Heads and channels of a config, and by the classes of transformers 5.24 what else it has if it
 * says nothing of it: hidden channels (0: four times the channels), heads of keys (0: as many). */
static const struct sizes {
    const char *type;
    size_t n_head, n_embd, n_inner, n_kv_head;
} sizes[] = {
    {"albert", 64, 4096, 16384, 0},
    {"apertus", 32, 4096, 14336, 0},
    {"arcee", 32, 2560, 18432, 0},
    {"bamba", 32, 4096, 14336, 8},
    {"bert", 12, 768, 3072, 0},
    {"biogpt", 16, 1024, 4096, 0},
    {"bloom", 8, 64, 0, 0},
    {"camembert", 12, 768, 3072, 0},
    {"codegen", 16, 4096, 0, 0},
    {"cohere", 64, 8192, 22528, 0},
    {"cohere2", 64, 8192, 22528, 0},
    {"deepseek_v3", 128, 7168, 18432, 128},
    {"diffllama", 32, 2048, 8192, 0},
    {"distilbert", 12, 768, 3072, 0},
    {"electra", 4, 256, 1024, 0},
    {"ernie4_5", 16, 1024, 3072, 2},
    {"ernie4_5_moe", 20, 2560, 12288, 4},
    {"esm", 12, 768, 3072, 0},
    {"exaone4", 32, 4096, 16384, 32},
    {"falcon_h1", 32, 4096, 14336, 8},
    {"gemma", 16, 3072, 24576, 16},
    {"gemma2", 8, 2304, 9216, 4},
    {"gemma3_text", 8, 2304, 9216, 4},
    {"gemma3n_text", 8, 2048, 16384, 2},
    {"gemma4_text", 8, 2304, 9216, 4},
    {"glm", 32, 4096, 13696, 2},
    {"glm4", 32, 4096, 13696, 2},
    {"glm4_moe_lite", 20, 2048, 10240, 20},
    {"gpt_neo", 16, 2048, 0, 0},
    {"gpt_neox", 64, 6144, 24576, 0},
    {"gpt_oss", 64, 2880, 2880, 8},
    {"gptj", 16, 4096, 0, 0},
    {"granite", 32, 4096, 11008, 0},
    {"granitemoe", 32, 4096, 11008, 0},
    {"granitemoeshared", 32, 4096, 11008, 0},
    {"helium", 20, 2560, 7040, 20},
    {"hunyuan_v1_dense", 32, 4096, 11008, 0},
    {"hunyuan_v1_moe", 32, 4096, 11008, 0},
    {"jamba", 32, 4096, 14336, 8},
    {"kimi_linear", 32, 2304, 9216, 32},
    {"lfm2_moe", 32, 2048, 7168, 8},
    {"llama", 32, 4096, 11008, 0},
    {"minimax_m2", 48, 3072, 1536, 8},
    {"ministral", 32, 4096, 14336, 8},
    {"ministral3", 32, 4096, 14336, 8},
    {"mistral", 32, 4096, 14336, 8},
    {"mixtral", 32, 4096, 14336, 8},
    {"modernbert", 12, 768, 1152, 0},
    {"mpnet", 12, 768, 3072, 0},
    {"mpt", 16, 2048, 0, 0},
    {"nemotron", 48, 6144, 24576, 0},
    {"nemotron_h", 32, 4096, 21504, 8},
    {"nomic_bert", 12, 768, 3072, 0},
    {"olmo", 32, 4096, 11008, 0},
    {"olmo2", 32, 4096, 11008, 0},
    {"olmo3", 32, 4096, 11008, 0},
    {"olmo_hybrid", 30, 3840, 11008, 0},
    {"olmoe", 16, 2048, 2048, 0},
    {"openai-gpt", 12, 768, 0, 0},
    {"opt", 12, 768, 3072, 0},
    {"phi", 32, 2048, 8192, 0},
    {"phi3", 32, 3072, 8192, 0},
    {"phimoe", 32, 4096, 6400, 8},
    {"qwen2", 32, 4096, 22016, 32},
    {"qwen2_moe", 16, 2048, 5632, 16},
    {"qwen3", 32, 4096, 22016, 32},
    {"qwen3_5_moe_text", 16, 2048, 0, 2},
    {"qwen3_5_text", 16, 4096, 12288, 4},
    {"qwen3_moe", 32, 2048, 6144, 4},
    {"qwen3_next", 16, 2048, 5632, 2},
    {"roberta", 12, 768, 3072, 0},
    {"seed_oss", 80, 4096, 27648, 8},
    {"smollm3", 16, 2048, 11008, 4},
    {"stablelm", 32, 2560, 6912, 32},
    {"starcoder2", 24, 3072, 12288, 2},
    {"xglm", 16, 1024, 4096, 0},
    {"xlm-roberta", 12, 768, 3072, 0},
};

TEST_LOOP(sizes_that_a_config_lacks_are_those_of_transformers, COUNT(sizes))
{
    const struct sizes *wanted = &sizes[_i];
    char text[256];
    struct config config;
    snprintf(text, sizeof text,
             "{\"model_type\": \"%s\", \"vocab_size\": 9, \"num_hidden_layers\": 40, "
             "\"num_attention_heads\": %zu, \"hidden_size\": %zu}",
             wanted->type, wanted->n_head, wanted->n_embd);
    parse(&config, text);
    ck_assert_uint_eq(config.n_inner, wanted->n_inner ? wanted->n_inner : 4 * wanted->n_embd);
    ck_assert_uint_eq(config.n_kv_head, wanted->n_kv_head ? wanted->n_kv_head : wanted->n_head);
}

/* --- layers that differ ----------------------------------------------------------------------- */

/* Defaults of the width and first layer of a window that is switched on. */
static const struct switched_window {
    const char *config;
    size_t window, first; /* 0: none */
} switched_windows[] = {
    {LAYERS_30("qwen2", "\"use_sliding_window\": true"), 4096, 28},
    {LAYERS_30("qwen3", "\"use_sliding_window\": true"), 4096, 28},
    {LAYERS_30("qwen2", "\"use_sliding_window\": true, \"max_window_layers\": 3"), 4096, 3},
    {LAYERS_30("qwen2", "\"use_sliding_window\": true, \"sliding_window\": 5"), 5, 28},
    {LAYERS_30("qwen2", "\"use_sliding_window\": true, \"sliding_window\": null"), 0, 0},
    {LAYERS_30("qwen2", "\"sliding_window\": 5"), 0, 0},
    {LAYERS_30("qwen3", "\"use_cache\": true"), 0, 0},
    {LAYERS_30("smollm3", "\"use_sliding_window\": true"), 0, 0},
};

TEST_LOOP(a_window_has_a_default_width_and_first_layer, COUNT(switched_windows))
{
    const struct switched_window *expected = &switched_windows[_i];
    struct config config;
    parse(&config, expected->config);
    for (size_t i = 0; i < config.n_layer; i++)
        ck_assert_uint_eq(config_window(&config, i), i < expected->first ? 0 : expected->window);
}

#define SWITCHED "\"use_sliding_window\": true, \"sliding_window\": 3, "

/* Layers: w, a window; u, no rotary embedding; l, rotary_local. */
static const struct layers_case {
    const char *config, *layers;
} layers_cases[] = {
    {MODEL("qwen2", SWITCHED "\"max_window_layers\": 1"), ". w"},
    {MODEL("qwen2", SWITCHED "\"layer_types\": [\"sliding_attention\", \"full_attention\"]"),
     "w ."},
    {MODEL("qwen2", SWITCHED "\"max_window_layers\": 0"), "w w"},
    {MODEL("qwen2", "\"sliding_window\": 3, \"max_window_layers\": 0"), ". ."},
    {MODEL("mistral", NOTHING), "w w"},
    {MODEL("mistral", "\"sliding_window\": null"), ". ."},
    {MODEL("smollm3", SWITCHED "\"no_rope_layers\": [1, 0]"), ". wu"},
    {MODEL("smollm3", SWITCHED "\"no_rope_layers\": [0, 1], "
                               "\"layer_types\": [\"full_attention\", \"sliding_attention\"]"),
     "u w"},
    {MODEL("smollm3", "\"no_rope_layer_interval\": 2"), ". u"},
    {MODEL("smollm3", "\"sliding_window\": 3, \"no_rope_layer_interval\": 2"), ". u"},
    {MODEL("smollm3", "\"sliding_window\": 3, \"use_sliding_window\": false, "
                      "\"layer_types\": [\"sliding_attention\", \"full_attention\"]"),
     "w ."},
    {MODEL("gemma2", NOTHING), "w ."},
    {MODEL("gemma3_text", "\"sliding_window_pattern\": 2"), "wl ."},
    {MODEL("gpt_neo", NOTHING), ". w"},
    {MODEL("gpt_neo", "\"attention_types\": [[[\"local\"], 2]]"), "w w"},
};

TEST_LOOP(layers_have_the_attention_of_their_config, COUNT(layers_cases))
{
    char found[16] = "";
    struct config config;
    const struct layers_case *wanted = &layers_cases[_i];
    parse(&config, wanted->config);
    for (size_t layer = 0; layer < 2; layer++) {
        bool turns = !config_rotates(&config) || config_rotary(&config, layer);
        bool local = config_rotary(&config, layer) == &config.rotary_local;
        size_t before = strlen(found);
        strcat(found, config_window(&config, layer) ? "w" : "");
        strcat(found, turns ? "" : "u");
        strcat(found, local ? "l" : "");
        strcat(found, strlen(found) == before ? "." : "");
        strcat(found, layer ? "" : " ");
    }
    ck_assert_str_eq(found, wanted->layers);
}
