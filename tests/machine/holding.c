#include "holding.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/listing.h"

static int hold_file(struct holding *holding, struct held *held, struct err *err)
{
    struct file file = {0};
    if (file_map(&file, held->path, err))
        return -1;
    held->size = file.size;
    held->bytes = arena_text(&holding->arena, file.bytes, file.size, err);
    file_release(&file);
    holding->largest = held->size > holding->largest ? held->size : holding->largest;
    return held->bytes ? 0 : -1;
}

static int hold(struct holding *holding, const char *path, struct err *err)
{
    if (holding->count == HOLDING_FILES_MAX)
        return err_set(err, "expected at most %d files, found more", HOLDING_FILES_MAX);
    struct held *held = &holding->files[holding->count++];
    *held = (struct held){.is_folder = file_is_directory(path)};
    held->path = arena_text(&holding->arena, path, strlen(path), err);
    if (!held->path)
        return -1;
    return held->is_folder ? holding_take(holding, held->path, err) : hold_file(holding, held, err);
}

int holding_take(struct holding *holding, const char *folder, struct err *err)
{
    struct listing listing = {0};
    int failed = listing_read(&listing, folder, &holding->arena, err);
    for (size_t i = 0; i < listing.count && !failed; i++) {
        struct buf path = {0};
        buf_format(&path, "%s/%s", folder, listing.names[i]);
        failed = buf_check(&path, err) || hold(holding, path.bytes, err);
        buf_release(&path);
    }
    return failed ? -1 : 0;
}

void holding_release(struct holding *holding)
{
    arena_release(&holding->arena);
    holding->count = holding->largest = 0;
}

const struct held *holding_find(const struct holding *holding, const char *path)
{
    for (size_t i = 0; i < holding->count; i++)
        if (strcmp(holding->files[i].path, path) == 0)
            return &holding->files[i];
    return NULL;
}

bool held_same(const struct held *a, const struct held *b)
{
    return a && b && a->is_folder == b->is_folder && a->size == b->size &&
           (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}
