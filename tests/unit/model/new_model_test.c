#include "model/new_model.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/tiny_model.h"
#include "base/buf.h"
#include "model/model.h"

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 11, "n_positions": 22, "n_embd": 6, "n_layer": 3,
          "n_head": 2, "n_inner": 7});
static const char attention[] =
    JSON({"model_type": "attention", "vocab_size": 5, "n_embd": 3, "d_k": 2, "d_v": 4,
          "bias": true});
/* clang-format on */

static struct new_model new_model;
static struct err err;

static void open_draft(const char *text)
{
    err_clear(&err);
    ck_assert_msg(!new_model_open(&new_model, "fresh", text, strlen(text), &err), "%s", err.text);
}

/* The tensor with this name. */
static const struct new_model_tensor *named(const char *name)
{
    for (size_t i = 0; i < new_model.count; i++)
        if (strcmp(new_model.tensors[i].name, name) == 0)
            return &new_model.tensors[i];
    ck_abort_msg("no tensor '%s'", name);
    return NULL;
}

/* A model opened from the draft reads the numbers that were written to its tensors. */
TEST(a_draft_can_be_opened_as_a_model)
{
    struct model model = {0};
    open_draft(attention);
    for (size_t i = 0; i < new_model.count; i++)
        for (size_t k = 0; k < new_model.tensors[i].count; k++)
            new_model.tensors[i].data[k] = (float)(100 * i + k);
    ck_assert_msg(!model_open_folder(&model, &new_model.folder, &err), "%s", err.text);
    ck_assert_str_eq(model.name, "fresh");
    for (size_t i = 0; i < model.weights.parameter_count; i++) {
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

/* transformers requires the format in the metadata. */
TEST(gpt2_has_the_format_of_pytorch_in_its_metadata)
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

TEST(an_invalid_config_is_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
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

/* The counts of the published models. Pages that are not written take no memory. */
TEST(shapes_of_other_families_have_the_published_number_of_parameters)
{
    static const struct {
        const char *name;
        size_t count;
    } rows[] = {{"smollm2-135m", 134515008},
                {"pythia-160m", 162322944},
                {"qwen3.5-0.8b", 752393024},
                {"lfm2-350m", 354483968},
                {"granite-4.0-h-350m", 340332224}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
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

/* The file has one tensor for queries, keys and values; the model has three parameters. */
TEST(parameters_of_a_fused_tensor_share_it)
{
    static const char text[] = "{\"model_type\": \"gpt_neox\", \"hidden_size\": 16, "
                               "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
                               "\"intermediate_size\": 16, \"vocab_size\": 5, "
                               "\"max_position_embeddings\": 4}";
    struct model model = {0};
    open_draft(text);
    const struct new_model_tensor *q =
        new_model_tensor(&new_model, slot_of(BRANCH_TEXT, SLOT_Q, 0));
    ck_assert_str_eq(q->name, "gpt_neox.layers.0.attention.query_key_value.weight");
    ck_assert_uint_eq(q->shape[0], 48);
    ck_assert_uint_eq(q->shape[1], 16);
    ck_assert_ptr_eq(new_model_tensor(&new_model, slot_of(BRANCH_TEXT, SLOT_K, 0)), q);
    ck_assert_ptr_eq(new_model_tensor(&new_model, slot_of(BRANCH_TEXT, SLOT_V, 0)), q);
    ck_assert_msg(!model_open_folder(&model, &new_model.folder, &err), "%s", err.text);
    size_t listed = 0;
    for (size_t i = 0; i < model.weights.parameter_count; i++)
        listed += weights_parameter(&model.weights, i).entry != NULL;
    ck_assert_uint_eq(listed, new_model.count); /* `info` and hashes have it once */
    model_release(&model);
    new_model_release(&new_model);
}
