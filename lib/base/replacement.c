#include "base/replacement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/heap.h"
#include "base/platform.h"

/* It stays until the process ends: a file is no less an input once it is closed. */
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
        continue; /* another was first: it is the next one now */
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

/* The mode of the old file. A group gets no more than others where it cannot be the old file's, or
 * where the old file's group permissions are the mask of an access control list. */
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
    bool stands = exists && S_ISREG(old.st_mode);
    if (!exists && !file_is_absent())
        return cannot_write(path, err);
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = stands ? keep_owner(descriptor, path, &old) : 0666 & ~mask;
    if (fchmod(descriptor, mode))
        errno = 0; /* a file system without permissions: nothing is lost */
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
        failed = err_output(err, "cannot write '%s': %s", path, strerror(errno));
    return failed;
}
