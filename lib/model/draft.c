#include "model/draft.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "format/safetensors.h"

struct draft_tensor *draft_tensor(const struct draft *draft, enum parameter_id id, size_t layer)
{
    return draft->rows[parameter_index(id, layer)];
}

/* The tensor comes next, if the model has it. */
static int add_tensor(struct draft *draft, enum parameter_id id, size_t layer, struct err *err)
{
    const struct config *config = &draft->config;
    if (!parameter_is_used(id, layer, config))
        return 0;
    char *name = arena_alloc(&draft->arena, PARAMETER_NAME_BYTES, 1, err);
    if (!name)
        return -1;
    struct draft_tensor *tensor = &draft->tensors[draft->count++];
    draft->rows[parameter_index(id, layer)] = tensor;
    tensor->id = id;
    tensor->name = parameter_name(name, id, layer, config);
    tensor->rank = parameter_shape(tensor->shape, id, config);
    tensor->count = tensor->shape[0] * tensor->shape[1];
    return 0;
}

/* Rows of the table from one up to another, of one layer. */
static int add_tensors(struct draft *draft, int first, int end, size_t layer, struct err *err)
{
    for (int id = first; id < end; id++)
        if (add_tensor(draft, (enum parameter_id)id, layer, err))
            return -1;
    return 0;
}

static int list_tensors(struct draft *draft, struct err *err)
{
    size_t most = parameter_count(&draft->config);
    draft->tensors = arena_alloc(&draft->arena, most, sizeof *draft->tensors, err);
    draft->rows = arena_alloc(&draft->arena, most, sizeof(struct draft_tensor *), err);
    if (!draft->tensors || !draft->rows || add_tensors(draft, 0, PARAMETER_ENCODER_LN_F, 0, err))
        return -1;
    for (size_t layer = 0; layer < config_layers(&draft->config); layer++)
        if (add_tensors(draft, PARAMETERS_OF_MODEL, PARAMETERS, layer, err))
            return -1;
    return add_tensors(draft, PARAMETER_ENCODER_LN_F, PARAMETERS_OF_MODEL, 0, err);
}

/* The bytes of all tensors together, and of a header, whose size is not known before. */
static int count_bytes(size_t *size, const struct draft *draft, struct err *err)
{
    bool fits = true;
    *size = SAFETENSORS_HEADER_MAX;
    for (size_t i = 0; i < draft->count && fits; i++)
        fits = num_add(size, *size, draft->tensors[i].count * sizeof(float));
    *size -= SAFETENSORS_HEADER_MAX;
    return fits ? 0
                : err_set(err, "%zu layers of this size are too large to be counted in bytes",
                          config_layers(&draft->config));
}

/* What stands before the data in the file. transformers reads no file that does not say for which
 * library it is. */
static int make_header(struct buf *header, const struct draft *draft, struct err *err)
{
    static const struct safetensors_note note = {"format", "pt"};
    size_t notes = draft->config.kind == MODEL_GPT2;
    struct arena scratch = {0};
    struct safetensors_tensor *items = arena_alloc(&scratch, draft->count, sizeof *items, err);
    for (size_t i = 0; i < draft->count && items; i++) {
        const struct draft_tensor *tensor = &draft->tensors[i];
        items[i] = (struct safetensors_tensor){
            .name = tensor->name, .rank = tensor->rank, .shape = tensor->shape};
    }
    int failed = !items || safetensors_header(header, items, draft->count, &note, notes, err);
    arena_release(&scratch);
    return failed ? -1 : 0;
}

/* The bytes of model.safetensors, and in them the place of every tensor. */
static int make_room(struct draft *draft, struct folder_file *file, struct err *err)
{
    struct buf header = {0};
    size_t size = 0;
    char *bytes = NULL;
    if (count_bytes(&size, draft, err) || make_header(&header, draft, err))
        goto done;
    size += header.size;
    bytes = arena_alloc(&draft->arena, size, 1, err);
    if (!bytes)
        goto done;
    memcpy(bytes, header.bytes, header.size); /* a multiple of 8: floats stand on their boundary */
    float *data = (float *)(void *)(bytes + header.size);
    for (size_t i = 0; i < draft->count; data += draft->tensors[i++].count)
        draft->tensors[i].data = data;
    *file = (struct folder_file){"model.safetensors", bytes, size};
done:
    buf_release(&header);
    return bytes ? 0 : -1;
}

int draft_open(struct draft *draft, const char *name, const char *text, size_t size,
               struct err *err)
{
    *draft = (struct draft){0};
    struct folder_file weights = {0};
    char *copy = NULL;
    if (config_parse(&draft->config, text, size, err) || list_tensors(draft, err) ||
        make_room(draft, &weights, err) || !(copy = arena_text(&draft->arena, text, size, err))) {
        draft_release(draft);
        return -1;
    }
    draft->files[0] = weights;
    draft->files[1] = (struct folder_file){"config.json", copy, size};
    draft->folder = (struct folder){name, draft->files, 2};
    return 0;
}

void draft_add_file(struct draft *draft, const char *name, const char *bytes, size_t size)
{
    size_t last = draft->folder.file_count - 1;
    assert(draft->folder.file_count < DRAFT_FILES_MAX);
    draft->files[last + 1] = draft->files[last];
    draft->files[last] = (struct folder_file){name, bytes, size};
    draft->folder.file_count++;
}

void draft_release(struct draft *draft)
{
    arena_release(&draft->arena);
    *draft = (struct draft){0};
}
