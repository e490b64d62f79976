/* replacement.h: which files a result may replace, and what the new file keeps of the old one.
 *
 * A rename asks for no more than a folder that may be written, so the rules of all that replaces a
 * file are here: not one that its owner may not write (0444), be it root who asks, and not one that
 * this process has read, as its input or as a part of its model, under whatever name. What replaces
 * a file has its permissions, owner and group, as far as the user may give them.
 *
 *     if (replacement_guard(descriptor, READ_AS_INPUT, err)) ...     when something is read
 *     if (replacement_check(path, &status, READ_AS_MODEL, err)) ...  before anything is written
 *     if (replacement_keep(descriptor, path, err)) ...               before the rename
 */
#ifndef ATTN_BASE_REPLACEMENT_H
#define ATTN_BASE_REPLACEMENT_H

#include <sys/stat.h>

#include "base/err.h"

/* What a file was read as; each is guarded more closely than the one before it. */
enum reading_kind {
    READ_AS_MODEL, /* by its name in a model's folder, which may be saved anew as a whole */
    READ_AS_INPUT, /* a path that the user wrote */
};

/* Let no result replace a file that is being read; what is no file needs no guard. Threads may do
 * so at the same time. */
int replacement_guard(int descriptor, enum reading_kind kind, struct err *err);

/* Refuse a file with that status: one that is read-only, or that was
 * read as `kind` or closer. */
int replacement_check(const char *path, const struct stat *status, enum reading_kind kind,
                      struct err *err);

/* The same for what has a name, itself, and what this user may not write; nothing is fine. */
int replacement_check_name(const char *path, struct err *err);

/* Give a new file what the one at `path`, which it is about to replace, has; where there is none,
 * what any new file has. */
int replacement_keep(int descriptor, const char *path, struct err *err);

/* Let all that this process makes from now on be no more open to others than the file at `path`, if
 * there is one: what is put together beside it, or takes its place piece by piece. */
void replacement_keep_private(const char *path);

/* Replace a file by another, with the check of its name and all that is kept. */
int replacement_rename(const char *from, const char *path, struct err *err);

#endif
