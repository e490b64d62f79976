/* gguf_tensors.c: the tensors of a GGUF file, with the names and layouts of their family. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "model/gguf/gguf_model.h"

/* The slot of a name, which .weight or .bias follows; in a layer without "blk.", and its number. */
static const struct tensor_name {
    const char *name;
    enum slot_id id;
    bool fused; /* its tensor has several slots, of which this is the first */
} tensor_names[] = {
    {"token_embd", SLOT_TOKENS},
    {"position_embd", SLOT_POSITIONS},
    {"output_norm", SLOT_FINAL_NORM},
    {"output", SLOT_HEAD},
    {"attn_norm", SLOT_NORM_1},
    {"attn_qkv", SLOT_Q, true},
    {"attn_q", SLOT_Q},
    {"attn_k", SLOT_K},
    {"attn_v", SLOT_V},
    {"attn_output", SLOT_O},
    {"attn_q_norm", SLOT_Q_NORM},
    {"attn_k_norm", SLOT_K_NORM},
    {"post_attention_norm", SLOT_NORM_1_POST},
    {"ffn_norm", SLOT_NORM_2},
    {"ffn_gate", SLOT_GATE},
    {"ffn_up", SLOT_UP},
    {"ffn_down", SLOT_DOWN},
    {"post_ffw_norm", SLOT_NORM_2_POST},
};

struct gguf_reading {
    struct safetensors *tensors;
    const struct gguf *gguf;
    const struct gguf_architecture *architecture;
    const struct family *family;
    long long heads[2]; /* of queries and of keys */
    struct err *err;
};

/* The slot of "blk.3.attn_q.weight", and its row; NULL: the family has no such slot. */
static const struct family_row *find_slot(struct slot *slot, const char *name,
                                          const struct family *family)
{
    char *stem = (char *)name;
    bool in_layer = strncmp(name, "blk.", 4) == 0 && name[4] >= '0' && name[4] <= '9';
    long layer = in_layer ? strtol(name + 4, &stem, 10) : -1;
    if (layer >= LAYERS_MAX || (in_layer && *stem++ != '.'))
        return NULL;
    size_t size = strcspn(stem, ".");
    bool is_bias = strcmp(stem + size, ".bias") == 0;
    if (!is_bias && strcmp(stem + size, ".weight") != 0)
        return NULL;
    for (size_t i = 0; i < sizeof tensor_names / sizeof *tensor_names; i++) {
        const struct tensor_name *at = &tensor_names[i];
        if (strlen(at->name) != size || memcmp(at->name, stem, size) != 0 ||
            (at->id >= SLOTS_OF_ENDS) != in_layer)
            continue;
        *slot = slot_of_text(at->id + is_bias);
        slot->layer = (short)layer;
        const struct family_row *row = family_row(family, *slot);
        return row && (row->members[1] != 0) == at->fused ? row : NULL;
    }
    return NULL;
}

static int read_numbers(struct safetensors_entry *entry, const struct gguf_tensor *tensor,
                        struct gguf_reading *reading)
{
    entry->count = tensor->count;
    entry->begin = tensor->begin;
    entry->end = tensor->end;
    entry->data = reading->tensors->file.bytes + tensor->begin;
    entry->rank = tensor->rank;
    for (size_t i = 0; i < tensor->rank; i++)
        entry->shape[i] = tensor->sizes[tensor->rank - 1 - i];
    if (dtype_find(tensor->type->name, &entry->dtype) && dtype_is_weight(entry->dtype))
        return 0;
    return err_unsupported(
        reading->err,
        "expected F32, F16, BF16, F64, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, "
        "IQ4_NL or IQ4_XS, found %s: llama-quantize writes them from an F16 model",
        tensor->type->name);
}

/* As float32, in memory. */
static int convert(struct safetensors_entry *entry, struct gguf_reading *reading)
{
    float *numbers =
        arena_room(&reading->tensors->arena, entry->count, sizeof *numbers, reading->err);
    if (!numbers)
        return -1;
    dtype_to_float(numbers, entry->data, entry->dtype, entry->count);
    entry->dtype = DTYPE_F32;
    entry->data = numbers;
    return 0;
}

/* How rows are ordered in a GGUF file, other than in the family's tensor. */
enum order {
    ORDER_SAME,
    ORDER_PAIRS,  /* of each head, in pairs that are rotated together */
    ORDER_THIRDS, /* all queries, all keys, all values, instead of q, k and v head by head */
};

/* The index in a GGUF file of row `row` of `rows`. */
static size_t stored_row(size_t row, size_t rows, enum order order, size_t heads)
{
    size_t size = rows / heads; /* of a head, with all that it has there */
    size_t head = row / size;
    size_t at = row % size;
    if (order == ORDER_THIRDS)
        return at / (size / 3) * (rows / 3) + head * (size / 3) + at % (size / 3);
    return head * size + at % (size / 2) * 2 + at / (size / 2);
}

static int order_rows(struct safetensors_entry *entry, enum order order, size_t heads,
                      struct gguf_reading *reading)
{
    size_t rows = entry->shape[0];
    size_t parts = order == ORDER_THIRDS ? 3 : 2;
    size_t bytes = dtype_bytes(entry->dtype, entry->count / rows);
    if (!heads || rows % (parts * heads))
        return err_set(reading->err,
                       "expected a multiple of %zu rows for each of %zu heads, found %zu rows",
                       parts, heads, rows);
    char *to = arena_room(&reading->tensors->arena, rows * bytes, 1, reading->err);
    for (size_t i = 0; to && i < rows; i++)
        memcpy(to + i * bytes,
               (const char *)entry->data + stored_row(i, rows, order, heads) * bytes, bytes);
    entry->data = to;
    return to ? 0 : -1;
}

static int transpose_entry(struct safetensors_entry *entry, struct gguf_reading *reading)
{
    size_t rows = entry->shape[0];
    size_t columns = entry->shape[1];
    size_t bytes = dtype_size_bytes(entry->dtype);
    char *to = arena_room(&reading->tensors->arena, entry->count * bytes, 1, reading->err);
    for (size_t i = 0; to && i < columns; i++)
        for (size_t j = 0; j < rows; j++)
            memcpy(to + (i * rows + j) * bytes,
                   (const char *)entry->data + (j * columns + i) * bytes, bytes);
    entry->shape[0] = columns;
    entry->shape[1] = rows;
    entry->data = to;
    return to ? 0 : -1;
}

/* A float32 plus 1, minus 1, plus 1 is the first sum again: no bit of a scale is lost. */
static int subtract_one(struct safetensors_entry *entry, struct gguf_reading *reading)
{
    if (convert(entry, reading))
        return -1;
    for (size_t i = 0; i < entry->count; i++)
        ((float *)entry->data)[i] -= 1.0f;
    return 0;
}

/* Bring a tensor into the layout of its family. */
static int lay_out(struct safetensors_entry *entry, struct slot slot, const struct family_row *row,
                   struct gguf_reading *reading)
{
    bool is_matrix = entry->rank == 2;
    bool is_scale = entry->rank == 1 && !(slot.id & 1);
    bool is_key = (slot.id & ~1) == SLOT_K;
    enum order order = row->groups == GROUPS_KV_HEAD ? ORDER_THIRDS
                       : reading->architecture->pairs && (is_key || (slot.id & ~1) == SLOT_Q)
                           ? ORDER_PAIRS
                           : ORDER_SAME;
    bool transposed = row->transposed && is_matrix;
    if (is_scale && reading->family->defaults->norm_offset)
        return subtract_one(entry, reading);
    if (dtype_is_quantised(entry->dtype) && (transposed || !is_matrix) && convert(entry, reading))
        return -1;
    if (order != ORDER_SAME)
        return order_rows(entry, order, (size_t)reading->heads[is_key], reading);
    return transposed ? transpose_entry(entry, reading) : 0;
}

static int read_heads(struct gguf_reading *reading)
{
    if (gguf_find_architecture(&reading->architecture, reading->gguf, reading->err) ||
        gguf_size(reading->gguf, reading->architecture, "attention.head_count", &reading->heads[0],
                  reading->err))
        return -1;
    reading->family = family_find(reading->architecture->model_type);
    reading->heads[1] = reading->heads[0];
    return gguf_size(reading->gguf, reading->architecture, "attention.head_count_kv",
                     &reading->heads[1], reading->err);
}

static int read_tensors(struct gguf_reading *reading)
{
    struct safetensors *tensors = reading->tensors;
    const struct gguf *gguf = reading->gguf;
    char name[PARAMETER_NAME_BYTES];
    tensors->entries = arena_alloc(&tensors->arena, gguf->tensor_count + 1,
                                   sizeof *tensors->entries, reading->err);
    if (!tensors->entries || read_heads(reading))
        return -1;
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const struct gguf_tensor *tensor = &gguf->tensors[i];
        struct safetensors_entry *entry = &tensors->entries[tensors->count];
        if (strcmp(tensor->name, "rope_freqs.weight") == 0)
            continue; /* the config has it */
        struct slot slot;
        const struct family_row *row = find_slot(&slot, tensor->name, reading->family);
        /* one without a slot is refused with its own name */
        const char *to = row ? family_tensor_name(name, reading->family, slot) : tensor->name;
        entry->name = arena_text(&tensors->arena, to, strlen(to), reading->err);
        if (!entry->name)
            return -1;
        if (read_numbers(entry, tensor, reading) || (row && lay_out(entry, slot, row, reading)))
            return err_prefix(reading->err, "tensor '%s'", tensor->name);
        tensors->count++;
    }
    return safetensors_list(tensors, reading->err);
}

int gguf_tensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                      struct err *err)
{
    struct gguf gguf = {0};
    struct file file = {0};
    struct gguf_reading reading = {.tensors = tensors, .gguf = &gguf, .err = err};
    *tensors = (struct safetensors){0};
    if (folder_open(&file, folder, name, err))
        return -1;
    int failed = gguf_read(&gguf, &file, err);
    tensors->file = gguf.file;
    gguf.file = (struct file){0};
    failed = failed || read_tensors(&reading);
    gguf_release(&gguf);
    if (!failed)
        return 0;
    safetensors_release(tensors);
    return err_prefix(err, "'%s'", folder->path);
}
