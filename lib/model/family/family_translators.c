/* family_translators.c: models with an encoder and a decoder, and T5's encoders used alone. It has
 * a table with a row for each family, the names of the families' tensors, and functions that read
 * the keys of config.json that a row cannot describe. */
#include <math.h>
#include <string.h>

#include "model/family/family_rows.h"

/* --- names of tensors ------------------------------------------------------------------------- */

#define TRANSLATOR_NAMES(prefix, layers, base, ...) \
    NAMES_OF(prefix, "decoder." layers, "encoder." layers, NULL, base, false, __VA_ARGS__)

static const struct family_names t5_names = TRANSLATOR_NAMES(
    "", "block.", NULL, {"shared", {SLOT_TOKENS}}, {"lm_head", {SLOT_UNEMBED}},
    {"decoder.block.0.layer.0.SelfAttention.relative_attention_bias", {SLOT_BIASES}},
    {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias", {SLOT_BIASES}, OF_SOURCE},
    {"decoder.final_layer_norm", {SLOT_FINAL_NORM}},
    {"encoder.final_layer_norm", {SLOT_FINAL_NORM}, OF_SOURCE},
    {"layer.0.layer_norm", {SLOT_NORM_1}}, {"layer.0.SelfAttention.q", {SLOT_Q}},
    {"layer.0.SelfAttention.k", {SLOT_K}}, {"layer.0.SelfAttention.v", {SLOT_V}},
    {"layer.0.SelfAttention.o", {SLOT_O}},
    {"layer.0.SelfAttention.relative_attention_bias", {SLOT_LAYER_BIASES}},
    {"layer.1.layer_norm", {SLOT_NORM_1}, OF_CROSS},
    {"layer.1.EncDecAttention.q", {SLOT_Q}, OF_CROSS},
    {"layer.1.EncDecAttention.k", {SLOT_K}, OF_CROSS},
    {"layer.1.EncDecAttention.v", {SLOT_V}, OF_CROSS},
    {"layer.1.EncDecAttention.o", {SLOT_O}, OF_CROSS}, {"layer.2.layer_norm", {SLOT_NORM_2}},
    {"layer.1.layer_norm", {SLOT_NORM_2}, OF_SOURCE});

static const struct family_names t5_plain_names = TRANSLATOR_NAMES(
    "", "block.", &t5_names, {"layer.2.DenseReluDense.wi", {SLOT_UP}},
    {"layer.1.DenseReluDense.wi", {SLOT_UP}, OF_SOURCE}, {"layer.2.DenseReluDense.wo", {SLOT_DOWN}},
    {"layer.1.DenseReluDense.wo", {SLOT_DOWN}, OF_SOURCE});

static const struct family_names t5_gated_names =
    TRANSLATOR_NAMES("", "block.", &t5_plain_names, {"layer.2.DenseReluDense.wi_0", {SLOT_GATE}},
                     {"layer.1.DenseReluDense.wi_0", {SLOT_GATE}, OF_SOURCE},
                     {"layer.2.DenseReluDense.wi_1", {SLOT_UP}},
                     {"layer.1.DenseReluDense.wi_1", {SLOT_UP}, OF_SOURCE});

/* Tensor names of an encoder that is used alone, as for sentence vectors. If the file also has the
 * decoder, its tensors are ignored. */
#define ALONE_NAMES(base, ...) \
    NAMES_OF("transformer.", "encoder.block.", NULL, NULL, base, true, __VA_ARGS__)

static const struct family_names t5_alone_names = ALONE_NAMES(
    &t5_names, {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias", {SLOT_BIASES}},
    {"encoder.final_layer_norm", {SLOT_FINAL_NORM}}, {"layer.1.layer_norm", {SLOT_NORM_2}},
    {"layer.1.DenseReluDense.wi", {SLOT_UP}}, {"layer.1.DenseReluDense.wo", {SLOT_DOWN}});

static const struct family_names t5_gated_alone_names =
    ALONE_NAMES(&t5_alone_names, {"layer.1.DenseReluDense.wi_0", {SLOT_GATE}},
                {"layer.1.DenseReluDense.wi_1", {SLOT_UP}});

static const struct family_names bart_names = TRANSLATOR_NAMES(
    "model.", "layers.", NULL, {"shared", {SLOT_TOKENS}},
    {"lm_head", {SLOT_UNEMBED}, .bias = "final_logits_bias"},
    {"decoder.embed_positions", {SLOT_POSITIONS}},
    {"encoder.embed_positions", {SLOT_POSITIONS}, OF_SOURCE},
    {"decoder.layernorm_embedding", {SLOT_EMBED_NORM}},
    {"encoder.layernorm_embedding", {SLOT_EMBED_NORM}, OF_SOURCE},
    {"decoder.layer_norm", {SLOT_FINAL_NORM}}, {"encoder.layer_norm", {SLOT_FINAL_NORM}, OF_SOURCE},
    {"self_attn_layer_norm", {SLOT_NORM_1}}, {"self_attn.q_proj", {SLOT_Q}},
    {"self_attn.k_proj", {SLOT_K}}, {"self_attn.v_proj", {SLOT_V}},
    {"self_attn.out_proj", {SLOT_O}}, {"encoder_attn_layer_norm", {SLOT_NORM_1}, OF_CROSS},
    {"encoder_attn.q_proj", {SLOT_Q}, OF_CROSS}, {"encoder_attn.k_proj", {SLOT_K}, OF_CROSS},
    {"encoder_attn.v_proj", {SLOT_V}, OF_CROSS}, {"encoder_attn.out_proj", {SLOT_O}, OF_CROSS},
    {"final_layer_norm", {SLOT_NORM_2}}, {"fc1", {SLOT_UP}}, {"fc2", {SLOT_DOWN}});

static const struct family_names bart_apart_names =
    TRANSLATOR_NAMES("model.", "layers.", &bart_names, {"decoder.embed_tokens", {SLOT_TOKENS}},
                     {"encoder.embed_tokens", {SLOT_TOKENS}, OF_SOURCE});

/* --- keys that a row cannot express ----------------------------------------------------------- */

/* Read T5. Its MLP is plain or gated, with different tensor names: the row that follows the first
 * one is for the gated MLP. Two further rows are for an encoder that is used alone. */
static void settle_t5(struct reading *r)
{
    static const char key[] = "feed_forward_proj";
    struct config *c = r->config;
    const char *kind = family_text(r, key, c->gated ? "gated-gelu" : "relu");
    c->gated = strncmp(kind, "gated-", 6) == 0;
    /* "dense_act_fn" has precedence over "feed_forward_proj" */
    const char *function = family_text(r, "dense_act_fn", NULL);
    if (function)
        family_activation(r, "dense_act_fn", function);
    else if (strcmp(kind, "gated-gelu") == 0)
        c->activation = ACTIVATION_GELU_NEW;
    else
        family_activation(r, key, kind + (c->gated ? 6 : 0));
    c->gated = family_flag(r, "is_gated_act", c->gated);
    if (c->gated)
        c->family++;
    c->n_encoder_layer = c->n_layer;
    c->n_layer = family_layers(r, "num_decoder_layers", c->n_layer);
    c->n_inner = family_size(r, "d_ff", c->n_inner);
    c->d_k = c->d_v = family_size(r, "d_kv", c->d_k);
    c->bias_buckets =
        (unsigned short)family_integer(r, "relative_attention_num_buckets", 4, 4096, 32);
    c->bias_reach =
        (unsigned short)family_integer(r, "relative_attention_max_distance", 1, 1 << 14, 128);
    if (!r->failed && c->bias_reach <= c->bias_buckets / 2)
        err_set(family_fail(r),
                "field 'relative_attention_max_distance': expected more than half of "
                "relative_attention_num_buckets = %d, found %d",
                c->bias_buckets, c->bias_reach);
    c->epsilon = (float)family_number(r, "layer_norm_epsilon", 0, 1, (double)c->epsilon);
    c->n_positions = 0; /* positions are only biases of scores by distance, so the length is not
                         * limited */
    if (c->logit_divisor >
        0) /* transformers 5 has a key for the division of logits; older versions divide them only
            * in tied models */
        c->logit_divisor =
            family_flag(r, "scale_decoder_outputs", c->tied) ? sqrtf((float)c->n_embd) : 0;
    c->bos_id = family_integer(r, "decoder_start_token_id", 0, DIMENSION_MAX, 0);
    if (!family_is_for(r, "ForTokenClassification") && !family_is_for(r, "EncoderModel"))
        return;
    c->family += 2;
    c->n_layer = c->n_encoder_layer;
    c->n_encoder_layer = 0;
    c->cross = c->own_tables = c->causal = false;
    c->bos_id = -1;
    c->logit_divisor = 0;
    c->end = END_STREAM;
}

static void settle_bart(struct reading *r)
{
    struct config *c = r->config;
    c->n_encoder_layer = family_layers(r, "encoder_layers", c->n_layer);
    c->n_layer = family_layers(r, "decoder_layers", 12);
    c->n_head = c->n_kv_head = family_size(r, "decoder_attention_heads", 16);
    size_t heads = family_size(r, "encoder_attention_heads", 16);
    if (!r->failed && (c->n_embd % c->n_head || c->n_embd % heads))
        err_set(family_fail(r),
                "field '%scoder_attention_heads': expected a divisor of d_model = %zu, found %zu",
                c->n_embd % c->n_head ? "de" : "en", c->n_embd,
                c->n_embd % c->n_head ? c->n_head : heads);
    if (heads != c->n_head)
        c->n_encoder_head = heads;
    c->final_norm = c->style == STYLE_PRE;
    c->d_k = c->d_v = c->n_embd / c->n_head;
    c->scale = 1.0f / sqrtf((float)c->d_k);
    c->n_inner = family_size(r, "decoder_ffn_dim", 4096);
    c->n_encoder_inner = family_size(r, "encoder_ffn_dim", 4096);
    if (family_flag(r, "scale_embedding", c->counted))
        c->embedding_scale = sqrtf((float)c->n_embd);
    if (!family_flag(r, "share_encoder_decoder_embeddings", true)) {
        c->n_encoder_vocab = c->vocab_size;
        c->vocab_size = family_size(r, "decoder_vocab_size", c->vocab_size);
        c->family++;
    }
    c->bos_id = family_integer(r, "decoder_start_token_id", 0, DIMENSION_MAX, c->bos_id);
    if (c->counted) {
        c->padding_id = family_integer(r, "pad_token_id", 0, DIMENSION_MAX, 1);
        c->position_offset = (size_t)c->padding_id + 1;
    }
}

/* --- families --------------------------------------------------------------------------------- */

#define TRANSLATOR DECODER, .cross = true, .own_tables = true
#define T5                                                                                \
    TRANSLATOR, .rms = true, .style = STYLE_PRE, .epsilon = 1e-6f, .d_k = 64, .scale = 1, \
                .score_bias = BIAS_BUCKETS, .tied = true
#define MT5 .n_layer = 8, .n_head = 6, .n_inner = 1024, .gated = true
#define BART                                                                                    \
    TRANSLATOR, .norm_shift = true, .tied = true, .epsilon = 1e-5f, .n_layer = 12, .n_head = 1, \
                .biases = BIASED_ALL | BIASED_LOGITS, .n_positions = 1024
#define FAMILY(name, names, settle, activation_key, activation, ...)              \
    {                                                                             \
        name, names, settle, WITH(__VA_ARGS__), activation_key, activation, 0, 0, \
            .reads = " is_encoder_decoder "                                       \
    }
#define OF_T5(name, ...)                                                         \
    FAMILY(name, &t5_plain_names, settle_t5, NULL, "relu", T5, __VA_ARGS__),     \
        FAMILY(name, &t5_gated_names, settle_t5, NULL, "relu", T5, __VA_ARGS__), \
        FAMILY(name, &t5_alone_names, settle_t5, NULL, "relu", T5, __VA_ARGS__), \
        FAMILY(name, &t5_gated_alone_names, settle_t5, NULL, "relu", T5, __VA_ARGS__)
#define OF_BART(name, activation, ...)                                                            \
    FAMILY(name, &bart_names, settle_bart, "activation_function", activation, BART, __VA_ARGS__), \
        FAMILY(name, &bart_apart_names, settle_bart, "activation_function", activation, BART,     \
               __VA_ARGS__)

const struct family family_translators[] = {
    OF_T5("t5", .n_layer = 6, .n_head = 8, .n_inner = 2048, .logit_divisor = 1),
    OF_T5("mt5", MT5),
    OF_T5("umt5", MT5, .logit_divisor = 1, .bias_by_layer = true),
    OF_BART("bart", "gelu", .style = STYLE_POST_STREAM, .position_offset = 2,
            .embedding_norm = true),
    OF_BART("mbart", "gelu", .style = STYLE_PRE, .position_offset = 2, .embedding_norm = true),
    OF_BART("pegasus", "gelu", .style = STYLE_PRE, .sinusoids = true, .sines = SINES_HALVES),
    OF_BART("marian", "gelu", .style = STYLE_POST_STREAM, .sinusoids = true, .sines = SINES_HALVES),
    OF_BART("m2m_100", "relu", .style = STYLE_PRE, .sinusoids = true, .sines = SINES_OFFSET,
            .counted = true),
    {NULL},
};
