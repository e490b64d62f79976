/* driver.h: the one loop of every command that reads texts and gives a result for each.
 *
 * A job is an item (items.h) with a setting (sweep.h). All jobs are read and checked first; then
 * groups of texts are run, each group in one pass of the model, and results are written in the
 * order of the jobs. Several groups of short texts are run at the same time, each by a thread. A
 * command is a `task`: hooks that the driver calls, of which it has those that it needs. Settings
 * come one after the other, each for all items, so that one model is open at a time.
 *
 *     static const struct task score_task = {
 *         .state_bytes = sizeof(struct state), .open = open, .run = run};
 *
 *     const struct command command_score = {.name = "score", .task = &score_task, ...};
 *
 * A command refuses the first job that is not sound and writes nothing. `batch`
 * (batch_command.c) runs the same tasks, but writes a failure in place of the result and goes on,
 * and keeps a log.
 */
#ifndef ATTN_CMD_DRIVER_H
#define ATTN_CMD_DRIVER_H

#include "items.h"
#include "lens/text_mean.h"
#include "log.h"
#include "output.h"
#include "progress.h"
#include "session.h"
#include "sweep.h"

struct driver;

/* One job, from its texts to its result. */
struct work {
    size_t job, index; /* from 0: among all jobs, among the items */
    struct item item;
    struct text_pair pair; /* its text and --source as tokens */
    void *own;             /* what the task keeps of it; memory of the arena */
    struct report report;  /* the result; */
    size_t before;         /* how many are written before it, */
    struct buf bytes;      /* and its bytes there, if a thread has made them */
    bool is_written;       /* the task wrote it during the pass */
    enum err_kind fault;   /* why there is none; ERR_NONE: it is sound */
    const char *message;
};

/* Jobs of one setting that are run together. */
struct group {
    struct driver *driver;
    struct viewer *viewer; /* attends, and edits, as the setting says */
    struct work **works;   /* [count] */
    size_t count;
    struct arena *arena; /* lives until the results are written */
};

struct task {
    unsigned fields; /* 1 << ITEM_…: columns of a table that it takes, besides the usual ones */
    enum items_many many; /* how many texts its command takes; a batch takes any number */
    bool takes_source;    /* --source is the text of cross-attention, which has to be there */
    bool alone;           /* each job is a group of its own: its pass is long, its result large */
    const char *way_out;  /* for a text longer than the context: "--stride N …"; NULL: --long */
    const char *pages;    /* the command that writes its pages; NULL: this one */
    const char *parts;    /* what progress counts of an only text: "layers"; NULL: nothing */
    size_t state_bytes;   /* of what hooks share, zero at first */

    /* Check options, before there is a model. */
    int (*prepare)(void *state, struct driver *driver, struct err *err);

    /* A setting's model is open, and attends and edits as the setting says: read the options that
     * need it, in memory of driver->session.arena. */
    int (*open)(void *state, struct driver *driver, struct err *err);

    /* So many tokens will be run: tell the viewer. NULL: as viewer_expect. */
    void (*expect)(void *state, struct driver *driver, size_t tokens);

    /* Refuse a text, or add to it: the texts that are run in its place go to `own`. */
    int (*read)(void *state, struct driver *driver, struct work *work, struct arena *arena,
                struct err *err);

    /* Before the first job of a setting is run, and after its last. NULL: nothing. */
    int (*begin)(void *state, struct driver *driver, struct err *err);
    int (*end)(void *state, struct driver *driver, struct err *err);

    /* Fill the report of each job, by group_look or passes of its own. With `at_once`
     * it changes only the group, its works and what is in its arena: several groups are run at the
     * same time. */
    bool at_once;
    int (*run)(void *state, const struct group *group, struct err *err);

    /* Take the result of a job into account, in the order of the jobs, before it is written; where
     * the driver accumulates, in place of writing it. It may change the report where there are
     * several settings. */
    int (*add)(void *state, struct work *work, struct err *err);

    /* The bytes that a job's result takes, and those of them that are in memory at the same time;
     * NULL: few, and all. */
    size_t (*result_bytes)(const void *state, const struct driver *driver, const struct work *work);
    size_t (*held_bytes)(const void *state, const struct driver *driver, const struct work *work);

    /* The report of --mean texts, before it is written. */
    int (*mean)(void *state, struct report *report, struct arena *arena, struct err *err);

    /* After the last job of all: write what follows, or by driver_write what was accumulated. */
    int (*finish)(void *state, struct driver *driver, struct err *err);

    /* A result is written, of a command: print a note of it. */
    void (*note)(void *state, const struct work *work);
};

struct driver {
    const struct task *task;
    const struct options *options; /* of the command line */
    bool is_batch;
    struct items items;
    struct listing models; /* of --model; of one model it may be empty */
    struct sweep sweep;
    struct job_shard shard;
    size_t jobs, first, end; /* in all; those that this process does */

    /* The setting that is open. */
    size_t setting;
    struct options current; /* its options */
    struct session session; /* its model */
    void *state;            /* the task's */

    /* Found when all jobs are checked. */
    struct survey {
        size_t tokens, longest, longest_source, broken;
        struct dropped dropped; /* characters that vocabularies lack */
        size_t bytes, largest;  /* of all results, and of one; */
        size_t memory;          /* that a job takes, at least */
        char *complaint;        /* about the first broken job */
    } survey;

    struct derivation derivation; /* of every report; an open hook sets it */
    struct text_mean mean;        /* --mean texts: of the open setting */
    bool begins_texts;            /* as in input_options; a prepare hook sets it */
    bool accumulates;             /* results are not written; a prepare or begin hook sets it */
    struct output output;
    struct style style;
    struct place place;
    struct log *log;     /* NULL: results go to `output` */
    size_t failed;       /* jobs so far, */
    const char *failure; /* the message of the first of them */
    size_t written;      /* results so far, */
    size_t expected;     /* and with those that are read and not yet written */
    double seconds;      /* that all passes took */
    struct arena kept;   /* lives as long as the driver */
};

/* Run a command: everything from the options to the result. */
int driver_do(const struct task *task, const struct options *options, struct err *err);

/* Its parts, for batch: read options and find all items; check all jobs; run those from `first +
 * done` on. */
int driver_prepare(struct driver *driver, const struct task *task, const struct options *options,
                   struct err *err);
int driver_check(struct driver *driver, struct err *err);
int driver_run(struct driver *driver, size_t done, struct err *err);
void driver_release(struct driver *driver);

/* Write a result that is no single job's. */
int driver_write(struct driver *driver, const struct report *report, struct err *err);

/* One pass over the texts of a group: their reports, with the tensors of the selection. */
int group_look(const struct group *group, const struct selection *selection, struct err *err);

/* Where a result is among all and what comes with it, for a task that writes it during the pass. */
int driver_place(struct driver *driver, const struct work *work, struct place *place,
                 struct arena *arena, struct err *err);

/* Of the driver itself (results.c): write the results of jobs, which come in their order, or the
 * mean of a setting's; make a result's bytes in memory, in a thread that does not write. */
int driver_write_works(struct driver *driver, struct work *works, size_t count, struct arena *arena,
                       struct err *err);
int driver_write_mean(struct driver *driver, struct err *err);
int driver_make_bytes(struct driver *driver, struct work *work, struct arena *arena,
                      struct err *err);

#endif
