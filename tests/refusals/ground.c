#include "ground.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

enum { DESCRIPTORS = 8 };

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind;
    if (place->level > 0 && remove(path))
        return -1;
    return 0;
}

int ground_open(struct ground *ground, const char *root, struct err *err)
{
    *ground = (struct ground){.root = root, .path = "/tmp/break-XXXXXX"};
    if (!mkdtemp(ground->path) || chdir(ground->path))
        return err_set(err, "cannot make '%s': %s", ground->path, strerror(errno));
    return 0;
}

void ground_close(struct ground *ground)
{
    nftw(ground->path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    rmdir(ground->path);
}

static int copy_file(const char *from, const char *to, struct err *err)
{
    struct file file = {0};
    if (file_map(&file, from, err))
        return -1;
    FILE *out = fopen(to, "w");
    size_t written = out ? fwrite(file.bytes, 1, file.size, out) : 0;
    int failed = !out || fclose(out) || written != file.size;
    file_release(&file);
    return failed ? err_set(err, "cannot write '%s': %s", to, strerror(errno)) : 0;
}

static int copy_model(const struct ground *ground, const char *place, const char *model,
                      struct err *err)
{
    static const char *const names[] = {"config.json",   "model.safetensors",      "vocab.json",
                                        "merges.txt",    "tokenizer.json",         "manifest.json",
                                        "results.jsonl", "pytorch_model.bin",      "model.gguf",
                                        "cfg.json",      "sae_weights.safetensors"};
    int failed = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !failed; i++) {
        struct buf from = {0};
        char to[64];
        buf_format(&from, "%s/%s/%s/%s", ground->root, place, model, names[i]);
        snprintf(to, sizeof to, "m/%s", names[i]);
        failed =
            buf_check(&from, err) || (file_exists(from.bytes) && copy_file(from.bytes, to, err));
        buf_release(&from);
    }
    return failed;
}

int ground_empty(const char *folder, struct err *err)
{
    if (nftw(folder, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS))
        return err_set(err, "cannot clear '%s': %s", folder, strerror(errno));
    return 0;
}

int ground_clear(const struct ground *ground, const char *model, struct err *err)
{
    if (ground_empty(ground->path, err))
        return -1;
    if (!model)
        return 0;
    if (file_make_directory("m", err) || copy_model(ground, "models", model, err) ||
        copy_model(ground, "tests/references/golden", model, err) ||
        copy_model(ground, "tests/references/golden-families", model, err) ||
        copy_model(ground, "tests/references", model, err) ||
        copy_model(ground, "tests/texts", model, err) ||
        copy_model(ground, "tests/refusals", model, err))
        return -1;
    return 0;
}

/* --- contents --------------------------------------------------------------------------------- */

static int list(struct inventory *inventory, const char *folder, struct err *err)
{
    struct arena arena = {0};
    struct listing listing = {0};
    int failed = listing_read(&listing, folder, &arena, err);
    for (size_t i = 0; i < listing.count && !failed; i++) {
        struct buf path = {0};
        struct stat status = {0};
        buf_format(&path, "%s/%s", folder, listing.names[i]);
        failed = buf_check(&path, err);
        if (!failed && lstat(path.bytes, &status) == 0 && S_ISREG(status.st_mode))
            inventory->size_bytes += (size_t)status.st_size;
        if (!failed && S_ISDIR(status.st_mode))
            failed = list(inventory, path.bytes, err);
        if (!failed && S_ISREG(status.st_mode))
            buf_format(&inventory->names, "%s %lld, of %lld.%09ld\n", path.bytes,
                       (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
        else if (!failed)
            buf_format(&inventory->names, "%s\n", path.bytes);
        buf_release(&path);
    }
    arena_release(&arena);
    return failed;
}

int inventory_take(struct inventory *inventory, struct err *err)
{
    *inventory = (struct inventory){0};
    buf_text(&inventory->names, "");
    return list(inventory, ".", err) || buf_check(&inventory->names, err) ? -1 : 0;
}

void inventory_release(struct inventory *inventory)
{
    buf_release(&inventory->names);
}
