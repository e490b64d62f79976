/* work_clear.h: what an earlier batch left in its folder goes, and nothing else does.
 *
 * The folder is locked. What goes is what its journal or manifest lists, and the files of results
 * that its command makes.
 */
#ifndef ATTN_CMD_WORK_CLEAR_H
#define ATTN_CMD_WORK_CLEAR_H

#include <stddef.h>

#include "base/err.h"
#include "work_folder.h"

/* Begin anew: all of it goes but the record, which is a journal then and is to be replaced by
 * another: who is killed meanwhile leaves an unfinished batch. Whether all can go is asked before
 * (work_claims.h). */
int work_clear(struct work_folder *folder, struct err *err);

/* What a line of the journal lists goes. */
int work_clear_line(const struct work_folder *folder, const char *line, size_t size,
                    struct err *err);

/* The journal, or the manifest. */
const char *work_clear_record(const struct work_folder *folder);

/* What sees all that would go: the lines of the record, and the names of results that are in none
 * of them. */
struct work_clear_walk {
    int (*line)(void *context, char *line, size_t size, struct err *err);
    int (*result)(void *context, const char *name, struct err *err);
    void *context;
};

int work_clear_walk(const struct work_folder *folder, const struct work_clear_walk *walk,
                    struct err *err);

#endif
