/* work_record.h: what a journal or a manifest that lies somewhere says: whether a batch wrote it,
 * which one, how that ended, and which files it made.
 *
 *     enum record_kind kind;
 *     if (work_record_look(&kind, "out/manifest.json", err)) ...
 *     if (kind == RECORD_OF_BATCH &&
 *         work_record_check("out/manifest.json", &head, &ending, err)) ...
 */
#ifndef ATTN_CMD_WORK_RECORD_H
#define ATTN_CMD_WORK_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/journal.h"
#include "base/sha256.h"
#include "format/json.h"

enum record_kind {
    RECORD_NONE,
    RECORD_OF_BATCH, /* a regular file that begins as every journal and manifest does … */
    RECORD_CUT,      /* … but has not all of a journal's head, or not the end of a manifest */
    RECORD_OTHER,
};

int work_record_look(enum record_kind *kind, const char *path, struct err *err);

/* True for a journal that was a manifest: what it lists is being removed, to begin anew. */
bool work_record_is_cleared(const char *journal);

/* How a batch ended. */
struct record_ending {
    size_t failed;                  /* items */
    size_t to_retry;                /* of them, where the record lists none */
    char sha256[SHA256_DIGITS + 1]; /* of the one file of results; "": it is none, or several */
};

/* Read a manifest, which must be that of this batch: refused is another by the name of the first
 * line that differs. `ending` may be NULL. */
int work_record_check(const char *path, const struct journal_head *head,
                      struct record_ending *ending, struct err *err);

/* The files that a line of a journal or a manifest lists; NULL: it lists none. `*root` holds them
 * and is to be freed. */
const struct json *work_record_files(struct json **root, const char *line, size_t size);

/* Give every line to `see`, until that fails; nothing where there is no such file. */
int work_record_walk(const char *path,
                     int (*see)(void *context, char *line, size_t size, struct err *err),
                     void *context, struct err *err);

#endif
