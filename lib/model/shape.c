#include "model/new_model.h"

#include "base/buf.h"
#include "base/heap.h"
#include "base/names.h"
#include "math/rng.h"

const struct shape_row shape_rows[] = {
    {"tiny", 2, 4, 96, 64, 1280, NULL, NULL},
    {"tiny-llama", 2, 4, 96, 256, 1280, "llama",
     "\"architectures\": [\"LlamaForCausalLM\"], \"num_key_value_heads\": 2, "
     "\"intermediate_size\": 256, \"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0, "
     "\"tie_word_embeddings\": true, \"bos_token_id\": null, \"eos_token_id\": null"},
    {"distilgpt2", 6, 12, 768, 1024, 50257, NULL, NULL},
    {"gpt2", 12, 12, 768, 1024, 50257, NULL, NULL},
    {"gpt2-medium", 24, 16, 1024, 1024, 50257, NULL, NULL},
    {"gpt2-large", 36, 20, 1280, 1024, 50257, NULL, NULL},
    {"gpt2-xl", 48, 25, 1600, 1024, 50257, NULL, NULL},
    {"smollm2-135m", 30, 9, 576, 8192, 49152, "llama",
     "\"num_key_value_heads\": 3, \"intermediate_size\": 1536, \"rms_norm_eps\": 1e-05, "
     "\"rope_theta\": 100000.0, \"tie_word_embeddings\": true"},
    {"pythia-160m", 12, 12, 768, 2048, 50304, "gpt_neox",
     "\"intermediate_size\": 3072, \"layer_norm_eps\": 1e-05, \"rotary_pct\": 0.25, "
     "\"use_parallel_residual\": true, \"tie_word_embeddings\": false"},
    {"qwen2.5-0.5b", 24, 14, 896, 32768, 151936, "qwen2",
     "\"num_key_value_heads\": 2, \"intermediate_size\": 4864, \"rms_norm_eps\": 1e-06, "
     "\"rope_theta\": 1000000.0, \"tie_word_embeddings\": true"},
    {"tinyllama-1.1b", 22, 32, 2048, 2048, 32000, "llama",
     "\"num_key_value_heads\": 4, \"intermediate_size\": 5632, \"rms_norm_eps\": 1e-05, "
     "\"rope_theta\": 10000.0, \"tie_word_embeddings\": false"},
};

const size_t shape_count = sizeof shape_rows / sizeof *shape_rows;

static const char gpt2_keys[] = "\"architectures\": [\"GPT2LMHeadModel\"],\n"
                                "  \"activation_function\": \"gelu_new\",\n"
                                "  \"layer_norm_epsilon\": 1e-05,\n"
                                "  \"tie_word_embeddings\": true";

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
    static const char *const keys[][5] = {
        {"n_layer", "n_head", "n_embd", "n_positions", "vocab_size"},
        {"num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings",
         "vocab_size"},
    };
    const size_t sizes[] = {row->n_layer, row->n_head, row->n_embd, row->n_positions,
                            row->vocab_size};
    buf_format(text, "{\n  \"model_type\": \"%s\",\n  %s", row->family ? row->family : "gpt2",
               row->family ? row->keys : gpt2_keys);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        buf_format(text, ",\n  \"%s\": %zu", keys[row->family != NULL][i], sizes[i]);
    buf_text(text, "\n}\n");
}

/* A model of that config, its weights random. */
static int make(struct new_model *new_model, const char *name, const struct buf *config,
                struct err *err)
{
    if (buf_check(config, err) || new_model_open(new_model, name, config->bytes, config->size, err))
        return -1;
    if (heap_expect(new_model->files[0].size, name, err)) {
        new_model_release(new_model);
        return -1;
    }
    for (size_t i = 0; i < new_model->count; i++) {
        const struct new_model_tensor *tensor = &new_model->tensors[i];
        int id = tensor->slot.id;
        bool scale = id == SLOT_FINAL_NORM || id == SLOT_NORM_1 || id == SLOT_NORM_2;
        /* The scale of a norm stands around 1, everything else around 0. */
        rng_fill_uniform(tensor->data, tensor->count, (uint32_t)i, scale ? 1.0f : 0.0f, SPREAD);
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

int shape_make_head(struct new_model *new_model, size_t width, struct err *err)
{
    struct buf text = {0};
    buf_format(&text,
               "{\"model_type\": \"attention\", \"vocab_size\": 256, \"n_embd\": %zu, "
               "\"n_layer\": 1, \"n_head\": 1, \"causal\": true}\n",
               width);
    int failed = make(new_model, width == HEAD_WIDTH ? "head-64" : "head", &text, err);
    buf_release(&text);
    return failed;
}
