/* work_own.h: what is in .attn-cli, where a batch keeps what is only its own: nothing else may be
 * there, for what is in `new` goes whenever a batch begins or ends.
 *
 * There was a batch where a journal, a manifest or a lock is; only then can anything be left over:
 *
 *     lock           begins with `process`, or is a part of that
 *     sums, replace
 *     new/           what has a name in the folder of results, ITEM/ with files of a format, and
 *                    temporary files of these
 */
#ifndef ATTN_CMD_WORK_OWN_H
#define ATTN_CMD_WORK_OWN_H

#include <stdbool.h>

#include "base/err.h"
#include "work_folder.h"

/* Refuse what no batch has put there; `worked`: there was one. */
int work_own_check(const struct work_folder *folder, bool worked, struct err *err);

/* Whether a batch has left its lock. */
bool work_own_has_lock(const struct work_folder *folder);

#endif
