/* folder.h: where a model's files come from: a directory on disk, or files held in memory; whoever
 * opens `config.json` in a folder cannot tell which.
 *
 *     if (folder_has(folder, "vocab.json") && folder_open(&file, folder, "vocab.json", err)) ...
 */
#ifndef ATTN_BASE_FOLDER_H
#define ATTN_BASE_FOLDER_H

#include "base/file.h"
#include "base/progress_sink.h"
#include "base/target_folder.h"

struct folder_file {
    const char *name;
    const char *bytes; /* alive as long as the folder */
    size_t size;
    const char *path; /* not NULL: it is this file on disk, and has no bytes here */
};

struct folder {
    const char *path;                /* the directory; for held files their model's name */
    const struct folder_file *files; /* NULL: on disk */
    size_t file_count;
};

/* What cannot be looked at is there: opening it says what is wrong. */
bool folder_has(const struct folder *folder, const char *name);

/* Open a file of the folder; release it with file_release. The error names path and file. */
int folder_open(struct file *file, const struct folder *folder, const char *name, struct err *err);

/* Open a file of the folder, let `read` have it, and release it. What `read` says gets path and
 * file before it. */
int folder_read(const struct folder *folder, const char *name,
                int (*read)(void *context, const struct file *file, struct err *err), void *context,
                struct err *err);

/* Write the files that a folder holds into one that is open to be written (target_folder.h). Files
 * get their names when all are written, in the folder's order: on failure none has, as a rule.
 * `progress`, which may be NULL, is told how many bytes of all are written. */
int folder_save(const struct folder *folder, const struct target_folder *target,
                const struct progress_sink *progress, struct err *err);

#endif
