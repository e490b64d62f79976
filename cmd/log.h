/* log.h: the record of a batch, so that an interrupted one can continue and shards can be joined.
 *
 *     NAME.part     the log: one line of JSON per job in the order of the input, failures too
 *     NAME.batch    one header line: version, command, hashes of input and models, shard. Its lock
 *                   keeps other processes away. A second line says that all jobs are done, and how
 *                   many failed.
 *
 * NAME is the path of -o without a slash at its end; with --shard I/N it is PATH.I-of-N. A line is
 *
 *     {"job": 3, …           JSON and JSONL: the result itself
 *     {"job": 3, "output": … other formats: the result's bytes in hexadecimal; of the first also
 *                            those that it has after others, as "next"
 *     {"job": 3, "folder": … a folder: the name of the result's own folder
 *     {"job": 3, "error": …  any format: the item failed
 *
 * When all jobs are done the log of JSONL is renamed to NAME; any other file is written from the
 * log; in a folder the log becomes DIR/items.jsonl. A shard keeps its log, for log_join. NAME.batch
 * stays, so that a finished batch that is resumed ends with the same status. Nothing else is
 * removed, and no other file is replaced.
 *
 *     if (log_open(&log, &plan, err)) ...
 *     for (job = log.first + log.done; job < log.end; job++) {
 *         ... stream_text(&log.out, "{\"job\": …}\n"); log_count(&log, message); ...
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
#include "sweep.h"

/* What must be the same for a batch to continue, as texts that a message can show. */
enum log_fact {
    LOG_VERSION,
    LOG_COMMAND, /* without options that do not change results */
    LOG_INPUT,   /* each file that is read, with a hash */
    LOG_MODELS,  /* each model, with a hash of its files */
    LOG_RESULTS, /* the format: "csv", "folder of csv" */
    LOG_JOBS,    /* of the whole batch */
    LOG_SHARD,   /* 2/16; 1/1 without --shard */
    LOG_FACTS
};

extern const char *const log_fact_names[LOG_FACTS];

struct log_plan {
    const char *path; /* -o */
    bool is_folder;
    struct job_shard shard;
    size_t jobs;                  /* of the whole batch */
    const char *facts[LOG_FACTS]; /* log_open fills in the version, the jobs and the shard */
    bool resumes, forces;         /* --resume, --force */
};

struct log {
    struct log_plan plan;
    const char *name, *part, *header; /* NAME, NAME.part, NAME.batch */
    const char *facts[LOG_FACTS];     /* that NAME.batch has; NULL: there is no header yet */
    int lock;                         /* a descriptor of NAME.batch; -1: none */
    int descriptor;                   /* of NAME.part; -1: none */
    struct stream out;                /* to the end of NAME.part */
    size_t first, end;                /* the jobs of the shard */
    size_t done, failed;              /* jobs in the log; and those of them that failed */
    struct buf failure;               /* the message of the first that failed */
    bool finished;                    /* all jobs are done: only log_finish remains */
    const char **parts;               /* [part_count] joined logs, in the order of their jobs */
    size_t part_count;
    struct arena arena;
};

/* Begin a batch. With `resumes` continue after the lines that are there if the header is the same,
 * otherwise name the difference. Refused: a place where another process is at work, where a batch
 * or a result is, unless it `forces`, and a file of another kind called NAME.batch. */
int log_open(struct log *log, const struct log_plan *plan, struct err *err);

/* The line of a job is in `out`; `message`: it failed. */
void log_count(struct log *log, const char *message);

/* Write all lines so far to the file. */
int log_flush(struct log *log, struct err *err);

/* All jobs are done: note that, and make the result from the log. */
int log_finish(struct log *log, struct err *err);
void log_close(struct log *log);

/* Open the logs of all shards, each of `paths` a NAME.part: `joined` gets their facts, the sum of
 * their jobs and failures, and their order. Refused: shards that do not belong together, that are
 * missing, unfinished or there twice. */
int log_join(struct log *joined, const char *const *paths, size_t count, struct err *err);

/* The header of one shard's log; log_close releases it. */
int log_read(struct log *log, const char *path, struct err *err);

/* Write the results of a log, or of joined ones, to `path` (NULL: standard output; of a folder:
 * DIR/items.jsonl), JSON lines as an array if `is_array`. A log that lacks a job is refused. */
int log_write_results(struct log *log, const char *path, bool is_array, struct err *err);

#endif
