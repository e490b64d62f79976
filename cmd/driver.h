/* driver.h: runs the commands that read texts and write a result for each.
 *
 * A job is one item (items.h) with one setting (sweep.h). All jobs are read and checked first. Then
 * they run in groups, usually one pass of the model for each, and results are written in the order
 * of the jobs, as soon as all earlier ones are written. A group of several texts takes about two
 * seconds at most. If a task allows it, groups of short texts run in parallel, one per thread. One
 * model is open at a time: all items of a setting run before the next setting.
 *
 * A command is a `task`, a table of hooks. This one writes a table for each text: the norm of the
 * last hidden state of each token.
 *
 *     static int open(void *state, struct driver *driver, struct err *err)
 *     {
 *         struct selection *selection = state;
 *         const struct config *config = &driver->session.viewer.model.config;
 *         *selection = (struct selection){.sites = 0};
 *         return selection_sites(selection, "resid_post", config, err) ||
 *                selection_layers(selection, "-1", config, &driver->session.arena, err);
 *     }
 *     static int run(void *state, const struct group *group, struct err *err)
 *     {
 *         int failed = group_capture(group, state, err);
 *         for (size_t i = 0; i < group->count && !failed; i++)
 *             failed = make_table(&group->jobs[i]->report, group->arena, err);
 *         return failed;
 *     }
 *     static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
 *                     struct err *err)
 *     {
 *         viewer_add_memory(&job->memory, &driver->session.viewer, state, &job->pair,
 *                           CAPTURE_ALL);
 *         return 0;
 *     }
 *     static const struct task norm_task = {
 *         .many = ITEMS_SOME, .at_once = true,
 *         .state_bytes = sizeof(struct selection), .open = open, .read = read, .run = run};
 *     const struct command command_norm = {.name = "norm", .task = &norm_task, ...};
 *
 * make_table sets report->tables from the [tokens, channels] in report->arrays, and array_count to
 * 0; `end` in examples.c shows how to fill a table. To write one result for all texts, `prepare`
 * calls driver_accumulate, `add` processes the texts in the order of the jobs, and `finish` calls
 * driver_write, as in heads.c.
 *
 * A command stops at the first invalid job and writes nothing; but if each of several texts has a
 * result, it leaves out texts that lack tokens or a named position, and then fails. `batch`
 * (batch_command.c) runs the same tasks. If each job has a result, it continues after a failure
 * (exceptions: fail_job in driver.c). With -o it keeps a log. */
#pragma once

#include "items.h"
#include "lens/mean.h"
#include "log.h"
#include "notes.h"
#include "output.h"
#include "progress.h"
#include "session.h"
#include "sweep.h"

struct driver;

/* One job, from its texts to its result. */
struct job {
    size_t number; /* number of the job; if one result is made of all items, the number of the
                    * setting */
    size_t index;  /* index of the job's item; SIZE_MAX: the result is made of all items */
    struct item item;
    struct text_with_source pair; /* the text and its source as tokens */
    void *own;                    /* the task's data for this job, in the arena that is passed to
                                   * `read` */
    struct report report;
    struct memory memory; /* memory of the job's passes and result, set by `read` */
    double result_bytes;  /* size in bytes of the result's tensors, set by `read`; 0: no tensors */
    /* number of results before this one, if no more jobs fail; SIZE_MAX: the job could not be
     * read */
    size_t before;
    /* the result, formatted by a thread as result number `before`; empty: not formatted yet */
    struct buf bytes;
    bool is_written;     /* true: the task already wrote the result, during the pass */
    enum err_kind fault; /* why the job has no result; ERR_NONE: the job did not fail */
    const char *message;
};

/* Jobs with the same setting (sweep.h) that run together. */
struct group {
    struct driver *driver;
    /* viewer with the mechanism of the setting and the edits of the group's jobs */
    struct viewer *viewer;
    struct job **jobs; /* [count] jobs to run */
    size_t count;
    struct arena *arena; /* memory of the group, freed after its results are written */

    /* The next members are used only by the driver. */
    struct job *read; /* [read_count] all jobs of the group, including jobs that could not be
                       * read */
    size_t read_count, tokens;
    bool is_done;
    struct err err; /* error that ends the command */
    struct arena memory;
};

struct task {
    unsigned fields;      /* columns of a table that this command reads: bits 1 << ITEM_…, as in
                      * items_open */
    enum items_many many; /* number of texts that the command reads; a batch reads at least one. A
                           * source without a text is translated, except for ITEMS_PROMPT. */
    bool begins;          /* the model's beginning token is put before a text, by the rule of
                  * session_beginning */
    enum mean_axes means; /* axes that --mean accepts; 0: all */
    /* each job is a group of its own, because its pass is long or its result is large */
    bool alone;
    bool at_once;     /* groups may run in parallel, because `run` changes nothing but its group */
    bool accumulates; /* one result is made of all texts of a setting, as with --mean texts */
    /* advice if a text is too long, except for masked models; NULL: add_advice gives it */
    const char *way_out;
    /* name of the command that writes HTML pages in place of this one; NULL: this command writes
     * them */
    const char *pages;
    /* default format of files in a folder; NULL: no default. A batch never has a default. */
    const char *folder;
    const char *steps;  /* unit of progress for a single text, such as "layers"; NULL: texts */
    size_t state_bytes; /* size, in bytes, of the state that all hooks share; it is filled with
                         * zeros at first */

    /* Hooks, in the order in which they are called. A hook that is NULL does nothing, unless its
     * comment says otherwise. Both driver_check and driver_run call `read` and `expect`. */

    /* Check the options before a model is open. */
    int (*prepare)(void *state, struct driver *driver, struct err *err);

    /* Choose the tokens that begin each text of the setting in driver->current. NULL: `begins`
     * decides. */
    enum beginning (*beginning)(void *state, const struct driver *driver);

    /* Required. Read the options that need the open model; allocate in driver->session.arena. */
    int (*open)(void *state, struct driver *driver, struct err *err);

    /* Tell the viewer how many tokens the passes will process. NULL: the driver calls
     * viewer_expect. */
    void (*expect)(void *state, struct driver *driver, size_t tokens);

    /* Required. Add the memory of a text's passes and result to `job->memory`. May refuse the text,
     * or set `job->own`, for example to texts that run in its place. */
    int (*read)(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err);

    /* Called before the first job of a setting (sweep.h) runs. */
    int (*begin)(void *state, struct driver *driver, struct err *err);

    /* Required. Fill the report of each job, with group_capture or with other passes. */
    int (*run)(void *state, const struct group *group, struct err *err);

    /* Process a job that did not fail, before its result is written. Called in the order of the
     * jobs, while other threads may call `run`. With only one setting, it must not change the
     * report. */
    int (*add)(void *state, struct job *job, struct err *err);

    /* Write results. `end` is called after each setting, `finish` after all settings; `finish` is
     * not called if a batch keeps a log or draws one figure. */
    int (*end)(void *state, struct driver *driver, struct err *err);
    int (*finish)(void *state, struct driver *driver, struct err *err);
};

struct driver {
    const struct task *task;
    const struct options *options; /* options of the command line */
    bool is_batch;
    struct items items;
    struct sweep sweep;
    struct job_shard shard;
    /* `jobs`: number of jobs; `first` and `end`: range of this process; `next`: next job to read */
    size_t jobs, first, end, next;
    size_t first_setting, end_setting; /* range of settings (sweep.h) of this process */
    /* in a batch with one result per setting, the number of jobs in a setting; else 1 */
    size_t jobs_of_result;

    /* `setting`: index of the open setting, to which the next members belong */
    size_t setting;
    struct options current; /* options of the command line with the values of the setting */
    struct session session;
    /* values for edits, from the texts of --reference and --from; all settings share them */
    struct edit_store store;
    size_t group_texts; /* largest number of texts in a group */
    void *state;        /* the task's own state, of task->state_bytes */

    /* Totals over the jobs of this process, set by driver_check. */
    struct survey {
        size_t tokens, longest, longest_source;
        struct dropped dropped; /* number of characters that are not in the vocabulary */
        double bytes;           /* sum of job->result_bytes over all jobs */
        struct weights_bytes weights;
        double sums; /* memory of the sums of --mean texts, in bytes */
        struct group_size {
            size_t texts, tokens;
            struct memory memory;
            double formatted; /* memory of the results that a thread formats, in bytes */
        } group, most;        /* `group`: totals of the group of the last job; `most`: the
                               * largest total of any group, for each member */
        double held;          /* memory that all jobs would need at the same time, in bytes */
    } survey;

    struct notes notes; /* notes of `read` hooks; driver_check prints them */
    /* how results are derived from tensors, for every report; set from --mean or by `open` */
    struct derivation derivation;
    struct text_mean mean; /* with --mean texts: sums over the texts of the open setting */
    /* names of the columns of CSV tables, set by `prepare`; NULL: results are matrices */
    const char *columns;
    /* each row of a table repeats the columns of the input; set by `prepare` */
    bool rows_have_columns;
    bool accumulates; /* jobs have no results of their own; set by driver_accumulate */
    struct output output;
    struct style style;
    struct layout layout;
    struct identity identity; /* identity of the first result */
    struct dose *dose;        /* set if a batch draws one figure of all results, else NULL */
    struct log *log;          /* log of a batch; NULL: results go to `output` */
    size_t failed;            /* number of failed jobs so far */
    const char *failure;      /* message of the first failure */
    /* `written`: number of results written so far; `expected`: number of results of all jobs that
     * were read so far */
    size_t written, expected;
    struct progress progress;
    double seconds;          /* duration of driver_run without the hook `finish`, in seconds */
    struct arena kept;       /* memory that is freed with the driver */
    uint32_t **translations; /* [jobs] token ids of the translation, for sources without a text */
};

/* Run a command, from its options to its result. */
int driver_do(const struct task *task, const struct options *options, struct err *err);

/* The steps of driver_do, for batch. driver_prepare: read the options and find all items;
 * driver_check: check all jobs; driver_run: run all jobs except the first `done`, which already
 * have a line in the log. */
int driver_prepare(struct driver *driver, const struct task *task, const struct options *options,
                   struct err *err);
int driver_check(struct driver *driver, struct err *err);
int driver_run(struct driver *driver, size_t done, struct err *err);
void driver_release(struct driver *driver);

/* Estimate how many bytes of memory the run will need; called after driver_check. */
double driver_memory(const struct driver *driver);

/* For a `prepare` hook: jobs will have no results of their own. `add` processes each job, and `end`
 * or `finish` calls driver_write, `results` times in total. */
void driver_accumulate(struct driver *driver, size_t results);

/* Write a result of several jobs, in any format. */
int driver_write(struct driver *driver, const struct report *report, struct err *err);

/* Run one pass over the texts of a group, and store the selected tensors in the texts' reports. */
int group_capture(const struct group *group, const struct selection *selection, struct err *err);

/* Set `identity`, which identifies the result of a job in the output. A task that writes its result
 * during the pass calls this function. */
int driver_identify(struct driver *driver, const struct job *job, struct identity *identity,
                    struct arena *arena, struct err *err);
