#include "belongings.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/listing.h"

enum { LINK_BYTES = 4096 };

static int take_file(struct belongings *all, struct belonging *thing, const char *path,
                     struct err *err)
{
    struct file file = {0};
    if (file_map(&file, path, err))
        return -1;
    thing->size = file.size;
    thing->bytes = arena_text(&all->arena, file.bytes, file.size, err);
    file_release(&file);
    return thing->bytes ? 0 : -1;
}

static int take_link(struct belongings *all, struct belonging *thing, const char *path,
                     struct err *err)
{
    char text[LINK_BYTES];
    ssize_t size = readlink(path, text, sizeof text);
    if (size < 0)
        return err_set(err, "cannot read '%s': %s", path, strerror(errno));
    thing->size = (size_t)size;
    thing->bytes = arena_text(&all->arena, text, thing->size, err);
    return thing->bytes ? 0 : -1;
}

static int take_folder(struct belongings *all, const char *path, size_t prefix, struct err *err);

static int take(struct belongings *all, const char *path, size_t prefix, struct err *err)
{
    if (all->count == BELONGINGS_MAX)
        return err_set(err, "expected at most %d things, found more", BELONGINGS_MAX);
    struct belonging *thing = &all->things[all->count++];
    *thing = (struct belonging){.bytes = ""};
    thing->path = arena_text(&all->arena, path + prefix, strlen(path + prefix), err);
    if (!thing->path)
        return -1;
    if (lstat(path, &thing->status))
        return err_set(err, "cannot look at '%s': %s", path, strerror(errno));
    if (S_ISREG(thing->status.st_mode))
        return take_file(all, thing, path, err);
    if (S_ISLNK(thing->status.st_mode))
        return take_link(all, thing, path, err);
    return S_ISDIR(thing->status.st_mode) ? take_folder(all, path, prefix, err) : 0;
}

static int take_folder(struct belongings *all, const char *path, size_t prefix, struct err *err)
{
    struct listing listing = {0};
    int failed = listing_read(&listing, path, &all->arena, err);
    for (size_t i = 0; i < listing.count && !failed; i++) {
        struct buf below = {0};
        buf_format(&below, "%s/%s", path, listing.names[i]);
        failed = buf_check(&below, err) || take(all, below.bytes, prefix, err);
        buf_release(&below);
    }
    return failed ? -1 : 0;
}

int belongings_take(struct belongings *all, const char *folder, struct err *err)
{
    return take_folder(all, folder, strlen(folder) + 1, err);
}

void belongings_release(struct belongings *all)
{
    arena_release(&all->arena);
    all->count = 0;
}

const struct belonging *belongings_find(const struct belongings *all, const char *path)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->things[i].path, path) == 0)
            return &all->things[i];
    return NULL;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

const char *belonging_difference(const struct belonging *a, const struct belonging *b, bool copy)
{
    const struct stat *x = &a->status;
    const struct stat *y = &b->status;
    if ((x->st_mode & S_IFMT) != (y->st_mode & S_IFMT))
        return "is another kind of thing";
    if (x->st_mode != y->st_mode || x->st_uid != y->st_uid || x->st_gid != y->st_gid)
        return "has another mode or owner";
    if (a->size != b->size || memcmp(a->bytes, b->bytes, a->size) != 0)
        return "has other bytes";
    if (copy)
        return NULL;
    if (x->st_ino != y->st_ino || x->st_dev != y->st_dev)
        return "was put in the place of the old one";
    if (!S_ISDIR(x->st_mode) && !same_time(x->st_mtim, y->st_mtim))
        return "was written anew";
    return NULL;
}
