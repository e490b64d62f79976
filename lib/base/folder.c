#include "base/folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    char path[PATH_MAX]; /* not on the heap: without memory a file must not seem to be absent */
    mode_t kind = 0;
    if (folder->files)
        return held_file(folder, name);
    int size = snprintf(path, sizeof path, "%s/%s", folder->path, name);
    if (size <= 0 || size >= PATH_MAX) /* it names no file */
        return false;
    return file_kind(&kind, path, NULL) || kind;
}

int folder_open(struct file *file, const struct folder *folder, const char *name, struct err *err)
{
    if (folder->files) {
        const struct folder_file *held = held_file(folder, name);
        if (!held)
            return err_set(err, "the bundled model '%s' has no file '%s'", folder->path, name);
        if (held->path)
            return file_map_regular(file, held->path, err);
        *file = file_borrow(held->bytes, held->size);
        return 0;
    }
    struct buf path = {0};
    buf_format(&path, "%s/%s", folder->path, name);
    int failed = buf_check(&path, err) || file_map_regular(file, path.bytes, err);
    buf_release(&path);
    return failed ? -1 : 0;
}

int folder_read(const struct folder *folder, const char *name,
                int (*read)(void *context, const struct file *file, struct err *err), void *context,
                struct err *err)
{
    struct file file = {0};
    if (folder_open(&file, folder, name, err))
        return -1;
    int failed = read(context, &file, err);
    file_release(&file);
    return failed ? err_prefix(err, "'%s/%s'", folder->path, name) : 0;
}

enum { PART_BYTES = 1 << 22 }; /* written before how far it is is told again */

struct written {
    size_t done, count; /* bytes */
    const struct progress_sink *progress;
};

static int path_of(struct buf *path, const struct target_folder *target, const char *name,
                   struct err *err)
{
    path->size = 0;
    buf_format(path, "%s/%s", target->path, name);
    return buf_check(path, err);
}

/* Write a file under its temporary name, down to the disk's own buffers. */
static int write_file(struct stream *out, const struct folder_file *held,
                      const struct target_folder *target, struct written *written, struct err *err)
{
    struct buf path = {0};
    int failed = path_of(&path, target, held->name, err) ||
                 stream_open_inside(out, path.bytes, target->replaces, err);
    buf_release(&path);
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

/* What got its name before another could not: it was not there before. */
static void take_back(const struct folder *folder, size_t count, const struct target_folder *target)
{
    struct buf path = {0};
    for (size_t i = 0; i < count && !target->replaces; i++)
        if (!path_of(&path, target, folder->files[i].name, NULL))
            unlink(path.bytes);
    buf_release(&path);
}

/* All files are written before the first gets its name: a full disk is noticed in time. */
static int write_files(struct stream *streams, const struct folder *folder,
                       const struct target_folder *target, const struct progress_sink *progress,
                       struct err *err)
{
    struct written written = {.progress = progress};
    for (size_t i = 0; i < folder->file_count; i++)
        written.count += folder->files[i].size;
    for (size_t i = 0; i < folder->file_count; i++)
        if (write_file(&streams[i], &folder->files[i], target, &written, err))
            return -1;
    for (size_t i = 0; i < folder->file_count; i++) {
        if (stream_commit(&streams[i], err)) {
            take_back(folder, i, target);
            return -1;
        }
    }
    return 0;
}

int folder_save(const struct folder *folder, const struct target_folder *target,
                const struct progress_sink *progress, struct err *err)
{
    struct arena arena = {0};
    struct stream *streams = arena_alloc(&arena, folder->file_count, sizeof *streams, err);
    int failed = !streams || write_files(streams, folder, target, progress, err);
    for (size_t i = 0; streams && i < folder->file_count; i++)
        stream_discard(&streams[i]);
    arena_release(&arena);
    return failed ? -1 : 0;
}
