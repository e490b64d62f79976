/* A whole file, or a header, which begins with {, and data; the target then adds the length of the
 * header, because most inputs would be refused otherwise. A valid file is opened as the weights of
 * a model. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "format/safetensors.h"

enum { LENGTH_BYTES = 8 };

static char *with_length(const char *bytes, size_t size)
{
    size_t header = size;
    while (bytes[header - 1] != '}' && header > 1)
        header--;
    char *file = malloc(size + LENGTH_BYTES);
    fuzz_check(file, "memory for a file");
    for (int i = 0; i < LENGTH_BYTES; i++)
        file[i] = (char)(header >> 8 * i & 0xff);
    memcpy(file + LENGTH_BYTES, bytes, size);
    return file;
}

static void check(const struct safetensors *tensors)
{
    const char *data = tensors->count ? tensors->entries[0].data : NULL;
    for (size_t i = 0; i < tensors->count; i++) {
        const struct safetensors_entry *entry = &tensors->entries[i];
        size_t bytes = entry->count * dtype_size_bytes(entry->dtype);
        fuzz_check(safetensors_find(tensors, entry->name) == entry, "names are found");
        fuzz_check(entry->data == data && entry->end - entry->begin == bytes,
                   "tensors cover the data without gaps");
        data += bytes;
    }
    fuzz_check(!tensors->count || data == tensors->file.bytes + tensors->file.size,
               "tensors fill the file");
}

void fuzz_one(const char *bytes, size_t size)
{
    static const char name[] = "model.safetensors";
    char *made = size && bytes[0] == '{' ? with_length(bytes, size) : NULL;
    struct folder_file file = {name, made ? made : bytes, made ? size + LENGTH_BYTES : size};
    struct folder folder = {"folder", &file, 1};
    struct safetensors tensors = {0};
    if (safetensors_open(&tensors, &folder, name, &fuzz_err)) {
        fuzz_refused();
    } else {
        check(&tensors);
        safetensors_release(&tensors);
        fuzz_weights(name, file.bytes, file.size);
    }
    free(made);
}
