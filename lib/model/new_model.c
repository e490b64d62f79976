#include "model/new_model.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/num.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "math/rng.h"
#include "model/family/family.h"
#include "model/layer.h"

struct new_model_tensor *new_model_tensor(const struct new_model *new_model, struct slot slot)
{
    struct family_layout layout;
    family_layout(&layout, slot, &new_model->config);
    for (size_t i = 0; i < new_model->count; i++)
        if (memcmp(&new_model->tensors[i].slot, &layout.first, sizeof slot) == 0)
            return &new_model->tensors[i];
    return NULL;
}

static int add_tensor(struct new_model *new_model, struct slot slot, struct err *err)
{
    struct family_layout layout;
    family_layout(&layout, slot, &new_model->config);
    if (memcmp(&layout.first, &slot, sizeof slot) != 0)
        return 0; /* the tensor was added for an earlier slot */
    char *name = arena_alloc(&new_model->arena, PARAMETER_NAME_BYTES, 1, err);
    if (!name)
        return -1;
    struct new_model_tensor *tensor = &new_model->tensors[new_model->count++];
    *tensor = (struct new_model_tensor){
        .slot = slot,
        .name = family_tensor_name(name, &new_model->config, slot),
        .rank = layout.rank,
        .count = 1,
    };
    memcpy(tensor->shape, layout.shape, sizeof tensor->shape);
    for (size_t axis = 0; axis < layout.rank; axis++)
        tensor->count *= layout.shape[axis];
    return 0;
}

/* List the tensors in the order of the file: embeddings, layers, all others. */
static int list_tensors(struct new_model *new_model, struct err *err)
{
    struct arena scratch = {0};
    size_t count = slot_list(NULL, 0, &new_model->config);
    struct slot *slots = arena_alloc(&scratch, count, sizeof *slots, err);
    new_model->tensors = arena_alloc(&new_model->arena, count, sizeof *new_model->tensors, err);
    int failed = !slots || !new_model->tensors;
    if (!failed)
        slot_list(slots, sizeof *slots, &new_model->config);
    for (size_t i = 0; i < 2 * count && !failed; i++) {
        struct slot slot = slots[i % count];
        /* tensors that are used after the last layer come after the tensors of layers */
        bool is_after = slot.layer < 0 && slot.id >= SLOT_FINAL_NORM;
        failed = is_after == (i >= count) && add_tensor(new_model, slot, err);
    }
    arena_release(&scratch);
    return err_if(failed);
}

/* Make the header of model.safetensors. For models that transformers can open it names PyTorch as
 * the format, because transformers refuses files that name no format. */
static int make_header(struct buf *header, const struct new_model *new_model, struct err *err)
{
    static const struct safetensors_note note = {"format", "pt"};
    enum model_kind kind = new_model->config.kind;
    size_t notes = kind == MODEL_GPT2 || kind == MODEL_DECODER;
    struct arena scratch = {0};
    struct safetensors_tensor *items = arena_alloc(&scratch, new_model->count, sizeof *items, err);
    for (size_t i = 0; i < new_model->count && items; i++) {
        const struct new_model_tensor *tensor = &new_model->tensors[i];
        items[i] = (struct safetensors_tensor){
            .name = tensor->name, .rank = tensor->rank, .shape = tensor->shape};
    }
    int failed = !items || safetensors_header(header, items, new_model->count, &note, notes, err);
    arena_release(&scratch);
    return err_if(failed);
}

/* Allocate the bytes of model.safetensors, and set the address of every tensor. */
static int make_room(struct new_model *new_model, struct folder_file *file, struct err *err)
{
    struct buf header = {0};
    size_t size = SAFETENSORS_HEADER_MAX; /* starts as the size of the largest header: if the sum
                                           * does not overflow, the size with the real header does
                                           * not either */
    char *bytes = NULL;
    for (size_t i = 0; i < new_model->count; i++)
        if (!num_add(&size, size, new_model->tensors[i].count * sizeof(float)))
            return err_set(err, "%zu layers of this size are too large to be counted in bytes",
                           config_layers(&new_model->config));
    size -= SAFETENSORS_HEADER_MAX;
    if (!make_header(&header, new_model, err))
        bytes = arena_alloc(&new_model->arena, size + header.size, 1, err);
    if (bytes) {
        memcpy(bytes, header.bytes, header.size); /* the header's size is a multiple of 8, so floats
                                                   * are aligned */
        float *data = (float *)(void *)(bytes + header.size);
        for (size_t i = 0; i < new_model->count; data += new_model->tensors[i++].count)
            new_model->tensors[i].data = data;
        *file = (struct folder_file){"model.safetensors", bytes, size + header.size};
    }
    buf_release(&header);
    return bytes ? 0 : -1;
}

static int read_config(struct config *config, const char *text, size_t size, struct err *err)
{
    struct json *root = NULL;
    int failed = config_parse(config, text, size, err) || json_parse(&root, text, size, err) ||
                 family_read_classes(config, root, err);
    json_free(root);
    return err_if(failed);
}

int new_model_open(struct new_model *new_model, const char *name, const char *text, size_t size,
                   struct err *err)
{
    *new_model = (struct new_model){0};
    struct folder_file weights = {0};
    char *copy = NULL;
    if (read_config(&new_model->config, text, size, err) ||
        config_describe(&new_model->config, err) || list_tensors(new_model, err) ||
        make_room(new_model, &weights, err) ||
        !(copy = arena_text(&new_model->arena, text, size, err))) {
        new_model_release(new_model);
        return -1;
    }
    new_model->files[0] = weights;
    new_model->files[1] = (struct folder_file){"config.json", copy, size};
    new_model->folder = (struct folder){name, new_model->files, 2};
    return 0;
}

void new_model_release(struct new_model *new_model)
{
    config_release(&new_model->config);
    arena_release(&new_model->arena);
    *new_model = (struct new_model){0};
}

/* --- shapes ----------------------------------------------------------------------------------- */

#define ATTENTION "\"attention\", "
#define MAMBA "\"mamba\", "
#define MAMBA_5 MAMBA MAMBA MAMBA MAMBA MAMBA

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
    {"qwen3.5-0.8b", 24, 8, 1024, 262144, 248320, "qwen3_5_text",
     "\"num_key_value_heads\": 2, \"head_dim\": 256, \"intermediate_size\": 3584, "
     "\"linear_num_value_heads\": 16, \"rms_norm_eps\": 1e-06, \"rope_parameters\": "
     "{\"rope_type\": "
     "\"default\", \"rope_theta\": 10000000.0, \"partial_rotary_factor\": 0.25}, "
     "\"tie_word_embeddings\": true"},
    {"lfm2-350m", 16, 16, 1024, 128000, 65536, "lfm2",
     "\"num_key_value_heads\": 8, \"intermediate_size\": 6656, \"norm_eps\": 1e-05, "
     "\"full_attn_idxs\": [2, 5, 8, 10, 12, 14], \"rope_theta\": 1000000.0"},
    {"granite-4.0-h-350m", 32, 12, 768, 32768, 100352, "granitemoehybrid",
     "\"num_key_value_heads\": 4, \"num_local_experts\": 0, \"shared_intermediate_size\": 2048, "
     "\"mamba_n_heads\": 48, \"mamba_d_head\": 32, \"mamba_d_state\": 128, \"layer_types\": "
     "[" MAMBA_5 MAMBA_5 ATTENTION MAMBA MAMBA ATTENTION MAMBA MAMBA MAMBA ATTENTION MAMBA_5 MAMBA
         MAMBA MAMBA MAMBA ATTENTION MAMBA MAMBA MAMBA "\"mamba\"], "
     "\"attention_multiplier\": 0.015625, \"embedding_multiplier\": 12.0, \"logits_scaling\": 3.0, "
     "\"residual_multiplier\": 0.246, \"rms_norm_eps\": 1e-05, \"tie_word_embeddings\": true"},
};

const size_t shape_count = sizeof shape_rows / sizeof *shape_rows;

static const char gpt2_keys[] = "\"architectures\": [\"GPT2LMHeadModel\"],\n"
                                "  \"activation_function\": \"gelu_new\",\n"
                                "  \"layer_norm_epsilon\": 1e-05,\n"
                                "  \"tie_word_embeddings\": true";

/* Initial numbers are drawn uniformly from [mean - SPREAD, mean + SPREAD]. With this value
 * attention is uneven and activations are small, as in trained models. */
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

/* Make a model with random weights. `config`: its config.json. */
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
        /* the scales of the norms of layers and of the final norm are near 1, all other numbers
         * near 0 */
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
