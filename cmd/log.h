/* log.h: what a batch has done, so that an interrupted one can continue and shards can be joined.
 *
 *     NAME.part     the log: one line of JSON per job in the order of the input, failures too
 *     NAME.batch    one header line: version, command, hashes of input and models, shard. Its lock
 *                   keeps other processes away; a second line says that all is done, and how it
 *                   ended.
 *
 * NAME is the path of -o without a slash at its end; with --shard I/N it is PATH.I-of-N. A line is
 *
 *     {"job": 3, …           of JSON and JSONL: the result itself
 *     {"job": 3, "output": … of other formats: the result's bytes, as a text
 *     {"job": 3, "folder": … of a folder: where the result's files are
 *     {"job": 3, "error": …  of any: the item failed
 *     {"state": …            what a command that accumulates has so far, from all lines before it
 *
 * When all jobs are done the log of JSONL is renamed to NAME; any other file is written from the
 * log; in a folder the log becomes DIR/items.jsonl. A shard keeps its log, for log_join. NAME.batch
 * stays, so that a finished batch that is resumed ends with the same status. Nothing else is
 * removed, and no other file is replaced.
 *
 *     if (log_open(&log, &plan, err)) ...
 *     for (job = plan.first + log.done; …; job++) {
 *         ... stream_text(&log.out, "{\"job\": …}\n"); log_count(&log, failed); ...
 *         if (log_flush(&log, err)) ...
 *     }
 *     if (log_finish(&log, err)) ...
 *     log_close(&log);
 */
#ifndef ATTN_CMD_LOG_H
#define ATTN_CMD_LOG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/stream.h"
#include "shard.h"

/* What must be the same for a batch to continue; as texts, so that a message can show both. */
struct log_head {
    const char *command; /* without options that no result depends on */
    const char *input;   /* each file that is read, with a hash */
    const char *models;  /* each model, with a hash of its files */
    const char *format;
    size_t jobs; /* of the whole batch */
};

struct log_plan {
    const char *path; /* -o */
    bool is_folder;
    struct job_shard shard;
    struct log_head head;
    bool resumes, forces; /* --resume, --force */
};

struct log {
    struct log_plan plan;
    const char *name, *part, *header; /* NAME, NAME.part, NAME.batch */
    int lock;                         /* a descriptor of NAME.batch; -1: none */
    int descriptor;                   /* of NAME.part; -1: none */
    struct stream out;                /* to the end of NAME.part */
    size_t first, end;                /* the jobs of the shard */
    size_t done, failed;              /* that are in the log; of them those that failed */
    struct buf failure;               /* the message of the first that failed */
    struct buf state;                 /* the last state, an object of JSON; empty: none */
    bool finished; /* NAME.batch says so: there is nothing to do but log_finish */
    struct arena arena;
};

/* Begin a batch; with `resumes` continue after the lines that are there, where the header is the
 * same, and otherwise say what differs. Refused: a place where another process is at work, where a
 * batch or a result is, unless it `forces`, and a file of another kind called NAME.batch. */
int log_open(struct log *log, const struct log_plan *plan, struct err *err);

/* Note that the line of a job is in `out`; `message`: it failed. */
void log_count(struct log *log, const char *message);

/* Write all lines so far to the file. */
int log_flush(struct log *log, struct err *err);

/* All jobs are done: say so, and make the result of the log. */
int log_finish(struct log *log, struct err *err);
void log_close(struct log *log);

/* Remove what a process that was killed left half written in a folder of results. */
int log_clear_folder(const char *path, struct err *err);

/* Put the logs of all shards together, in the order of their jobs, and write the result to `path`
 * (NULL: standard output). Each of `paths` is NAME.part of a shard. Refused: shards that do not
 * belong together, that are missing, unfinished or there twice. `total` becomes the sum of all. */
int log_join(struct log *total, const char *const *paths, size_t count, const char *path,
             struct err *err);

#endif
