/* family_encoders.c: encoders of a text, whose tokens attend to earlier and later ones: names of
 * tensors, keys that a row cannot express, and a row for each family.
 */
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
          {"cls.predictions.decoder", {SLOT_HEAD}, .bias = "cls.predictions.bias"});

static const struct family_names roberta_names =
    NAMES("roberta.", "encoder.layer.", &bert_names, {"lm_head.dense", {SLOT_TRANSFORM}},
          {"lm_head.layer_norm", {SLOT_TRANSFORM_NORM}},
          {"lm_head.decoder", {SLOT_HEAD}, .bias = "lm_head.bias"});

static const struct family_names distilbert_names = NAMES(
    "distilbert.", "transformer.layer.", &bert_names, {"attention.q_lin", {SLOT_Q}},
    {"attention.k_lin", {SLOT_K}}, {"attention.v_lin", {SLOT_V}}, {"attention.out_lin", {SLOT_O}},
    {"sa_layer_norm", {SLOT_NORM_1}}, {"ffn.lin1", {SLOT_UP}}, {"ffn.lin2", {SLOT_DOWN}},
    {"output_layer_norm", {SLOT_NORM_2}}, {"vocab_transform", {SLOT_TRANSFORM}},
    {"vocab_layer_norm", {SLOT_TRANSFORM_NORM}}, {"vocab_projector", {SLOT_HEAD}});

/* --- keys that a row cannot express ----------------------------------------------------------- */

static void settle_bert(struct reading *r)
{
    static const char key[] = "position_embedding_type";
    struct config *c = r->config;
    const char *positions = family_text(r, key, "absolute");
    if (strcmp(positions, "absolute") != 0)
        err_unsupported(family_fail(r), "field '%s': expected absolute, found \"%s\"", key,
                        positions);
    family_expect(r, "is_decoder", false, false);
    if (c->n_segments)
        c->n_segments = family_size(r, "type_vocab_size", c->n_segments);
    c->end_activation = c->activation;
}

/* Let positions number the tokens that are not padding, from the row after that of padding. */
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

static void settle_distilbert(struct reading *r)
{
    struct config *c = r->config;
    settle_bert(r);
    c->n_inner = family_size(r, "hidden_dim", c->n_inner);
    c->epsilon = 1e-12f;
}

/* --- families --------------------------------------------------------------------------------- */

#define ENCODER                                                                             \
    STACK, .style = STYLE_POST_STREAM, .norm_shift = true, .tied = true, .epsilon = 1e-12f, \
           .biases = BIAS_ALL | BIAS_LOGITS | BIAS_TRANSFORM, .embedding_norm = true,       \
           .n_positions = 512, .end = END_MASKED

const struct family family_encoders[] = {
    {"bert", &bert_names, settle_bert, WITH(ENCODER, .n_segments = 2), "hidden_act", "gelu", 0, 0},
    {"roberta", &roberta_names, settle_roberta, WITH(ENCODER, .n_segments = 2), "hidden_act",
     "gelu", 0, 0},
    {"xlm-roberta", &roberta_names, settle_roberta, WITH(ENCODER, .n_segments = 2), "hidden_act",
     "gelu", 0, 0},
    {"camembert", &roberta_names, settle_roberta, WITH(ENCODER, .n_segments = 2), "hidden_act",
     "gelu", 0, 0},
    {"distilbert", &distilbert_names, settle_distilbert, WITH(ENCODER), "activation", "gelu", 0, 0},
    {NULL},
};
