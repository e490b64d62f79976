#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/memory.h"
#include "base/num.h"
#include "base/platform.h"
#include "base/progress_sink.h"
#include "base/replacement.h"
#include "base/stream.h"

/* --- the list of mapped files ----------------------------------------------------------------- */

/* An entry of the list of mapped files. It is in use if `path` is set; the file is mapped if
 * `begin` is set. Entries are reused but never freed: a signal handler may be reading them. */
struct mapping {
    struct mapping *next;
    _Atomic(char *) path;
    _Atomic(uintptr_t) begin;
    _Atomic(size_t) size;
    _Atomic(const void *) owner;
    atomic_bool is_short;
};

static _Atomic(struct mapping *) first_mapping;
static _Thread_local const void *current_owner;

/* Find a free entry of the list, or add one, and set its path. NULL with `err` on failure. */
static struct mapping *take_entry(char *path, struct err *err)
{
    for (struct mapping *mapping = first_mapping; mapping; mapping = mapping->next) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&mapping->path, &none, path))
            return mapping;
    }
    struct mapping *mapping = heap_alloc(1, sizeof *mapping, err);
    if (!mapping)
        return NULL;
    mapping->path = path;
    mapping->next = first_mapping;
    while (!atomic_compare_exchange_weak(&first_mapping, &mapping->next, mapping))
        continue;
    return mapping;
}

static void free_entry(struct mapping *mapping)
{
    mapping->is_short = false;
    mapping->owner = NULL;
    heap_free(atomic_exchange(&mapping->path, NULL));
}

static int mapping_list_add(const void *bytes, size_t size, const char *path, struct err *err)
{
    size_t length = strlen(path) + 1;
    char *copy = heap_alloc(length, 1, err);
    if (!copy)
        return -1;
    memcpy(copy, path, length);
    struct mapping *mapping = take_entry(copy, err);
    if (!mapping) {
        heap_free(copy);
        return -1;
    }
    mapping->size = size;
    mapping->owner = current_owner;
    mapping->begin = (uintptr_t)bytes;
    return 0;
}

static void mapping_list_remove(const void *bytes)
{
    for (struct mapping *mapping = first_mapping; mapping; mapping = mapping->next) {
        if (mapping->begin != (uintptr_t)bytes)
            continue;
        mapping->begin = 0;
        if (!mapping->is_short ||
            mapping->owner != current_owner) /* no later mapping_list_check needs to report the
                                              * file */
            free_entry(mapping);
        return;
    }
}

/* The entry of the file mapped at an address, or NULL. Another thread may reuse the entry: a size
 * belongs to `begin` only if `begin` is equal before and after the size is read. */
static struct mapping *find_mapping(uintptr_t address)
{
    for (struct mapping *mapping = first_mapping; mapping; mapping = mapping->next) {
        uintptr_t begin = mapping->begin;
        size_t size = mapping->size;
        if (begin && address >= begin && address - begin < size && mapping->begin == begin)
            return mapping;
    }
    return NULL;
}

const char *mapping_list_path(const void *address)
{
    struct mapping *mapping = find_mapping((uintptr_t)address);
    return mapping ? mapping->path : NULL;
}

const void *mapping_list_own(const void *owner)
{
    const void *before = current_owner;
    current_owner = owner;
    return before;
}

bool mapping_list_fill(const void *address)
{
    struct mapping *mapping = find_mapping((uintptr_t)address);
    if (!mapping || !mapping->owner)
        return false;
    int error = errno;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t skipped = ((uintptr_t)address - mapping->begin) / page * page;
    /* set before the zeros are mapped, so every thread that reads zeros finds it set */
    mapping->is_short = true;
    void *filled = mmap((char *)mapping->begin + skipped, mapping->size - skipped, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = error;
    return filled != MAP_FAILED;
}

int mapping_list_check(const void *owner, struct err *err)
{
    int failed = 0;
    for (struct mapping *mapping = first_mapping; mapping; mapping = mapping->next) {
        if (mapping->owner != owner || !mapping->is_short)
            continue;
        if (!failed)
            err_clear(err);
        failed = err_set(err, "'%s' became shorter while it was being read", mapping->path);
        if (!mapping->begin)
            free_entry(mapping);
    }
    return failed;
}

/* --- files ------------------------------------------------------------------------------------ */

enum { READ_BYTES = 16 * 1024 };

static int read_all(struct file *file, int descriptor, const char *name, struct err *err)
{
    char part[READ_BYTES], most[NUM_SIZE_BYTES];
    struct buf bytes = {0};
    ssize_t got = 1;
    buf_text(&bytes, ""); /* even without input, `bytes` is not NULL */
    while (got > 0 && bytes.size <= FILE_READ_MAX_BYTES && !bytes.out_of_memory) {
        got = transfer_read(descriptor, part, sizeof part);
        buf_bytes(&bytes, part, got > 0 ? (size_t)got : 0);
    }
    int failed = got < 0 ? err_set(err, "cannot read '%s': %s", name, strerror(errno))
                         : buf_check(&bytes, err);
    if (!failed && got > 0)
        failed = err_set(err,
                         "'%s': expected at most %s from a pipe or device, found more: save it to "
                         "a file",
                         name, num_size(most, FILE_READ_MAX_BYTES));
    *file = (struct file){.bytes = bytes.bytes, .size = bytes.size, .origin = FILE_READ};
    if (failed)
        file_release(file);
    return failed;
}

static int map_descriptor(struct file *file, int descriptor, enum reading_kind kind,
                          bool only_regular, const char *path, struct err *err)
{
    struct stat status;
    if (fstat(descriptor, &status))
        return err_set(err, "cannot access '%s': %s", path, strerror(errno));
    bool is_regular = S_ISREG(status.st_mode);
    if (S_ISDIR(status.st_mode) || (only_regular && !is_regular))
        return err_set(err, "'%s': expected a file, found a %s", path,
                       S_ISDIR(status.st_mode)    ? "directory"
                       : S_ISFIFO(status.st_mode) ? "pipe"
                       : S_ISSOCK(status.st_mode) ? "socket"
                                                  : "device");
    if (replacement_guard(descriptor, kind, err))
        return -1;
    if (!is_regular || status.st_size == 0) /* files in /proc have size 0 */
        return read_all(file, descriptor, path, err);
    size_t size = (size_t)status.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
        return err_set(err, "cannot map '%s': %s", path, strerror(errno));
    if (mapping_list_add(bytes, size, path, err)) {
        munmap(bytes, size);
        return -1;
    }
    *file = (struct file){.bytes = bytes,
                          .size = size,
                          .origin = FILE_MAPPED,
                          .version = {status.st_dev, status.st_ino, platform_written(&status)}};
    return 0;
}

static int map_path(struct file *file, const char *path, enum reading_kind kind, bool only_regular,
                    struct err *err)
{
    /* do not wait for the writer of a pipe: a pipe is refused */
    int flags = only_regular ? O_NONBLOCK | O_NOCTTY : 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (descriptor < 0)
        return err_set(err, "cannot open '%s': %s", path, strerror(errno));
    int failed = map_descriptor(file, descriptor, kind, only_regular, path, err);
    close(descriptor);
    return err_if(failed);
}

int file_map_regular(struct file *file, const char *path, struct err *err)
{
    return map_path(file, path, READ_AS_MODEL, true, err);
}

int file_map(struct file *file, const char *path, struct err *err)
{
    return map_path(file, path, READ_AS_INPUT, false, err);
}

int file_map_named(struct file *file, const char *path, struct err *err)
{
    return map_path(file, path, READ_AS_INPUT, true, err);
}

int file_read(struct file *file, int descriptor, const char *name, struct err *err)
{
    if (replacement_guard(descriptor, READ_AS_INPUT, err))
        return -1;
    return read_all(file, descriptor, name, err);
}

struct file file_borrow(const char *bytes, size_t size)
{
    return (struct file){.bytes = bytes, .size = size, .origin = FILE_BORROWED};
}

void file_forget(const struct file *file, const char *end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (size_t)(end - file->bytes) / page * page;
    if (file->origin == FILE_MAPPED && size)
        madvise((void *)file->bytes, size, MADV_DONTNEED);
}

void file_advise(const char *bytes, size_t size, bool soon)
{
    size_t before = (uintptr_t)bytes % (size_t)sysconf(_SC_PAGESIZE);
    madvise((void *)(bytes - before), before + size, soon ? MADV_WILLNEED : MADV_RANDOM);
}

bool file_has_changed(const struct file *file, const char *path)
{
    const struct file_version *version = &file->version;
    struct stat status;
    if (file->origin != FILE_MAPPED || stat(path, &status) || status.st_dev != version->device ||
        status.st_ino != version->inode)
        return false;
    struct timespec written = platform_written(&status);
    return written.tv_sec != version->modified.tv_sec ||
           written.tv_nsec != version->modified.tv_nsec;
}

void file_release(struct file *file)
{
    if (file->origin == FILE_MAPPED) {
        mapping_list_remove(file->bytes);
        munmap((void *)file->bytes, file->size);
    } else if (file->origin == FILE_READ) {
        heap_free((void *)file->bytes);
    }
    *file = (struct file){0};
}

static const struct {
    const char *magic;
    int (*refuse)(struct err *err, const char *format, ...) ERR_PRINTF;
    const char *what;
} other_formats[] = {
    {"version https://git-lfs", err_set, "a Git LFS pointer ('git lfs pull' fetches the file)"},
    {"<", err_set, "an HTML page"},
    {"GGUF", err_unsupported, "a GGUF file"},
    {"PK\003\004", err_unsupported, "a zip archive, as PyTorch writes it"},
    {"\x80\x02", err_unsupported, "a Python pickle"},
    {"\x80\x03", err_unsupported, "a Python pickle"},
    {"\x80\x04", err_unsupported, "a Python pickle"},
    {"\x80\x05", err_unsupported, "a Python pickle"},
};

int file_refuse_format(const char *bytes, size_t size, const char *expected, struct err *err)
{
    for (size_t i = 0; i < sizeof other_formats / sizeof *other_formats; i++) {
        size_t length = strlen(other_formats[i].magic);
        if (size >= length && memcmp(bytes, other_formats[i].magic, length) == 0)
            return other_formats[i].refuse(err, "expected %s, found %s", expected,
                                           other_formats[i].what);
    }
    return 0;
}

bool file_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool file_is_absent(void)
{
    return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG;
}

int file_kind(mode_t *kind, const char *path, struct err *err)
{
    struct stat status;
    bool exists = lstat(path, &status) == 0;
    *kind = exists ? status.st_mode & S_IFMT : 0;
    return exists || file_is_absent()
               ? 0
               : err_output(err, "cannot access '%s': %s", path, strerror(errno));
}

bool file_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 || !file_is_absent();
}

bool file_is_same(const char *path, const char *other)
{
    struct stat one, two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

int file_remove(const char *path, struct err *err)
{
    if (unlink(path) && errno != ENOENT)
        return err_output(err, "cannot remove '%s': %s", path, strerror(errno));
    return 0;
}

int file_make_directory(const char *path, struct err *err)
{
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && file_is_directory(path)))
        return 0;
    return err_output(err, "cannot make the directory '%s': %s", path, strerror(errno));
}

/* --- names in a directory --------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int listing_add(struct listing *listing, const char *name, struct arena *arena,
                       struct err *err)
{
    const char **names = arena_grow(arena, listing->names, listing->count, sizeof *names, err);
    name = names ? arena_text(arena, name, strlen(name), err) : NULL;
    if (!name)
        return -1;
    names[listing->count++] = name;
    listing->names = names;
    return 0;
}

int listing_read(struct listing *listing, const char *path, struct arena *arena, struct err *err)
{
    int failed = 0;
    *listing = (struct listing){0};
    DIR *directory = opendir(path);
    if (!directory)
        return err_set(err, "cannot read '%s': %s", path, strerror(errno));
    errno = 0;
    for (const struct dirent *entry; !failed && (entry = readdir(directory)); errno = 0) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        failed = listing_add(listing, name, arena, err);
    }
    if (!failed && errno)
        failed = err_set(err, "cannot read '%s': %s", path, strerror(errno));
    closedir(directory);
    if (listing->count)
        qsort(listing->names, listing->count, sizeof *listing->names, compare_names);
    return failed;
}

/* --- folders of models ------------------------------------------------------------------------ */

static const struct folder_file *held_file(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->file_count; i++)
        if (strcmp(folder->files[i].name, name) == 0)
            return &folder->files[i];
    return NULL;
}

bool folder_has(const struct folder *folder, const char *name)
{
    char path[PATH_MAX]; /* on the stack: if an allocation failed, the file would seem absent */
    mode_t kind = 0;
    if (folder->files)
        return held_file(folder, name);
    int size = snprintf(path, sizeof path, "%s/%s", folder->path, name);
    if (size <= 0 || size >= PATH_MAX) /* the path is too long: no file can have it */
        return false;
    return file_kind(&kind, path, NULL) || kind;
}

static int open_named(struct file *file, const struct folder *folder, const char *name,
                      struct err *err)
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

int folder_open(struct file *file, const struct folder *folder, const char *name, struct err *err)
{
    if (open_named(file, folder, name, err))
        return -1;
    struct opened_files *opened = folder->opened;
    for (size_t i = 0; opened && i < opened->list.count; i++)
        if (strcmp(opened->list.names[i], name) == 0)
            return 0;
    if (!opened || !listing_add(&opened->list, name, opened->arena, err))
        return 0;
    file_release(file);
    return -1;
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

enum { CHUNK_BYTES = 1 << 22 }; /* bytes written between two reports of progress */

struct written {
    size_t done, count; /* `done`: bytes written so far; `count`: bytes of all files */
    const struct progress_sink *progress;
};

static int path_of(struct buf *path, const struct target_folder *target, const char *name,
                   struct err *err)
{
    path->size = 0;
    buf_format(path, "%s/%s", target->path, name);
    return buf_check(path, err);
}

/* Write and finish a file, which keeps its temporary name. */
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
        size_t size = held->size - at < CHUNK_BYTES ? held->size - at : CHUNK_BYTES;
        stream_bytes(out, held->bytes + at, size);
        at += size;
        written->done += size;
        progress_tell(written->progress, written->done, written->count);
    }
    return stream_finish(out, err);
}

/* Write all files before the first gets its final name, in case the disk is full. */
static int write_files(struct stream *streams, const struct folder *folder,
                       const struct target_folder *target, const struct progress_sink *progress,
                       struct err *err)
{
    struct written written = {.progress = progress};
    struct buf path = {0};
    for (size_t i = 0; i < folder->file_count; i++)
        written.count += folder->files[i].size;
    for (size_t i = 0; i < folder->file_count; i++)
        if (write_file(&streams[i], &folder->files[i], target, &written, err))
            return -1;
    for (size_t i = 0; i < folder->file_count; i++) {
        if (!stream_commit(&streams[i], err))
            continue;
        /* also remove the files that have their final names already, unless they may have replaced
         * other files */
        for (size_t k = 0; k < i && !target->replaces; k++)
            if (!path_of(&path, target, folder->files[k].name, NULL))
                unlink(path.bytes);
        buf_release(&path);
        return -1;
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
