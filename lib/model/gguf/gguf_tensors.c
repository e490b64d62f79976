/* gguf_tensors.c: the tensors of a GGUF file, called and laid out as in Hugging Face's files. */
#include <string.h>

#include "base/num.h"
#include "model/gguf/gguf_model.h"

struct reading {
    struct safetensors *tensors;
    const struct gguf *gguf;
    const struct gguf_architecture *architecture;
    long long heads[2]; /* of queries and of keys */
    struct err *err;
};

/* "blk.3.attn_q.weight" as "model.layers.3.self_attn.q_proj.weight", in the arena. NULL: the table
 * has no such name. */
static const struct gguf_tensor_name *rename_tensor(const char **to, const char *name,
                                                    const struct gguf_architecture *architecture,
                                                    struct arena *arena, struct err *err)
{
    bool in_layer = strncmp(name, "blk.", 4) == 0;
    const char *digits = in_layer ? name + 4 : "";
    int digit_count = (int)strspn(digits, "0123456789");
    const char *stem = in_layer ? digits + digit_count : name;
    stem += in_layer && *stem == '.';
    const char *dot = strrchr(stem, '.');
    const char *ending = dot ? dot : stem + strlen(stem);
    size_t size = (size_t)(ending - stem);
    for (const struct gguf_tensor_name *row = architecture->names; row->theirs; row++) {
        if (strlen(row->theirs) != size || memcmp(row->theirs, stem, size) != 0)
            continue;
        *to = arena_format(arena, err, "%s%.*s%s%s%s", digit_count ? architecture->layers : "",
                           digit_count, digits, digit_count ? "." : "", row->ours, ending);
        return row;
    }
    return NULL;
}

static int read_numbers(struct safetensors_entry *entry, const struct gguf_tensor *tensor,
                        struct reading *reading)
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
static int dequantise(struct safetensors_entry *entry, struct reading *reading)
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

/* The index in a GGUF file of row `row` of `rows`. */
static size_t stored_row(size_t row, size_t rows, enum gguf_layout layout, size_t heads)
{
    size_t size = rows / heads; /* of a head, with all that it has there */
    size_t head = row / size;
    size_t at = row % size;
    if (layout == GGUF_THIRDS)
        return at / (size / 3) * (rows / 3) + head * (size / 3) + at % (size / 3);
    return head * size + at % (size / 2) * 2 + at / (size / 2);
}

static void copy_rows(char *to, const struct safetensors_entry *entry, enum gguf_layout layout,
                      size_t heads)
{
    size_t rows = entry->shape[0];
    size_t bytes = dtype_bytes(entry->dtype, entry->count / rows);
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * bytes,
               (const char *)entry->data + stored_row(i, rows, layout, heads) * bytes, bytes);
}

static void transpose(char *to, struct safetensors_entry *entry)
{
    size_t rows = entry->shape[0];
    size_t columns = entry->shape[1];
    size_t bytes = dtype_size_bytes(entry->dtype);
    for (size_t i = 0; i < columns; i++)
        for (size_t j = 0; j < rows; j++)
            memcpy(to + (i * rows + j) * bytes,
                   (const char *)entry->data + (j * columns + i) * bytes, bytes);
    entry->shape[0] = columns;
    entry->shape[1] = rows;
}

/* A sum of a float32 and 1, less 1, plus 1 is that sum again: no bit of the scale is lost. */
static void subtract_one(char *to, struct safetensors_entry *entry)
{
    float *numbers = (float *)(void *)to;
    dtype_to_float(numbers, entry->data, entry->dtype, entry->count);
    for (size_t i = 0; i < entry->count; i++)
        numbers[i] -= 1.0f;
    entry->dtype = DTYPE_F32;
}

/* What the architecture means of the layout in the table of names. */
static bool is_laid_out_anew(const struct safetensors_entry *entry, enum gguf_layout layout,
                             const struct gguf_architecture *architecture)
{
    switch (layout) {
    case GGUF_SAME:
        return false;
    case GGUF_TRANSPOSED:
        return entry->rank == 2;
    case GGUF_QUERIES:
    case GGUF_KEYS:
        return architecture->pairs;
    case GGUF_PLUS_ONE:
        return architecture->plus_one;
    case GGUF_THIRDS:
        break;
    }
    return true;
}

static int lay_out(struct safetensors_entry *entry, enum gguf_layout layout,
                   struct reading *reading)
{
    long long heads = reading->heads[layout == GGUF_KEYS];
    size_t parts = layout == GGUF_THIRDS ? 3 : 2;
    bool in_heads = layout == GGUF_QUERIES || layout == GGUF_KEYS || layout == GGUF_THIRDS;
    bool anew = is_laid_out_anew(entry, layout, reading->architecture);
    bool in_rows = entry->rank == 2 && (!anew || in_heads); /* and so blocks stay whole */
    if (dtype_is_quantised(entry->dtype) && !in_rows && dequantise(entry, reading))
        return -1;
    if (!anew)
        return 0;
    if (in_heads && (heads < 1 || entry->shape[0] % (parts * (size_t)heads)))
        return err_set(reading->err,
                       "expected a multiple of %zu rows for each of %lld heads, "
                       "found %zu rows",
                       parts, heads, entry->shape[0]);
    size_t bytes = dtype_bytes(entry->dtype, entry->count);
    bytes = in_rows ? bytes : num_max(bytes, dtype_bytes(DTYPE_F32, entry->count));
    char *to = arena_room(&reading->tensors->arena, bytes, 1, reading->err);
    if (!to)
        return -1;
    if (in_heads)
        copy_rows(to, entry, layout, (size_t)heads);
    else if (layout == GGUF_TRANSPOSED)
        transpose(to, entry);
    else
        subtract_one(to, entry);
    entry->data = to;
    return 0;
}

static int read_heads(struct reading *reading)
{
    if (gguf_find_architecture(&reading->architecture, reading->gguf, reading->err) ||
        gguf_size(reading->gguf, reading->architecture, "attention.head_count", &reading->heads[0],
                  reading->err))
        return -1;
    reading->heads[1] = reading->heads[0];
    return gguf_size(reading->gguf, reading->architecture, "attention.head_count_kv",
                     &reading->heads[1], reading->err);
}

static int read_tensors(struct reading *reading)
{
    struct safetensors *tensors = reading->tensors;
    const struct gguf *gguf = reading->gguf;
    tensors->entries = arena_alloc(&tensors->arena, gguf->tensor_count + 1,
                                   sizeof *tensors->entries, reading->err);
    if (!tensors->entries || read_heads(reading))
        return -1;
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const struct gguf_tensor *tensor = &gguf->tensors[i];
        struct safetensors_entry *entry = &tensors->entries[tensors->count];
        if (strcmp(tensor->name, "rope_freqs.weight") == 0)
            continue; /* the config has it */
        const struct gguf_tensor_name *row = rename_tensor(
            &entry->name, tensor->name, reading->architecture, &tensors->arena, reading->err);
        if (!row) /* it is refused with its own */
            entry->name =
                arena_text(&tensors->arena, tensor->name, strlen(tensor->name), reading->err);
        if (!entry->name)
            return -1;
        enum gguf_layout layout = row ? row->layout : GGUF_SAME;
        if (read_numbers(entry, tensor, reading) || lay_out(entry, layout, reading))
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
    struct reading reading = {.tensors = tensors, .gguf = &gguf, .err = err};
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
