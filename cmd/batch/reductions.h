/* reductions.h: what --reduce finds: a reduction for every group of jobs that are computed alike.
 *
 * Jobs belong together when their settings agree; what is shown of them (--layer, --head) only says
 * what is counted. Groups are found before anything is computed, in the order of the input, so that
 * every shard of a batch has the same ones.
 *
 *     if (reductions_open(&reductions, options, err)) ...
 *     if (reductions_note(&reductions, &job, model, &pair, err)) ...           (for all jobs)
 *     if (reductions_begin(&reductions, err)) ...
 *     ... reduction_add(&reductions_find(&reductions, &job)->reduction, …) ...
 *     reductions_release(&reductions);
 *
 * Exact sums go to another process, or to the same one after an interruption, in a file: how many
 * jobs are in it; of each group what it is, how many texts, and the lines of measure/reduction.h:
 *
 *     {"done": 4000}
 *     {"model": "tiny", "settings": {"bos": "true"}, "layers": 2, "heads": 4, "queries": 40,
 *      "keys": 40, "causal": true}
 *     texts,4000
 *     entropy,0,0,,,88000,1f3a…
 *     sha256,…                           where it was saved to go on: of the lines before
 */
#ifndef ATTN_CMD_REDUCTIONS_H
#define ATTN_CMD_REDUCTIONS_H

#include <stdint.h>

#include "base/stream.h"
#include "jobs.h"
#include "measure/reduction.h"

struct job;
struct open_model;
struct text_pair;

/* A setting that makes groups different, or differs from what the command line says for all. */
struct reduction_setting {
    const char *name, *value;
};

struct reduction_group {
    struct options options; /* those of its first job, as far as they are settings */
    const char *model;
    struct reduction_setting *settings; /* [setting_count] */
    size_t setting_count;
    struct reduction_size size;
    struct reduction reduction;
    uint64_t texts;               /* that were counted */
    struct reduction_group *next; /* in the order of the input */
};

struct reductions {
    unsigned measures; /* one bit each; 0: nothing is reduced */
    const struct options *defaults;
    struct reduction_group *first;
    struct arena arena;
};

/* Read --reduce; without it there are no measures. */
int reductions_open(struct reductions *reductions, const struct options *options, struct err *err);
void reductions_release(struct reductions *reductions);

/* Find the group of a job, or make it; a measure that makes no sense for the model is refused. */
int reductions_note(struct reductions *reductions, const struct job *job,
                    const struct open_model *model, const struct text_pair *pair, struct err *err);

/* The group of a job that was noted. */
struct reduction_group *reductions_find(const struct reductions *reductions, const struct job *job);

/* Add an empty group after the others. */
struct reduction_group *reductions_add(struct reductions *reductions, struct err *err);

/* All groups are there: begin to count. */
int reductions_begin(struct reductions *reductions, struct err *err);

/* Write sums; to a file of their own, with a hash of all. */
int reductions_write(struct stream *out, const struct reductions *reductions, size_t done,
                     struct err *err);
int reductions_save(const struct reductions *reductions, const char *path, size_t done,
                    struct err *err);

/* Refuse a file that is not as it was saved. */
int reductions_check_saved(const char *path, struct err *err);

/* Count what a file of sums has, and tell how many jobs are in it. Groups must be those that are
 * there already; where there are none, they are the file's. */
int reductions_load(struct reductions *reductions, const char *path, size_t *done, struct err *err);

/* Some of their measures, one bit each, ready to be written: all groups, and in columns the
 * settings in which they differ; in memory of the arena. */
int reductions_measure(struct measured_list *list, const struct reductions *reductions,
                       unsigned measures, struct arena *arena, struct err *err);

#endif
