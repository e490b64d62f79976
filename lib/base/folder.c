#include "base/folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/stream.h"

static const struct folder_file *held_file(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->file_count; i++)
        if (strcmp(folder->files[i].name, name) == 0)
            return &folder->files[i];
    return NULL;
}

bool folder_has(const struct folder *folder, const char *name)
{
    if (folder->files)
        return held_file(folder, name) != NULL;
    char path[PATH_MAX]; /* not on the heap: without memory a file must not seem to be absent */
    int size = snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return size > 0 && size < PATH_MAX && file_exists(path); /* a longer path names no file */
}

int folder_open(struct file *file, const struct folder *folder, const char *name, struct err *err)
{
    if (folder->files) {
        const struct folder_file *held = held_file(folder, name);
        if (!held)
            return err_set(err, "the bundled model '%s' has no file '%s'", folder->path, name);
        *file = file_borrow(held->bytes, held->size);
        return 0;
    }
    struct buf path = {0};
    buf_format(&path, "%s/%s", folder->path, name);
    int failed = buf_check(&path, err) || file_map(file, path.bytes, err);
    buf_release(&path);
    return failed ? -1 : 0;
}

static int save_file(const struct folder_file *held, const char *path, struct err *err)
{
    struct stream out = {0};
    struct buf target = {0};
    buf_format(&target, "%s/%s", path, held->name);
    int failed = buf_check(&target, err) || stream_open(&out, target.bytes, err);
    if (!failed) {
        stream_bytes(&out, held->bytes, held->size);
        failed = stream_commit(&out, err);
    }
    stream_discard(&out);
    buf_release(&target);
    return failed ? -1 : 0;
}

int folder_save(const struct folder *folder, const char *path, struct err *err)
{
    if (file_make_directory(path, err))
        return -1;
    for (size_t i = 0; i < folder->file_count; i++)
        if (save_file(&folder->files[i], path, err))
            return -1;
    return 0;
}
