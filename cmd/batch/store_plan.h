/* store_plan.h: where the results of a batch go and in which form: what options alone decide. */
#ifndef ATTN_CMD_STORE_PLAN_H
#define ATTN_CMD_STORE_PLAN_H

#include <stdbool.h>

#include "base/err.h"
#include "base/stream.h"
#include "../options.h"
#include "write/format.h"
#include "draw/measured_form.h"
#include "item_form.h"
#include "shard.h"

enum store_kind {
    STORE_LINES, /* a JSON line for each item */
    STORE_ITEMS, /* files of each item, in a folder of its own */
    STORE_SUMS,  /* nothing of single items */
};

/* The folders of items that are to be made: `see` is given each name. */
struct store_names {
    int (*each)(void *context, int (*see)(void *seer, const char *name, struct err *err),
                void *seer, struct err *err);
    void *context;
};

struct store_plan {
    enum store_kind kind;
    bool to_stdout;                    /* or to a device: nothing is left there to go on with */
    const struct format *format;       /* of items, where they do not say otherwise */
    const struct item_form *item_form; /* of reductions of every item; NULL: there are none */
    size_t first_job, jobs;            /* of this shard, and in all: for forms with an end */
    size_t name_columns;               /* of the widest name of a job */
    const struct measured_form *form;  /* of tallies that go to one place */
    struct style style;                /* of tallies */
    const struct options *options;
    struct job_shard shard;
    struct store_names names; /* of STORE_ITEMS, for who begins anew; `each` may be NULL */
    bool begins_anew;         /* what was begun of the same batch, as a merge does */
};

/* Read -o, --format, --shard and --reduce. */
int store_choose(struct store_plan *plan, const struct options *options, struct err *err);

/* Whether attention is counted where it is seen, and no matrix is kept. */
bool store_is_tallied(const struct store_plan *plan);

/* Whether an item that failed has a place among the results. */
bool store_has_errors(const struct store_plan *plan);

/* Open standard output, or the device that stands in its place. */
int store_open_stream(struct stream *out, const struct store_plan *plan, struct err *err);

/* The format of one item. */
const struct format *store_format(const struct store_plan *plan, const struct options *item,
                                  struct err *err);

/* The page of texts in results: the same on every terminal. */
struct place store_page(const struct options *options);

#endif
