/* heads.h: the scores of heads on the texts of a driver, for heads.c and atlas.c.
 *
 * The hooks of a task call these functions: `prepare` heads_choose; `open` heads_open; `read`
 * heads_read; `begin` heads_begin, which measures what needs no text; `run` heads_run, after which
 * job->own is the head_sums of each text, for `add` to merge. */
#pragma once

#include "measure/head_scores.h"

struct driver;
struct group;
struct job;

struct heads_options {
    const char *score, *sort, *map, *composition;
    bool baseline;
};

struct heads_state {
    const struct heads_options *options;
    struct score_list scores;
    const struct score *grid;     /* --map; NULL: all of `scores` */
    const struct score *sort;     /* NULL: order of layers and heads */
    size_t top;                   /* --top; 0: all */
    size_t way;                   /* index of --composition */
    bool has_all;                 /* --score has `all` */
    bool in_maps;                 /* write matrices of layers by heads, not a table */
    bool accumulates;             /* one result for all texts; false: one for each */
    size_t layers, heads;         /* of the first model */
    struct head_survey survey;    /* of the open model */
    struct head_sums sums;        /* of the open model */
    struct head_results results;  /* of all models */
    const struct derivation *how; /* --mean */
};

extern const struct value_list values_scores;

int heads_choose(struct heads_state *own, struct driver *driver, struct err *err);
int heads_open(struct heads_state *own, struct driver *driver, struct err *err);
void heads_read(const struct heads_state *own, struct driver *driver, struct job *job);
int heads_begin(struct heads_state *own, struct driver *driver, struct err *err);

/* `watched` [group->count] has the contexts of survey.watch; NULL: there are none. */
int heads_run(const struct heads_state *own, const struct group *group, void **watched,
              struct err *err);
