/* A whole file, or the pickle of a file whose storages have 72, 48 and 48 bytes. A valid file is
 * opened as the weights of a model, and as dicts in a dict. */
#include "fuzz.h"

#include <string.h>

#include "../../unit/rigs/zip_made.h"
#include "format/pytorch.h"

static void wrap(struct zip_made *made, const char *bytes, size_t size)
{
    static const size_t sizes[] = {72, 48, 48};
    static const char numbers[72];
    zip_made_add(made, "a/data.pkl", 10, bytes, size);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        zip_made_add(made, (const char[]){'a', '/', 'd', 'a', 't', 'a', '/', (char)('0' + i)}, 8,
                     numbers, sizes[i]);
    zip_made_end(made);
}

static void check(const struct safetensors *tensors, bool nested)
{
    char sink = 0;
    size_t copied = 0;
    const char *file = tensors->file.bytes;
    for (size_t i = 0; i < tensors->count; i++) {
        const struct safetensors_entry *entry = &tensors->entries[i];
        const char *data = entry->data;
        size_t size = entry->count * dtype_size_bytes(entry->dtype);
        bool in_file =
            data >= file && size <= tensors->file.size && data + size <= file + tensors->file.size;
        fuzz_check(safetensors_find(tensors, entry->name) == entry, "names are found");
        fuzz_check(entry->end - entry->begin == size, "sizes agree with shapes");
        copied += in_file || (nested && !entry->rank) ? 0 : size;
        for (size_t at = 0; at < size; at++)
            sink ^= data[at]; /* so that a sanitizer checks every byte */
    }
    (void)sink;
    fuzz_check(copied <= tensors->file.size, "copies are not larger than the file");
}

void fuzz_one(const char *bytes, size_t size)
{
    struct zip_made made = {0};
    bool whole = size >= 2 && memcmp(bytes, "PK", 2) == 0;
    if (!whole)
        wrap(&made, bytes, size);
    struct folder_file file = {"pytorch_model.bin", whole ? bytes : made.file.bytes,
                               whole ? size : made.file.size};
    struct folder folder = {"folder", &file, 1};
    struct safetensors tensors = {0};
    if (pytorch_open(&tensors, &folder, file.name, &fuzz_err)) {
        fuzz_refused();
    } else {
        check(&tensors, false);
        safetensors_release(&tensors);
        fuzz_weights(file.name, file.bytes, file.size);
    }
    if (pytorch_open_nested(&tensors, &folder, file.name, &fuzz_err)) {
        fuzz_refused();
    } else {
        check(&tensors, true);
        safetensors_release(&tensors);
    }
    zip_made_release(&made);
}
