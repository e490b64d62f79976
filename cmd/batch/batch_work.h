/* batch_work.h: what the parts of `batch` share: its jobs, its models, where results go.
 *
 *     survey        all jobs are read once, before anything is computed: how many, how long, which
 *                   of them belong to this shard
 *     rounds        some jobs are read, those alike run as one ragged batch, and all are handed on
 *                   in the order of the input
 */
#ifndef ATTN_CMD_BATCH_WORK_H
#define ATTN_CMD_BATCH_WORK_H

#include "../session.h"
#include "open_models.h"
#include "store.h"

struct survey {
    size_t jobs;                    /* of the whole batch */
    size_t first, end;              /* those of this shard */
    size_t broken;                  /* of the whole batch, as far as it can be seen before … */
    size_t broken_here;             /* … and of this shard */
    char complaint[ERR_TEXT_BYTES]; /* what was wrong with the first of these */
    uint64_t weight;                /* the tokens of all jobs; one for a job that is broken */
    uint64_t tokens;                /* of this shard's */
    uint64_t bytes;                 /* of their tensors */
    size_t longest;                 /* of its texts */
    size_t dropped;                 /* characters that vocabularies do not have, in this shard */
};

struct batch_work {
    const struct options *options;
    struct store_plan plan;
    struct jobs jobs;
    struct open_models models;
    struct survey survey;
    struct store store;
    struct progress progress;
};

/* What a job is run with. */
struct prepared {
    struct open_model *model;
    struct text_pair pair;
    struct request request;
    struct style style;
    const struct format *format; /* of what an instrument gives */
    size_t bytes;                /* of its tensors; 0 where none is kept */
};

/* Open the job's model, tokenize its text, and check all that can be wrong; errors say which line
 * of the input it is about. `err` may hold what made the item broken. */
int batch_prepare(struct batch_work *work, const struct job *job, struct prepared *prepared,
                  struct arena *arena, struct err *err);

/* Read all jobs once. */
int batch_survey(struct batch_work *work, struct err *err);

/* The error that a broken job is broken no more: its model would come after those of others. */
int batch_recovered(const struct survey *survey, struct err *err);

/* Run those of this shard that the store does not have yet. */
int batch_run(struct batch_work *work, struct err *err);

/* Print them instead, with counts and sizes. */
int batch_print(struct batch_work *work, struct err *err);

#endif
