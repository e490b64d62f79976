#include "random_model.h"

#include <string.h>

#include "asserts.h"
#include "base/memory.h"
#include "format/safetensors.h"
#include "memory_stream.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "model/parameter_table.h"

enum { TENSORS_MAX = 256 };

static uint32_t next_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A number from -0.5 to 0.5. */
static float next_float(uint32_t *state)
{
    return (float)next_number(state) / (float)(1 << 24) - 0.5f;
}

/* All tensors of a config. */
struct new_model {
    const struct config *config;
    struct safetensors_tensor tensors[TENSORS_MAX];
    char names[TENSORS_MAX][PARAMETER_NAME_BYTES];
    size_t shapes[TENSORS_MAX][2];
    float *data[TENSORS_MAX];
    size_t count;
    uint32_t state;
};

static bool has_tensor(const struct new_model *new_model, const char *name)
{
    for (size_t i = 0; i < new_model->count; i++)
        if (strcmp(new_model->tensors[i].name, name) == 0)
            return true;
    return false;
}

static void add_tensor(struct new_model *new_model, const struct config *config, struct slot slot)
{
    size_t i = new_model->count;
    struct family_layout layout;
    ck_assert_uint_lt(i, TENSORS_MAX);
    family_tensor_name(new_model->names[i], config, slot);
    if (has_tensor(new_model, new_model->names[i]))
        return; /* a part of a fused tensor */
    family_layout(&layout, slot, config);
    size_t *shape = memcpy(new_model->shapes[i], layout.shape, sizeof layout.shape);
    size_t rank = layout.rank;
    size_t count = shape[0] * (rank == 2 ? shape[1] : 1);
    new_model->data[i] = heap_alloc(count, sizeof(float), NULL);
    for (size_t k = 0; k < count; k++)
        new_model->data[i][k] = next_float(&new_model->state);
    new_model->tensors[i] = (struct safetensors_tensor){
        .name = new_model->names[i], .rank = rank, .shape = shape, .data = new_model->data[i]};
    new_model->count++;
}

static struct file write_weights(const struct config *config)
{
    static struct new_model new_model;
    static struct slot slots[2 * TENSORS_MAX];
    size_t count = slot_list(NULL, 0, config);
    new_model = (struct new_model){.config = config, .state = 1};
    ck_assert_uint_le(count, 2 * TENSORS_MAX);
    slot_list(slots, sizeof *slots, config);
    for (size_t i = 0; i < count; i++)
        add_tensor(&new_model, config, slots[i]);
    struct file file = memory_safetensors(new_model.tensors, new_model.count, NULL, 0);
    for (size_t i = 0; i < new_model.count; i++)
        heap_free(new_model.data[i]);
    return file;
}

void random_model_open(struct random_model *model, const char *config, size_t threads)
{
    struct err err = {0};
    *model = (struct random_model){0};
    model->files[0] = (struct folder_file){"config.json", config, strlen(config)};
    model->folder = (struct folder){"random", model->files, 1};
    ck_assert_msg(!config_open(&model->config, &model->folder, &err) &&
                      !config_describe(&model->config, &err),
                  "%s", err.text);
    model->bytes = write_weights(&model->config);
    model->files[1] =
        (struct folder_file){"model.safetensors", model->bytes.bytes, model->bytes.size};
    model->folder.file_count = 2;
    int failed = weights_open(&model->weights, &model->config, &model->folder, &err) ||
                 machine_open(&model->machine, threads, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

void random_model_release(struct random_model *model)
{
    machine_release(&model->machine);
    weights_release(&model->weights);
    config_release(&model->config);
    file_release(&model->bytes);
}

void random_ids(uint32_t *ids, size_t count, size_t limit)
{
    uint32_t state = 7;
    for (size_t i = 0; i < count; i++)
        ids[i] = next_number(&state) % (uint32_t)limit;
}
