/* store_resume.h: what a process finds that goes on where another one ended. */
#ifndef ATTN_CMD_STORE_RESUME_H
#define ATTN_CMD_STORE_RESUME_H

#include "store.h"

/* The journal is open: forget pieces whose results are not whole, cut off what is behind the
 * others, count them, and read their sums. */
int store_resume(struct store *store, struct err *err);

/* Cut results.jsonl off; nothing where there is none. */
int store_truncate(struct store *store, size_t size, struct err *err);

/* All is done: the manifest must be that of this batch. */
int store_check_complete(struct store *store, const struct journal_head *head, struct err *err);

/* All is done, but items failed because of the machine: the manifest becomes a journal again, up to
 * the first of them, and the batch is no longer complete. What is behind is done anew: results
 * stand in the order of the input. */
int store_reopen(struct store *store, const struct journal_head *head, struct err *err);

#endif
