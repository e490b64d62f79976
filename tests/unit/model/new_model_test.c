#include "model/new_model.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "../rigs/tiny_model.h"
#include "base/heap.h"
#include "format/safetensors.h"
#include "model/model.h"

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 11, "n_positions": 22, "n_embd": 6, "n_layer": 3,
          "n_head": 2, "n_inner": 7});
static const char attention[] =
    JSON({"model_type": "attention", "vocab_size": 5, "n_embd": 3, "d_k": 2, "d_v": 4,
          "bias": true});
static const char encoder[] =
    JSON({"model_type": "transformer", "vocab_size": 5, "n_embd": 4, "n_layer": 2,
          "n_encoder_layer": 3});
/* clang-format on */

static struct new_model new_model;
static struct err err;

static void open_draft(const char *text)
{
    err_clear(&err);
    ck_assert_msg(!new_model_open(&new_model, "fresh", text, strlen(text), &err), "%s", err.text);
}

/* The place of a name in the list of tensors. */
static const struct new_model_tensor *named(const char *name)
{
    for (size_t i = 0; i < new_model.count; i++)
        if (strcmp(new_model.tensors[i].name, name) == 0)
            return &new_model.tensors[i];
    ck_abort_msg("there is no %s", name);
    return NULL;
}

FIXTURE(scratch_enter, scratch_leave)

TEST(every_tensor_of_the_config_is_there)
{
    open_draft(gpt2);
    ck_assert_uint_eq(new_model.count, 4 + 3 * 12);
    ck_assert_str_eq(new_model.tensors[1].name, "wpe.weight");
    ck_assert_str_eq(new_model.tensors[2].name, "h.0.ln_1.weight");
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_WPE, 0), named("wpe.weight"));
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_LN_1, 0), named("h.0.ln_1.weight"));
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_MLP_PROJ, 2),
                     named("h.2.mlp.c_proj.weight"));
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_LN_F + 1, 0), &new_model.tensors[39]);
    ck_assert_str_eq(new_model.tensors[39].name, "ln_f.bias");
    ck_assert_ptr_null(new_model_tensor(&new_model, PARAMETER_LM_HEAD, 0));
    ck_assert_ptr_null(new_model_tensor(&new_model, PARAMETER_Q, 1));
    ck_assert_uint_eq(named("h.1.mlp.c_fc.weight")->count, 6 * 7);
    ck_assert_uint_eq(named("h.1.mlp.c_fc.bias")->count, 7);
    new_model_release(&new_model);
}

/* The layers of the decoder, then those of the encoder, which have less. */
TEST(an_encoder_stands_behind_its_decoder)
{
    open_draft(encoder);
    ck_assert_uint_eq(new_model.count, 1 + 2 * 26 + 3 * 16 + 4);
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_OUT + PARAMETERS_TO_CROSS, 1),
                     named("h.1.cross_attn.out_proj.weight"));
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_LN_1, 2), named("enc.0.ln_1.weight"));
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_LN_1, 4), named("enc.2.ln_1.weight"));
    ck_assert_ptr_null(new_model_tensor(&new_model, PARAMETER_OUT + PARAMETERS_TO_CROSS, 2));
    ck_assert_str_eq(new_model.tensors[1 + 2 * 26].name, "enc.0.ln_1.weight");
    ck_assert_str_eq(new_model.tensors[new_model.count - 4].name, "enc.ln_f.weight");
    new_model_release(&new_model);
}

/* What is written into a tensor is what a model reads. */
TEST(a_draft_is_a_model_at_any_time)
{
    struct model model = {0};
    open_draft(attention);
    for (size_t i = 0; i < new_model.count; i++)
        for (size_t k = 0; k < new_model.tensors[i].count; k++)
            new_model.tensors[i].data[k] = (float)(100 * i + k);
    ck_assert_msg(!model_open_folder(&model, &new_model.folder, &err), "%s", err.text);
    ck_assert_str_eq(model.name, "fresh");
    for (size_t i = 0; i < weights_parameter_count(&model.weights); i++) {
        struct parameter_info info = weights_parameter(&model.weights, i);
        if (!info.entry)
            continue;
        const struct new_model_tensor *tensor = named(info.name);
        size_t last = info.entry->count - 1;
        ck_assert_uint_eq(info.entry->count, tensor->count);
        ck_assert_float_eq(((const float *)info.entry->data)[last],
                           (float)(100 * (size_t)(tensor - new_model.tensors) + last));
    }
    model_release(&model);
    new_model_release(&new_model);
}

TEST(files_are_saved_with_the_config_last)
{
    open_draft(attention);
    new_model_add_file(&new_model, "vocab.json", "{}", 2);
    new_model_add_file(&new_model, "merges.txt", "", 0);
    ck_assert_uint_eq(new_model.folder.file_count, 4);
    ck_assert_str_eq(new_model.files[0].name, "model.safetensors");
    ck_assert_str_eq(new_model.files[1].name, "vocab.json");
    ck_assert_str_eq(new_model.files[2].name, "merges.txt");
    ck_assert_str_eq(new_model.files[3].name, "config.json");
    struct target_folder target = {0};
    ck_assert_msg(!target_folder_open(&target, "saved", false, &err), "%s", err.text);
    ck_assert_msg(!folder_save(&new_model.folder, &target, NULL, &err), "%s", err.text);
    target_folder_close(&target);
    ck_assert_uint_eq(scratch_count("saved"), 4);
    scratch_expect("saved/config.json", attention);
    scratch_expect("saved/vocab.json", "{}");
    new_model_release(&new_model);
}

/* transformers looks for it. */
TEST(a_gpt2_says_for_which_library_it_is)
{
    static const struct {
        const char *config;
        bool says;
    } cases[] = {{gpt2, true}, {attention, false}};
    for (size_t i = 0; i < 2; i++) {
        open_draft(cases[i].config);
        const char *header = new_model.files[0].bytes + 8;
        bool says = strncmp(header, "{\"__metadata__\":{\"format\":\"pt\"},", 32) == 0;
        ck_assert(says == cases[i].says);
        new_model_release(&new_model);
    }
}

TEST(a_config_that_is_none_is_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{", "byte 1: expected a name in quotes, found the end"},
        {"{}", "field 'model_type': expected a type such as \"gpt2\" or \"llama\", found nothing"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 7}",
         "field 'n_embd': expected a multiple of n_head = 12, found 7"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 16777216, \"n_head\": 1, \"n_layer\": 16384}",
         "16384 layers of this size are too large to be counted in bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        err_clear(&err);
        ck_assert_int_eq(new_model_open(&new_model, "fresh", text, strlen(text), &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_ptr_null(new_model.tensors);
    }
}

TEST(an_allocation_that_fails_is_an_error)
{
    size_t nth = 1;
    for (;; nth++) {
        err_clear(&err);
        heap_fail_at(nth, 0);
        int failed = new_model_open(&new_model, "fresh", gpt2, strlen(gpt2), &err);
        heap_fail_at(0, 0);
        new_model_release(&new_model);
        if (!failed)
            break;
        ck_assert_msg(strstr(err.text, "out of memory") != NULL, "%s", err.text);
    }
    ck_assert_uint_gt(nth, 4);
}
