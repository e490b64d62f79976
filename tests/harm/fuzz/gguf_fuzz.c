/* A whole file, or one without its first 24 bytes, which become the head of a file with one tensor
 * and as many keys as the first byte, minus 'a'. A valid file is read completely, converted to the
 * folder of a model and opened as one. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "format/gguf.h"
#include "model/gguf/gguf_model.h"

enum { FRONT_BYTES = 24 };

static void check_values(const struct gguf *gguf)
{
    struct gguf_text text;
    for (size_t i = 0; i < gguf->pair_count; i++) {
        const struct gguf_pair *pair = &gguf->pairs[i];
        struct gguf_value rest = pair->value;
        fuzz_check(gguf_value(gguf, pair->key) == &pair->value, "keys are found");
        fuzz_check(rest.bytes >= gguf->file.bytes &&
                       rest.bytes + rest.size <= gguf->file.bytes + gguf->file.size,
                   "values are in the file");
        if (rest.kind != GGUF_ARRAY)
            continue;
        if (rest.item_kind != GGUF_TEXT && rest.count)
            gguf_item(&rest, rest.count - 1);
        while (rest.item_kind == GGUF_TEXT && gguf_take_text(&rest, &text))
            fuzz_check(rest.bytes == text.bytes + text.size, "texts are consecutive");
    }
}

static void check_tensors(const struct gguf *gguf)
{
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const struct gguf_tensor *tensor = &gguf->tensors[i];
        size_t size = tensor->count / tensor->type->block * tensor->type->block_bytes;
        fuzz_check(gguf_find(gguf, tensor->name) == tensor, "names are found");
        fuzz_check(tensor->begin % gguf->alignment == 0 && tensor->end == tensor->begin + size &&
                       tensor->end <= gguf->file.size,
                   "tensors are in the file");
    }
}

static void check_model(const struct gguf *gguf)
{
    struct buf config = {0};
    struct gguf_tokenizer tokenizer = {0};
    if (gguf_write_config(&config, gguf, &fuzz_err) ||
        gguf_write_tokenizer(&tokenizer, gguf, &fuzz_err))
        fuzz_refused();
    else
        fuzz_check(config.size && (tokenizer.file.size > 0) == (tokenizer.name != NULL),
                   "a folder has files");
    buf_release(&config);
    buf_release(&tokenizer.file);
    buf_release(&tokenizer.config);
}

static void open_model(const char *bytes, size_t size)
{
    struct arena arena = {0};
    struct folder folder;
    if (gguf_folder_held(&folder, "held", bytes, size, &arena, &fuzz_err)) {
        fuzz_refused();
    } else {
        fuzz_model(&folder);
        fuzz_tokenizer(&folder);
    }
    arena_release(&arena);
}

void fuzz_one(const char *bytes, size_t size)
{
    struct gguf gguf = {0};
    bool whole = size == 0 || bytes[0] < 'a';
    char *made = malloc(size + FRONT_BYTES);
    fuzz_check(made, "memory for a copy");
    memcpy(made, "GGUF\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", FRONT_BYTES);
    if (whole) {
        memcpy(made, bytes, size);
    } else {
        made[16] = (char)(bytes[0] - 'a');
        memcpy(made + FRONT_BYTES, bytes + 1, size - 1);
    }
    size_t made_size = whole ? size : size - 1 + FRONT_BYTES;
    struct file file = file_borrow(made, made_size);
    if (gguf_read(&gguf, &file, &fuzz_err)) {
        fuzz_refused();
    } else {
        check_values(&gguf);
        check_tensors(&gguf);
        check_model(&gguf);
        gguf_release(&gguf);
        open_model(made, made_size);
    }
    free(made);
}
