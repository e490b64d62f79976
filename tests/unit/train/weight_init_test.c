#include "model/new_model.h"
#include "model/parameter_table.h"
#include "train/weight_init.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/digest.h"
#include "../rigs/torch_models.h"
#include "format/safetensors.h"
#include "model/model.h"

static struct new_model new_model;
static struct err err;

static void draw(const char *config, const struct weight_init *init)
{
    err_clear(&err);
    int failed = new_model_open(&new_model, "fresh", config, strlen(config), &err) ||
                 weight_init_draw(&new_model, init, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

/* --- against PyTorch -------------------------------------------------------------------------- */

static const struct reference {
    const char *config;
    struct weight_init init;
    const struct torch_digest *tensors;
    size_t count;
} references[] = {
    {torch_untied_config, {.seed = 11}, torch_untied, COUNT(torch_untied)},
    {torch_narrow_config, {.seed = 12}, torch_narrow, COUNT(torch_narrow)},
    {torch_llama_config, {.seed = 16}, torch_llama, COUNT(torch_llama)},
    {torch_biased_config, {.seed = 17}, torch_biased, COUNT(torch_biased)},
    {torch_rand_config, {.seed = 13}, torch_rand, COUNT(torch_rand)},
    {torch_linear_config,
     {.seed = 14, .way = WEIGHT_INIT_LINEAR, .table_rows = 11},
     torch_linear,
     COUNT(torch_linear)},
};

static const struct torch_digest *find(const struct reference *reference, const char *name)
{
    for (size_t i = 0; i < reference->count; i++)
        if (strcmp(reference->tensors[i].name, name) == 0)
            return &reference->tensors[i];
    return NULL;
}

/* Tensors without random numbers in PyTorch: 1 for scales of norms, 0 for others. */
static void must_be_constant(const struct new_model_tensor *tensor)
{
    bool of_norm = strstr(tensor->name, "ln_") || strstr(tensor->name, "norm");
    bool is_scale = of_norm && strstr(tensor->name, ".weight");
    for (size_t i = 0; i < tensor->count; i++)
        ck_assert_msg(tensor->data[i] == (is_scale ? 1.0f : 0.0f), "%s: number %zu is %g",
                      tensor->name, i, (double)tensor->data[i]);
}

TEST_LOOP(weights_have_the_bits_of_pytorch, COUNT(references))
{
    const struct reference *reference = &references[_i];
    size_t found = 0;
    draw(reference->config, &reference->init);
    for (size_t i = 0; i < new_model.count; i++) {
        const struct new_model_tensor *tensor = &new_model.tensors[i];
        const struct torch_digest *expected = find(reference, tensor->name);
        found += expected != NULL;
        if (!expected)
            must_be_constant(tensor);
        else
            ck_assert_msg(digest(tensor->data, tensor->count) == expected->digest, "%s",
                          tensor->name);
    }
    ck_assert_uint_eq(found, reference->count);
    new_model_release(&new_model);
}

TEST(a_projection_has_the_bits_of_a_linear_module)
{
    static const char config[] =
        "{\"model_type\": \"attention\", \"vocab_size\": 1, \"n_embd\": 7, "
        "\"d_k\": 3, \"d_v\": 3, \"bias\": true}";
    draw(config, &(struct weight_init){.seed = 42, .way = WEIGHT_INIT_LINEAR});
    const struct new_model_tensor *q =
        new_model_tensor(&new_model, slot_of(BRANCH_TEXT, SLOT_Q, 0));
    const struct new_model_tensor *bias =
        new_model_tensor(&new_model, slot_of(BRANCH_TEXT, SLOT_Q_BIAS, 0));
    for (size_t in = 0; in < 7; in++)
        for (size_t out = 0; out < 3; out++)
            ck_assert_float_eq(q->data[in * 3 + out], torch_linear_weight[out * 7 + in]);
    ck_assert_mem_eq(bias->data, torch_linear_bias, sizeof torch_linear_bias);
    new_model_release(&new_model);
}

TEST(table_rows_sets_the_number_of_rows_that_are_drawn)
{
    static const char config[] =
        "{\"model_type\": \"attention\", \"vocab_size\": 6, \"n_embd\": 3, \"projections\": false}";
    static const struct {
        size_t rows;
        const float *expected;
    } cases[] = {
        {0, torch_embedding},  {50000, torch_embedding},   {100, torch_embedding},
        {12, torch_embedding}, {6, torch_small_embedding}, {3, torch_small_embedding},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        draw(config, &(struct weight_init){.seed = 123, .table_rows = cases[i].rows});
        ck_assert_mem_eq(new_model.tensors[0].data, cases[i].expected, sizeof torch_embedding);
        new_model_release(&new_model);
    }
}
