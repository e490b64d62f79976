#include "base/folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
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
    int failed = buf_check(&path, err) || file_map_regular(file, path.bytes, err);
    buf_release(&path);
    return failed ? -1 : 0;
}

enum { PART_BYTES = 1 << 22 }; /* written before how far it is is told again */

struct written {
    size_t done, count; /* bytes */
    const struct progress_sink *progress;
};

/* Write a file under its temporary name, down to the disk's own buffers. */
static int write_file(struct stream *out, const struct folder_file *held, const char *path,
                      struct written *written, struct err *err)
{
    struct buf target = {0};
    buf_format(&target, "%s/%s", path, held->name);
    int failed = buf_check(&target, err) || stream_open(out, target.bytes, err);
    buf_release(&target);
    if (failed)
        return -1;
    for (size_t at = 0; at < held->size && !out->failure;) {
        size_t size = held->size - at < PART_BYTES ? held->size - at : PART_BYTES;
        stream_bytes(out, held->bytes + at, size);
        at += size;
        written->done += size;
        progress_tell(written->progress, written->done, written->count);
    }
    stream_flush(out);
    return out->failure ? stream_commit(out, err) : 0; /* which says what went wrong */
}

/* All files are written before the first gets its name: a full disk is noticed in time. */
static int write_files(struct stream *streams, const struct folder *folder, const char *path,
                       const struct progress_sink *progress, struct err *err)
{
    struct written written = {.progress = progress};
    for (size_t i = 0; i < folder->file_count; i++)
        written.count += folder->files[i].size;
    for (size_t i = 0; i < folder->file_count; i++)
        if (write_file(&streams[i], &folder->files[i], path, &written, err))
            return -1;
    for (size_t i = 0; i < folder->file_count; i++)
        if (stream_commit(&streams[i], err))
            return -1;
    return 0;
}

int folder_save_told(const struct folder *folder, const char *path,
                     const struct progress_sink *progress, struct err *err)
{
    struct arena arena = {0};
    struct stream *streams = arena_alloc(&arena, folder->file_count, sizeof *streams, err);
    bool was_there = file_exists(path);
    int failed = !streams || file_make_directory(path, err);
    if (!failed) {
        failed = write_files(streams, folder, path, progress, err);
        for (size_t i = 0; i < folder->file_count; i++)
            stream_discard(&streams[i]);
        if (failed && !was_there)
            rmdir(path); /* nothing happens where a file got its name before */
    }
    arena_release(&arena);
    return failed ? -1 : 0;
}

int folder_save(const struct folder *folder, const char *path, struct err *err)
{
    return folder_save_told(folder, path, NULL, err);
}
