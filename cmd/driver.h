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
 * result, it leaves out those that lack tokens or a named position, and then fails. `batch`
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
    size_t number; /* number of the job; in a result of all items, of the setting */
    size_t index;  /* index of its item; SIZE_MAX: a result of all items */
    struct item item;
    struct text_with_source pair; /* the text and its source as tokens */
    void *own;                    /* data of the task, in the arena of `read` */
    struct report report;
    struct memory memory; /* memory of the job's passes and result, set by `read` */
    double result_bytes;  /* bytes of captured tensors in the result, set by `read`; 0: none */
    size_t before; /* number of earlier results, if no more jobs fail; SIZE_MAX: reading failed */
    struct buf bytes;    /* the result, formatted by a thread as result number `before`; or empty */
    bool is_written;     /* the task wrote the result during the pass */
    enum err_kind fault; /* why there is no result; ERR_NONE: there is one */
    const char *message;
};

/* Jobs of one setting that run together. */
struct group {
    struct driver *driver;
    struct viewer *viewer; /* with the mechanism of the setting, and the edits of these jobs */
    struct job **jobs;     /* [count] */
    size_t count;
    struct arena *arena; /* freed after the results are written */

    /* For the driver: all jobs that were read; `jobs` lacks those that failed to be read. */
    struct job *read; /* [read_count] */
    size_t read_count, tokens;
    bool is_done;
    struct err err; /* error that ends the command */
    struct arena memory;
};

struct task {
    unsigned fields;      /* as in items_open: columns of a table that this command reads */
    enum items_many many; /* number of texts that the command reads; a batch reads at least one. A
                           * source without a text is translated, except for ITEMS_PROMPT. */
    bool begins;          /* adds the beginning token by the rule of session_beginning */
    enum mean_axes means; /* axes that --mean accepts; 0: all */
    bool alone;           /* each job is a group: its pass is long, its result large */
    bool at_once;         /* groups may run in parallel: `run` changes only its group */
    bool accumulates;     /* a setting has one result of all texts, as with --mean texts */
    const char *way_out;  /* advice for too long texts, not for masked models; NULL: add_advice */
    const char *pages;    /* the command that writes HTML pages instead; NULL: this one does */
    const char *folder;   /* default format of files in a folder; NULL or in a batch: none */
    const char *steps;    /* unit of progress for a single text, such as "layers"; NULL: none */
    size_t state_bytes;   /* size of the state that all hooks share; zeroed first */

    /* Hooks; NULL is skipped. driver_check and driver_run both call `read` and `expect`. */

    /* Check the options before a model is open. */
    int (*prepare)(void *state, struct driver *driver, struct err *err);

    /* What comes before the texts of a setting, in driver->current. NULL: by `begins`. */
    enum beginning (*beginning)(void *state, const struct driver *driver);

    /* Read options that need the model of a setting, in driver->session.arena. Required. */
    int (*open)(void *state, struct driver *driver, struct err *err);

    /* Tell the viewer how many tokens will run. NULL: the driver calls viewer_expect. */
    void (*expect)(void *state, struct driver *driver, size_t tokens);

    /* Add the memory of a text's passes and result to `job->memory`. Refuse a text, or set
     * `job->own`, for example to texts that run in its place. Required. */
    int (*read)(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err);

    /* Called before the first job of a setting runs. */
    int (*begin)(void *state, struct driver *driver, struct err *err);

    /* Fill the report of each job, with group_capture or with other passes. Required. */
    int (*run)(void *state, const struct group *group, struct err *err);

    /* Process a job that did not fail, before its result is written; called in the order of the
     * jobs, while other threads may call `run`. With one setting it may not change the report. */
    int (*add)(void *state, struct job *job, struct err *err);

    /* Write results: `end` after each setting; `finish` after all, unless a batch keeps a log. */
    int (*end)(void *state, struct driver *driver, struct err *err);
    int (*finish)(void *state, struct driver *driver, struct err *err);
};

struct driver {
    const struct task *task;
    const struct options *options; /* of the command line */
    bool is_batch;
    struct items items;
    struct sweep sweep;
    struct job_shard shard;
    size_t jobs, first, end, next;     /* number of jobs; range of this process; next job to read */
    size_t first_setting, end_setting; /* range of settings of this process */
    size_t jobs_of_result;             /* batch with one result per setting: jobs of each; else 1 */

    /* The open setting. */
    size_t setting;
    struct options current; /* options of the command line with the values of the setting */
    struct session session;
    struct edit_store store; /* values of --reference and --from that settings share */
    size_t group_texts;      /* the most texts of a group */
    void *state;             /* of the task */

    /* Totals over the jobs of this process, from driver_check. */
    struct survey {
        size_t tokens, longest, longest_source;
        struct dropped dropped; /* characters that are not in the vocabulary */
        double bytes;           /* result_bytes of all jobs */
        struct weights_bytes weights;
        double sums; /* bytes of the sums of --mean texts */
        struct group_size {
            size_t texts, tokens;
            struct memory memory;
            double formatted; /* bytes of results that a thread formats */
        } group, most;        /* the group of the last job; the largest numbers of any group */
        double held;          /* bytes that all jobs would hold together */
    } survey;

    struct notes notes;           /* notes of `read` hooks; driver_check prints them */
    struct derivation derivation; /* for every report: from --mean, or set by `open` */
    struct text_mean mean;        /* with --mean texts: sums of the open setting */
    const char *columns;          /* of CSV tables, set by `prepare`; NULL: columns of matrices */
    bool rows_have_columns; /* rows of tables have the columns of the input; set by `prepare` */
    bool accumulates;       /* see driver_accumulate */
    struct output output;
    struct style style;
    struct layout layout;
    struct identity identity; /* the first result's */
    struct dose *dose;        /* a batch with one figure of all results; NULL: none */
    struct log *log;          /* NULL: results go to `output` */
    size_t failed;            /* number of failed jobs so far */
    const char *failure;      /* message of the first failure */
    size_t written, expected; /* results so far; results that all jobs read so far will have */
    struct progress progress;
    double seconds;          /* duration of driver_run up to `finish` */
    struct arena kept;       /* freed with the driver */
    uint32_t **translations; /* [jobs] ids for sources without a text */
};

/* Run a command, from its options to its result. */
int driver_do(const struct task *task, const struct options *options, struct err *err);

/* The steps of driver_do, for batch: read the options and find all items; check all jobs; run all
 * jobs except the first `done`, which have a line in the log. */
int driver_prepare(struct driver *driver, const struct task *task, const struct options *options,
                   struct err *err);
int driver_check(struct driver *driver, struct err *err);
int driver_run(struct driver *driver, size_t done, struct err *err);
void driver_release(struct driver *driver);

/* After driver_check: an estimate of the bytes that the run will need. */
double driver_memory(const struct driver *driver);

/* For a `prepare` hook: jobs have no results of their own. `add` processes each job, and `end` or
 * `finish` writes `results` results with driver_write. */
void driver_accumulate(struct driver *driver, size_t results);

/* Write a result of several jobs, in any format. */
int driver_write(struct driver *driver, const struct report *report, struct err *err);

/* Run one pass over the texts of a group. Their reports get the selected tensors. */
int group_capture(const struct group *group, const struct selection *selection, struct err *err);

/* Set what identifies a result in the output, for a task that writes it during the pass. */
int driver_identify(struct driver *driver, const struct job *job, struct identity *identity,
                    struct arena *arena, struct err *err);
