#include "model/new_model.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "format/safetensors.h"
#include "model/family/family.h"

struct new_model_tensor *new_model_tensor(const struct new_model *new_model, struct slot slot)
{
    size_t i = slot_find(new_model->slots, new_model->slot_count, sizeof *new_model->slots, slot);
    return i == SIZE_MAX ? NULL : new_model->slots[i].tensor;
}

static int add_tensor(struct new_model *new_model, struct new_model_slot *slot, struct err *err)
{
    struct family_place place;
    struct new_model_tensor *tensor = &new_model->tensors[new_model->count];
    family_place(&place, slot->slot, &new_model->config);
    slot->tensor = new_model_tensor(new_model, place.first);
    if (slot->tensor)
        return 0; /* an earlier slot has the same */
    char *name = arena_alloc(&new_model->arena, PARAMETER_NAME_BYTES, 1, err);
    if (!name)
        return -1;
    *tensor = (struct new_model_tensor){
        .slot = slot->slot,
        .name = family_tensor_name(name, new_model->config.family, slot->slot),
        .rank = place.rank,
        .shape = {place.shape[0], place.shape[1]},
        .count = place.shape[0] * place.shape[1],
    };
    slot->tensor = tensor;
    new_model->count++;
    return 0;
}

/* In the order of the file: embeddings, layers, what comes after them. */
static int list_tensors(struct new_model *new_model, struct err *err)
{
    struct arena scratch = {0};
    size_t count = new_model->slot_count = slot_list(NULL, &new_model->config);
    struct slot *list = arena_alloc(&scratch, count, sizeof *list, err);
    new_model->tensors = arena_alloc(&new_model->arena, count, sizeof *new_model->tensors, err);
    new_model->slots = arena_alloc(&new_model->arena, count, sizeof *new_model->slots, err);
    int failed = !list || !new_model->tensors || !new_model->slots;
    if (!failed)
        slot_list(list, &new_model->config);
    for (size_t i = 0; i < count && !failed; i++)
        new_model->slots[i].slot = list[i];
    for (int after = 0; after < 2; after++)
        for (size_t i = 0; i < count && !failed; i++) {
            struct slot slot = list[i];
            bool comes_after = slot.layer < 0 && slot.id >= SLOT_FINAL_NORM;
            if (comes_after == after)
                failed = add_tensor(new_model, &new_model->slots[i], err);
        }
    arena_release(&scratch);
    return failed ? -1 : 0;
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
