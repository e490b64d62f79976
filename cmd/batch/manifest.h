/* manifest.h: the lines of a journal or a manifest: what a batch is, and what an item came to.
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
 * A model in bf16 has a "bf16" beside its name: how its products are summed (kernel.h). What
 * edits take values of stands beside the input: "edits": [{"path": "steer.npy", …}]. An item
 * whose results are lines of a file of all has their "bytes" and "sha256" instead of "files". The
 * lines up to the items are the head of the journal, the items its pieces. The command is told
 * without what does not change results: threads, shards, where to. A shard says which one it is in
 * a line of its own. The manifest of a single file, FILE.manifest, has no items.
 */
#ifndef ATTN_CMD_MANIFEST_H
#define ATTN_CMD_MANIFEST_H

#include "jobs.h"
#include "journal.h"
#include "shard.h"

struct open_models;

struct manifest {
    const char *names[HEAD_LINES_MAX];
    const char *lines[HEAD_LINES_MAX];
    struct journal_head head; /* them */
    struct arena arena;
};

/* Describe a batch before it begins: hash its input and its models. On failure nothing is held. */
int manifest_open(struct manifest *manifest, const struct items *items,
                  const struct open_models *models, const struct job_shard *shard, struct err *err);
void manifest_release(struct manifest *manifest);

/* Append {"file": "NAME", "bytes": 12, "sha256": "…"} of a folder's file, which will have NAME. */
int manifest_file(struct buf *out, const char *folder, const char *file, const char *name,
                  struct err *err);

/* Append a job's "id": "a", "conditions": {"side": "left"}, "sweep": {"head": "2"}, "repeat": 1. */
void manifest_identity(struct buf *out, const struct job *job);

/* What was wrong with one: nothing where the kind is ERR_NONE. */
struct item_fault {
    enum err_kind kind;
    bool retry; /* the machine was at fault: another time it may go well */
    const char *message;
};

/* Append it: "error": {"status": 3, "message": "…"}. */
void manifest_error(struct buf *out, const struct item_fault *fault);

/* The command line that a record has kept, as options again; texts are the arena's. Refused is what
 * is never kept: where results go, which part of them a process makes, what it may replace. */
bool manifest_is_command(const char *line, size_t size);
int manifest_read_command(struct options *options, const char *line, size_t size,
                          struct arena *arena, struct err *err);

#endif
