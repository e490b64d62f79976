/* manifest.h: what a batch was and what came of it: `manifest.json` in the folder of its results.
 *
 *     {
 *      "version": "0.1.0",
 *      "command": ["attn-cli", "batch", "sentences.txt", "--layer", "5"],
 *      "input": {"path": "sentences.txt", "bytes": 812, "sha256": "…"},
 *      "models": [{"model": "life", "files": [{"file": "config.json", …}, …], "config": {…}}],
 *      "items": [
 *       {"id": "0000", "line": 1, "ids": [0, 4, 5], "files": [{"file": "0000/weights.l00.h00.csv",
 *         "bytes": 95, "sha256": "…"}, …]},
 *       {"id": "0001", "line": 2, "error": {"status": 3, "message": "…"}},
 *       {"id": "0002", "line": 3, "error": {"status": 3, "message": "out of …", "retry": true}}],
 *      "files": [],
 *      "count": 3,
 *      "failed": 2}
 *
 * An item whose results are lines of a file of all has their "bytes" and "sha256" instead of
 * "files". The lines up to the items are the head of the journal, the items its pieces: a manifest
 * is a journal that came to its end. The command is told without what does not change results:
 * threads, shards, where to. A shard says which one it is in a line of its own. The manifest of a
 * single file, FILE.manifest, has no items.
 */
#ifndef ATTN_CMD_MANIFEST_H
#define ATTN_CMD_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/journal.h"
#include "shard.h"

struct items;
struct job;
struct open_models;

enum { MANIFEST_LINES = 5 };

struct manifest {
    const char *names[MANIFEST_LINES];
    const char *lines[MANIFEST_LINES];
    struct journal_head head; /* them */
    struct arena arena;
};

/* Describe a batch before it begins: hash its input and its models. On failure nothing is held. */
int manifest_open(struct manifest *manifest, const struct items *items,
                  const struct open_models *models, const struct job_shard *shard, struct err *err);
void manifest_release(struct manifest *manifest);

/* Append {"file": "…", "bytes": 12, "sha256": "…"} of a file in a folder; the same by the name that
 * it is to have. */
int manifest_file(struct buf *out, const char *folder, const char *file, struct err *err);
int manifest_file_as(struct buf *out, const char *folder, const char *file, const char *name,
                     struct err *err);

/* Append what a job is: "id": "a", "conditions": {"side": "left"}, "sweep": {"head": "2"},
 * "repeat": 1. */
void manifest_identity(struct buf *out, const struct job *job);

/* What was wrong with one: nothing where the kind is ERR_NONE. */
struct item_fault {
    enum err_kind kind;
    bool retry; /* the machine was at fault: another time it may go well */
    const char *message;
};

/* Append it: "error": {"status": 3, "message": "…"}. */
void manifest_error(struct buf *out, const struct item_fault *fault);

/* Of the items of a batch. */
struct manifest_counts {
    size_t failed;
    size_t to_retry; /* of them, for want of memory */
};

/* Write the manifest from a journal; `files` are those of all items, as manifest_file has them,
 * with commas between. That of a single file, which may be small, leaves its items out, and says
 * how many --resume would try again. */
int manifest_write(const char *path, const struct journal *journal, const char *files,
                   struct manifest_counts counts, bool with_items, struct err *err);

#endif
