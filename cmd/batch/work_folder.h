/* work_folder.h: the folder in which the results of a batch are put together, and what is in it.
 *
 *     -o DIR/          DIR
 *     -o FILE          FILE.part, until its one result becomes FILE
 *     with --shard     DIR.2-of-16 or FILE.2-of-16, for `merge`
 *
 * While work goes on there is a `journal`; when it is done, a `manifest.json`.
 */
#ifndef ATTN_CMD_WORK_FOLDER_H
#define ATTN_CMD_WORK_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "shard.h"

struct work_folder {
    const char *path;   /* without a slash at its end */
    const char *target; /* the file that the result becomes; NULL: none, or not yet */
    const char *journal, *manifest, *lines, *sums; /* paths within */
    struct arena arena;
};

int work_folder_find(struct work_folder *folder, const char *output, const struct job_shard *shard,
                     struct err *err);
void work_folder_release(struct work_folder *folder);

/* Whether -o names a folder: by the slash at its end, or because it is there. */
bool work_folder_is_folder(const char *output);

/* Append the name of a job as that of a file: letters, digits and "-_.,=+" stay, all else is %XX.
 * No two jobs have the same; a long one ends in a hash of it. */
void work_folder_name(struct buf *out, const char *job);

/* Remove the files of a folder in it, and the folder; nothing where there is none. */
int work_folder_remove(const char *path, struct err *err);

/* Remove what a process that was killed had begun to write in the folder itself. */
int work_folder_tidy(const struct work_folder *folder, struct err *err);

/* Begin anew: remove every result that a journal or a manifest lists, and them. */
int work_folder_clear(const struct work_folder *folder, struct err *err);

#endif
