/* store.h: where the results of a batch go, item after item in the order of the input.
 *
 * JSON lines on standard output, or in a folder (work_folder.h) lines, or files of any format. In a
 * folder a journal says what is done: a process that is killed at any moment leaves a folder that
 * another one can go on with (--resume), and what is there in the end has the same bytes.
 *
 *     struct store store = {0};
 *     if (store_open(&store, &plan, err)) ...
 *     ... skip the first store.done jobs; for each of the others, in order: ...
 *     if (store_add(&store, &outcome, err)) ...
 *     if (store_settle(&store, err)) ...                                 (after some of them)
 *     if (store_finish(&store, err)) ...
 *     store_close(&store);
 */
#ifndef ATTN_CMD_STORE_H
#define ATTN_CMD_STORE_H

#include "lens/report.h"
#include "lens/viewer.h"
#include "manifest.h"
#include "store_plan.h"
#include "jobs.h"

struct store {
    const struct store_plan *plan;
    struct work_folder folder;
    struct journal journal;
    struct stream lines; /* to standard output, or to a draft of results.jsonl */
    int descriptor;      /* of results.jsonl … */
    int draft;           /* … and of its draft; -1: there is none */
    size_t appended;     /* bytes of `lines` that are no draft any more */
    struct buf pieces;   /* of items that are not in the journal yet … */
    size_t piece_count;  /* … so many */
    size_t done;         /* items that were finished before, or are now */
    size_t failed;       /* of them */
    struct buf failure;  /* message of the first item to fail in this process; may be empty */
    size_t to_retry;     /* of those that this process did */
    size_t resumed;      /* items that another process had finished */
    bool complete;       /* it had finished all */
    bool retries;        /* … but for items that failed because of the machine, or went since */
};

/* Begin, or go on where --resume says so and there is something to go on with. `head` describes the
 * batch; it is not asked for on standard output. */
int store_open(struct store *store, const struct store_plan *plan, const struct journal_head *head,
               struct err *err);

/* What an item came to. */
struct outcome {
    const struct job *job;
    const struct item_fault *fault; /* NULL: it went well */
    const struct text_pair *pair;
    const struct report *report; /* where matrices are kept … */
    const struct place *page;
};

int store_add(struct store *store, const struct outcome *outcome, struct err *err);

/* An item that another process had finished, by its piece of the journal. */
int store_adopt(struct store *store, const char *piece, size_t size, bool failed, struct err *err);

/* Let what was done so far count, whatever happens next. */
int store_settle(struct store *store, struct err *err);

/* All items are done: give the results their names. */
int store_finish(struct store *store, struct err *err);
void store_close(struct store *store);

/* --- for its own files ------------------------------------------------------------------------ */

/* Nothing is there: make the journal. */
int store_begin(struct store *store, const struct journal_head *head, struct err *err);

/* A journal is there, which must be that of this batch. Refused, before anything is changed:
 * results that are not as it says. Then forget pieces from the first one on whose results are not
 * there, cut off what is after the others, and count them. */
int store_resume(struct store *store, const struct journal_head *head, struct err *err);

/* All is done: the manifest, or the record of a single file, must be that of this batch, and all
 * files be as that says, or missing. */
int store_check_complete(struct store *store, const struct journal_head *head, struct err *err);

/* All is done, but items failed because of the machine, or files are missing: the manifest becomes
 * a journal again, from the first of them on all is to be done anew, and the batch is no longer
 * complete: results stand in the order of the input. A single file stays as it is. */
int store_reopen(struct store *store, const struct journal_head *head, struct err *err);

/* The lines of all items, on standard output or in results.jsonl. In a folder they are drafted
 * first. Once the journal has their sizes and hashes they are appended, so that results.jsonl never
 * has a byte that the journal does not know: whatever is after these, or is not as they were, is
 * someone else's. */
int store_lines_open(struct store *store, struct err *err);
void store_lines_close(struct store *store);

/* Say in the journal's piece what was written since the stream had so many bytes. */
int store_lines_note(struct store *store, size_t before, struct err *err);

/* What was written so far is where it can be read; then append the draft, and begin another. */
int store_lines_flush(struct store *store, struct err *err);
int store_lines_append(struct store *store, struct err *err);

/* All lines were appended: results.jsonl must have them, as the journal says, and no more; another
 * process may have written to it. */
int store_lines_check(struct store *store, struct err *err);

#endif
