#include "model/parameter_table.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/config_text.h"
#include "../rigs/tiny_model.h"

struct expected {
    const char *name;
    const char *shape;
};

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 11, "n_positions": 22, "n_embd": 6, "n_layer": 3,
          "n_head": 2, "n_inner": 7});
static const char untied[] =
    JSON({"model_type": "gpt2", "vocab_size": 11, "n_embd": 6, "n_head": 2,
          "tie_word_embeddings": false});
static const char attention[] =
    JSON({"model_type": "attention", "vocab_size": 11, "n_embd": 6, "n_layer": 3, "n_head": 8,
          "n_kv_head": 2, "d_k": 3, "d_v": 5, "out_proj": true, "bias": true});
static const char plain[] =
    JSON({"model_type": "attention", "vocab_size": 11, "n_embd": 6, "n_layer": 3});
static const char bare[] =
    JSON({"model_type": "attention", "vocab_size": 11, "n_embd": 6, "projections": false,
          "out_proj": true, "bias": true, "n_layer": 3});
static const char transformer[] =
    JSON({"model_type": "transformer", "vocab_size": 11, "n_embd": 6, "n_head": 2, "n_inner": 7,
          "n_layer": 3, "n_encoder_layer": 2});
static const char learned[] =
    JSON({"model_type": "transformer", "vocab_size": 11, "n_embd": 6, "n_inner": 7, "n_layer": 3,
          "bias": false, "positions": "learned", "n_positions": 5, "final_norm": false,
          "tie_word_embeddings": false});
/* clang-format on */

static const struct expected of_gpt2[] = {
    {"wte.weight", "[11, 6]"},
    {"wpe.weight", "[22, 6]"},
    {"ln_f.weight", "[6]"},
    {"ln_f.bias", "[6]"},
    {"h.2.ln_1.weight", "[6]"},
    {"h.2.ln_1.bias", "[6]"},
    {"h.2.attn.c_attn.weight", "[6, 18]"},
    {"h.2.attn.c_attn.bias", "[18]"},
    {"h.2.attn.c_proj.weight", "[6, 6]"},
    {"h.2.attn.c_proj.bias", "[6]"},
    {"h.2.ln_2.weight", "[6]"},
    {"h.2.ln_2.bias", "[6]"},
    {"h.2.mlp.c_fc.weight", "[6, 7]"},
    {"h.2.mlp.c_fc.bias", "[7]"},
    {"h.2.mlp.c_proj.weight", "[7, 6]"},
    {"h.2.mlp.c_proj.bias", "[6]"},
};

static const struct expected of_attention[] = {
    {"wte.weight", "[11, 6]"},         {"h.2.attn.q_proj.weight", "[6, 24]"},
    {"h.2.attn.q_proj.bias", "[24]"},  {"h.2.attn.k_proj.weight", "[6, 6]"},
    {"h.2.attn.k_proj.bias", "[6]"},   {"h.2.attn.v_proj.weight", "[6, 10]"},
    {"h.2.attn.v_proj.bias", "[10]"},  {"h.2.attn.out_proj.weight", "[40, 6]"},
    {"h.2.attn.out_proj.bias", "[6]"},
};

static const struct expected of_plain[] = {
    {"wte.weight", "[11, 6]"},
    {"h.2.attn.q_proj.weight", "[6, 6]"},
    {"h.2.attn.k_proj.weight", "[6, 6]"},
    {"h.2.attn.v_proj.weight", "[6, 6]"},
};

static const struct expected of_bare[] = {
    {"wte.weight", "[11, 6]"},
    {"h.2.attn.out_proj.weight", "[6, 6]"},
    {"h.2.attn.out_proj.bias", "[6]"},
};

static const struct expected of_decoder[] = {
    {"wte.weight", "[11, 6]"},
    {"enc.ln_f.weight", "[6]"},
    {"enc.ln_f.bias", "[6]"},
    {"ln_f.weight", "[6]"},
    {"ln_f.bias", "[6]"},
    {"h.2.ln_1.weight", "[6]"},
    {"h.2.ln_1.bias", "[6]"},
    {"h.2.attn.q_proj.weight", "[6, 6]"},
    {"h.2.attn.q_proj.bias", "[6]"},
    {"h.2.attn.k_proj.weight", "[6, 6]"},
    {"h.2.attn.k_proj.bias", "[6]"},
    {"h.2.attn.v_proj.weight", "[6, 6]"},
    {"h.2.attn.v_proj.bias", "[6]"},
    {"h.2.attn.out_proj.weight", "[6, 6]"},
    {"h.2.attn.out_proj.bias", "[6]"},
    {"h.2.ln_cross.weight", "[6]"},
    {"h.2.ln_cross.bias", "[6]"},
    {"h.2.cross_attn.q_proj.weight", "[6, 6]"},
    {"h.2.cross_attn.q_proj.bias", "[6]"},
    {"h.2.cross_attn.k_proj.weight", "[6, 6]"},
    {"h.2.cross_attn.k_proj.bias", "[6]"},
    {"h.2.cross_attn.v_proj.weight", "[6, 6]"},
    {"h.2.cross_attn.v_proj.bias", "[6]"},
    {"h.2.cross_attn.out_proj.weight", "[6, 6]"},
    {"h.2.cross_attn.out_proj.bias", "[6]"},
    {"h.2.ln_2.weight", "[6]"},
    {"h.2.ln_2.bias", "[6]"},
    {"h.2.mlp.c_fc.weight", "[6, 7]"},
    {"h.2.mlp.c_fc.bias", "[7]"},
    {"h.2.mlp.c_proj.weight", "[7, 6]"},
    {"h.2.mlp.c_proj.bias", "[6]"},
};

/* Layers of the encoder, counted after those of the decoder, have no cross-attention. */
static const struct expected of_encoder[] = {
    {"wte.weight", "[11, 6]"},
    {"wpe.weight", "[5, 6]"},
    {"lm_head.weight", "[11, 6]"},
    {"enc.0.ln_1.weight", "[6]"},
    {"enc.0.ln_1.bias", "[6]"},
    {"enc.0.attn.q_proj.weight", "[6, 6]"},
    {"enc.0.attn.k_proj.weight", "[6, 6]"},
    {"enc.0.attn.v_proj.weight", "[6, 6]"},
    {"enc.0.attn.out_proj.weight", "[6, 6]"},
    {"enc.0.ln_2.weight", "[6]"},
    {"enc.0.ln_2.bias", "[6]"},
    {"enc.0.mlp.c_fc.weight", "[6, 7]"},
    {"enc.0.mlp.c_fc.bias", "[7]"},
    {"enc.0.mlp.c_proj.weight", "[7, 6]"},
    {"enc.0.mlp.c_proj.bias", "[6]"},
};

/* Those of a model, of one of its layers, are these and no others, in this order. */
static void check_table(const char *text, size_t layer, const struct expected *expected,
                        size_t count)
{
    struct config config = config_of(text);
    size_t found = 0;
    for (int id = 0; id < PARAMETERS; id++) {
        char name[PARAMETER_NAME_BYTES];
        char shape_text[PARAMETER_SHAPE_BYTES];
        size_t shape[2];
        if (!parameter_is_used((enum parameter_id)id, layer, &config))
            continue;
        ck_assert_uint_lt(found, count);
        ck_assert_str_eq(parameter_name(name, (enum parameter_id)id, layer, &config),
                         expected[found].name);
        size_t rank = parameter_shape(shape, (enum parameter_id)id, &config);
        ck_assert_str_eq(parameter_shape_text(shape_text, rank, shape), expected[found].shape);
        found++;
    }
    ck_assert_uint_eq(found, count);
}

TEST(a_model_has_these_tensors)
{
    check_table(gpt2, 2, of_gpt2, COUNT(of_gpt2));
    check_table(attention, 2, of_attention, COUNT(of_attention));
    check_table(plain, 2, of_plain, COUNT(of_plain));
    check_table(bare, 2, of_bare, COUNT(of_bare));
    check_table(transformer, 2, of_decoder, COUNT(of_decoder));
    check_table(learned, 3, of_encoder, COUNT(of_encoder));
}

TEST(only_an_untied_model_may_have_an_unembedding_of_its_own)
{
    struct config config = config_of(untied);
    size_t shape[2];
    ck_assert(parameter_is_used(PARAMETER_LM_HEAD, 0, &config));
    ck_assert(parameter_rows[PARAMETER_LM_HEAD].optional);
    ck_assert_uint_eq(parameter_shape(shape, PARAMETER_LM_HEAD, &config), 2);
    ck_assert_mem_eq(shape, ((size_t[]){11, 6}), sizeof shape);
    for (int id = 0; id < PARAMETERS; id++)
        ck_assert(id == PARAMETER_LM_HEAD || !parameter_rows[id].optional);
}

/* weights.c counts on it: what follows a matrix is its bias, what follows a scale its shift. */
TEST(a_bias_stands_behind_its_matrix)
{
    for (int id = 1; id < PARAMETERS; id++) {
        const char *name = parameter_rows[id].name;
        const char *before = parameter_rows[id - 1].name;
        size_t stem = strlen(name) - strlen(".bias");
        if (strcmp(name + stem, ".bias") != 0)
            continue;
        ck_assert_uint_eq(strlen(before), stem + strlen(".weight"));
        ck_assert(strncmp(name, before, stem) == 0);
        ck_assert_str_eq(before + stem, ".weight");
    }
}

TEST(an_index_leads_to_its_parameter_and_back)
{
    struct config config = config_of(transformer);
    ck_assert_uint_eq(parameter_count(&config), PARAMETERS_OF_MODEL + 5 * PARAMETERS_OF_LAYER);
    for (size_t i = 0; i < parameter_count(&config); i++) {
        struct parameter_key key = parameter_key(i);
        ck_assert_uint_eq(parameter_index(key.id, key.layer), i);
        ck_assert_uint_lt(key.layer, 5);
    }
    ck_assert_int_eq(parameter_key(PARAMETER_LN_F).id, PARAMETER_LN_F);
    ck_assert_uint_eq(parameter_key(parameter_count(&config) - 1).layer, 4);
}

TEST(the_longest_name_has_room)
{
    static const struct config config = {.n_encoder_layer = 16384};
    char name[PARAMETER_NAME_BYTES];
    for (int id = 0; id < PARAMETERS; id++) {
        parameter_name(name, (enum parameter_id)id, 16383, &config);
        ck_assert_uint_lt(strlen(name), PARAMETER_NAME_BYTES - 1);
    }
}

TEST(shapes_of_every_rank_are_written)
{
    static const struct {
        size_t rank;
        size_t shape[8];
        const char *text;
    } cases[] = {
        {0, {0}, "[]"},
        {1, {5}, "[5]"},
        {4, {1, 1, 1024, 1024}, "[1, 1, 1024, 1024]"},
        {8,
         {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX},
         "[18446744073709551615, 18446744073709551615, 18446744073709551615, 18446744073709551615, "
         "18446744073709551615, 18446744073709551615, 18446744073709551615, 18446744073709551615]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[PARAMETER_SHAPE_BYTES];
        ck_assert_str_eq(parameter_shape_text(text, cases[i].rank, cases[i].shape), cases[i].text);
    }
}
