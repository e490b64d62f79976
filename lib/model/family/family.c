#include "model/family/family.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- what a table cannot say ------------------------------------------------------------------ */

int family_add_bias(struct reading *reading, const char *key, unsigned biases)
{
    bool has = (reading->config->biases & biases) == biases;
    if (family_flag(reading, key, &has))
        return -1;
    reading->config->biases =
        has ? reading->config->biases | biases : reading->config->biases & ~biases;
    return 0;
}

static int settle_llama(struct reading *reading)
{
    if (family_add_bias(reading, "attention_bias", BIAS_QKV | BIAS_OUT))
        return -1;
    return family_add_bias(reading, "mlp_bias", BIAS_MLP);
}

int family_settle_window(struct reading *reading)
{
    if (family_window(reading, "sliding_window"))
        return -1;
    if (reading->config->window)
        family_set_layers(reading->config, LAYER_WINDOW);
    return 0;
}

/* A window that counts only where it is switched on: on "layer_types", or from a layer on. */
static int settle_switched_window(struct reading *reading)
{
    struct config *c = reading->config;
    bool given = false;
    bool used = false;
    long long first = 28;
    if (family_flag(reading, "use_sliding_window", &used) ||
        family_window(reading, "sliding_window") || family_layer_types(reading, &given) ||
        json_integer(reading->root, "max_window_layers", 0, INT32_MAX, &first, reading->err))
        return -1;
    if (!used)
        c->window = 0;
    for (size_t i = (size_t)first; c->window && i < c->n_layer && !given; i++)
        c->layer_flags[i] |= LAYER_WINDOW;
    return 0;
}

static int settle_qwen3(struct reading *reading)
{
    return settle_llama(reading) || settle_switched_window(reading) ? -1 : 0;
}

static int settle_granite(struct reading *reading)
{
    struct config *c = reading->config;
    double embedding = 1;
    double scale = 1;
    double residual = 1;
    double logits = 1;
    if (settle_llama(reading) || family_positive(reading, "embedding_multiplier", &embedding) ||
        family_positive(reading, "attention_multiplier", &scale) ||
        family_positive(reading, "residual_multiplier", &residual) ||
        family_positive(reading, "logits_scaling", &logits))
        return -1;
    c->embedding_scale = (float)embedding;
    c->scale = (float)scale;
    c->residual_scale = (float)residual;
    c->logit_divisor = (float)logits;
    return 0;
}

/* A list of layers that turn (1) and that do not (0); else every fourth does not. "layer_types"
 * alone decide which layers have a window; without them "use_sliding_window" gives it to the layers
 * that do not turn. */
static int settle_smollm3(struct reading *reading)
{
    struct config *c = reading->config;
    const struct json *list = NULL;
    size_t interval = 4;
    size_t layer = 0;
    if (settle_llama(reading) || family_list(reading, "no_rope_layers", &list) ||
        family_size(reading, "no_rope_layer_interval", &interval))
        return -1;
    if (list && json_count(list) != c->n_layer)
        return err_set(reading->err, "field 'no_rope_layers': expected %zu numbers, found %zu",
                       c->n_layer, json_count(list));
    bool given = list != NULL;
    const struct json *item = given ? json_first(list) : NULL;
    for (; layer < c->n_layer; layer++, item = given ? json_next(item) : NULL) {
        long long turns = (layer + 1) % interval != 0;
        if (given && !json_get_integer(item, 0, 1, &turns))
            return err_set(reading->err, "field 'no_rope_layers': expected 1 or 0 for each layer");
        if (!turns)
            c->layer_flags[layer] |= LAYER_UNROTATED;
    }
    bool used = false;
    if (family_flag(reading, "use_sliding_window", &used) ||
        family_window(reading, "sliding_window") || family_layer_types(reading, &given))
        return -1;
    for (layer = 0; layer < c->n_layer && used && !given; layer++)
        if (c->layer_flags[layer] & LAYER_UNROTATED)
            c->layer_flags[layer] |= LAYER_WINDOW;
    return 0;
}

static int settle_gemma(struct reading *reading)
{
    struct config *c = reading->config;
    c->embedding_scale = sqrtf((float)c->n_embd);
    return family_add_bias(reading, "attention_bias", BIAS_QKV | BIAS_OUT);
}

/* Without hidden_activation, hidden_act counts, in which "gelu" means gelu_pytorch_tanh. */
static int settle_gemma1(struct reading *reading)
{
    static const char key[] = "hidden_act";
    const char *name = "gelu";
    if (settle_gemma(reading))
        return -1;
    if (json_given(reading->root, reading->config->family->activation_key))
        return 0;
    if (json_text(reading->root, key, &name, reading->err))
        return -1;
    return strcmp(name, "gelu") == 0 ? 0 : family_activation(reading, key, name);
}

static int read_cap(struct reading *reading, const char *key, float *cap)
{
    const struct json *member = json_member(reading->root, key);
    double value = (double)*cap;
    bool none = member ? json_is_null(member) : value <= 0;
    if (!none && family_positive(reading, key, &value))
        return -1;
    if (none)
        value = 0;
    *cap = (float)value;
    return 0;
}

static int settle_gemma2(struct reading *reading)
{
    struct config *c = reading->config;
    double scalar = 256;
    bool given = false;
    if (settle_gemma(reading) || family_positive(reading, "query_pre_attn_scalar", &scalar) ||
        read_cap(reading, "attn_logit_softcapping", &c->score_cap) ||
        read_cap(reading, "final_logit_softcapping", &c->logit_cap) ||
        family_window(reading, "sliding_window") || family_layer_types(reading, &given))
        return -1;
    c->scale = (float)(1 / sqrt(scalar));
    for (size_t i = 0; i < c->n_layer && !given; i += 2)
        c->layer_flags[i] |= LAYER_WINDOW;
    return 0;
}

/* Layers with a window turn by waves of their own. */
static int settle_gemma3(struct reading *reading)
{
    struct config *c = reading->config;
    const struct json *parameters = json_member(reading->root, "rope_parameters");
    const struct json *local = json_member(parameters, "sliding_attention");
    double scalar = 256;
    double theta = 10000;
    bool given = false;
    size_t pattern = 6;
    float ignored = 0;
    if (settle_gemma(reading) || family_positive(reading, "query_pre_attn_scalar", &scalar) ||
        read_cap(reading, "attn_logit_softcapping", &ignored) ||
        read_cap(reading, "final_logit_softcapping", &c->logit_cap) ||
        family_window(reading, "sliding_window") || family_layer_types(reading, &given) ||
        family_size(reading, "sliding_window_pattern", &pattern) ||
        family_positive(reading, "rope_local_base_freq", &theta))
        return -1;
    c->scale = (float)(1 / sqrt(scalar));
    c->rotary_local = (struct rotary){.components = c->rotary.components, .theta = theta};
    if (family_rotary(reading, local, &c->rotary_local))
        return -1;
    for (size_t i = 0; i < c->n_layer; i++) {
        if (!given && (i + 1) % pattern)
            c->layer_flags[i] |= LAYER_WINDOW;
        if (c->layer_flags[i] & LAYER_WINDOW)
            c->layer_flags[i] |= LAYER_LOCAL_TURN;
    }
    return 0;
}

/* Defaults, each with more of them. */
#define HOUSE                                                                                  \
    .style = STYLE_PRE, .final_norm = true, .tied = true, .causal = true, .projections = true, \
    .out_proj = true, .norm_shift = true
#define DECODER                                                                      \
    .kind = MODEL_DECODER, .embedding_scale = 1, .final_norm = true, .causal = true, \
    .projections = true, .out_proj = true, .bos_id = -1, .eos_id = -1, .initializer_range = 0.02
#define RMS DECODER, .rms = true, .gated = true
#define LLAMA RMS, .style = STYLE_PRE, .epsilon = 1e-6f
#define GEMMA RMS, .epsilon = 1e-6f, .tied = true, .norm_offset = true, .d_k = 256
#define SHIFTED DECODER, .norm_shift = true, .epsilon = 1e-5f
#define TIED SHIFTED, .style = STYLE_PRE, .tied = true
#define WITH(...)          \
    &(const struct config) \
    {                      \
        __VA_ARGS__        \
    }

const struct family family_rows[] = {
    [MODEL_GPT2] = {"gpt2", &gpt2_names, family_settle_gpt2,
                    WITH(HOUSE, .kind = MODEL_GPT2, .vocab_size = 50257, .n_positions = 1024,
                         .n_embd = 768, .n_layer = 12, .n_head = 12, .embedding_scale = 1,
                         .biases = BIAS_ALL, .initializer_range = 0.02, .bos_id = 50256,
                         .eos_id = 50256)},
    [MODEL_ATTENTION] = {"attention", &transformer_names, family_settle_attention,
                         WITH(.kind = MODEL_ATTENTION, .n_layer = 1, .n_head = 1,
                              .embedding_scale = 1, .projections = true, .bos_id = -1,
                              .eos_id = -1)},
    [MODEL_TRANSFORMER] = {"transformer", &transformer_names, family_settle_transformer,
                           WITH(HOUSE, .kind = MODEL_TRANSFORMER, .n_layer = 1,
                                .n_encoder_layer = 1, .n_head = 1, .cross = true, .bos_id = -1,
                                .eos_id = -1)},
    {"llama", &llama_names, settle_llama, WITH(LLAMA), "hidden_act", "silu", 1, 1e4},
    {"mistral", &llama_names, family_settle_window, WITH(LLAMA, .n_kv_head = 8, .window = 4096),
     "hidden_act", "silu", 1, 1e4},
    {"qwen2", &llama_names, settle_switched_window, WITH(LLAMA, .biases = BIAS_QKV, .window = 4096),
     "hidden_act", "silu", 1, 1e4},
    {"qwen3", &llama_names, settle_qwen3,
     WITH(LLAMA, .d_k = 128, .head_norm = HEAD_NORM_SHARED, .window = 4096), "hidden_act", "silu",
     1, 1e4},
    {"granite", &llama_names, settle_granite, WITH(LLAMA), "hidden_act", "silu", 1, 1e4},
    {"smollm3", &llama_names, settle_smollm3, WITH(LLAMA, .tied = true), "hidden_act", "silu", 1,
     2e6},
    {"phi3", &phi3_names, family_settle_window, WITH(RMS, .style = STYLE_PRE, .epsilon = 1e-5f),
     "hidden_act", "silu", 1, 1e4},
    {"olmo2", &olmo2_names, settle_llama,
     WITH(RMS, .style = STYLE_AFTER, .epsilon = 1e-5f, .head_norm = HEAD_NORM_WHOLE), "hidden_act",
     "silu", 1, 1e4},
    {"gemma", &llama_names, settle_gemma1, WITH(GEMMA, .style = STYLE_PRE), "hidden_activation",
     "gelu_pytorch_tanh", 1, 1e4},
    {"gemma2", &gemma_names, settle_gemma2,
     WITH(GEMMA, .style = STYLE_SANDWICH, .window = 4096, .score_cap = 50, .logit_cap = 30),
     "hidden_activation", "gelu_pytorch_tanh", 1, 1e4},
    {"gemma3_text", &gemma_names, settle_gemma3,
     WITH(GEMMA, .style = STYLE_SANDWICH, .window = 4096, .head_norm = HEAD_NORM_SHARED),
     "hidden_activation", "gelu_pytorch_tanh", 1, 1e6},
    {"phi", &phi_names, family_settle_phi,
     WITH(SHIFTED, .style = STYLE_ONE_NORM, .biases = BIAS_ALL | BIAS_LOGITS), "hidden_act",
     "gelu_new", 0.5, 1e4},
    {"stablelm", &llama_names, family_settle_stablelm,
     WITH(SHIFTED, .style = STYLE_PRE, .gated = true), "hidden_act", "silu", 0.25, 1e4},
    {"starcoder2", &starcoder2_names, family_settle_starcoder2, WITH(TIED), "hidden_act",
     "gelu_pytorch_tanh", 1, 1e4},
    {"gpt_neox", &neox_names, family_settle_neox,
     WITH(SHIFTED, .style = STYLE_PARALLEL, .biases = BIAS_ALL), "hidden_act", "gelu", 0.25, 1e4,
     "rotary_emb_base", "rotary_pct"},
    {"gpt_neo", &gpt_neo_names, family_settle_gpt_neo,
     WITH(TIED, .biases = BIAS_OUT | BIAS_MLP, .n_positions = 2048, .window = 256, .scale = 1),
     "activation_function", "gelu_new", 0, 0},
    {"gptj", &gptj_names, NULL,
     WITH(SHIFTED, .style = STYLE_ONE_NORM, .biases = BIAS_MLP | BIAS_LOGITS,
          .rotary = {.neighbours = true, .components = 64}),
     "activation_function", "gelu_new", 1, 1e4, .width_key = "rotary_dim"},
    {"opt", &opt_names, family_settle_opt,
     WITH(TIED, .biases = BIAS_ALL, .n_positions = 2048, .position_offset = 2),
     "activation_function", "relu", 0, 0},
    {"bloom", &bloom_names, family_settle_bloom,
     WITH(TIED, .biases = BIAS_ALL, .embedding_norm = true, .alibi = ALIBI_BLOOM), NULL, "gelu_new",
     0, 0},
    {"falcon", &bloom_names, family_settle_falcon, WITH(TIED), "activation", "gelu", 0, 0},
    {"falcon with two norms", &falcon_names, family_settle_falcon, WITH(TIED), "activation", "gelu",
     0, 0},
};

const size_t family_count = sizeof family_rows / sizeof *family_rows;

const struct family *family_find(const char *name)
{
    for (size_t i = 0; i < family_count; i++)
        if (strcmp(family_rows[i].name, name) == 0)
            return &family_rows[i];
    return NULL;
}
