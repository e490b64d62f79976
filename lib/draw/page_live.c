/* page_live.c: what a live page holds besides its sentence: the engine, and the model's files, in
 * base64. */
#include <string.h>

#include "base/arena.h"
#include "base/listing.h"
#include "base/names.h"
#include "draw/page_facts.h"
#include "draw/page_values.h"

enum {
    PART_BYTES = 3 << 24, /* of a file in one element: texts in a browser have a largest size */
    MODEL_BYTES_MAX = 1 << 30, /* a page of more is nothing that a browser opens */
};

int page_live_check(struct err *err)
{
    return page_module.size
               ? 0
               : err_unsupported(err, "--live: this attn-cli was built without the engine of live "
                                      "pages: 'make wasm' compiles it, with clang, and builds "
                                      "attn-cli with it");
}

static void put_base64(struct stream *out, const char *bytes, size_t size)
{
    struct page_exact exact = {.out = out};
    page_exact_bytes(&exact, bytes, size);
    page_exact_end(&exact);
    stream_text(out, "</script>\n");
}

static int put_file(struct stream *out, const struct folder *folder, const char *name, size_t *left,
                    struct err *err)
{
    struct file file = {0};
    if (folder_open(&file, folder, name, err))
        return -1;
    int failed = file.size > *left
                     ? err_unsupported(err,
                                       "--live: expected a model of at most %d MB, found more in "
                                       "'%s/%s'",
                                       MODEL_BYTES_MAX >> 20, folder->path, name)
                     : 0;
    for (size_t at = 0; at < file.size && !failed; at += PART_BYTES) {
        size_t size = file.size - at < PART_BYTES ? file.size - at : PART_BYTES;
        stream_text(out, "<script type=\"text/plain\" class=\"file\" data-name=\"");
        page_put_text(out, name);
        stream_text(out, "\">");
        put_base64(out, file.bytes + at, size);
    }
    *left -= failed ? 0 : file.size;
    file_release(&file);
    return failed;
}

/* Config, weights and tokenizer by their endings; no name that could end an attribute. */
static bool is_of_model(const char *name)
{
    static const char *const endings[] = {".json", ".safetensors", "merges.txt", ".model", ".gguf"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (name_ends_in(name, endings[i]))
            return !strpbrk(name, "\"<>");
    return false;
}

static int list_files(struct listing *listing, const struct folder *folder, struct arena *arena,
                      struct err *err)
{
    *listing = (struct listing){0};
    if (!folder->files)
        return listing_read(listing, folder->path, arena, err);
    for (size_t i = 0; i < folder->file_count; i++)
        if (listing_add(listing, folder->files[i].name, arena, err))
            return -1;
    return 0;
}

int page_live_size(size_t *bytes, const struct folder *folder, struct err *err)
{
    struct arena arena = {0};
    struct listing listing;
    struct file file = {0};
    int failed = list_files(&listing, folder, &arena, err);
    *bytes = page_module.size;
    for (size_t i = 0; !failed && i < listing.count; i++) {
        if (!is_of_model(listing.names[i]))
            continue;
        failed = folder_open(&file, folder, listing.names[i], err);
        *bytes += failed ? 0 : file.size;
        if (!failed)
            file_release(&file);
    }
    *bytes = *bytes / 3 * 4; /* base64 */
    arena_release(&arena);
    return failed ? -1 : 0;
}

int page_live_put(struct stream *out, const struct folder *folder, struct err *err)
{
    struct arena arena = {0};
    struct listing listing;
    size_t left = MODEL_BYTES_MAX;
    stream_text(out, "<script type=\"text/plain\" id=\"engine\">");
    put_base64(out, page_module.bytes, page_module.size);
    int failed = list_files(&listing, folder, &arena, err);
    for (size_t i = 0; !failed && i < listing.count; i++)
        if (is_of_model(listing.names[i]))
            failed = put_file(out, folder, listing.names[i], &left, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
