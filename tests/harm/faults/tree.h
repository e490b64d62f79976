/* tree.h: all files below a folder: kinds, modes, owners, bytes, links, times.
 *
 *     struct tree before = {0};
 *     tree_take(&before, "here");
 *     const struct tree_file *file = tree_find(&before, "files/notes");
 *     tree_release(&before);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/memory.h"

enum { TREE_FILES_MAX = 1024 };

struct tree_file {
    const char *path; /* relative to the folder */
    struct stat status;
    const char *bytes; /* of a file, or the target of a link */
    size_t size;
};

struct tree {
    struct tree_file files[TREE_FILES_MAX];
    size_t count;
    struct arena arena;
};

/* Read the folder; replaces the contents of the tree. */
void tree_take(struct tree *tree, const char *folder);
void tree_release(struct tree *tree);

/* NULL if the path does not exist. */
const struct tree_file *tree_find(const struct tree *tree, const char *path);

bool tree_same_bytes(const struct tree_file *a, const struct tree_file *b);

/* The difference of `b` from `a` in bytes, owner, mode or time; NULL: none. Ignores the contents of
 * folders. */
const char *tree_difference(const struct tree_file *a, const struct tree_file *b);
