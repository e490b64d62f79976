/* journal.h: lines that say what is finished, so that work that was interrupted can go on.
 *
 * The first lines, the head, say what the work is; each whole line after them is a piece of it that
 * is done. A journal gets its name with its head in it, so a file of that name without one is none.
 * The caller sees to it that no other process has it open (lock_file.h).
 *
 *     if (resume ? journal_resume(&journal, "out/journal", &head, err)
 *                : journal_begin(&journal, "out/journal", "out/draft", &head, err)) ...
 *     ... do the piece of work number journal.count ...
 *     if (journal_add(&journal, line, size, count, err)) ...
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
    size_t head_size; /* its bytes; what is after it are pieces */
    size_t size;
    size_t count; /* of pieces */
};

/* Lines, each with its end; `names` say what they are, for messages. */
struct journal_head {
    const char *const *names;
    const char *const *lines;
    size_t count;
};

/* Begin anew: the head is written to `draft`, which becomes `path`; whatever has that name is
 * replaced. On failure nothing is held. */
int journal_begin(struct journal *journal, const char *path, const char *draft,
                  const struct journal_head *head, struct err *err);

/* Go on: the pieces that are there count. Refused: a head that differs, by the name of its first
 * line that does, and a link. On failure nothing is held. */
int journal_resume(struct journal *journal, const char *path, const struct journal_head *head,
                   struct err *err);
void journal_close(struct journal *journal);

/* Add pieces that are done: whole lines. */
int journal_add(struct journal *journal, const char *lines, size_t size, size_t count,
                struct err *err);

/* Forget all pieces but the first ones. */
int journal_keep(struct journal *journal, size_t count, struct err *err);

/* Begin to read the pieces, or the head. */
int journal_read(const struct journal *journal, struct line_reader *reader, struct err *err);
int journal_read_head(const struct journal *journal, struct line_reader *reader, struct err *err);

#endif
