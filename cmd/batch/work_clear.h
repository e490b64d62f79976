/* work_clear.h: what an earlier batch left in its folder goes, and nothing else does.
 *
 * The folder is locked. What goes is what its journal or manifest lists, and the files of results
 * that its command makes. A record that lists what no batch makes is refused before anything is
 * removed.
 */
#ifndef ATTN_CMD_WORK_CLEAR_H
#define ATTN_CMD_WORK_CLEAR_H

#include <stddef.h>

#include "base/err.h"
#include "work_folder.h"

/* Begin anew: all of it goes but the record, which is a journal then and is to be replaced by
 * another: who is killed meanwhile leaves an unfinished batch. */
int work_clear(struct work_folder *folder, struct err *err);

/* What a line of the journal lists goes. */
int work_clear_line(const struct work_folder *folder, const char *line, size_t size,
                    struct err *err);

#endif
