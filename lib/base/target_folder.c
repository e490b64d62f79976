#include "base/target_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* The first name in a folder, by its bytes, so that a message is the same each time; "" of an empty
 * one. Nothing is on the heap: without memory a folder must not seem to be empty. */
static int find_first(char name[NAME_MAX + 1], const char *path, struct err *err)
{
    DIR *directory = opendir(path);
    *name = '\0';
    if (!directory)
        return err_output(err, "cannot write '%s': %s", path, strerror(errno));
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

/* Some network file systems lock no directories: two processes are then kept from no file of each
 * other's, but each file is still one of them as a whole. */
static bool has_no_locks(int failure)
{
    return failure == EBADF || failure == ENOLCK || failure == EINVAL || failure == EOPNOTSUPP ||
           failure == ENOSYS;
}

static int lock(struct target_folder *target, struct err *err)
{
    target->descriptor = open(target->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (target->descriptor < 0)
        return err_output(err, "cannot write '%s': %s", target->path, strerror(errno));
    if (flock(target->descriptor, LOCK_EX | LOCK_NB) == 0 || has_no_locks(errno))
        return 0;
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
        target->made = false; /* it is another's by now */
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
        rmdir(target->path); /* nothing happens where anything is in it */
    if (target->descriptor >= 0)
        close(target->descriptor);
    *target = (struct target_folder){.descriptor = -1};
}
