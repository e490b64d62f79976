/* replacement.h: rules for files and folders that a result replaces.
 *
 * A rename needs only a writable folder, so there are rules for a file that is to be replaced: its
 * owner may write it (also required if root replaces it), and this process has not read it, by any
 * name. (In folders of results, files of a model may be replaced.) The new file gets the
 * permissions of the old one and, if the user may set them, owner and group.
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
    READ_AS_MODEL, /* read by file_map_regular: only stream_open_inside may replace the file */
    READ_AS_INPUT, /* read by file_map or file_read: nothing may replace the file */
};

/* Record that the open file is read as `kind`, if it is a regular file. Thread-safe. */
int replacement_guard(int descriptor, enum reading_kind kind, struct err *err);

/* Refuse to replace a regular file that is read-only, or that was read as `kind` or above. */
int replacement_check(const char *path, const struct stat *status, enum reading_kind kind,
                      struct err *err);

/* replacement_check with READ_AS_MODEL for the file of this name, if any; also refuse a file that
 * this user may not write. */
int replacement_check_name(const char *path, struct err *err);

/* Give a new file the permissions and, if allowed, owner and group of the regular file at `path`
 * that it will replace, or, if there is none, the default permissions of new files. */
int replacement_keep(int descriptor, const char *path, struct err *err);

/* From now on, make new files of this process no more accessible to group and others than the file
 * at `path`, if there is one: the new files are parts of that file, or replace it. */
void replacement_keep_private(const char *path);

/* Rename a file to `path`, after replacement_check_name and replacement_keep; a file that has this
 * name is replaced. */
int replacement_rename(const char *from, const char *path, struct err *err);

/* --- a folder for the files of a command, locked (flock) while they are written ---------------
 *
 * Without --force, a folder that is not empty is refused before anything is computed. With --force,
 * new files replace files of the same names, each by a rename. Links in the folder are not
 * followed. If a command fails or is interrupted, files that have their final names stay.
 *
 *     if (target_folder_check(path, options->output.force, err)) ...
 *     ... compute ...
 *     if (target_folder_open(&target, path, options->output.force, err) ||
 *         folder_save(&folder, &target, NULL, err)) ...
 *     target_folder_close(&target);
 */
struct target_folder {
    const char *path; /* path of the folder, owned by the caller; NULL: the target is closed */
    bool replaces;    /* new files replace files of the same names */
    bool made;        /* the folder is new: target_folder_close removes it if it is empty */
    int descriptor;   /* the open folder, which holds the lock; -1: not open */
};

/* Refuse an existing path if it is no directory or, unless `replaces`, if it is not empty. */
int target_folder_check(const char *path, bool replaces, struct err *err);

/* Make the folder if necessary, lock and check it. On failure `target` is closed. */
int target_folder_open(struct target_folder *target, const char *path, bool replaces,
                       struct err *err);

/* target_folder_open for a folder inside `outer`, whose lock protects both. */
int target_folder_open_inside(struct target_folder *target, const char *path,
                              const struct target_folder *outer, struct err *err);

/* Unlock the folder; remove it if it is new and empty. */
void target_folder_close(struct target_folder *target);
