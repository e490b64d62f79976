#include "model/shape.h"

#include <string.h>

#include "base/buf.h"
#include "format/safetensors.h"
#include "math/noise.h"
#include "model/config.h"
#include "model/parameter_table.h"

const struct shape_row shape_rows[] = {
    {"tiny", 2, 4, 32, 64, 512},
    {"distilgpt2", 6, 12, 768, 1024, 50257},
    {"gpt2", 12, 12, 768, 1024, 50257},
    {"gpt2-medium", 24, 16, 1024, 1024, 50257},
    {"gpt2-large", 36, 20, 1280, 1024, 50257},
    {"gpt2-xl", 48, 25, 1600, 1024, 50257},
};

const size_t shape_count = sizeof shape_rows / sizeof *shape_rows;

/* About as wide as trained weights: attention is uneven, and nothing grows beyond measure. */
static const float SPREAD = 0.05f;

static const struct shape_row *find_row(const char *name, struct err *err)
{
    struct buf known = {0};
    for (size_t i = 0; i < shape_count; i++) {
        if (strcmp(shape_rows[i].name, name) == 0) {
            buf_release(&known);
            return &shape_rows[i];
        }
        buf_format(&known, "%s%s", i ? ", " : "", shape_rows[i].name);
    }
    err_usage(err, "--shape: expected one of %s, found '%s'", known.bytes ? known.bytes : "", name);
    buf_release(&known);
    return NULL;
}

static int make_config(struct shaped *shaped, const struct shape_row *row, struct err *err)
{
    struct buf text = {0};
    buf_format(&text,
               "{\"model_type\": \"gpt2\", \"n_layer\": %zu, \"n_head\": %zu, \"n_embd\": %zu, "
               "\"n_positions\": %zu, \"vocab_size\": %zu}\n",
               row->n_layer, row->n_head, row->n_embd, row->n_positions, row->vocab_size);
    const char *bytes =
        buf_check(&text, err) ? NULL : arena_text(&shaped->arena, text.bytes, text.size, err);
    shaped->files[0] = (struct folder_file){"config.json", bytes, text.size};
    shaped->folder = (struct folder){row->name, shaped->files, 1};
    buf_release(&text);
    return bytes ? 0 : -1;
}

/* The tensors of the table that a model of this config has. */
struct tensor_list {
    struct safetensors_tensor *items;
    enum parameter_id *ids; /* which row of the table each one is */
    size_t count;
};

static int add_tensor(struct tensor_list *list, enum parameter_id id, size_t layer,
                      const struct config *config, struct arena *arena, struct err *err)
{
    if (!parameter_is_used(id, config))
        return 0;
    char *name = arena_alloc(arena, PARAMETER_NAME_BYTES, 1, err);
    size_t *shape = arena_alloc(arena, 2, sizeof *shape, err);
    if (!name || !shape)
        return -1;
    list->ids[list->count] = id;
    list->items[list->count++] = (struct safetensors_tensor){
        .name = parameter_name(name, id, layer),
        .rank = parameter_shape(shape, id, config),
        .shape = shape,
    };
    return 0;
}

static int list_tensors(struct tensor_list *list, const struct config *config, struct arena *arena,
                        struct err *err)
{
    size_t most = PARAMETERS_OF_MODEL + config->n_layer * PARAMETERS_OF_LAYER;
    list->items = arena_alloc(arena, most, sizeof *list->items, err);
    list->ids = arena_alloc(arena, most, sizeof *list->ids, err);
    if (!list->items || !list->ids)
        return -1;
    for (int id = 0; id < PARAMETERS_OF_MODEL; id++)
        if (add_tensor(list, (enum parameter_id)id, 0, config, arena, err))
            return -1;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        for (int id = PARAMETERS_OF_MODEL; id < PARAMETERS; id++)
            if (add_tensor(list, (enum parameter_id)id, layer, config, arena, err))
                return -1;
    return 0;
}

static size_t element_count(const struct safetensors_tensor *tensor)
{
    return tensor->shape[0] * (tensor->rank > 1 ? tensor->shape[1] : 1);
}

/* The scale of a norm stands around 1, everything else around 0. */
static float middle_of(enum parameter_id id)
{
    return id == PARAMETER_LN_F || id == PARAMETER_LN_1 || id == PARAMETER_LN_2 ? 1.0f : 0.0f;
}

static int make_weights(struct shaped *shaped, const struct tensor_list *list, struct err *err)
{
    struct buf header = {0};
    size_t size = 0;
    char *bytes = NULL;
    if (safetensors_header(&header, list->items, list->count, NULL, 0, err))
        goto done;
    size = header.size;
    for (size_t i = 0; i < list->count; i++)
        size += element_count(&list->items[i]) * sizeof(float);
    bytes = arena_alloc(&shaped->arena, size, 1, err);
    if (!bytes)
        goto done;
    memcpy(bytes, header.bytes, header.size); /* a multiple of 8: floats stand on their boundary */
    float *data = (float *)(void *)(bytes + header.size);
    for (size_t i = 0; i < list->count; i++) {
        size_t count = element_count(&list->items[i]);
        noise_fill(data, count, (uint32_t)i, middle_of(list->ids[i]), SPREAD);
        data += count;
    }
    shaped->files[1] = (struct folder_file){"model.safetensors", bytes, size};
    shaped->folder.file_count = SHAPE_FILES;
done:
    buf_release(&header);
    return bytes ? 0 : -1;
}

int shape_make(struct shaped *shaped, const char *name, struct err *err)
{
    struct config config;
    struct tensor_list list = {0};
    struct arena scratch = {0};
    *shaped = (struct shaped){0};
    const struct shape_row *row = find_row(name, err);
    int failed = !row || make_config(shaped, row, err) ||
                 config_open(&config, &shaped->folder, err) ||
                 list_tensors(&list, &config, &scratch, err) || make_weights(shaped, &list, err);
    arena_release(&scratch);
    if (failed)
        shape_release(shaped);
    return failed ? -1 : 0;
}

void shape_release(struct shaped *shaped)
{
    arena_release(&shaped->arena);
    *shaped = (struct shaped){0};
}
