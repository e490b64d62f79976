/* journal.h: lines that say what is finished, so that work that was interrupted can go on.
 *
 * The first lines, the head, say what the work is; each line behind them is a piece of it that is
 * done. A line counts when it is whole. Whoever has the journal open has it alone.
 *
 *     struct journal journal = {0};
 *     if (journal_open(&journal, "out/journal", err) ||
 *         (resume ? journal_resume : journal_begin)(&journal, &head, err)) ...
 *     ... do the piece of work number journal.count ...
 *     if (journal_add(&journal, line, size, err)) ...
 *     journal_close(&journal);
 */
#ifndef ATTN_BASE_JOURNAL_H
#define ATTN_BASE_JOURNAL_H

#include <stddef.h>

#include "base/err.h"
#include "base/line_reader.h"

struct journal {
    int descriptor;
    char *path;       /* NULL: closed */
    size_t head_size; /* its bytes; what is behind it are pieces */
    size_t size;
    size_t count; /* of pieces */
};

/* Lines, each with its end; `names` say what they are, for messages. */
struct journal_head {
    const char *const *names;
    const char *const *lines;
    size_t count;
};

/* Open the file, which is made if it is not there, and lock it. On failure nothing is held. */
int journal_open(struct journal *journal, const char *path, struct err *err);
void journal_close(struct journal *journal);

/* Begin anew, or go on: the pieces that are there count. A head that differs is refused, by the
 * name of its first line that does; one that is not whole is no head: the work begins anew. */
int journal_begin(struct journal *journal, const struct journal_head *head, struct err *err);
int journal_resume(struct journal *journal, const struct journal_head *head, struct err *err);

/* Add pieces that are done: whole lines. */
int journal_add(struct journal *journal, const char *lines, size_t size, size_t count,
                struct err *err);

/* Forget all pieces but the first ones. */
int journal_keep(struct journal *journal, size_t count, struct err *err);

/* Begin to read the pieces, or the head. */
int journal_read(const struct journal *journal, struct line_reader *reader, struct err *err);
int journal_read_head(const struct journal *journal, struct line_reader *reader, struct err *err);

#endif
