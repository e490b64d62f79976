#include "tiny_model.h"

#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "dice.h"
#include "model/family/family.h"
#include "model/layer.h"

struct tiny_tensor *tiny_model_add(struct tiny_model *model, const char *name, enum dtype dtype,
                                   size_t rank, const size_t *shape)
{
    ck_assert_uint_lt(model->count, TINY_TENSORS_MAX);
    struct tiny_tensor *tensor = &model->tensors[model->count++];
    *tensor = (struct tiny_tensor){.dtype = dtype, .rank = rank, .count = 1};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    for (size_t axis = 0; axis < rank; axis++) {
        tensor->shape[axis] = shape[axis];
        tensor->count *= shape[axis];
    }
    tensor->values = arena_alloc(&model->arena, tensor->count, sizeof(float), NULL);
    ck_assert_ptr_nonnull(tensor->values);
    return tensor;
}

static void add_parameter(struct tiny_model *model, struct slot slot, uint32_t *dice)
{
    char name[PARAMETER_NAME_BYTES];
    struct family_layout layout;
    family_layout(&layout, slot, &model->config);
    if (memcmp(&layout.first, &slot, sizeof slot) != 0)
        return; /* a part of a fused tensor */
    family_tensor_name(name, &model->config, slot);
    struct tiny_tensor *tensor = tiny_model_add(model, name, DTYPE_F32, layout.rank, layout.shape);
    for (size_t i = 0; i < tensor->count; i++)
        tensor->values[i] = (float)((int)(dice_bits(dice) % 255) - 127) / 256;
}

void tiny_model_make(struct tiny_model *model, const char *config)
{
    uint32_t dice = 88172645;
    struct err err = {0};
    *model = (struct tiny_model){.files[0] = {"config.json", config, strlen(config)},
                                 .files[1] = {"model.safetensors", NULL, 0}};
    model->folder = (struct folder){.path = "tiny-model", .files = model->files, .file_count = 2};
    ck_assert_msg(!config_open(&model->config, &model->folder, &err) &&
                      !config_describe(&model->config, &err),
                  "%s", err.text);
    struct slot slots[2 * TINY_TENSORS_MAX];
    size_t count = slot_list(NULL, 0, &model->config);
    ck_assert_uint_le(count, 2 * TINY_TENSORS_MAX);
    slot_list(slots, sizeof *slots, &model->config);
    for (size_t i = 0; i < count; i++)
        add_parameter(model, slots[i], &dice);
    tiny_model_write(model, 0);
}

void tiny_model_release(struct tiny_model *model)
{
    buf_release(&model->bytes);
    config_release(&model->config);
    arena_release(&model->arena);
}

static struct tiny_tensor *found(struct tiny_model *model, const char *name)
{
    for (size_t i = 0; i < model->count; i++)
        if (strcmp(model->tensors[i].name, name) == 0)
            return &model->tensors[i];
    ck_abort_msg("no tensor '%s'", name);
    return NULL;
}

struct tiny_tensor *tiny_model_tensor(struct tiny_model *model, const char *name)
{
    return found(model, name);
}

void tiny_model_drop(struct tiny_model *model, const char *name)
{
    struct tiny_tensor *tensor = found(model, name);
    *tensor = model->tensors[--model->count];
}

void tiny_model_retype(struct tiny_model *model, enum dtype dtype)
{
    for (size_t i = 0; i < model->count; i++)
        model->tensors[i].dtype = dtype;
}

static void append_header(struct buf *header, const struct tiny_model *model)
{
    size_t offset = 0;
    buf_text(header, "{");
    for (size_t i = 0; i < model->count; i++) {
        const struct tiny_tensor *tensor = &model->tensors[i];
        size_t end = offset + tensor->count * dtype_size_bytes(tensor->dtype);
        buf_format(header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "", tensor->name,
                   dtype_name(tensor->dtype));
        for (size_t axis = 0; axis < tensor->rank; axis++)
            buf_format(header, "%s%zu", axis ? "," : "", tensor->shape[axis]);
        buf_format(header, "],\"data_offsets\":[%zu,%zu]}", offset, end);
        offset = end;
    }
    buf_text(header, "}");
}

/* Convert numbers that F16 represents exactly: all that dice.h makes, NaN and infinities. */
static uint16_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t exponent = bits >> 23 & 0xff;
    if (exponent == 0)
        return (uint16_t)sign;
    uint32_t half = exponent == 0xff ? 0x1f : exponent - 127 + 15;
    return (uint16_t)(sign | half << 10 | (bits >> 13 & 0x3ff));
}

static void append_value(struct buf *bytes, float value, enum dtype dtype)
{
    static const char zeros[8];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t half = dtype == DTYPE_F16 ? half_of(value) : (uint16_t)(bits >> 16);
    double wide = value;
    if (dtype == DTYPE_F32)
        buf_bytes(bytes, &value, sizeof value);
    else if (dtype == DTYPE_F64)
        buf_bytes(bytes, &wide, sizeof wide);
    else if (dtype == DTYPE_F16 || dtype == DTYPE_BF16)
        buf_bytes(bytes, &half, sizeof half);
    else
        buf_bytes(bytes, zeros, dtype_size_bytes(dtype));
}

void tiny_model_write(struct tiny_model *model, size_t shift)
{
    struct buf header = {0};
    append_header(&header, model);
    while ((sizeof(uint64_t) + header.size) % 64 != shift)
        buf_char(&header, ' ');
    uint64_t size = header.size;
    buf_clear(&model->bytes);
    buf_bytes(&model->bytes, &size, sizeof size);
    buf_bytes(&model->bytes, header.bytes, header.size);
    for (size_t i = 0; i < model->count; i++)
        for (size_t k = 0; k < model->tensors[i].count; k++)
            append_value(&model->bytes, model->tensors[i].values[k], model->tensors[i].dtype);
    ck_assert_int_eq(buf_check(&model->bytes, NULL), 0);
    buf_release(&header);
    model->files[1].bytes = model->bytes.bytes;
    model->files[1].size = model->bytes.size;
}
