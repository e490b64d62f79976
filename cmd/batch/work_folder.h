/* work_folder.h: the folder in which the results of a batch are put together, what in it is the
 * batch's, and what may happen to it. No other file of `batch` and `merge` decides that.
 *
 *     -o DIR/          DIR, which is made; its parent must be there
 *     -o FILE          FILE.part, until its one result becomes FILE; FILE.manifest stays beside it
 *     with --shard     DIR.2-of-16 or FILE.2-of-16, for `merge`
 *
 * A batch owns, in DIR:
 *
 *     .attn-cli/       `lock`, `sums` so far, and whatever is half made: all of it is the batch's
 *     journal          while work goes on: what the batch is, and what is done
 *     manifest.json    in its place when all is done; both are known by their first lines
 *     results.jsonl, sums, MEASURE.txt and so on: those that the command in the journal makes, and
 *                      those that the manifest lists
 *     ITEM/FILE        those that the journal or the manifest lists
 *
 * and FILE.part with all of these in it, FILE.manifest, and FILE when that holds what FILE.manifest
 * has the hash of. Nothing else is the batch's: it is not written to, replaced or removed, with no
 * option, and no symbolic link below DIR is followed.
 *
 * The lock is taken before anything else. It goes with its process, so that after a SIGKILL the
 * next one has it; meanwhile others are refused and told who holds it. Then
 *
 *     nothing, or an empty folder      a batch begins
 *     a journal                        refused; --resume goes on, if it is the same batch;
 *                                      --force removes what is the batch's, and begins
 *     a manifest                       refused; --resume does nothing, if it is the same batch, and
 *                                      ends as that did; --force as above
 *     anything else, or a `journal` or `manifest.json` of something else: refused
 *
 * A FILE that is there is refused; --resume checks it against FILE.manifest, as above; --force
 * replaces it, whatever it holds, by a rename, but no link and no device. An item's folder is made
 * in .attn-cli and renamed, so that one that is there is whole, or someone else's, and refused.
 *
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
