/* sweep.h: the settings of a batch or of several models; each item runs once with each setting.
 *
 *     -m tiny -m life                  2 settings, for commands that accept several models
 *     --sweep head=0-2 --repeat 2      6 settings: head 0 twice, head 1 twice, head 2 twice
 *
 * A setting is the command line with the values of some options replaced. Repetitions vary fastest,
 * then the last --sweep. Repetition I has the seed --seed + I.
 *
 *     if (sweep_read(&sweep, options, &arena, err)) ...
 *     for (size_t setting = 0; setting < sweep.settings; setting++)
 *         if (sweep_set(&sweep, setting, &options_of_setting, &arena, err)) ...
 */
#pragma once

#include "lens/report.h"
#include "options.h"

struct swept_option {
    const char *name;
    /* values of the option; for "repeat", values.items is NULL: the index of a value is added to
     * the seed */
    struct texts values;
    const char *value; /* the value in the setting of the last sweep_set */
    const char *label; /* the value as results show it: an ablated head is L0H10 */
};

struct sweep {
    const struct options *options; /* options of the command line */
    struct swept_option *items;    /* [count] swept options; --repeat is the last */
    size_t count;
    /* models of --model, with a pattern replaced by its matches; empty: not given */
    struct texts models;
    /* --model gives several models, and is items[0]; results name their model in any case */
    bool of_models;
    size_t settings; /* number of settings, at least 1 */
};

/* Read --sweep, --repeat and --model; several models are a sweep as well. Refused: an option that
 * cannot vary, and a value given twice. */
int sweep_read(struct sweep *sweep, const struct options *options, struct arena *arena,
               struct err *err);

/* Set `options` to the options of a setting, and set the value and label of each swept option. */
int sweep_set(struct sweep *sweep, size_t setting, struct options *options, struct arena *arena,
              struct err *err);

bool sweep_has(const struct sweep *sweep, const char *name);

/* The first name in braces in an edit, such as {strength}; NULL: there is none. */
const char *edit_name(size_t *size, const char *edit);

/* A comparison for qsort: orders names by the numbers in them: step8, step64, step512. A shorter
 * number comes first. */
int compare_by_numbers(const void *a, const void *b);

/* List the models of --model. A pattern, pythia/step*, gives the directories that match, in the
 * order of the numbers in their names. A pattern without a match is refused. */
int models_read(struct texts *models, const struct options *options, struct arena *arena,
                struct err *err);

/* Put the name of a model before an error message, unless the message begins with this name. Always
 * returns -1. */
int model_blame(const char *name, struct err *err);

/* --- shards: the part of all jobs that one process runs -----------------------------------------
 *
 * Shard I of N is a contiguous range of the jobs, and the logs of all shards, joined in order, are
 * the log of a single process.
 *
 *     --shard 2/16     the second of sixteen shards
 *     --shard auto     SLURM_ARRAY_TASK_ID of SLURM_ARRAY_TASK_MIN … MAX; OMPI_COMM_WORLD_RANK of
 *                      …_SIZE; PMI_RANK of PMI_SIZE; SLURM_PROCID of SLURM_STEP_NUM_TASKS, which
 *                      only srun sets. Ranks within array tasks: N is tasks times ranks.
 */

struct job_shard {
    size_t index; /* number of the shard, from 1 */
    size_t count; /* number of shards; 0: no --shard */
};

/* Read the value of --shard; `text` is NULL if it was not given. */
int shard_read(struct job_shard *shard, const char *text, struct err *err);

/* Set the range of jobs of a shard, from `first` up to but excluding `end`. */
void shard_range(const struct job_shard *shard, size_t jobs, size_t *first, size_t *end);

/* --- the figure of a batch -------------------------------------------------------------------
 *
 * The figure replaces the results of the batch. It draws one number of each result, averaged over
 * the texts, against the first swept option whose values are numbers. Each combination of the
 * values of the other swept options is a line.
 *
 *     if (dose_begin(&dose, &driver->sweep, "difference_nats:-1", arena, err)) ...
 *     dose_add(&dose, &report, err)       (each result, while its setting is open)
 *     dose_report(&report, &dose, arena, err)
 */

struct dose {
    /* the number to draw: NAME or NAME:ROW, of a column or a fact; NULL: the first number */
    const char *y;
    char name[SHEET_NAME_BYTES]; /* name of the number that is drawn; empty: no result yet */
    const struct sweep *sweep;
    size_t axis;    /* index of the swept option whose values are the axis */
    double *x;      /* [points] values on the axis, in the order of the sweep */
    double *sums;   /* [lines, points] sums of the number over results */
    size_t *counts; /* [lines, points] how many numbers each sum contains */
    size_t points, lines;
};

/* Choose the swept options for the axis and the lines. Refuse a sweep without an option whose
 * values are numbers. */
int dose_begin(struct dose *dose, const struct sweep *sweep, const char *y, struct arena *arena,
               struct err *err);

/* Add the number of a result: its value in a row, or the mean over all rows that have it. */
int dose_add(struct dose *dose, const struct report *report, struct err *err);

/* Make the table of the report: a row for each point, and a column for each line. */
int dose_report(struct report *report, const struct dose *dose, struct arena *arena,
                struct err *err);
