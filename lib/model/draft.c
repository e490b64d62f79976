#include "model/draft.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "format/safetensors.h"

static const size_t nowhere = SIZE_MAX;

static bool is_in_front(int id)
{
    return id < PARAMETER_LN_F;
}

static bool is_in_layer(int id)
{
    return id >= PARAMETERS_OF_MODEL;
}

/* Where each row of the table stands among its like, and how many of them there are. */
static void find_places(struct draft *draft)
{
    for (int id = 0; id < PARAMETERS; id++) {
        size_t *count = is_in_front(id)   ? &draft->in_front
                        : is_in_layer(id) ? &draft->in_layer
                                          : &draft->behind;
        bool used = parameter_is_used((enum parameter_id)id, &draft->config);
        draft->places[id] = used ? (*count)++ : nowhere;
    }
}

struct draft_tensor *draft_tensor(const struct draft *draft, enum parameter_id id, size_t layer)
{
    size_t layers = is_in_front(id) ? 0 : is_in_layer(id) ? layer : draft->config.n_layer;
    size_t first = is_in_front(id) ? 0 : draft->in_front + layers * draft->in_layer;
    return draft->places[id] == nowhere ? NULL : &draft->tensors[first + draft->places[id]];
}

static int name_tensor(struct draft *draft, enum parameter_id id, size_t layer, struct err *err)
{
    struct draft_tensor *tensor = draft_tensor(draft, id, layer);
    if (!tensor)
        return 0;
    char *name = arena_alloc(&draft->arena, PARAMETER_NAME_BYTES, 1, err);
    if (!name)
        return -1;
    tensor->id = id;
    tensor->name = parameter_name(name, id, layer);
    tensor->rank = parameter_shape(tensor->shape, id, &draft->config);
    tensor->count = tensor->shape[0] * tensor->shape[1];
    return 0;
}

static int list_tensors(struct draft *draft, struct err *err)
{
    find_places(draft);
    draft->count = draft->in_front + draft->config.n_layer * draft->in_layer + draft->behind;
    draft->tensors = arena_alloc(&draft->arena, draft->count, sizeof *draft->tensors, err);
    if (!draft->tensors)
        return -1;
    for (int id = 0; id < PARAMETERS_OF_MODEL; id++)
        if (name_tensor(draft, (enum parameter_id)id, 0, err))
            return -1;
    for (size_t layer = 0; layer < draft->config.n_layer; layer++)
        for (int id = PARAMETERS_OF_MODEL; id < PARAMETERS; id++)
            if (name_tensor(draft, (enum parameter_id)id, layer, err))
                return -1;
    return 0;
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
                          draft->config.n_layer);
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
