#include "base/replacement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/platform.h"

/* A file that was read. The entry is never removed: a closed file is still an input. */
struct guarded {
    dev_t device;
    ino_t inode;
    enum reading_kind kind;
    struct guarded *next;
};

static _Atomic(struct guarded *) newest;

static bool is_guarded(const struct stat *status, enum reading_kind kind)
{
    for (const struct guarded *one = atomic_load(&newest); one; one = one->next)
        if (one->inode == status->st_ino && one->device == status->st_dev && one->kind >= kind)
            return true;
    return false;
}

int replacement_guard(int descriptor, enum reading_kind kind, struct err *err)
{
    struct stat status;
    if (fstat(descriptor, &status) || !S_ISREG(status.st_mode) || is_guarded(&status, kind))
        return 0;
    struct guarded *one = heap_alloc(1, sizeof *one, err);
    if (!one)
        return -1;
    *one = (struct guarded){status.st_dev, status.st_ino, kind, atomic_load(&newest)};
    while (!atomic_compare_exchange_weak(&newest, &one->next, one))
        continue; /* another thread added an entry first, to which one->next now points: try
                   * again */
    return 0;
}

static int cannot_write(const char *path, struct err *err)
{
    return err_output(err, "cannot write '%s': %s", path, strerror(errno));
}

int replacement_check(const char *path, const struct stat *status, enum reading_kind kind,
                      struct err *err)
{
    if (!S_ISREG(status->st_mode))
        return 0;
    if (is_guarded(status, kind))
        return err_output(err, "cannot write '%s': this command reads it: choose another name",
                          path);
    if (status->st_mode & S_IWUSR)
        return 0;
    return err_output(err,
                      "cannot write '%s': it is read-only (mode %04o): make it writable (chmod "
                      "u+w), or choose another name",
                      path, (unsigned)status->st_mode & 0777);
}

int replacement_check_name(const char *path, struct err *err)
{
    struct stat status;
    if (lstat(path, &status) == 0 && replacement_check(path, &status, READ_AS_MODEL, err))
        return -1;
    return access(path, W_OK) == 0 || file_is_absent() ? 0 : cannot_write(path, err);
}

/* Give a new file the old file's owner and group, as far as allowed. Returns the mode for the new
 * file: the old mode, but the group gets no more rights than others if it cannot be the old group,
 * or if the old rights of the group are the mask of an access control list. */
static mode_t keep_owner(int descriptor, const char *path, const struct stat *old)
{
    struct stat new;
    mode_t mode = old->st_mode & 0777;
    bool kept = fstat(descriptor, &new) ||
                (new.st_uid == old->st_uid &&new.st_gid == old->st_gid) ||
                fchown(descriptor, old->st_uid, old->st_gid) == 0 ||
                fchown(descriptor, (uid_t)-1, old->st_gid) == 0;
    mode_t others = mode & 07;
    return kept && !platform_has_access_list(path) ? mode
                                                   : (mode & ~(mode_t)070) | (mode & others << 3);
}

int replacement_keep(int descriptor, const char *path, struct err *err)
{
    struct stat old;
    bool exists = lstat(path, &old) == 0;
    bool replaces = exists && S_ISREG(old.st_mode);
    if (!exists && !file_is_absent())
        return cannot_write(path, err);
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = replaces ? keep_owner(descriptor, path, &old) : 0666 & ~mask;
    if (fchmod(descriptor, mode))
        errno = 0; /* accept a file system that has no permissions */
    return 0;
}

void replacement_keep_private(const char *path)
{
    struct stat status;
    if (lstat(path, &status))
        status.st_mode = file_is_absent() ? 0 : S_IFREG;
    if (S_ISREG(status.st_mode))
        umask(umask(0) | (~status.st_mode & 066));
}

int replacement_rename(const char *from, const char *path, struct err *err)
{
    if (replacement_check_name(path, err))
        return -1;
    int descriptor = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int failed = descriptor < 0 ? err_output(err, "cannot open '%s': %s", from, strerror(errno))
                                : replacement_keep(descriptor, path, err);
    if (descriptor >= 0)
        close(descriptor);
    if (!failed && rename(from, path))
        failed = cannot_write(path, err);
    return failed;
}

/* --- folders of results ----------------------------------------------------------------------- */

/* Find the first name in a folder, in the order of bytes, so messages are the same each time. "":
 * the folder is empty. */
static int find_first(char name[NAME_MAX + 1], const char *path, struct err *err)
{
    DIR *directory = opendir(path);
    *name = '\0';
    if (!directory)
        return cannot_write(path, err);
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(directory)); errno = 0) {
        const char *found = entry->d_name;
        bool own = strcmp(found, ".") == 0 || strcmp(found, "..") == 0;
        if (!own && (!*name || strcmp(found, name) < 0))
            strcpy(name, found);
    }
    int failure = errno;
    closedir(directory);
    return failure ? err_output(err, "cannot read '%s': %s", path, strerror(failure)) : 0;
}

int target_folder_check(const char *path, bool replaces, struct err *err)
{
    char name[NAME_MAX + 1];
    if (!file_exists(path))
        return 0;
    mode_t kind = 0;
    if (!file_is_directory(path))
        return file_kind(&kind, path, err)
                   ? -1
                   : err_output(err, "cannot write '%s': expected a directory, found %s", path,
                                S_ISLNK(kind) ? "a dangling link" : "a file");
    if (replaces)
        return 0;
    if (find_first(name, path, err))
        return -1;
    if (!*name)
        return 0;
    return err_output(
        err,
        "cannot write '%s': expected a new or empty directory, found '%s' in it: choose another "
        "one, or use --force, which overwrites only files with the same names",
        path, name);
}

static int lock(struct target_folder *target, struct err *err)
{
    target->descriptor = open(target->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (target->descriptor < 0)
        return cannot_write(target->path, err);
    if (flock(target->descriptor, LOCK_EX | LOCK_NB) == 0 || errno == EBADF || errno == ENOLCK ||
        errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)
        return 0; /* a network file system without locks: each file is complete nevertheless */
    if (errno == EWOULDBLOCK)
        return err_output(err, "cannot write '%s': another process is writing to it", target->path);
    return err_output(err, "cannot lock '%s': %s", target->path, strerror(errno));
}

int target_folder_open(struct target_folder *target, const char *path, bool replaces,
                       struct err *err)
{
    *target = (struct target_folder){.path = path, .replaces = replaces, .descriptor = -1};
    target->made = mkdir(path, 0777) == 0;
    int failed = !target->made && file_make_directory(path, err);
    if (!failed && lock(target, err)) {
        target->made = false; /* another process may use the folder by now */
        failed = -1;
    }
    failed = failed || target_folder_check(path, replaces, err);
    if (failed)
        target_folder_close(target);
    return failed ? -1 : 0;
}

int target_folder_open_inside(struct target_folder *target, const char *path,
                              const struct target_folder *outer, struct err *err)
{
    struct stat status;
    *target = (struct target_folder){.replaces = outer->replaces, .descriptor = -1};
    target->made = mkdir(path, 0777) == 0;
    if (!target->made && errno != EEXIST)
        return err_output(err, "cannot make the directory '%s': %s", path, strerror(errno));
    if (lstat(path, &status) || !S_ISDIR(status.st_mode))
        return err_output(err, "cannot write '%s': expected a directory, found a file or a link",
                          path);
    target->path = path;
    return target_folder_check(path, target->replaces, err);
}

void target_folder_close(struct target_folder *target)
{
    if (!target->path)
        return;
    if (target->made)
        rmdir(target->path); /* fails if the folder is not empty */
    if (target->descriptor >= 0)
        close(target->descriptor);
    *target = (struct target_folder){.descriptor = -1};
}
