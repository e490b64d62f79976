/* removal.c: files and folders removed by name below a folder, and never through a link. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/replacement.h"
#include "work_folder.h"

enum {
    COMPONENTS_MAX = 8,
    DEPTH_MAX = 2, /* of a folder that goes with all in it */
};

/* The size of the first component. */
static size_t component(const char *name)
{
    return strcspn(name, "/");
}

bool removal_is_below(const char *name)
{
    for (int i = 0; i < COMPONENTS_MAX; i++) {
        size_t size = component(name);
        bool dots = size && size <= 2 && strspn(name, ".") >= size;
        if (!size || size > NAME_MAX || dots)
            return false;
        if (!name[size])
            return true;
        name += size + 1;
    }
    return false;
}

static int open_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* By errno: there is no such thing, or it is none that we make. */
static bool is_nothing_of_ours(void)
{
    return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

static int remove_name(int folder, const char *name, int flags)
{
    if (unlinkat(folder, name, flags) == 0 || errno == ENOENT)
        return 0;
    bool kept = flags && (errno == ENOTEMPTY || errno == EEXIST); /* others have put more there */
    return kept ? 0 : -1;
}

static int remove_regular(int folder, const char *name)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW))
        return is_nothing_of_ours() ? 0 : -1;
    if (replacement_check(name, &status, READ_AS_MODEL, NULL)) {
        errno = EPERM; /* what may not be replaced may not be removed */
        return -1;
    }
    return S_ISREG(status.st_mode) ? remove_name(folder, name, 0) : 0;
}

/* By errno on failure. */
static int remove_path(int folder, const char *name)
{
    char first[NAME_MAX + 1] = "";
    size_t size = component(name);
    if (!name[size])
        return remove_regular(folder, name);
    memcpy(first, name, size);
    int child = open_folder(folder, first);
    if (child < 0)
        return is_nothing_of_ours() ? 0 : -1;
    int failed = remove_path(child, name + size + 1);
    int failure = errno;
    close(child);
    errno = failure;
    return failed ? -1 : remove_name(folder, first, AT_REMOVEDIR);
}

static int remove_folder(int parent, const char *name, int depth);

/* Files, and what folders may go; `*removed` counts the files. */
static int remove_entries(DIR *directory, int depth, size_t *removed)
{
    int folder = dirfd(directory);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        struct stat status;
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        if (S_ISREG(status.st_mode) && remove_name(folder, name, 0))
            return -1;
        *removed += S_ISREG(status.st_mode);
        if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX && remove_folder(folder, name, depth + 1))
            return -1;
    }
    return 0;
}

/* A walk over what is being removed may miss some of it: it is done until nothing is found. */
static int empty_folder(int folder, int depth)
{
    DIR *directory = fdopendir(folder);
    if (!directory) {
        close(folder);
        return -1;
    }
    int failed = 0;
    for (size_t removed = 1; removed && !failed;) {
        removed = 0;
        rewinddir(directory);
        failed = remove_entries(directory, depth, &removed);
    }
    int failure = errno;
    closedir(directory);
    errno = failure;
    return failed;
}

static int remove_folder(int parent, const char *name, int depth)
{
    int folder = open_folder(parent, name);
    if (folder < 0)
        return is_nothing_of_ours() ? 0 : -1;
    return empty_folder(folder, depth) ? -1 : remove_name(parent, name, AT_REMOVEDIR);
}

static int remove_with(int (*verb)(int parent, const char *name), const char *folder,
                       const char *name, struct err *err)
{
    if (!removal_is_below(name))
        return err_set(err, "'%s': expected the name of something below '%s'", name, folder);
    int parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0 && errno == ENOENT)
        return 0;
    int failed = parent < 0 || verb(parent, name);
    if (failed)
        err_output(err, "cannot remove '%s/%s': %s", folder, name, strerror(errno));
    if (parent >= 0)
        close(parent);
    return failed ? -1 : 0;
}

int removal_file(const char *folder, const char *name, struct err *err)
{
    return remove_with(remove_path, folder, name, err);
}

static int remove_whole(int parent, const char *name)
{
    return remove_folder(parent, name, 1);
}

int removal_folder(const char *folder, const char *name, struct err *err)
{
    return remove_with(remove_whole, folder, name, err);
}
