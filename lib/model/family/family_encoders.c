/* family_encoders.c: encoders, in which tokens attend to earlier and later tokens. It has a table
 * with a row for each family, the names of the families' tensors, and functions that read the keys
 * of config.json that a row cannot describe. */
#include <math.h>
#include <string.h>

#include "model/family/family_rows.h"

/* --- names of tensors ------------------------------------------------------------------------- */

static const struct family_names bert_names =
    NAMES("bert.", "encoder.layer.", NULL, {"embeddings.word_embeddings", {SLOT_TOKENS}},
          {"embeddings.position_embeddings", {SLOT_POSITIONS}},
          {"embeddings.token_type_embeddings", {SLOT_SEGMENTS}},
          {"embeddings.LayerNorm", {SLOT_EMBED_NORM}}, {"attention.self.query", {SLOT_Q}},
          {"attention.self.key", {SLOT_K}}, {"attention.self.value", {SLOT_V}},
          {"attention.output.dense", {SLOT_O}}, {"attention.output.LayerNorm", {SLOT_NORM_1}},
          {"intermediate.dense", {SLOT_UP}}, {"output.dense", {SLOT_DOWN}},
          {"output.LayerNorm", {SLOT_NORM_2}}, {"pooler.dense", {SLOT_POOLER}},
          {"cls.predictions.transform.dense", {SLOT_TRANSFORM}},
          {"cls.predictions.transform.LayerNorm", {SLOT_TRANSFORM_NORM}},
          {"cls.predictions.decoder", {SLOT_UNEMBED}, .bias = "cls.predictions.bias"});

static const struct family_names jina_names =
    NAMES("bert.", "encoder.layer.", &bert_names, {"mlp.gated_layers", {SLOT_GATE, SLOT_UP}},
          {"mlp.wo", {SLOT_DOWN}}, {"mlp.layernorm", {SLOT_NORM_2}});

static const struct family_names jina_code_names = NAMES(
    "bert.", "encoder.layer.", &bert_names, {"mlp.up_gated_layer", {SLOT_UP, SLOT_GATE}},
    {"mlp.down_layer", {SLOT_DOWN}}, {"attention.output.LayerNorm", {SLOT_NORM_1_POST}},
    {"attention.self.layer_norm_q", {SLOT_Q_NORM}}, {"attention.self.layer_norm_k", {SLOT_K_NORM}},
    {"layer_norm_1", {SLOT_NORM_1}}, {"layer_norm_2", {SLOT_NORM_2}});

static const struct family_names roberta_names =
    NAMES("roberta.", "encoder.layer.", &bert_names, {"lm_head.dense", {SLOT_TRANSFORM}},
          {"lm_head.layer_norm", {SLOT_TRANSFORM_NORM}},
          {"lm_head.decoder", {SLOT_UNEMBED}, .bias = "lm_head.bias"});

static const struct family_names mpnet_names = NAMES(
    "mpnet.", "encoder.layer.", &roberta_names, {"attention.attn.q", {SLOT_Q}},
    {"attention.attn.k", {SLOT_K}}, {"attention.attn.v", {SLOT_V}}, {"attention.attn.o", {SLOT_O}},
    {"attention.LayerNorm", {SLOT_NORM_1}}, {"encoder.relative_attention_bias", {SLOT_BIASES}});

static const struct family_names distilbert_names = NAMES(
    "distilbert.", "transformer.layer.", &bert_names, {"attention.q_lin", {SLOT_Q}},
    {"attention.k_lin", {SLOT_K}}, {"attention.v_lin", {SLOT_V}}, {"attention.out_lin", {SLOT_O}},
    {"sa_layer_norm", {SLOT_NORM_1}}, {"ffn.lin1", {SLOT_UP}}, {"ffn.lin2", {SLOT_DOWN}},
    {"output_layer_norm", {SLOT_NORM_2}}, {"vocab_transform", {SLOT_TRANSFORM}},
    {"vocab_layer_norm", {SLOT_TRANSFORM_NORM}}, {"vocab_projector", {SLOT_UNEMBED}});

static const struct family_names electra_names =
    NAMES("electra.", "encoder.layer.", &bert_names, {"embeddings_project", {SLOT_EMBED_PROJECT}},
          {"generator_predictions.dense", {SLOT_TRANSFORM}},
          {"generator_predictions.LayerNorm", {SLOT_TRANSFORM_NORM}},
          {"generator_lm_head", {SLOT_UNEMBED}},
          {"discriminator_predictions.dense", {SLOT_DISCRIMINATOR}},
          {"discriminator_predictions.dense_prediction", {SLOT_DISCRIMINATOR_LOGIT}});

static const struct family_names albert_names = NAMES(
    "albert.", "encoder.albert_layer_groups.{g}.albert_layers.", &bert_names,
    {"encoder.embedding_hidden_mapping_in", {SLOT_EMBED_PROJECT}}, {"attention.query", {SLOT_Q}},
    {"attention.key", {SLOT_K}}, {"attention.value", {SLOT_V}}, {"attention.dense", {SLOT_O}},
    {"attention.LayerNorm", {SLOT_NORM_1}}, {"ffn", {SLOT_UP}}, {"ffn_output", {SLOT_DOWN}},
    {"full_layer_layer_norm", {SLOT_NORM_2}}, {"pooler", {SLOT_POOLER}},
    {"predictions.dense", {SLOT_TRANSFORM}}, {"predictions.LayerNorm", {SLOT_TRANSFORM_NORM}},
    {"predictions.decoder", {SLOT_UNEMBED}, .bias = "predictions.bias"});

static const struct family_names modernbert_names =
    NAMES("model.", "layers.", NULL, {"embeddings.tok_embeddings", {SLOT_TOKENS}},
          {"embeddings.norm", {SLOT_EMBED_NORM}}, {"final_norm", {SLOT_FINAL_NORM}},
          {"attn_norm", {SLOT_NORM_1}}, {"attn.Wqkv", {SLOT_Q, SLOT_K, SLOT_V}},
          {"attn.Wo", {SLOT_O}}, {"mlp_norm", {SLOT_NORM_2}}, {"mlp.Wi", {SLOT_GATE, SLOT_UP}},
          {"mlp.Wo", {SLOT_DOWN}}, {"head.dense", {SLOT_TRANSFORM}},
          {"head.norm", {SLOT_TRANSFORM_NORM}}, {"decoder", {SLOT_UNEMBED}});

static const struct family_names deberta_names =
    NAMES("deberta.", "encoder.layer.", &bert_names, {"attention.self.query_proj", {SLOT_Q}},
          {"attention.self.key_proj", {SLOT_K}}, {"attention.self.value_proj", {SLOT_V}},
          {"attention.self.pos_query_proj", {SLOT_BIAS_Q}},
          {"attention.self.pos_key_proj", {SLOT_BIAS_K}}, {"encoder.rel_embeddings", {SLOT_BIASES}},
          {"encoder.LayerNorm", {SLOT_BIAS_NORM}});

static const struct family_names deberta_head_names = NAMES(
    "deberta.", "encoder.layer.", &deberta_names,
    {"lm_predictions.lm_head.dense", {SLOT_TRANSFORM}},
    {"lm_predictions.lm_head.LayerNorm", {SLOT_TRANSFORM_NORM}},
    {"lm_predictions.lm_head.decoder", {SLOT_UNEMBED}, .bias = "lm_predictions.lm_head.bias"});

/* Tensor names of Nomic's masked models. Their prefix is "bert." in published files, and
 * "nomic_bert." in files that transformers 5 saved. */
static const struct family_names nomic_names = NAMES_OF(
    "bert.", "encoder.layers.", NULL, "nomic_", &bert_names, false, {"emb_ln", {SLOT_EMBED_NORM}},
    {"attn.Wqkv", {SLOT_Q, SLOT_K, SLOT_V}}, {"attn.out_proj", {SLOT_O}}, {"norm1", {SLOT_NORM_1}},
    {"mlp.fc11", {SLOT_UP}}, {"mlp.fc12", {SLOT_GATE}}, {"mlp.fc2", {SLOT_DOWN}},
    {"norm2", {SLOT_NORM_2}}, {"cls.predictions.transform.layer_norm", {SLOT_TRANSFORM_NORM}});

static const struct family_names esm_names =
    NAMES("esm.", "encoder.layer.", &roberta_names, {"embeddings.layer_norm", {SLOT_EMBED_NORM}},
          {"encoder.emb_layer_norm_after", {SLOT_FINAL_NORM}},
          {"attention.LayerNorm", {SLOT_NORM_1}}, {"LayerNorm", {SLOT_NORM_2}});

/* --- keys that a row cannot express ----------------------------------------------------------- */

static void settle_encoder(struct reading *r)
{
    struct config *c = r->config;
    family_expect(r, "is_decoder", false, false);
    if (c->n_segments)
        c->n_segments = family_size(r, "type_vocab_size", c->n_segments);
    c->end_activation = c->activation;
}

static void settle_bert(struct reading *r)
{
    static const char key[] = "position_embedding_type";
    const char *positions = family_text(r, key, "absolute");
    if (strcmp(positions, "absolute") != 0)
        err_unsupported(family_fail(r), "field '%s': expected absolute, found \"%s\"", key,
                        positions);
    settle_encoder(r);
}

/* Read a model of type "bert". If it has ALiBi it is JinaBERT, whose family is one of the next two
 * rows of the table. */
static void settle_any_bert(struct reading *r)
{
    static const char key[] = "feed_forward_type";
    struct config *c = r->config;
    if (strcmp(family_text(r, "position_embedding_type", "absolute"), "alibi") != 0) {
        settle_bert(r);
        return;
    }
    const char *type = family_text(r, key, "original");
    bool norms = false; /* whether the model is the variant with norms of queries and keys, which
                         * only the name of its code in "auto_map" shows */
    for (const struct json *at = json_first(family_given(r, "auto_map")); at; at = json_next(at)) {
        const char *code = "";
        json_get_text(at, &code);
        norms |= strstr(code, "qk-post-norm") != NULL;
    }
    c->family += norms ? 2 : 1;
    c->adds_twice = norms;
    if (norms)
        c->head_norm = (struct head_norm){.q = true, .k = true, .whole = true, .shift = true};
    c->score_bias = BIAS_ALIBI_APART;
    c->gated = true;
    c->biases ^= BIASED_MLP | BIASED_DOWN;
    if (strcmp(type, "geglu") != 0 && strcmp(type, "reglu") != 0)
        err_unsupported(family_fail(r), "field '%s': expected geglu or reglu, found \"%s\"", key,
                        type);
    family_text(r, "emb_pooler", "mean");
    settle_encoder(r);
    c->activation = type[0] == 'g' ? ACTIVATION_GELU : ACTIVATION_RELU;
}

/* Read Nomic BERT, with the keys of its authors' code. Options that no published model uses are
 * refused. */
static void settle_nomic(struct reading *r)
{
    static const char *const unused[] = {
        "prenorm",       "parallel_block", "use_rms_norm", "rotary_emb_interleaved",
        "qkv_proj_bias", "mlp_fc1_bias",   "mlp_fc2_bias", "causal"};
    static const char key[] = "activation_function";
    struct config *c = r->config;
    settle_bert(r);
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        family_expect(r, unused[i], false, false);
    const char *name = family_text(r, key, "swiglu");
    if (strcmp(name, "swiglu") != 0)
        err_unsupported(family_fail(r), "field '%s': expected \"swiglu\", found \"%s\"", key, name);
    /* texts are limited to "max_trained_positions" tokens, since the authors' code changes the
     * angles of the rotary embedding in longer texts */
    size_t trained = family_size(r, "max_trained_positions", c->n_positions);
    c->n_positions = trained < c->n_positions ? trained : c->n_positions;
}

/* Let positions count only tokens that are not padding. The first token has the row of the table
 * that follows the row of the padding token. */
static void count_positions(struct reading *r, long long padding)
{
    struct config *c = r->config;
    c->counted = true;
    c->padding_id = padding;
    c->position_offset = (size_t)padding + 1;
    if (c->n_positions <= c->position_offset)
        err_set(family_fail(r),
                "field 'max_position_embeddings': expected more than %zu rows, found %zu",
                c->position_offset, c->n_positions);
    c->n_positions -= c->position_offset;
}

static void settle_roberta(struct reading *r)
{
    settle_bert(r);
    r->config->end_activation = ACTIVATION_GELU;
    count_positions(r, family_integer(r, "pad_token_id", 0, DIMENSION_MAX, 1));
}

/* Read ESM. Positions are learned, or rotary if "position_embedding_type" is "rotary". */
static void settle_esm(struct reading *r)
{
    static const char key[] = "position_embedding_type";
    struct config *c = r->config;
    const char *positions = family_text(r, key, "absolute");
    if (strcmp(positions, "rotary") == 0)
        family_read_rotary(r, 1, family_number(r, "rope_theta", 1, 1e12, 1e4));
    else if (strcmp(positions, "absolute") == 0)
        count_positions(r, family_integer(r, "pad_token_id", 0, DIMENSION_MAX, 1));
    else
        err_unsupported(family_fail(r), "field '%s': expected absolute or rotary, found \"%s\"",
                        key, positions);
    family_expect(r, "is_decoder", false, false);
    family_expect(r, "is_folding_model", false, false);
    c->end_activation = c->activation;
    c->embedding_norm = family_flag(r, "emb_layer_norm_before", false);
    c->drops_masks = family_flag(r, "token_dropout", false);
    c->mask_id = family_integer(r, "mask_token_id", 0, INT32_MAX, -1);
    if (c->drops_masks && c->mask_id < 0)
        err_set(family_fail(r), "field 'mask_token_id': expected a token where token_dropout is "
                                "true, found nothing");
}

/* Read MPNet. Its padding token has the id 1, whatever "pad_token_id" says. */
static void settle_mpnet(struct reading *r)
{
    struct config *c = r->config;
    settle_bert(r);
    c->end_activation = ACTIVATION_GELU;
    count_positions(r, 1);
    c->bias_buckets =
        (unsigned short)family_integer(r, "relative_attention_num_buckets", 4, 1 << 12, 32);
}

static void settle_distilbert(struct reading *r)
{
    struct config *c = r->config;
    settle_bert(r);
    c->n_inner = family_size(r, "hidden_dim", c->n_inner);
    c->epsilon = 1e-12f;
}

static void settle_electra(struct reading *r)
{
    struct config *c = r->config;
    settle_bert(r);
    c->end_activation = ACTIVATION_GELU;
    c->n_word = family_size(r, "embedding_size", 128);
    if (c->n_word == c->n_embd)
        c->n_word = 0;
    if (!family_is_for(r, "ForMultipleChoice"))
        return;
    enum activation hidden = c->activation;
    family_activation(r, "summary_activation", family_text(r, "summary_activation", "gelu"));
    c->class_activation = c->activation;
    c->activation = hidden;
    if (strcmp(family_text(r, "summary_type", "first"), "first") != 0)
        err_unsupported(family_fail(r), "field 'summary_type': expected first");
}

/* Read from "pos_att_type" which products with distance vectors are added to scores. Its value is a
 * list, or a text with "|" between the names. */
static void read_terms(struct reading *r)
{
    static const char key[] = "pos_att_type";
    const struct json *member = family_given(r, key);
    const char *text = NULL;
    for (const struct json *item = member && json_is_array(member) ? json_first(member) : member;
         item; item = item == member ? NULL : json_next(item)) {
        bool known = json_get_text(item, &text);
        for (const char *end; known && text; text = end ? end + 1 : NULL) {
            end = strchr(text, '|');
            size_t size = end ? (size_t)(end - text) : strlen(text);
            bool keys = size == 3 && strncmp(text, "c2p", 3) == 0;
            known = keys || (size == 3 && strncmp(text, "p2c", 3) == 0);
            r->config->bias_terms |= keys ? TERM_KEYS : TERM_QUERIES;
        }
        if (!known)
            err_unsupported(family_fail(r), "field '%s': expected c2p, p2c, or both", key);
    }
}

static void settle_deberta(struct reading *r)
{
    struct config *c = r->config;
    c->end_activation = c->activation;
    c->n_segments = (size_t)family_integer(r, "type_vocab_size", 0, DIMENSION_MAX, 0);
    enum activation hidden = c->activation; /* kept here, because the pooler's activation is read
                                             * into c->activation below; it is used only by the
                                             * dense layer before classes */
    family_activation(r, "pooler_hidden_act", family_text(r, "pooler_hidden_act", "gelu"));
    c->class_activation = c->activation;
    c->activation = hidden;
    family_size(r, "pooler_hidden_size", c->n_embd);
    family_flag(r, "legacy", true); /* only marks the key as read: the file's tensors decide which
                                     * names the head has */
    family_expect(r, "relative_attention", true, false);
    if (!family_flag(r, "position_biased_input", true))
        c->n_positions = 0;
    size_t positions = family_size(r, "max_position_embeddings", 512);
    long long most = family_integer(r, "max_relative_positions", INT16_MIN, UINT16_MAX, -1);
    long long rows = family_integer(r, "position_buckets", INT16_MIN, INT16_MAX, -1);
    size_t reach = most > 0 ? (size_t)most : positions;
    if (reach > UINT16_MAX || (rows > 0 && (rows < 4 || rows % 2 || reach < (size_t)rows / 2 + 2)))
        err_set(family_fail(r),
                "field 'position_buckets': expected an even number of at least 4, and "
                "'max_relative_positions' (or 'max_position_embeddings') from half of it on up to "
                "65535, found %lld and %zu",
                rows, reach);
    if (rows <= 0 && reach > INT16_MAX)
        err_set(family_fail(r), "field 'max_relative_positions': expected at most 32767, found %zu",
                reach);
    c->bias_reach = (unsigned short)reach;
    c->bias_buckets = (unsigned short)(rows > 0 ? (size_t)rows : reach);
    read_terms(r);
    c->scale = 1.0f / sqrtf((float)c->d_k * (float)(1 + !!(c->bias_terms & TERM_KEYS) +
                                                    !!(c->bias_terms & TERM_QUERIES)));
    c->bias_terms |=
        (rows > 0 ? TERM_LOG : 0) | (family_flag(r, "share_att_key", false) ? TERM_SHARED : 0) |
        (strcmp(family_text(r, "norm_rel_ebd", "none"), "layer_norm") == 0 ? TERM_NORMED : 0);
    if (family_size(r, "embedding_size", c->n_embd) != c->n_embd)
        err_unsupported(family_fail(r), "field 'embedding_size': expected hidden_size = %zu",
                        c->n_embd);
    if (family_size(r, "attention_head_size", c->d_k) != c->d_k)
        err_unsupported(family_fail(r),
                        "field 'attention_head_size': expected hidden_size / num_attention_heads "
                        "= %zu",
                        c->d_k);
    long long kernel = family_integer(r, "conv_kernel_size", 0, INT16_MAX, 0);
    if (kernel)
        err_unsupported(family_fail(r),
                        "field 'conv_kernel_size': expected a model without a convolution beside "
                        "its first layer, found one over %lld tokens, as in DeBERTa-v2 xlarge",
                        kernel);
}

/* Read ALBERT. Layers share parameters: each group of layers runs several times before the next
 * group runs. */
static void settle_albert(struct reading *r)
{
    struct config *c = r->config;
    settle_bert(r);
    c->n_word = family_size(r, "embedding_size", 128);
    c->n_group = family_size(r, "num_hidden_groups", 1);
    c->group_layers = family_size(r, "inner_group_num", 1);
    c->n_layer *= c->group_layers;
    if (c->n_layer > CONFIG_FLAGS_MAX || c->n_group > c->n_layer / c->group_layers)
        err_set(family_fail(r),
                "field 'num_hidden_groups': expected at most num_hidden_layers, and %d layers "
                "with those of groups, found %zu and %zu",
                CONFIG_FLAGS_MAX, c->n_group, c->n_layer);
}

/* Read ModernBERT. Layers with a window have their own base of the rotary embedding. Layer 0 has no
 * norm before attention. */
static void settle_modernbert(struct reading *r)
{
    struct config *c = r->config;
    c->norm_shift = family_flag(r, "norm_bias", false);
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
    family_bias(r, "mlp_bias", BIASED_MLP);
    family_bias(r, "classifier_bias", BIASED_TRANSFORM);
    family_bias(r, "decoder_bias", BIASED_LOGITS);
    family_activation(r, "classifier_activation", family_text(r, "classifier_activation", "gelu"));
    c->end_activation = c->class_activation = c->activation;
    const char *pooling = family_text(r, "classifier_pooling", "cls");
    if (strcmp(pooling, "mean") == 0 && !c->answers)
        c->answers = ANSWER_OF_MEAN;
    else if (strcmp(pooling, "mean") != 0 && strcmp(pooling, "cls") != 0 &&
             (family_is_for(r, "ForSequenceClassification") ||
              family_is_for(r, "ForMultipleChoice")))
        err_unsupported(family_fail(r),
                        "field 'classifier_pooling': expected cls or mean, found \"%s\"", pooling);
    family_activation(r, "hidden_activation", family_text(r, "hidden_activation", "gelu"));
    size_t every = family_size(r, "global_attn_every_n_layers", 3);
    c->window = family_size(r, "local_attention", 128) / 2 + 1;
    bool given = family_layer_types(r);
    for (size_t i = 0; i < c->n_layer && !given; i++)
        if (i % every)
            c->layer_flags[i] |= LAYER_WINDOW;
    family_local_rotary(r, "local_rope_theta", 10000, true);
    c->layer_flags[0] |= LAYER_FIRST_PLAIN;
}

/* --- families --------------------------------------------------------------------------------- */

#define ENCODER                                                                             \
    STACK, .style = STYLE_POST_STREAM, .norm_shift = true, .tied = true, .epsilon = 1e-12f, \
           .biases = BIASED_ALL | BIASED_LOGITS | BIASED_TRANSFORM, .embedding_norm = true, \
           .n_positions = 512, .end = END_MASKED

#define BERT ENCODER, .n_inner = 3072

#define DEBERTA                                                                             \
    STACK, .style = STYLE_POST_STREAM, .norm_shift = true, .tied = true, .epsilon = 1e-7f,  \
           .biases = BIASED_ALL | BIASED_LOGITS | BIASED_TRANSFORM, .embedding_norm = true, \
           .n_positions = 512, .n_inner = 6144, .end = END_MASKED, .score_bias = BIAS_DISENTANGLED

#define GELU "hidden_act", "gelu", 0, 0

const struct family family_encoders[] = {
    {"bert", &bert_names, settle_any_bert, WITH(BERT, .n_segments = 2), GELU},
    {"bert with ALiBi", &jina_names, settle_any_bert,
     WITH(BERT, .n_segments = 2, .gated = true, .score_bias = BIAS_ALIBI_APART), GELU},
    {"bert with ALiBi and norms", &jina_code_names, settle_any_bert,
     WITH(BERT, .n_segments = 2, .gated = true, .score_bias = BIAS_ALIBI_APART), GELU},
    {"roberta", &roberta_names, settle_roberta, WITH(BERT, .n_segments = 2), GELU},
    {"xlm-roberta", &roberta_names, settle_roberta, WITH(BERT, .n_segments = 2), GELU},
    {"camembert", &roberta_names, settle_roberta, WITH(BERT, .n_segments = 2), GELU},
    {"mpnet", &mpnet_names, settle_mpnet, WITH(BERT, .score_bias = BIAS_BUCKETS, .bias_reach = 128),
     GELU},
    {"distilbert", &distilbert_names, settle_distilbert, WITH(BERT), "activation", "gelu", 0, 0},
    {"electra", &electra_names, settle_electra,
     WITH(ENCODER, .n_inner = 1024, .n_segments = 2, .projects_last = true), GELU},
    {"albert", &albert_names, settle_albert,
     WITH(ENCODER, .n_inner = 16384, .n_segments = 2, .projects_last = true), "hidden_act",
     "gelu_new", 0, 0},
    {"deberta-v2", &deberta_names, settle_deberta, WITH(DEBERTA), GELU},
    {"deberta-v2", &deberta_head_names, settle_deberta, WITH(DEBERTA), GELU},
    {"nomic_bert", &nomic_names, settle_nomic,
     WITH(STACK, .n_inner = 3072, .n_positions = 2048, .style = STYLE_POST_STREAM, .tied = true,
          .epsilon = 1e-12f, .biases = BIASED_LOGITS | BIASED_TRANSFORM, .norm_shift = true,
          .gated = true, .embedding_norm = true, .n_segments = 2, .end = END_MASKED),
     "hidden_act", "silu", 1, 1000, "rotary_emb_base", "rotary_emb_fraction", .first_names = true},
    {"esm", &esm_names, settle_esm,
     WITH(STACK, .n_inner = 3072, .n_positions = 1026, .style = STYLE_PRE, .tied = true,
          .epsilon = 1e-12f, .biases = BIASED_ALL | BIASED_LOGITS | BIASED_TRANSFORM,
          .norm_shift = true, .final_norm = true, .end = END_MASKED),
     NULL, "gelu", 0, 0, .fixed_rotary = true},
    {"modernbert", &modernbert_names, settle_modernbert,
     WITH(STACK, .n_inner = 1152, .n_positions = 8192, .style = STYLE_PRE, .tied = true,
          .epsilon = 1e-5f, .biases = BIASED_LOGITS, .gated = true, .final_norm = true,
          .embedding_norm = true, .end = END_MASKED),
     "hidden_activation", "gelu", 1, 160000, "global_rope_theta"},
    {NULL},
};
