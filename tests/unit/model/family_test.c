#include "model/family/family.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/pass_record.h"
#include "../rigs/random_model.h"
#include "model/site.h"

enum { TOKENS = 9, VOCABULARY = 29 };

/* What all families' models here have, and more keys after it. */
#define SIZES                                                                           \
    "\"vocab_size\": 29, \"hidden_size\": 24, \"num_hidden_layers\": 2, "               \
    "\"num_attention_heads\": 4, \"intermediate_size\": 20, \"layer_norm_eps\": 1e-5, " \
    "\"rms_norm_eps\": 1e-6, \"layer_norm_epsilon\": 1e-5, \"norm_epsilon\": 1e-5, "    \
    "\"max_position_embeddings\": 64, "
#define NOTHING "\"use_cache\": true"
#define MODEL(type, keys) "{\"model_type\": \"" type "\", " SIZES keys "}"

#define LAYERS_30(type, keys)                                                            \
    "{\"model_type\": \"" type "\", \"vocab_size\": 9, \"hidden_size\": 24, "            \
    "\"num_hidden_layers\": 30, \"num_attention_heads\": 4, \"intermediate_size\": 20, " \
    "\"max_position_embeddings\": 64, " keys "}"

/* --- how they are compared -------------------------------------------------------------------- */

static struct record first_record, second_record;

static void record(struct record *record, struct random_model *model)
{
    uint32_t ids[TOKENS];
    random_ids(ids, TOKENS, VOCABULARY);
    struct text text = {.ids = ids, .count = TOKENS};
    record_pass(record, model, &text, 1,
                &(struct record_watch){.sites = (uint64_t)1 << SITE_LOGITS});
    ck_assert_uint_eq(record->count, 1);
    ck_assert(record->items[0].data[0] != 0);
}

/* Do two models give the same logits, to the bit? */
static bool agree(struct random_model *one, struct random_model *other)
{
    record(&first_record, one);
    record(&second_record, other);
    bool same = memcmp(first_record.items[0].data, second_record.items[0].data,
                       sizeof(float[TOKENS][VOCABULARY])) == 0;
    record_release(&first_record);
    record_release(&second_record);
    return same;
}

static struct random_model model, twin;

static void open_twin(const char *config, enum parameter_id zero)
{
    struct random_twin of = {&model, zero};
    random_model_open_twin(&twin, config, 1, &of);
}

static void release(void)
{
    random_model_release(&twin);
    random_model_release(&model);
}

/* --- identities --------------------------------------------------------------------------------
 */

static const struct twins {
    const char *config, *twin;
} twins[] = {
    /* queries, keys and values joined, gate over up */
    {MODEL("phi3", "\"num_key_value_heads\": 2"), MODEL("llama", "\"num_key_value_heads\": 2")},
    /* head by head */
    {MODEL("gpt_neox", "\"rotary_pct\": 1, \"use_parallel_residual\": false"),
     MODEL("starcoder2", "\"hidden_act\": \"gelu\", \"tie_word_embeddings\": false, "
                         "\"num_key_value_heads\": 4")},
    {MODEL("falcon", "\"multi_query\": false, \"parallel_attn\": false, \"bias\": true, "
                     "\"ffn_hidden_size\": 20"),
     MODEL("starcoder2", "\"hidden_act\": \"gelu\", \"num_key_value_heads\": 4")},
    /* groups that share keys; a single group */
    {MODEL("falcon", "\"new_decoder_architecture\": true, \"num_kv_heads\": 2, "
                     "\"num_ln_in_parallel_attn\": 1"),
     MODEL("phi", "\"hidden_act\": \"gelu\", \"num_key_value_heads\": 2, "
                  "\"partial_rotary_factor\": 1, \"tie_word_embeddings\": true")},
    {MODEL("falcon", "\"multi_query\": true"),
     MODEL("phi", "\"hidden_act\": \"gelu\", \"num_key_value_heads\": 1, "
                  "\"partial_rotary_factor\": 1, \"tie_word_embeddings\": true")},
    /* heads that share keys, and heads with copies of them */
    {MODEL("llama", "\"num_key_value_heads\": 2"), MODEL("llama", "\"num_key_value_heads\": 4")},
    {MODEL("qwen2", "\"num_key_value_heads\": 1"), MODEL("qwen2", "\"num_key_value_heads\": 4")},
    {MODEL("gemma2", "\"head_dim\": 6, \"num_key_value_heads\": 1"),
     MODEL("gemma2", "\"head_dim\": 6, \"num_key_value_heads\": 2")},
    {MODEL("starcoder2", "\"num_key_value_heads\": 2"),
     MODEL("starcoder2", "\"num_key_value_heads\": 4")},
    {MODEL("mistral", "\"num_key_value_heads\": null"),
     MODEL("mistral", "\"num_key_value_heads\": 4")},
    /* a window that all keys are within */
    {MODEL("mistral", "\"num_key_value_heads\": 4, \"sliding_window\": null"),
     MODEL("mistral", "\"num_key_value_heads\": 4, \"sliding_window\": 9")},
    {MODEL("phi3", NOTHING), MODEL("phi3", "\"sliding_window\": 9")},
    {MODEL("starcoder2", NOTHING), MODEL("starcoder2", "\"sliding_window\": 9")},
    {MODEL("qwen2", NOTHING), MODEL("qwen2", "\"use_sliding_window\": true, \"sliding_window\": 9, "
                                             "\"max_window_layers\": 0")},
    {MODEL("gemma2", NOTHING), MODEL("gemma2", "\"sliding_window\": 9")},
    {MODEL("gemma2", "\"sliding_window\": null"), MODEL("gemma2", "\"sliding_window\": 9")},
    {MODEL("gemma3_text", NOTHING), MODEL("gemma3_text", "\"sliding_window\": 9")},
    {MODEL("gpt_neo", NOTHING), MODEL("gpt_neo", "\"window_size\": 9")},
    /* null switches off what is on by default, and lets heads have the usual size */
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
    /* a key of another family, which this one does not read */
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
    {MODEL("gemma2", "\"hidden_act\": \"relu\", \"hidden_activation\": \"gelu\""),
     MODEL("gemma2", "\"hidden_activation\": \"gelu\"")},
    /* multipliers of 1, and the usual scale */
    {MODEL("llama", NOTHING), MODEL("granite", "\"attention_multiplier\": 0.40824829")},
    /* all layers turn */
    {MODEL("llama", "\"tie_word_embeddings\": true, \"rope_theta\": 2000000"),
     MODEL("smollm3", "\"no_rope_layers\": [1, 1]")},
    /* the older spelling of a rotation, and the newer one */
    {MODEL("llama", "\"rope_theta\": 500, \"rope_scaling\": {\"type\": \"linear\", "
                    "\"factor\": 4}"),
     MODEL("llama", "\"rope_parameters\": {\"rope_theta\": 500, \"rope_type\": \"linear\", "
                    "\"factor\": 4}")},
};

TEST_LOOP(a_model_is_its_twin_in_another_form, COUNT(twins))
{
    random_model_open(&model, twins[_i].config, 1);
    open_twin(twins[_i].twin, 0);
    ck_assert(agree(&model, &twin));
    release();
}

/* What a window is where it is switched on and no more is said, and from which layer on. */
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

TEST_LOOP(a_window_that_is_switched_on_has_a_width_and_a_first_layer, COUNT(switched_windows))
{
    const struct switched_window *expected = &switched_windows[_i];
    struct config config;
    struct err err;
    ck_assert_msg(!config_parse(&config, expected->config, strlen(expected->config), &err), "%s",
                  err.text);
    for (size_t i = 0; i < config.n_layer; i++)
        ck_assert_uint_eq(config_window(&config, i), i < expected->first ? 0 : expected->window);
}

static const struct twins others[] = {
    {MODEL("mistral", "\"num_key_value_heads\": 4, \"sliding_window\": null"),
     MODEL("mistral", "\"num_key_value_heads\": 4, \"sliding_window\": 8")},
    {MODEL("gemma2", NOTHING), MODEL("gemma2", "\"sliding_window\": 8")},
    {MODEL("gpt_neo", NOTHING), MODEL("gpt_neo", "\"window_size\": 8")},
    {MODEL("phi3", NOTHING), MODEL("phi3", "\"sliding_window\": 8")},
    {MODEL("llama", NOTHING), MODEL("llama", "\"rope_theta\": 9999")},
    {MODEL("llama", NOTHING), MODEL("llama", "\"hidden_act\": \"gelu\"")},
    {MODEL("gpt_neo", NOTHING), MODEL("gpt_neo", "\"activation_function\": \"relu\"")},
    {MODEL("opt", NOTHING), MODEL("opt", "\"activation_function\": \"gelu\"")},
    {MODEL("falcon", NOTHING), MODEL("falcon", "\"activation\": \"relu\"")},
    {MODEL("gemma2", NOTHING), MODEL("gemma2", "\"hidden_activation\": \"gelu\"")},
    {MODEL("gptj", "\"rotary_dim\": 4"),
     MODEL("gptj", "\"rotary_dim\": 4, \"activation_function\": \"relu\"")},
    {MODEL("gptj", "\"rotary_dim\": 4"), MODEL("gptj", "\"rotary_dim\": 2")},
    {MODEL("granite", NOTHING), MODEL("granite", "\"logits_scaling\": 2")},
};

TEST_LOOP(a_model_is_no_other_one, COUNT(others))
{
    random_model_open(&model, others[_i].config, 1);
    open_twin(others[_i].twin, 0);
    ck_assert(!agree(&model, &twin));
    release();
}

static const char *const parallel[] = {
    MODEL("phi", "\"partial_rotary_factor\": 1"),
    MODEL("stablelm", "\"use_parallel_residual\": true, \"partial_rotary_factor\": 1"),
    MODEL("gpt_neox", "\"rotary_pct\": 1"),
    MODEL("gptj", "\"rotary_dim\": 4"),
    MODEL("falcon", NOTHING),
    MODEL("falcon", "\"new_decoder_architecture\": true, \"num_kv_heads\": 2"),
};

TEST_LOOP(parallel_with_a_zero_mlp_is_attention_alone, COUNT(parallel))
{
    random_model_open(&model, parallel[_i], 1);
    open_twin(parallel[_i], PARAMETER_MLP_PROJ);
    ck_assert(!agree(&model, &twin));
    model.config.mechanism.without = 1U << PART_MLP;
    ck_assert(agree(&model, &twin));
    release();
}

/* --- views -------------------------------------------------------------------------------------
 */

/* Four heads of six rows, of which two share keys. */
static const struct view_case {
    const char *config;
    enum parameter_id id;
    size_t row, at;
} views[] = {
    {MODEL("llama", "\"num_key_value_heads\": 2"), PARAMETER_K, 7, 7},
    {MODEL("phi3", "\"num_key_value_heads\": 2"), PARAMETER_Q, 23, 23},
    {MODEL("phi3", "\"num_key_value_heads\": 2"), PARAMETER_K, 0, 24},
    {MODEL("phi3", "\"num_key_value_heads\": 2"), PARAMETER_V, 11, 47},
    {MODEL("phi3", NOTHING), PARAMETER_GATE, 19, 19},
    {MODEL("phi3", NOTHING), PARAMETER_FC, 0, 20},
    {MODEL("gpt_neox", "\"rotary_pct\": 1"), PARAMETER_Q, 6, 18},
    {MODEL("gpt_neox", "\"rotary_pct\": 1"), PARAMETER_K, 5, 11},
    {MODEL("gpt_neox", "\"rotary_pct\": 1"), PARAMETER_V, 23, 71},
    {MODEL("gpt_neox", "\"rotary_pct\": 1"), PARAMETER_V + 1, 6, 30},
    {MODEL("falcon", "\"new_decoder_architecture\": true, \"num_kv_heads\": 2"), PARAMETER_Q, 12,
     24},
    {MODEL("falcon", "\"new_decoder_architecture\": true, \"num_kv_heads\": 2"), PARAMETER_K, 6,
     36},
    {MODEL("falcon", NOTHING), PARAMETER_Q, 23, 23},
    {MODEL("falcon", NOTHING), PARAMETER_V, 5, 35},
};

TEST_LOOP(a_view_finds_the_rows_of_a_slot, COUNT(views))
{
    struct config config;
    struct err err = {0};
    const struct view_case *view = &views[_i];
    ck_assert_msg(!config_parse(&config, view->config, strlen(view->config), &err), "%s", err.text);
    struct row_view rows = family_view(view->id, &config);
    ck_assert_uint_eq(row_view_at(&rows, view->row), view->at);
}

/* --- layers that differ ------------------------------------------------------------------------
 */

#define SWITCHED "\"use_sliding_window\": true, \"sliding_window\": 3, "

/* What layers see: w, a window; u, they do not turn; l, they turn by waves of their own. */
static const struct layers_case {
    const char *config, *layers;
} layers_cases[] = {
    {MODEL("qwen2", SWITCHED "\"max_window_layers\": 1"), ". w"},
    {MODEL("qwen2", SWITCHED "\"layer_types\": [\"sliding_attention\", \"full_attention\"]"),
     "w ."},
    {MODEL("qwen2", SWITCHED "\"max_window_layers\": 0"), "w w"},
    {MODEL("qwen2", "\"sliding_window\": 3, \"max_window_layers\": 0"), ". ."},
    {MODEL("mistral", "\"num_key_value_heads\": 4"), "w w"},
    {MODEL("mistral", "\"num_key_value_heads\": 4, \"sliding_window\": null"), ". ."},
    {MODEL("smollm3", SWITCHED "\"no_rope_layers\": [1, 0]"), ". wu"},
    {MODEL("smollm3", SWITCHED "\"no_rope_layers\": [0, 1], "
                               "\"layer_types\": [\"full_attention\", \"sliding_attention\"]"),
     "u w"},
    {MODEL("smollm3", "\"no_rope_layer_interval\": 2"), ". u"},
    {MODEL("gemma2", NOTHING), "w ."},
    {MODEL("gemma3_text", "\"sliding_window_pattern\": 2"), "wl ."},
    {MODEL("gpt_neo", NOTHING), ". w"},
    {MODEL("gpt_neo", "\"attention_types\": [[[\"local\"], 2]]"), "w w"},
};

TEST_LOOP(layers_see_what_their_config_says, COUNT(layers_cases))
{
    char found[16] = "";
    struct config config;
    struct err err = {0};
    const struct layers_case *wanted = &layers_cases[_i];
    ck_assert_msg(!config_parse(&config, wanted->config, strlen(wanted->config), &err), "%s",
                  err.text);
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
