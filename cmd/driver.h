/* driver.h: the loop of every command that reads texts and gives a result for each.
 *
 * A job is an item (items.h) with a setting (sweep.h). All jobs are read and checked first; then
 * groups of texts run, each group in one pass of the model, and results are written in the order of
 * the jobs. Several groups of short texts run at the same time, one per thread. One model is open
 * at a time: all items of a setting run before the next setting.
 *
 * A command is a `task`, a table of hooks. This one writes a table for each text: how far the last
 * hidden state of each token is from the origin.
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
 *         int failed = group_look(group, state, err);
 *         for (size_t i = 0; i < group->count && !failed; i++)
 *             failed = make_table(&group->works[i]->report, group->arena, err);
 *         return failed;
 *     }
 *     static const struct task norm_task = {
 *         .many = ITEMS_SOME, .takes_source = true, .at_once = true,
 *         .state_bytes = sizeof(struct selection), .open = open, .run = run};
 *     const struct command command_norm = {.name = "norm", .task = &norm_task, ...};
 *
 * make_table finds [tokens, channels] in report->tensors, and puts report->frames in their place,
 * as lens_report in measure/logit_lens.c does. For one result of all texts, `prepare` calls
 * driver_accumulate, `add` gets the texts in the order of the jobs, and `finish` calls
 * driver_write, as in heads.c.
 *
 * A command refuses the first broken job and writes nothing. `batch` (batch_command.c) runs the
 * same tasks, but writes a failure in place of the result, continues, and keeps a log.
 */
#ifndef ATTN_CMD_DRIVER_H
#define ATTN_CMD_DRIVER_H

#include "items.h"
#include "lens/mean.h"
#include "log.h"
#include "output.h"
#include "progress.h"
#include "session.h"
#include "sweep.h"

struct driver;

/* One job, from its texts to its result. */
struct work {
    size_t job, index; /* from 0: among all jobs, among the items; SIZE_MAX: a result of many */
    struct item item;
    struct text_pair pair; /* its text and --source as tokens */
    void *own;             /* the task's, in memory of the arena */
    struct report report;  /* the result */
    size_t before;         /* results that are written before it */
    struct buf bytes;      /* the result as written after these, if a thread made it */
    bool is_written;       /* the task wrote it during the pass */
    enum err_kind fault;   /* why there is no result; ERR_NONE: there is one */
    const char *message;
};

/* Jobs of one setting that run together. */
struct group {
    struct driver *driver;
    struct viewer *viewer; /* attends, and edits, as the setting says */
    struct work **works;   /* [count] */
    size_t count;
    struct arena *arena; /* lives until the results are written */
};

struct task {
    unsigned fields; /* 1 << ITEM_…: columns of a table that it takes, besides the usual ones */
    enum items_many many; /* number of texts that its command takes; a batch takes any number */
    enum mean_axes means; /* axes of --mean; 0: all */
    bool takes_source;    /* models with cross-attention need --source */
    bool alone;           /* each job is a group of its own: its pass is long, its result large */
    bool at_once;         /* groups may run at the same time: `run` changes only its group */
    const char *way_out;  /* for a text longer than the context: "--stride N …"; NULL: --long */
    const char *pages;    /* the command that writes its pages; NULL: this one */
    const char *folder;   /* format of files in a folder without --format; NULL: refused */
    const char *parts;    /* what progress counts of a single text: "layers"; NULL: nothing */
    size_t state_bytes;   /* of the state that hooks share, zero at first */

    /* Hooks, in the order of their calls; NULL: nothing to do. */

    /* Check options, before there is a model. */
    int (*prepare)(void *state, struct driver *driver, struct err *err);

    /* A setting's model is open: read options that need it, in driver->session.arena. Required. */
    int (*open)(void *state, struct driver *driver, struct err *err);

    /* Tell the viewer how many tokens will run; NULL: viewer_expect. */
    void (*expect)(void *state, struct driver *driver, size_t tokens);

    /* Refuse a text, or add to `work->own`, such as texts that run in its place. */
    int (*read)(void *state, struct driver *driver, struct work *work, struct arena *arena,
                struct err *err);

    /* Before the first job of a setting. */
    int (*begin)(void *state, struct driver *driver, struct err *err);

    /* Fill the report of each job, by group_look or by passes of its own. */
    int (*run)(void *state, const struct group *group, struct err *err);

    /* Take a job into account, in the order of the jobs, before its result is written. It may
     * change the report if there are several settings. */
    int (*add)(void *state, struct work *work, struct err *err);

    /* Print a note about a result of a command, which was written. */
    void (*note)(void *state, const struct work *work);

    /* After the last job of a setting, and of all: write what was accumulated, or what follows. */
    int (*end)(void *state, struct driver *driver, struct err *err);
    int (*finish)(void *state, struct driver *driver, struct err *err);

    /* Bytes of a job's result, and how many of them are in memory at once; NULL: few, and all. */
    size_t (*result_bytes)(const void *state, const struct driver *driver, const struct work *work);
    size_t (*held_bytes)(const void *state, const struct driver *driver, const struct work *work);
};

struct driver {
    const struct task *task;
    const struct options *options; /* of the command line */
    bool is_batch;
    struct items items;
    struct listing models; /* of --model; of one model it may be empty */
    struct sweep sweep;
    struct job_shard shard;
    size_t jobs, first, end, next;     /* in all; those of this process, the next to be read */
    size_t first_setting, end_setting; /* theirs */
    size_t jobs_of_result;             /* in a batch with --mean texts those of a setting, else 1 */

    /* The setting that is open. */
    size_t setting;
    struct options current; /* its options */
    struct session session; /* its model */
    void *state;            /* the task's */

    /* Found when all jobs are checked. */
    struct survey {
        size_t tokens, longest, longest_source;
        struct dropped dropped; /* characters that vocabularies lack */
        size_t bytes, largest;  /* of all results, of the largest */
        size_t memory;          /* that a job takes, at least */
    } survey;

    struct derivation derivation; /* of every report: --mean, or as an open hook sets it */
    struct text_mean mean;        /* --mean texts: of the open setting */
    bool begins_texts;            /* as in input_options; a prepare hook sets it */
    bool accumulates;             /* see driver_accumulate */
    struct output output;
    struct style style;
    struct place place;
    struct log *log;          /* NULL: results go to `output` */
    size_t failed;            /* jobs so far */
    const char *failure;      /* the message of the first of them */
    size_t written, expected; /* results so far; and with those read, not yet written */
    struct progress progress;
    double seconds;    /* that all passes took */
    struct arena kept; /* lives as long as the driver */
};

/* Run a command: everything from the options to the result. */
int driver_do(const struct task *task, const struct options *options, struct err *err);

/* Its parts, for batch: read options and find all items; check all jobs; run those whose results
 * follow the first `done`. */
int driver_prepare(struct driver *driver, const struct task *task, const struct options *options,
                   struct err *err);
int driver_check(struct driver *driver, struct err *err);
int driver_run(struct driver *driver, size_t done, struct err *err);
void driver_release(struct driver *driver);

/* For a prepare hook: jobs have no results of their own; `add` takes each into account, and `end`
 * or `finish` writes that many results by driver_write. */
void driver_accumulate(struct driver *driver, size_t results);

/* Write a result that is not a single job's, in any format. */
int driver_write(struct driver *driver, const struct report *report, struct err *err);

/* One pass over the texts of a group: their reports, with the tensors of the selection. */
int group_look(const struct group *group, const struct selection *selection, struct err *err);

/* The place of a result among all, for a task that writes it during the pass. */
int driver_place(struct driver *driver, const struct work *work, struct place *place,
                 struct arena *arena, struct err *err);

#endif
