#include "model/weights.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/tiny_model.h"

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 11, "n_positions": 9, "n_embd": 6, "n_layer": 2,
          "n_head": 2, "n_inner": 7, "tie_word_embeddings": false});
static const char encoder[] =
    JSON({"model_type": "transformer", "vocab_size": 11, "n_embd": 6, "n_encoder_layer": 3});
static const char attention[] =
    JSON({"model_type": "attention", "vocab_size": 11, "n_embd": 6, "n_layer": 2, "n_head": 4,
          "n_kv_head": 2, "d_k": 3, "d_v": 5, "out_proj": true, "bias": true});
/* clang-format on */

static struct tiny_model model;
static struct weights weights;
static struct err err;

static int open_weights(void)
{
    tiny_model_write(&model, 0);
    err = (struct err){0};
    return weights_open(&weights, &model.config, &model.folder, &err);
}

static void release(void)
{
    weights_release(&weights);
    tiny_model_release(&model);
}

static void expect_error(enum err_kind kind, const char *message)
{
    ck_assert_msg(open_weights() == -1, "no '%s'", message);
    ck_assert_str_eq(err.text, message);
    ck_assert_int_eq(err.kind, kind);
    ck_assert_ptr_null(weights.parameters);
}

TEST(a_tensor_that_is_not_there_is_named)
{
    static const char *const configs[] = {gpt2, attention};
    for (size_t c = 0; c < COUNT(configs); c++) {
        tiny_model_make(&model, configs[c]);
        size_t count = model.count;
        tiny_model_release(&model);
        for (size_t i = 0; i < count; i++) {
            char expected[256];
            tiny_model_make(&model, configs[c]);
            snprintf(expected, sizeof expected,
                     "'tiny-model/model.safetensors': tensor '%s': expected in the file, found "
                     "none of that name",
                     model.tensors[i].name);
            if (strcmp(model.tensors[i].name, "lm_head.weight") != 0) {
                tiny_model_drop(&model, model.tensors[i].name);
                expect_error(ERR_INPUT, expected);
            }
            tiny_model_release(&model);
        }
    }
}

TEST(a_tensor_of_another_shape_is_named_with_both)
{
    static const struct {
        const char *name;
        size_t rank;
        size_t shape[4];
        const char *shapes;
    } cases[] = {
        {"h.1.mlp.c_fc.weight", 2, {7, 6}, "expected [6, 7], found [7, 6]"}, /* transposed */
        {"h.0.attn.c_attn.weight", 2, {18, 6}, "expected [6, 18], found [18, 6]"},
        {"wte.weight", 2, {12, 6}, "expected [11, 6], found [12, 6]"},
        {"wpe.weight", 2, {8, 6}, "expected [9, 6], found [8, 6]"},
        {"lm_head.weight", 2, {6, 11}, "expected [11, 6], found [6, 11]"},
        {"ln_f.bias", 2, {1, 6}, "expected [6], found [1, 6]"},
        {"ln_f.bias", 0, {0}, "expected [6], found []"},
        {"h.0.mlp.c_fc.weight", 1, {42}, "expected [6, 7], found [42]"},
        {"h.0.mlp.c_fc.weight", 3, {6, 7, 1}, "expected [6, 7], found [6, 7, 1]"},
        {"h.0.ln_1.weight", 1, {0}, "expected [6], found [0]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[256];
        tiny_model_make(&model, gpt2);
        tiny_model_drop(&model, cases[i].name);
        tiny_model_add(&model, cases[i].name, DTYPE_F32, cases[i].rank, cases[i].shape);
        snprintf(expected, sizeof expected, "'tiny-model/model.safetensors': tensor '%s': %s",
                 cases[i].name, cases[i].shapes);
        expect_error(ERR_INPUT, expected);
        tiny_model_release(&model);
    }
}

TEST(a_type_that_weights_cannot_have_is_not_supported)
{
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        char expected[256];
        if (dtype_is_weight((enum dtype)dtype))
            continue;
        tiny_model_make(&model, gpt2);
        tiny_model_tensor(&model, "h.0.ln_2.bias")->dtype = (enum dtype)dtype;
        snprintf(expected, sizeof expected,
                 "'tiny-model/model.safetensors': tensor 'h.0.ln_2.bias': expected F32, F16, BF16 "
                 "or F64, found %s",
                 dtype_name((enum dtype)dtype));
        expect_error(ERR_UNSUPPORTED, expected);
        tiny_model_release(&model);
    }
}

TEST(a_layer_beyond_the_last_is_refused)
{
    static const struct {
        const char *config;
        const char *name;
        const char *limit, *layer;
    } cases[] = {
        {gpt2, "h.2.ln_1.weight", "n_layer = 2", "2"},
        {gpt2, "transformer.h.2.ln_1.weight", "n_layer = 2", "2"},
        {gpt2, "h.17.attn.bias", "n_layer = 2", "17"},
        {gpt2, "h.99999999999.x", "n_layer = 2", "99999999999"},
        {gpt2, "enc.0.ln_1.weight", "n_encoder_layer = 0", "0"},
        {encoder, "h.1.ln_1.weight", "n_layer = 1", "1"},
        {encoder, "enc.3.ln_1.weight", "n_encoder_layer = 3", "3"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[256];
        tiny_model_make(&model, cases[i].config);
        tiny_model_add(&model, cases[i].name, DTYPE_F32, 1, (size_t[]){6});
        snprintf(expected, sizeof expected,
                 "'tiny-model/model.safetensors': tensor '%s': expected layers below %s, "
                 "found layer %s",
                 cases[i].name, cases[i].limit, cases[i].layer);
        expect_error(ERR_INPUT, expected);
        tiny_model_release(&model);
    }
}

TEST(buffers_and_strangers_are_skipped)
{
    static const struct {
        const char *name;
        enum dtype dtype;
        size_t rank;
        size_t shape[4];
    } extras[] = {
        {"h.0.attn.bias", DTYPE_U8, 4, {1, 1, 9, 9}},
        {"h.1.attn.bias", DTYPE_F32, 4, {1, 1, 9, 9}},
        {"transformer.h.1.attn.masked_bias", DTYPE_F32, 0, {0}},
        {"h.0.attn.masked_bias", DTYPE_F32, 0, {0}},
        {"h.x.ln_1.weight", DTYPE_F32, 1, {6}},
        {"h.", DTYPE_I64, 1, {1}},
        {"score.weight", DTYPE_BOOL, 1, {3}},
    };
    tiny_model_make(&model, gpt2);
    for (size_t i = 0; i < COUNT(extras); i++)
        tiny_model_add(&model, extras[i].name, extras[i].dtype, extras[i].rank, extras[i].shape);
    ck_assert_msg(!open_weights(), "%s", err.text);
    release();
}

TEST(names_may_have_the_prefix_of_the_whole_model)
{
    struct block_weights w;
    tiny_model_make(&model, gpt2);
    for (size_t i = 0; i < model.count; i++) {
        char name[64];
        memcpy(name, model.tensors[i].name, sizeof name);
        if (i % 2 == 0)
            snprintf(model.tensors[i].name, sizeof name, "transformer.%.50s", name);
    }
    ck_assert_msg(!open_weights(), "%s", err.text);
    ck_assert_int_eq(weights_block(&weights, 1, SITE_RESID_POST, &w, &err), 0);
    ck_assert(w.mlp.fc.data && w.mlp.fc.bias && w.self.out.data && w.self.out.bias);
    release();
}

TEST(a_tensor_that_no_shard_has_is_missed_in_the_index)
{
    static const char index[] = "{\"weight_map\":{\"wte.weight\":\"a.safetensors\"}}";
    tiny_model_make(&model, gpt2);
    tiny_model_drop(&model, "h.1.ln_2.bias");
    tiny_model_write(&model, 0);
    struct folder_file files[] = {{"model.safetensors.index.json", index, strlen(index)},
                                  {"a.safetensors", model.bytes.bytes, model.bytes.size}};
    struct folder folder = {.path = "m", .files = files, .file_count = COUNT(files)};
    err = (struct err){0};
    ck_assert_int_eq(weights_open(&weights, &model.config, &folder, &err), -1);
    ck_assert_str_eq(err.text, "'m/model.safetensors.index.json': tensor 'h.1.ln_2.bias': expected "
                               "in the file, found none of that name");
    tiny_model_release(&model);
}
