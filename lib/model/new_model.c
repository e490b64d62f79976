#include "model/new_model.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "format/safetensors.h"
#include "model/family/family.h"

struct new_model_tensor *new_model_tensor(const struct new_model *new_model, enum parameter_id id,
                                          size_t layer)
{
    return new_model->rows[parameter_index(id, layer)];
}

/* The one of that name, where a family keeps several matrices in one; else the next. */
static struct new_model_tensor *find_tensor(const struct new_model *new_model, const char *name)
{
    size_t count = new_model->count;
    size_t first = count < PARAMETERS_OF_LAYER ? 0 : count - PARAMETERS_OF_LAYER;
    for (size_t i = first; i < count; i++)
        if (strcmp(new_model->tensors[i].name, name) == 0)
            return &new_model->tensors[i];
    return &new_model->tensors[count];
}

static int add_tensor(struct new_model *new_model, enum parameter_id id, size_t layer,
                      struct err *err)
{
    const struct config *config = &new_model->config;
    if (!parameter_is_used(id, layer, config))
        return 0;
    char *name = arena_alloc(&new_model->arena, PARAMETER_NAME_BYTES, 1, err);
    if (!name)
        return -1;
    parameter_name(name, id, layer, config);
    struct new_model_tensor *tensor = find_tensor(new_model, name);
    new_model->rows[parameter_index(id, layer)] = tensor;
    if (tensor->name)
        return 0;
    tensor->id = id;
    tensor->name = name;
    tensor->rank = (config->family ? family_shape : parameter_shape)(tensor->shape, id, config);
    new_model->count++;
    tensor->count = tensor->shape[0] * tensor->shape[1];
    return 0;
}

static int add_tensors(struct new_model *new_model, int first, int end, size_t layer,
                       struct err *err)
{
    for (int id = first; id < end; id++)
        if (add_tensor(new_model, (enum parameter_id)id, layer, err))
            return -1;
    return 0;
}

static int list_tensors(struct new_model *new_model, struct err *err)
{
    size_t most = parameter_count(&new_model->config);
    new_model->tensors = arena_alloc(&new_model->arena, most, sizeof *new_model->tensors, err);
    new_model->rows = arena_alloc(&new_model->arena, most, sizeof(struct new_model_tensor *), err);
    if (!new_model->tensors || !new_model->rows ||
        add_tensors(new_model, 0, PARAMETER_ENCODER_LN_F, 0, err))
        return -1;
    for (size_t layer = 0; layer < config_layers(&new_model->config); layer++)
        if (add_tensors(new_model, PARAMETERS_OF_MODEL, PARAMETERS, layer, err))
            return -1;
    return add_tensors(new_model, PARAMETER_ENCODER_LN_F, PARAMETERS_OF_MODEL, 0, err);
}

/* The bytes of all tensors together, and of a header, whose size is not known before. */
static int count_bytes(size_t *size, const struct new_model *new_model, struct err *err)
{
    bool fits = true;
    *size = SAFETENSORS_HEADER_MAX;
    for (size_t i = 0; i < new_model->count && fits; i++)
        fits = num_add(size, *size, new_model->tensors[i].count * sizeof(float));
    *size -= SAFETENSORS_HEADER_MAX;
    return fits ? 0
                : err_set(err, "%zu layers of this size are too large to be counted in bytes",
                          config_layers(&new_model->config));
}

/* What stands before the data in the file. transformers reads no file that does not say for which
 * library it is. */
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
    return failed ? -1 : 0;
}

/* The bytes of model.safetensors, and in them the place of every tensor. */
static int make_room(struct new_model *new_model, struct folder_file *file, struct err *err)
{
    struct buf header = {0};
    size_t size = 0;
    char *bytes = NULL;
    if (count_bytes(&size, new_model, err) || make_header(&header, new_model, err))
        goto done;
    size += header.size;
    bytes = arena_alloc(&new_model->arena, size, 1, err);
    if (!bytes)
        goto done;
    memcpy(bytes, header.bytes, header.size); /* a multiple of 8: floats stand on their boundary */
    float *data = (float *)(void *)(bytes + header.size);
    for (size_t i = 0; i < new_model->count; data += new_model->tensors[i++].count)
        new_model->tensors[i].data = data;
    *file = (struct folder_file){"model.safetensors", bytes, size};
done:
    buf_release(&header);
    return bytes ? 0 : -1;
}

int new_model_open(struct new_model *new_model, const char *name, const char *text, size_t size,
                   struct err *err)
{
    *new_model = (struct new_model){0};
    struct folder_file weights = {0};
    char *copy = NULL;
    if (config_parse(&new_model->config, text, size, err) || list_tensors(new_model, err) ||
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

void new_model_add_file(struct new_model *new_model, const char *name, const char *bytes,
                        size_t size)
{
    size_t last = new_model->folder.file_count - 1;
    assert(new_model->folder.file_count < NEW_MODEL_FILES_MAX);
    new_model->files[last + 1] = new_model->files[last];
    new_model->files[last] = (struct folder_file){name, bytes, size};
    new_model->folder.file_count++;
}

void new_model_release(struct new_model *new_model)
{
    arena_release(&new_model->arena);
    *new_model = (struct new_model){0};
}
