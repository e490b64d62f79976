#include "model/new_model.h"

#include "base/buf.h"
#include "base/names.h"
#include "math/rng.h"

const struct shape_row shape_rows[] = {
    {"tiny", 2, 4, 96, 64, 1280},
    {"distilgpt2", 6, 12, 768, 1024, 50257},
    {"gpt2", 12, 12, 768, 1024, 50257},
    {"gpt2-medium", 24, 16, 1024, 1024, 50257},
    {"gpt2-large", 36, 20, 1280, 1024, 50257},
    {"gpt2-xl", 48, 25, 1600, 1024, 50257},
};

const size_t shape_count = sizeof shape_rows / sizeof *shape_rows;

/* About as wide as trained weights: attention is uneven, and nothing grows beyond measure. */
static const float SPREAD = 0.05f;

const struct shape_row *shape_find(const char *name, struct err *err)
{
    size_t index = 0;
    struct names names = NAMES(shape_rows, shape_count);
    return names_choose(&index, names, "--shape", name, err) ? NULL : &shape_rows[index];
}

void shape_config(struct buf *text, const struct shape_row *row)
{
    buf_format(text,
               "{\n"
               "  \"model_type\": \"gpt2\",\n"
               "  \"architectures\": [\"GPT2LMHeadModel\"],\n"
               "  \"activation_function\": \"gelu_new\",\n"
               "  \"layer_norm_epsilon\": 1e-05,\n"
               "  \"tie_word_embeddings\": true,\n"
               "  \"n_layer\": %zu,\n"
               "  \"n_head\": %zu,\n"
               "  \"n_embd\": %zu,\n"
               "  \"n_positions\": %zu,\n"
               "  \"vocab_size\": %zu\n"
               "}\n",
               row->n_layer, row->n_head, row->n_embd, row->n_positions, row->vocab_size);
}

/* The scale of a norm stands around 1, everything else around 0. */
static float middle_of(enum parameter_id id)
{
    return id == PARAMETER_LN_F || id == PARAMETER_LN_1 || id == PARAMETER_LN_2 ? 1.0f : 0.0f;
}

/* A model of that config, its weights random. */
static int make(struct new_model *new_model, const char *name, const struct buf *config,
                struct err *err)
{
    if (buf_check(config, err) || new_model_open(new_model, name, config->bytes, config->size, err))
        return -1;
    for (size_t i = 0; i < new_model->count; i++) {
        const struct new_model_tensor *tensor = &new_model->tensors[i];
        rng_fill_uniform(tensor->data, tensor->count, (uint32_t)i, middle_of(tensor->id), SPREAD);
    }
    return 0;
}

int shape_make(struct new_model *new_model, const char *name, struct err *err)
{
    struct buf text = {0};
    const struct shape_row *row = shape_find(name, err);
    if (!row)
        return -1;
    shape_config(&text, row);
    int failed = make(new_model, row->name, &text, err);
    buf_release(&text);
    return failed;
}

int shape_make_head(struct new_model *new_model, struct err *err)
{
    struct buf text = {0};
    buf_text(&text, "{\"model_type\": \"attention\", \"vocab_size\": 256, \"n_embd\": 64, "
                    "\"n_layer\": 1, \"n_head\": 1, \"d_k\": 64, \"d_v\": 64, "
                    "\"causal\": true}\n");
    int failed = make(new_model, "head-64", &text, err);
    buf_release(&text);
    return failed;
}
