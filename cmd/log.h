/* log.h: the log of a batch, from which an interrupted batch continues and shards are joined.
 *
 *     NAME.part     the log: one line of JSON per job, in order, failures too; if all items of a
 *                   setting have one result, the setting is one job
 *     NAME.batch    a header line: version, command, hashes of input and models, shard. Its lock
 *                   keeps other processes away. Then a checksum for each line of the log, and, when
 *                   all jobs are done, a last line with the number of failures.
 *
 * NAME is the path of -o without a final slash; with --shard I/N it is PATH.I-of-N. A line is
 *
 *     {"job": 3, …           JSON and JSONL: the result itself
 *     {"job": 3, "output": … other formats: the bytes of the result in hexadecimal; the first
 *                            result also has its bytes as a later result, as "next"
 *     {"job": 3, "folder": … a folder: the name of the result's own folder
 *     {"job": 3, "error": …  any format: the item failed
 *
 * When all jobs are done, the result is written from the log to NAME or, for a folder, to
 * DIR/items.jsonl; a log of JSONL is renamed to NAME. A shard keeps its log for log_join.
 * NAME.batch remains, so that --resume on a finished batch returns the same status.
 *
 *     struct log log = {.arena = &arena, .path = "out.csv", .jobs = 100, .facts = …};
 *     if (log_open(&log, err)) ...
 *     for (job = log.first + log.done; job < log.end; job++)
 *         ... write a line to log.out, then call log_end_line(&log) ...
 *     if (log_finish(&log, failed, failure, err)) ...
 *     log_close(&log);
 */
#pragma once

#include "base/memory.h"
#include "base/stream.h"
#include "sweep.h"

/* Facts in NAME.batch, as texts. A batch continues only if all facts of the header are the same. */
enum log_fact {
    LOG_VERSION,
    LOG_COMMAND, /* the command line, without options that do not affect results */
    LOG_INPUT,   /* each input file with a hash */
    LOG_MODELS,  /* each model with a hash of its files (of the weights, a sample) */
    LOG_RESULTS, /* the format of results: "csv", "folder of csv" */
    LOG_JOBS,    /* number of jobs of the whole batch */
    LOG_SHARD,   /* the shard, such as 2/16; 1/1 without --shard */
    LOG_FAILED,  /* in the last line: number of failed jobs */
    LOG_FAILURE, /* in the last line: message of the first failure */
    LOG_FACTS
};

struct log {
    /* The next members are set by the caller of log_open. */
    const char *path;      /* the path of -o; log_open removes a final slash */
    struct arena *arena;   /* memory of the log; must outlive the log */
    const char *rows_path; /* path of the file about rows (output_rows_path), or NULL */
    bool is_folder;
    bool resumes, forces; /* set by --resume and --force */
    struct job_shard shard;
    size_t jobs;                  /* number of jobs of the whole batch */
    const char *facts[LOG_FACTS]; /* log_open adds version, jobs and shard; log_join reads all */

    /* The next members are set by log_open and the other functions of this file. */
    const char *name, *part, *header; /* NAME, NAME.part, NAME.batch */
    size_t first, end;                /* range of jobs of the shard, without `end` */
    size_t done, failed;  /* `done`: number of jobs in the log; `failed`: how many of them failed */
    const char *failure;  /* message of the first failure, or NULL */
    size_t header_bytes;  /* size of the first line of NAME.batch; 0: no header yet */
    size_t whole_bytes;   /* size of the complete lines of NAME.part */
    const char *old_sums; /* the checksums in NAME.batch when it was opened */
    size_t old_sum_count;
    bool finished;              /* all jobs are done: only log_finish is still to be called */
    struct stream out, sums;    /* `out` appends to NAME.part, `sums` to NAME.batch */
    uint64_t sum;               /* checksum of the bytes of the current line so far */
    int part_file, header_file; /* descriptors; header_file is locked; 0: not open */
};

/* Begin a batch; with `resumes`, continue it after the last complete line with a checksum. Refused:
 * with `resumes`, a batch whose header has another fact, which the message names, or with a line
 * that differs from its checksum; without `forces`, an existing result, or a batch that is not
 * resumed; an output that another process writes; a NAME.batch or NAME.part that no batch wrote. */
int log_open(struct log *log, struct err *err);

/* Add the checksum of a line that was written to `out`. */
void log_end_line(struct log *log);

/* Write all buffered lines to the files, after the folders that the lines name are on disk. If
 * `log` is NULL, do nothing. */
int log_flush(struct log *log, struct err *err);

/* Finish after the last job: add the number of failures and the message of the first one to
 * NAME.batch and, without --shard, write the result. */
int log_finish(struct log *log, size_t failed, const char *failure, struct err *err);
void log_close(struct log *log);

/* Read the headers of all shards; `paths` are their NAME.part files. Returns the logs in the order
 * of shards, in the arena, or NULL. Refused: shards of different batches; missing, unfinished or
 * repeated shards. */
struct log **log_join(const char *const *paths, size_t count, struct arena *arena, struct err *err);

/* Write the results of `logs`, in order, to `path` (opened by output_to; for a folder,
 * DIR/items.jsonl), in the format of the first log. A log that lacks one of its jobs is refused. */
int log_write_results(struct log *const *logs, size_t count, const char *path, struct err *err);
