#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/mapping_list.h"
#include "base/num.h"
#include "base/platform.h"
#include "base/replacement.h"
#include "base/transfer.h"

enum { READ_BYTES = 64 * 1024 };

static const char *kind_name(mode_t mode)
{
    return S_ISDIR(mode)    ? "directory"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

/* A descriptor, or -1 with `err`. */
static int open_regular(const char *path, struct err *err)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return err_set(err, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(descriptor, &status))
        err_set(err, "cannot access '%s': %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        err_set(err, "'%s': expected a file, found a %s", path, kind_name(status.st_mode));
    else
        return descriptor;
    close(descriptor);
    return -1;
}

static int read_all(struct file *file, int descriptor, const char *name, struct err *err)
{
    char most[NUM_SIZE_BYTES];
    char *bytes = NULL;
    size_t size = 0;
    size_t capacity = 0;
    for (;;) {
        if (size > FILE_READ_MAX_BYTES) {
            err_set(
                err,
                "'%s': expected at most %s from a pipe or device, found more: save it to a file",
                name, num_size(most, FILE_READ_MAX_BYTES));
            goto failed;
        }
        if (size == capacity) {
            capacity = capacity ? capacity * 2 : READ_BYTES;
            capacity = capacity < FILE_READ_MAX_BYTES ? capacity : FILE_READ_MAX_BYTES + 1;
            char *more = heap_resize(bytes, capacity, 1, err);
            if (!more)
                goto failed;
            bytes = more;
        }
        ssize_t got = transfer_read(descriptor, bytes + size, capacity - size);
        if (got == 0)
            break;
        if (got < 0) {
            err_set(err, "cannot read '%s': %s", name, strerror(errno));
            goto failed;
        }
        size += (size_t)got;
    }
    *file = (struct file){.bytes = bytes, .size = size, .origin = FILE_READ};
    return 0;
failed:
    heap_free(bytes);
    return -1;
}

static int map_descriptor(struct file *file, int descriptor, const char *path, struct err *err)
{
    struct stat status;
    if (fstat(descriptor, &status))
        return err_set(err, "cannot access '%s': %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return err_set(err, "'%s': expected a file, found a directory", path);
    bool has_size = S_ISREG(status.st_mode) && status.st_size > 0; /* those in /proc say 0 */
    if (!has_size)
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

int file_map_regular(struct file *file, const char *path, struct err *err)
{
    int descriptor = open_regular(path, err);
    if (descriptor < 0)
        return -1;
    int failed = replacement_guard(descriptor, READ_AS_MODEL, err) ||
                 map_descriptor(file, descriptor, path, err);
    close(descriptor);
    return failed ? -1 : 0;
}

int file_map(struct file *file, const char *path, struct err *err)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return err_set(err, "cannot open '%s': %s", path, strerror(errno));
    int failed = replacement_guard(descriptor, READ_AS_INPUT, err) ||
                 map_descriptor(file, descriptor, path, err);
    close(descriptor);
    return failed ? -1 : 0;
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

int file_descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t size = strlen(folders[i]);
        if (strncmp(path, folders[i], size) == 0 && path[size] &&
            strspn(path + size, "0123456789") == strlen(path + size))
            return atoi(path + size);
    }
    return -1;
}
