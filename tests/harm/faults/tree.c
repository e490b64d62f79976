#include "tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"

enum { LINK_BYTES = 4096 };

static void take_bytes(struct tree *tree, struct tree_file *entry, const char *path)
{
    char target[LINK_BYTES];
    struct file file = {0};
    if (S_ISLNK(entry->status.st_mode)) {
        ssize_t size = readlink(path, target, sizeof target);
        if (size < 0)
            abort();
        file = file_borrow(target, (size_t)size);
    } else if (file_map(&file, path, NULL)) {
        abort();
    }
    entry->size = file.size;
    entry->bytes = arena_text(&tree->arena, file.bytes, file.size, NULL);
    if (!entry->bytes)
        abort();
    if (file.bytes != target)
        file_release(&file);
}

static void take_folder(struct tree *tree, const char *path, size_t prefix)
{
    struct listing listing = {0};
    if (listing_read(&listing, path, &tree->arena, NULL))
        abort();
    for (size_t i = 0; i < listing.count; i++) {
        struct buf below = {0};
        buf_format(&below, "%s/%s", path, listing.names[i]);
        if (tree->count == TREE_FILES_MAX || buf_check(&below, NULL))
            abort();
        struct tree_file *entry = &tree->files[tree->count++];
        *entry = (struct tree_file){.bytes = ""};
        entry->path = arena_text(&tree->arena, below.bytes + prefix, below.size - prefix, NULL);
        if (!entry->path || lstat(below.bytes, &entry->status))
            abort();
        if (S_ISDIR(entry->status.st_mode))
            take_folder(tree, below.bytes, prefix);
        else if (S_ISREG(entry->status.st_mode) || S_ISLNK(entry->status.st_mode))
            take_bytes(tree, entry, below.bytes);
        buf_release(&below);
    }
}

void tree_take(struct tree *tree, const char *folder)
{
    tree_release(tree);
    take_folder(tree, folder, strlen(folder) + 1);
}

void tree_release(struct tree *tree)
{
    arena_release(&tree->arena);
    tree->count = 0;
}

const struct tree_file *tree_find(const struct tree *tree, const char *path)
{
    for (size_t i = 0; i < tree->count; i++)
        if (strcmp(tree->files[i].path, path) == 0)
            return &tree->files[i];
    return NULL;
}

bool tree_same_bytes(const struct tree_file *a, const struct tree_file *b)
{
    return (a->status.st_mode & S_IFMT) == (b->status.st_mode & S_IFMT) && a->size == b->size &&
           memcmp(a->bytes, b->bytes, a->size) == 0;
}

const char *tree_difference(const struct tree_file *a, const struct tree_file *b)
{
    const struct stat *x = &a->status;
    const struct stat *y = &b->status;
    if (!tree_same_bytes(a, b))
        return "has other bytes";
    if (x->st_mode != y->st_mode || x->st_uid != y->st_uid || x->st_gid != y->st_gid)
        return "has another mode or owner";
    if (!S_ISDIR(x->st_mode) && (x->st_ino != y->st_ino || x->st_mtim.tv_sec != y->st_mtim.tv_sec ||
                                 x->st_mtim.tv_nsec != y->st_mtim.tv_nsec))
        return "was written";
    return NULL;
}
