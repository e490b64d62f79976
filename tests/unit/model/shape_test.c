#include "model/new_model.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/buf.h"
#include "base/heap.h"
#include "model/model.h"

FIXTURE(scratch_enter, scratch_leave)

TEST(a_shape_is_a_model_of_its_name)
{
    struct new_model new_model = {0};
    struct model model = {0};
    struct err err = {0};
    ck_assert_msg(!shape_make(&new_model, "tiny", &err), "%s", err.text);
    ck_assert_msg(!model_open_folder(&model, &new_model.folder, &err), "%s", err.text);
    ck_assert_str_eq(model.name, "tiny");
    ck_assert_uint_eq(model.config.n_layer, 2);
    ck_assert_uint_eq(model.config.n_head, 4);
    ck_assert_uint_eq(model.config.n_embd, 96);
    ck_assert_uint_eq(model.config.n_positions, 64);
    ck_assert_uint_eq(model.config.vocab_size, 1280);
    model_release(&model);
    new_model_release(&new_model);
}

/* Norms scale around 1; all else stands around 0; and no tensor repeats another. */
TEST(weights_are_small_and_differ)
{
    struct new_model new_model = {0};
    struct model model = {0};
    float last = 0;
    ck_assert_int_eq(shape_make(&new_model, "tiny", NULL), 0);
    ck_assert_int_eq(model_open_folder(&model, &new_model.folder, NULL), 0);
    for (size_t i = 0; i < weights_parameter_count(&model.weights); i++) {
        struct parameter_info info = weights_parameter(&model.weights, i);
        if (!info.entry)
            continue;
        bool is_scale = strstr(info.name, "ln_") && strstr(info.name, ".weight");
        const float *data = info.entry->data;
        ck_assert_uint_eq((uintptr_t)data % sizeof *data, 0);
        for (size_t k = 0; k < info.entry->count; k++)
            ck_assert_float_le(fabsf(data[k] - (is_scale ? 1.0f : 0.0f)), 0.0501f);
        ck_assert_msg(data[0] != last, "%s begins like the one before", info.name);
        last = data[0];
    }
    model_release(&model);
    new_model_release(&new_model);
}

TEST(the_same_shape_has_the_same_bytes)
{
    struct new_model one = {0};
    struct new_model two = {0};
    ck_assert_int_eq(shape_make(&one, "tiny", NULL), 0);
    ck_assert_int_eq(shape_make(&two, "tiny", NULL), 0);
    ck_assert_uint_eq(one.folder.file_count, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(one.files[i].size, two.files[i].size);
        ck_assert_mem_eq(one.files[i].bytes, two.files[i].bytes, one.files[i].size);
    }
    new_model_release(&one);
    new_model_release(&two);
}

TEST(heads_fill_the_channels_of_every_shape)
{
    for (size_t i = 0; i < shape_count; i++)
        ck_assert_uint_eq(shape_rows[i].n_embd % shape_rows[i].n_head, 0);
}

/* As the models of these names have them; only what is written takes memory. */
TEST(shapes_of_other_families_have_their_parameters)
{
    static const struct {
        const char *name;
        size_t count;
    } rows[] = {{"smollm2-135m", 134515008}, {"pythia-160m", 162322944}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct new_model new_model = {0};
        struct buf text = {0};
        size_t count = 0;
        shape_config(&text, shape_find(rows[i].name, NULL));
        ck_assert_int_eq(new_model_open(&new_model, rows[i].name, text.bytes, text.size, NULL), 0);
        for (size_t k = 0; k < new_model.count; k++)
            count += new_model.tensors[k].count;
        ck_assert_uint_eq(count, rows[i].count);
        new_model_release(&new_model);
        buf_release(&text);
    }
}

/* A file keeps queries, keys and values in one, each of which the model has. */
TEST(matrices_in_one_tensor_are_made_once)
{
    static const char text[] = "{\"model_type\": \"gpt_neox\", \"hidden_size\": 16, "
                               "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
                               "\"intermediate_size\": 16, \"vocab_size\": 5, "
                               "\"max_position_embeddings\": 4}";
    struct new_model new_model = {0};
    struct model model = {0};
    struct err err = {0};
    ck_assert_int_eq(new_model_open(&new_model, "neox", text, sizeof text - 1, &err), 0);
    const struct new_model_tensor *q = new_model_tensor(&new_model, PARAMETER_Q, 0);
    ck_assert_str_eq(q->name, "gpt_neox.layers.0.attention.query_key_value.weight");
    ck_assert_uint_eq(q->shape[0], 48);
    ck_assert_uint_eq(q->shape[1], 16);
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_K, 0), q);
    ck_assert_ptr_eq(new_model_tensor(&new_model, PARAMETER_V, 0), q);
    ck_assert_msg(!model_open_folder(&model, &new_model.folder, &err), "%s", err.text);
    model_release(&model);
    new_model_release(&new_model);
}

TEST(an_unknown_shape_is_refused_with_those_there_are)
{
    struct new_model new_model = {0};
    struct err err = {0};
    ck_assert_int_eq(shape_make(&new_model, "gpt3", &err), -1);
    ck_assert_str_eq(err.text, "--shape: expected one of tiny, tiny-llama, distilgpt2, gpt2, "
                               "gpt2-medium, gpt2-large, gpt2-xl, smollm2-135m, pythia-160m, "
                               "qwen2.5-0.5b, tinyllama-1.1b, found 'gpt3': did you mean 'gpt2'?");
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert_ptr_null(new_model.folder.files);
}

TEST(what_is_saved_is_a_model_directory)
{
    struct new_model new_model = {0};
    struct model model = {0};
    struct file file = {0};
    struct err err = {0};
    ck_assert_int_eq(shape_make(&new_model, "tiny", NULL), 0);
    struct target_folder target = {0};
    ck_assert_msg(!target_folder_open(&target, "saved", false, &err), "%s", err.text);
    ck_assert_msg(!folder_save(&new_model.folder, &target, NULL, &err), "%s", err.text);
    target_folder_close(&target);
    ck_assert_uint_eq(scratch_count("saved"), 2);
    ck_assert_int_eq(file_map(&file, "saved/model.safetensors", NULL), 0);
    ck_assert_uint_eq(file.size, new_model.files[0].size);
    ck_assert_mem_eq(file.bytes, new_model.files[0].bytes, file.size);
    ck_assert_msg(!model_open(&model, "saved", &err), "%s", err.text);
    model_release(&model);
    file_release(&file);
    new_model_release(&new_model);
}

TEST(an_allocation_that_fails_is_an_error)
{
    size_t nth = 1;
    for (;; nth++) {
        struct new_model new_model = {0};
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = shape_make(&new_model, "tiny", &err);
        heap_fail_at(0, 0);
        new_model_release(&new_model);
        if (!failed)
            break;
        ck_assert_msg(strstr(err.text, "out of memory") != NULL, "%s", err.text);
    }
    ck_assert_uint_gt(nth, 4);
}
