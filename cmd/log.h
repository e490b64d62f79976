/* log.h: the record of a batch, so that an interrupted batch can continue and shards can be joined.
 *
 *     NAME.part     the log: one line of JSON per job in the order of the input, failures too
 *     NAME.batch    a header line: version, command, hashes of input and models, shard. Its lock
 *                   keeps other processes away. A second line says that all jobs are done, and how
 *                   many failed.
 *
 * NAME is the path of -o without a final slash; with --shard I/N it is PATH.I-of-N. A line is
 *
 *     {"job": 3, …           JSON and JSONL: the result itself
 *     {"job": 3, "output": … other formats: the bytes of the result in hexadecimal; the first
 *                            result also has its bytes after other results, as "next"
 *     {"job": 3, "folder": … a folder: the name of the result's own folder
 *     {"job": 3, "error": …  any format: the item failed
 *
 * When all jobs are done, the log of JSONL is renamed to NAME; any other file is written from the
 * log; in a folder the log becomes DIR/items.jsonl. A shard keeps its log, for log_join. NAME.batch
 * stays, so that a finished batch that is resumed ends with the same status. Nothing else is
 * removed, and no other file is replaced.
 *
 *     struct log log = {.arena = &arena, .path = "out.csv", .jobs = 100, .facts = …};
 *     if (log_open(&log, err)) ...
 *     for (job = log.first + log.done; job < log.end; job++)
 *         ... write a line to log.out ...
 *     if (log_finish(&log, failed, failure, err)) ...
 *     log_close(&log);
 */
#ifndef ATTN_CMD_LOG_H
#define ATTN_CMD_LOG_H

#include "base/arena.h"
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
    LOG_FAILED,  /* at the end: how many jobs failed, */
    LOG_FAILURE, /* and the message of the first of them */
    LOG_FACTS
};

struct log {
    /* The caller's: */
    const char *path;    /* -o; log_open removes a final slash */
    struct arena *arena; /* lives longer than the log */
    bool is_folder;
    bool resumes, forces; /* --resume, --force */
    struct job_shard shard;
    size_t jobs;                  /* of the whole batch */
    const char *facts[LOG_FACTS]; /* log_open adds the version, jobs and shard, log_join all */

    /* The log's: */
    const char *name, *part, *header; /* NAME, NAME.part, NAME.batch */
    size_t first, end;                /* jobs of the shard */
    size_t done, failed;              /* jobs in the log, and how many failed */
    const char *failure;              /* message of the first that failed, or NULL */
    size_t header_bytes;              /* of the first line of NAME.batch; 0: there was none */
    size_t whole_bytes;               /* of the whole lines that NAME.part had */
    bool finished;                    /* all jobs are done: only log_finish remains */
    struct stream out;                /* to the end of NAME.part */
    int part_file, header_file;       /* descriptors, the second locked; 0: none */
};

/* Begin a batch, or with `resumes` continue after the last whole line. Refused: another header (the
 * difference is named); a place where another process is writing, or where a batch or a result is,
 * unless it `forces`; and a file of another kind called NAME.batch. */
int log_open(struct log *log, struct err *err);

/* Write all lines so far to the file, after the files of their folders; NULL: no log, no lines. */
int log_flush(struct log *log, struct err *err);

/* All jobs are done and flushed, `failed` of them failed, the first with that message: note it in
 * NAME.batch, and write the result. */
int log_finish(struct log *log, size_t failed, const char *failure, struct err *err);
void log_close(struct log *log);

/* The logs of all shards in their order, each of `paths` a NAME.part; NULL with `err`. Refused:
 * shards that do not belong together, that are missing, unfinished or given twice. */
struct log **log_join(const char *const *paths, size_t count, struct arena *arena, struct err *err);

/* Write the results of logs in their order to `path` (as output_to; of a folder DIR/items.jsonl) in
 * the format that the first one names. A log that lacks a job is refused. */
int log_write_results(struct log *const *logs, size_t count, const char *path, struct err *err);

#endif
