#include <string.h>

#include "base/names.h"
#include "model/gguf/gguf_model.h"

enum { FILES_MAX = 4 };

bool gguf_is_named(const char *path)
{
    return name_has_ending(path, ".gguf");
}

const char *gguf_file_name(const struct folder *folder)
{
    const char *slash = strrchr(folder->path, '/');
    bool is_file = folder->files && gguf_is_named(folder->path);
    return !is_file ? NULL : slash ? slash + 1 : folder->path;
}

static int add_file(struct folder *folder, struct folder_file *files, const char *name,
                    struct buf *buf, struct arena *arena, struct err *err)
{
    size_t size = buf->size;
    const char *bytes = buf_keep(buf, arena, err);
    files[folder->file_count++] = (struct folder_file){.name = name, .bytes = bytes, .size = size};
    return bytes ? 0 : -1;
}

/* A model in several files is not read: this one has a part of its tensors. */
static int check_split(const struct gguf *gguf, struct err *err)
{
    long long part = 0;
    long long parts = 1;
    if (gguf_integer(gguf, "split.no", 0, UINT16_MAX, &part, err) ||
        gguf_integer(gguf, "split.count", 0, UINT16_MAX, &parts, err))
        return -1;
    return parts <= 1
               ? 0
               : err_unsupported(err,
                                 "key 'split.count': expected a model in one file, found part %lld "
                                 "of %lld: 'llama-gguf-split --merge NAME-00001-of-%05lld.gguf "
                                 "NAME.gguf' of llama.cpp joins all parts",
                                 part + 1, parts, parts);
}

static int make_files(struct folder *folder, struct folder_file *files, const struct gguf *gguf,
                      struct arena *arena, struct err *err)
{
    struct buf config = {0};
    struct gguf_tokenizer tokenizer = {0};
    int failed = check_split(gguf, err) || gguf_write_config(&config, gguf, err) ||
                 add_file(folder, files, "config.json", &config, arena, err) ||
                 gguf_write_tokenizer(&tokenizer, gguf, err);
    if (!failed && tokenizer.name)
        failed = add_file(folder, files, tokenizer.name, &tokenizer.file, arena, err) ||
                 add_file(folder, files, "tokenizer_config.json", &tokenizer.config, arena, err);
    buf_release(&config);
    buf_release(&tokenizer.file);
    buf_release(&tokenizer.config);
    return failed;
}

/* `weights` is where all of it is. */
static int fill_folder(struct folder *folder, struct gguf *gguf, struct folder_file weights,
                       struct arena *arena, struct err *err)
{
    struct folder_file *files = arena_alloc(arena, FILES_MAX, sizeof *files, err);
    folder->files = files;
    int failed = !files || make_files(folder, files, gguf, arena, err);
    gguf_release(gguf);
    if (!failed)
        files[folder->file_count++] = weights;
    return failed ? -1 : 0;
}

int gguf_folder(struct folder *folder, const char *path, struct arena *arena, struct err *err)
{
    struct gguf gguf = {0};
    struct folder_file weights = {.name = GGUF_WEIGHTS_NAME, .path = path};
    *folder = (struct folder){.path = path};
    if (gguf_open(&gguf, path, err))
        return -1;
    return fill_folder(folder, &gguf, weights, arena, err) ? err_prefix(err, "'%s'", path) : 0;
}

int gguf_folder_held(struct folder *folder, const char *name, const char *bytes, size_t size,
                     struct arena *arena, struct err *err)
{
    struct gguf gguf = {0};
    struct file file = file_borrow(bytes, size);
    struct folder_file weights = {.name = GGUF_WEIGHTS_NAME, .bytes = bytes, .size = size};
    *folder = (struct folder){.path = name};
    return gguf_read(&gguf, &file, err) ? -1 : fill_folder(folder, &gguf, weights, arena, err);
}
