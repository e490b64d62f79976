/* store_resume.h: what a process finds that goes on where another one ended. */
#ifndef ATTN_CMD_STORE_RESUME_H
#define ATTN_CMD_STORE_RESUME_H

#include "store.h"

/* Nothing is there: make the journal. */
int store_begin(struct store *store, const struct journal_head *head, struct err *err);

/* A journal is there, which must be that of this batch. Refused, before anything is changed:
 * results that are not as it says. Then forget pieces from the first one on whose results are not
 * there, cut off what is after the others, count them, and read their sums. */
int store_resume(struct store *store, const struct journal_head *head, struct err *err);

/* All lines were appended: results.jsonl must have them, as the journal says, and no more; another
 * process may have written to it. */
int store_check_lines(const struct store *store, struct err *err);

/* All is done: the manifest, or the record of a single file, must be that of this batch, and all
 * files be as that says, or missing. */
int store_check_complete(struct store *store, const struct journal_head *head, struct err *err);

/* All is done, but items failed because of the machine, or files are missing: the manifest becomes
 * a journal again, from the first of them on all is to be done anew, and the batch is no longer
 * complete: results stand in the order of the input. A single file stays as it is. */
int store_reopen(struct store *store, const struct journal_head *head, struct err *err);

#endif
