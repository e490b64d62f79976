/* work_names.h: what the files and folders of a batch are called in the folder of its results.
 *
 *     struct buf name = {0};
 *     work_names_folder(&name, "a,head=2");            (a,head=2/weights.l00.h02.csv)
 */
#ifndef ATTN_CMD_WORK_NAMES_H
#define ATTN_CMD_WORK_NAMES_H

#include <stdbool.h>

#include "base/buf.h"

/* Append the name of a job as that of a folder: letters, digits and "-_.,=+" stay, all else is %XX,
 * and so is the first letter of what would be a name of the batch's own. No two jobs have the same;
 * a long one ends in a hash of it. */
void work_names_folder(struct buf *out, const char *job);

/* Whether a file that a journal or a manifest lists is one that a batch makes: ITEM/FILE, or a file
 * of results. */
bool work_names_lists(const char *file);

#endif
