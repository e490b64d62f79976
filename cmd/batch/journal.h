/* journal.h: what a batch writes of itself: which one it is, and what of it is done.
 *
 *     journal          while it goes on: the lines of its head, then a piece, a line of JSON, for
 *                      each item that is done; manifest.h has an example
 *     manifest.json    all of that as one object, and how it ended: a journal that came to its end
 *     FILE.manifest    the same of a single file, without pieces
 *
 * A journal gets its name with its head in it, so a file of that name without one is none. One
 * process writes it (work_folder.h has the lock); what goes on, begins anew or merges reads:
 *
 *     if (resume ? journal_resume(&journal, "out/journal", &head, err)
 *                : journal_begin(&journal, "out/journal", "out/draft", &head, err)) ...
 *     if (journal_add(&journal, line, size, count, err)) ...
 *
 *     if (record_open_shard(&record, "parts.1-of-3", err)) ...
 *     while ((found = record_next(&record, err)) > 0)
 *         use(record.root, record.files);
 *     record_close(&record);
 */
#ifndef ATTN_CMD_JOURNAL_H
#define ATTN_CMD_JOURNAL_H

#include "base/arena.h"
#include "base/line_reader.h"
#include "format/json.h"

enum { HEAD_LINES_MAX = 5 }; /* version, command, input, models; shard, where it is one */

/* Lines, each with its end; `names` say what they are, for messages. */
struct journal_head {
    const char *const *names;
    const char *const *lines;
    size_t count;
};

/* --- one that is written ---------------------------------------------------------------------- */

struct journal {
    int descriptor;
    const char *path; /* borrowed; NULL: closed */
    size_t head_size; /* its bytes; what is after it are pieces */
    size_t size;
    size_t count; /* of pieces */
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

/* Forget all pieces but the first ones, which have so many bytes. */
int journal_keep(struct journal *journal, size_t count, size_t size, struct err *err);

/* How a batch ended. */
struct journal_end {
    const char *files; /* those of no item, as manifest_file has them, with commas between */
    size_t failed;     /* items */
    size_t to_retry;   /* of them, because of the machine */
    bool with_items;   /* else, as of a single file, the record may be small: it has only counts */
};

/* Write the manifest. */
int journal_finish(const struct journal *journal, const char *manifest,
                   const struct journal_end *end, struct err *err);

/* --- one that is read ------------------------------------------------------------------------- */

struct record {
    const char *path, *folder;         /* a shard's folder; borrowed, as the path of others */
    const char *lines[HEAD_LINES_MAX]; /* a shard's: its head, each line with its end */
    size_t line_count;
    const char *line; /* the one that was read last, until the next one is … */
    size_t size;
    struct json *root;        /* … parsed; NULL where it is no JSON for itself … */
    const struct json *files; /* … and those that it lists; NULL: it lists none */
    bool of_item;             /* it is a piece, and nothing else */
    enum record_state { RECORD_ANY, RECORD_IN_ITEMS, RECORD_AT_FILES, RECORD_AT_END } state;
    bool is_owned; /* the descriptor */
    struct line_reader reader;
    struct arena arena;
};

enum record_kind {
    RECORD_NONE,
    RECORD_JOURNAL,  /* a regular file that begins as every journal does … */
    RECORD_MANIFEST, /* … or as every manifest … */
    RECORD_CUT,      /* … but has not all of a journal's head, or not the end of a manifest */
    RECORD_OTHER,
};

/* What has a path, whatever it is. */
int record_look(enum record_kind *kind, const char *path, struct err *err);

/* Read all lines of a record; the pieces of a journal; or the manifest of a shard, where the head
 * is read at once, anything that is not as batch writes it is refused, and after the items come the
 * files of no item. A folder without a manifest is a shard that is not finished. */
int record_open(struct record *record, const char *path, struct err *err);
int record_open_pieces(struct record *record, const struct journal *journal, struct err *err);
int record_open_shard(struct record *record, const char *folder, struct err *err);
void record_close(struct record *record);

/* Read the next line: 1, 0 at the end, -1 on failure. */
int record_next(struct record *record, struct err *err);

/* Refuse, before anything else is read, a record of another batch, by the name of the first line
 * that differs. */
int record_check_head(struct record *record, const struct journal_head *head, struct err *err);

/* The count that a line of a manifest has by that name, which is left alone by others. */
void record_count(size_t *count, const struct record *record, const char *name);

/* Whether a line is of an item that failed, because of the machine. */
bool record_is_to_retry(const struct record *record);

/* An entry of a list of files, {"file": …, "bytes": …, "sha256": …}, or what a piece says of its
 * lines. */
struct listed_file {
    const char *name; /* NULL: none that a batch makes */
    size_t bytes;
    const char *sha256; /* "": none */
};

struct listed_file record_file(const struct json *entry);

#endif
