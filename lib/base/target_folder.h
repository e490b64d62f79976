/* target_folder.h: a folder that a command writes its files into, locked (flock) meanwhile.
 *
 * It is made where there is none; one that holds anything is refused before anything is computed,
 * unless the user said to replace (--force): then files with the names of new ones are replaced,
 * each by a rename. In the folder no link is followed.
 *
 * Where a command fails or is interrupted, the files that were finished stay.
 *
 *     if (target_folder_check(path, options->force, err)) ...
 *     ... compute ...
 *     if (target_folder_open(&target, path, options->force, err) ||
 *         folder_save(&folder, &target, NULL, err)) ...
 *     target_folder_close(&target);
 */
#ifndef ATTN_BASE_TARGET_FOLDER_H
#define ATTN_BASE_TARGET_FOLDER_H

#include "base/err.h"

struct target_folder {
    const char *path; /* the caller's; NULL: closed */
    bool replaces;    /* files of the same names */
    bool made;        /* it was not there */
    int descriptor;   /* holds the lock; -1: none */
};

/* What can be known beforehand: 0 where nothing is in the way. */
int target_folder_check(const char *path, bool replaces, struct err *err);

/* Make it, unless it is there; lock it; and check it anew. On failure nothing is held. */
int target_folder_open(struct target_folder *target, const char *path, bool replaces,
                       struct err *err);

/* The same for a folder in one that is open, whose lock holds for both. */
int target_folder_open_inside(struct target_folder *target, const char *path,
                              const struct target_folder *outer, struct err *err);

/* Unlock it; a folder that was made and is empty is removed. */
void target_folder_close(struct target_folder *target);

#endif
