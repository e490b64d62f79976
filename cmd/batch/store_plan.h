/* store_plan.h: where the results of a batch go, in which form, and what they are called there:
 * what options alone decide.
 */
#ifndef ATTN_CMD_STORE_PLAN_H
#define ATTN_CMD_STORE_PLAN_H

#include "../options.h"
#include "write/format.h"
#include "work_folder.h"

struct instrument;
struct item_fault;
struct job;
struct measured;
struct measured_form;

/* What heads do in every item, as --reduce --per-item writes it: one row a form (item_form.c).
 *
 *     id,layer,head,entropy,distance                     csv: a line for each head of each item
 *     id,measure,layer,head,query,key,count,value        tidy: a line a number
 *     {"id": "a", "model": "tiny", "measures": {…}}      jsonl: a line an item; json: all in [ ]
 *
 * Conditions have columns after the id, and what a sweep varies has one, too. Items are written one
 * after another, by any process: what stands before the first and after the last belongs to them.
 */

/* An item on its way out. */
struct item_measured {
    const struct job *job;
    const struct measured *measured; /* NULL: it failed … */
    const struct item_fault *fault;  /* … for that */
    unsigned measures;               /* of all items, one bit each */
    size_t name_columns;             /* text: the widest id */
    bool first, last;                /* of the whole batch */
};

struct item_form {
    const char *name;
    const char *ending; /* of file names */
    bool has_errors;    /* an item that failed has its place */
    int (*write)(struct stream *out, const struct item_measured *item, struct err *err);
};

extern const struct item_form item_forms[]; /* the first is for people */
extern const size_t item_form_count;

enum store_kind {
    STORE_LINES, /* a JSON line for each item */
    STORE_ITEMS, /* files of each item, in a folder of its own */
    STORE_SUMS,  /* nothing of single items */
};

struct store_plan {
    enum store_kind kind;
    bool to_stdout;                      /* or to a device: nothing is left there to go on with */
    bool in_folder;                      /* else in a file, which is one result */
    const struct format *format;         /* of items, where they do not say otherwise */
    const struct instrument *instrument; /* what is done with items; NULL: they are run */
    const struct item_form *item_form;   /* of reductions of every item; NULL: there are none */
    size_t first_job, jobs;              /* of this shard, and in all: for forms with an end */
    size_t name_columns;                 /* of the widest name of a job */
    const struct measured_form *form;    /* of reductions that go to one place */
    struct style style;                  /* of reductions */
    const struct options *options;
    struct job_shard shard;
    struct result_list items; /* of STORE_ITEMS, for who begins anew; `each` may be NULL */
    bool begins_anew;         /* what was begun of the same batch, as a merge does */
};

/* Read -o, --format, --shard and --reduce. */
int store_choose(struct store_plan *plan, const struct options *options, struct err *err);

/* Whether attention is counted where it is seen, and no matrix is kept; whether items have
 * matrices of their own, whose sizes count. */
bool store_is_reduced(const struct store_plan *plan);
bool store_has_matrices(const struct store_plan *plan);

/* Whether an item that failed has a place among the results. */
bool store_has_errors(const struct store_plan *plan);

/* The format of one item. */
const struct format *store_format(const struct store_plan *plan, const struct options *item,
                                  struct err *err);

/* The page of texts in results: the same on every terminal. */
struct place store_page(const struct options *options);

/* --- names ------------------------------------------------------------------------------------ */

/* A file of results, which belongs to no single item. */
struct result_file {
    char name[64];
    unsigned measures;                /* that are in it … */
    const struct measured_form *form; /* … and how; NULL: lines, or sums as they are kept */
};

/* The next of those that a plan makes, from `*at` = 0 on; false at the end. */
bool result_names_next(struct result_file *file, const struct store_plan *plan, unsigned measures,
                       size_t *at);

/* Whether any plan makes a file of results of that name. */
bool result_names_have(const char *name);

/* Append the name of a job as that of a folder, `a,head=2`: letters, digits and "-_.,=+" stay, all
 * else is %XX, and so is the first letter of what would be a name of the batch's own. No two jobs
 * have the same; a long one ends in a hash of it. */
void result_names_folder(struct buf *out, const char *job);

/* Whether a file of a journal or a manifest is one that a batch makes: ITEM/FILE, or of results. */
bool result_names_list(const char *file);

#endif
