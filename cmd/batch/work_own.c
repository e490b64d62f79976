/* work_own.c: what is in .attn-cli, where a batch keeps what is only its own:
 *
 *     lock           begins with `process`, or is a part of that
 *     replace
 *     new/           what has a name in the folder of results, ITEM/ with files of a format, and
 *                    temporary files of these
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/stream.h"
#include "base/transfer.h"
#include "store_plan.h"

enum { TEMPORARY_BYTES = sizeof ".attn-cli-XXXXXX.tmp" - 1 };

static const char holder[] = "process ";

/* A walk over a folder, by names in the batch's: they are shown. */
struct own_walk {
    const struct work_folder *folder;
    bool worked;
    struct err *err;
};

static int refuse(const struct own_walk *walk, const char *path)
{
    return err_usage(walk->err,
                     "'%s': expected only what a batch puts there, found '%s': move it, or give "
                     "another place",
                     walk->folder->path, path + strlen(walk->folder->path) + 1);
}

/* Somebody's own file, and not one that cannot be opened: taking the lock says what is wrong. On a
 * full disk ours is a part of the word, or empty. */
static bool is_other_lock(const char *path)
{
    char text[sizeof holder - 1];
    struct stat status;
    ssize_t got = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return false;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
        got = transfer_read(descriptor, text, sizeof text);
    close(descriptor);
    return got < 0 || memcmp(text, holder, (size_t)got) != 0;
}

bool work_own_has_lock(const struct work_folder *folder)
{
    mode_t kind;
    return !file_kind(&kind, folder->lock_path, NULL) && S_ISREG(kind) &&
           !is_other_lock(folder->lock_path);
}

/* --- names ------------------------------------------------------------------------------------ */

static bool ends(const char *name, size_t size, const char *ending)
{
    size_t length = strlen(ending);
    return size > length && memcmp(name + size - length, ending, length) == 0;
}

/* Of a temporary file, that of what it is to be. */
static size_t final_size(const char *name)
{
    return strlen(name) - (stream_is_temporary(name) ? TEMPORARY_BYTES : 0);
}

/* --- folders ---------------------------------------------------------------------------------- */

typedef int see_entry(const struct own_walk *walk, const char *path, const char *name, mode_t kind);

static int walk_folder(const struct own_walk *walk, const char *path, see_entry *see)
{
    int failed = 0;
    DIR *directory = opendir(path);
    if (!directory)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : err_output(walk->err, "cannot read '%s': %s", path, strerror(errno));
    for (const struct dirent *entry; !failed && (entry = readdir(directory));) {
        struct buf below = {0};
        const char *name = entry->d_name;
        buf_format(&below, "%s/%s", path, name);
        failed = buf_check(&below, walk->err);
        bool is_entry = strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
        mode_t kind = 0;
        if (!failed && is_entry)
            failed = file_kind(&kind, below.bytes, walk->err);
        if (kind)
            failed = see(walk, below.bytes, name, kind);
        buf_release(&below);
    }
    closedir(directory);
    return failed ? -1 : 0;
}

static int see_in_item(const struct own_walk *walk, const char *path, const char *name, mode_t kind)
{
    size_t size = final_size(name);
    bool known = size == strlen("manifest.json") && memcmp(name, "manifest.json", size) == 0;
    for (size_t i = 0; i < format_count && !known; i++)
        known = ends(name, size, format_rows[i].ending);
    return S_ISREG(kind) && known ? 0 : refuse(walk, path);
}

static int see_draft(const struct own_walk *walk, const char *path, const char *name, mode_t kind)
{
    if (walk->worked && S_ISDIR(kind))
        return walk_folder(walk, path, see_in_item);
    char final[NAME_MAX + 1] = "";
    memcpy(final, name, final_size(name));
    bool known = strcmp(final, "journal") == 0 || strcmp(final, "manifest.json") == 0 ||
                 (!strchr(final, '/') && result_names_list(final));
    return walk->worked && S_ISREG(kind) && known ? 0 : refuse(walk, path);
}

static int see_own(const struct own_walk *walk, const char *path, const char *name, mode_t kind)
{
    if (strcmp(name, "lock") == 0)
        return is_other_lock(path) ? refuse(walk, path) : 0;
    if (strcmp(name, "new") == 0 && S_ISDIR(kind))
        return walk_folder(walk, path, see_draft);
    return walk->worked && strcmp(name, "replace") == 0 && S_ISREG(kind) ? 0 : refuse(walk, path);
}

int work_own_check(const struct work_folder *folder, bool worked, struct err *err)
{
    struct own_walk walk = {folder, worked, err};
    mode_t kind;
    if (file_kind(&kind, folder->own, err))
        return -1;
    return S_ISDIR(kind) ? walk_folder(&walk, folder->own, see_own) : 0;
}
