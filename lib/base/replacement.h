/* replacement.h: rules for files and folders that a result replaces.
 *
 * A rename needs only a writable folder, so these rules apply to all that replaces a file: it must
 * be writable by its owner, even for root, and not be read by this process, as input or part of a
 * model, by any name. The new file gets the permissions of the old one and, if the user may set
 * them, owner and group.
 *
 *     if (replacement_guard(descriptor, READ_AS_INPUT, err)) ...     when something is read
 *     if (replacement_check(path, &status, READ_AS_MODEL, err)) ...  before anything is written
 *     if (replacement_keep(descriptor, path, err)) ...               before the rename
 */
#pragma once

#include <sys/stat.h>

#include "base/err.h"

/* The use of a file that was read, in ascending order of protection. */
enum reading_kind {
    READ_AS_MODEL, /* a file of a model's folder, which may be saved again as a whole */
    READ_AS_INPUT, /* a path that the user wrote */
};

/* From now on, let no result replace a file that is read. Thread-safe. */
int replacement_guard(int descriptor, enum reading_kind kind, struct err *err);

/* Refuse to replace a file of this status if it is read-only, or was read as `kind` or above. */
int replacement_check(const char *path, const struct stat *status, enum reading_kind kind,
                      struct err *err);

/* replacement_check with READ_AS_MODEL for the file of this name, if any; also refuse a file that
 * this user may not write. */
int replacement_check_name(const char *path, struct err *err);

/* Give a new file the permissions, owner and group of the file at `path` that it will replace, or
 * those of any new file if there is none. */
int replacement_keep(int descriptor, const char *path, struct err *err);

/* Make all files of this process from now on no more accessible to group and others than the
 * file at `path`, if there is one: they are its parts or its replacement. */
void replacement_keep_private(const char *path);

/* Rename a file to replace another, with replacement_check_name and replacement_keep. */
int replacement_rename(const char *from, const char *path, struct err *err);

/* --- a folder for the files of a command, locked (flock) while they are written ---------------
 *
 * A folder that is not empty is refused before anything is computed. With --force, new files
 * replace files of the same names, each by a rename. Links in the folder are not followed. If a
 * command fails or is interrupted, its finished files stay.
 *
 *     if (target_folder_check(path, options->force, err)) ...
 *     ... compute ...
 *     if (target_folder_open(&target, path, options->force, err) ||
 *         folder_save(&folder, &target, NULL, err)) ...
 *     target_folder_close(&target);
 */
struct target_folder {
    const char *path; /* the caller's; NULL: closed */
    bool replaces;    /* new files replace those of the same names */
    bool made;        /* the folder did not exist before */
    int descriptor;   /* holds the lock; -1: none */
};

/* Check the folder before computing. */
int target_folder_check(const char *path, bool replaces, struct err *err);

/* Make the folder if necessary, lock and check it. On failure nothing is held. */
int target_folder_open(struct target_folder *target, const char *path, bool replaces,
                       struct err *err);

/* target_folder_open for a folder inside `outer`, whose lock protects both. */
int target_folder_open_inside(struct target_folder *target, const char *path,
                              const struct target_folder *outer, struct err *err);

/* Unlock the folder; remove it if it was made and is empty. */
void target_folder_close(struct target_folder *target);
