/* store_lines.h: the lines of all items, on standard output or in results.jsonl.
 *
 * In a folder lines are drafted first. Once the journal has their sizes and hashes they are
 * appended, so that results.jsonl never has a byte that the journal does not know: whatever is
 * after these, or is not as they were, is someone else's.
 *
 *     if (store_lines_open(store, err)) ...
 *     ... write to store->lines ...
 *     if (store_lines_note(store, bytes_before, err)) ...              (adds to store->pieces)
 *     if (store_lines_flush(store, err) || journal_add(...) || store_lines_append(store, err)) ...
 *     store_lines_close(store);
 */
#ifndef ATTN_CMD_STORE_LINES_H
#define ATTN_CMD_STORE_LINES_H

#include "store.h"

int store_lines_open(struct store *store, struct err *err);
void store_lines_close(struct store *store);

/* Say in the journal's piece what was written since the stream had so many bytes. */
int store_lines_note(struct store *store, size_t before, struct err *err);

/* What was written so far is where it can be read. */
int store_lines_flush(struct store *store, struct err *err);

/* Append the draft, and begin another. */
int store_lines_append(struct store *store, struct err *err);

#endif
