/* heads.h: measures scores of heads on the texts of a driver, for heads.c and atlas.c. Hooks of a
 * task call these functions: `prepare` calls heads_choose; `open` heads_open; `read` heads_read;
 * `begin` heads_begin, which measures the scores that need no text; `run` heads_run, which sets
 * job->own to the head_sums of each text, and `add` merges them. */
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
    const struct score *grid; /* the score of --map; NULL: all of `scores` */
    /* the score of --sort; NULL: rows are in the order of layers and heads */
    const struct score *sort;
    size_t top;                  /* number of rows to show (--top); 0: all */
    size_t way;                  /* the value of --composition, an enum composition */
    bool has_all;                /* --score contains `all` */
    bool in_maps;                /* write matrices of layers by heads, not a table */
    bool accumulates;            /* true: one result for all texts; false: one for each text */
    size_t layers, heads;        /* number of layers, and of heads in a layer, of the first model */
    struct head_survey survey;   /* heads and scores to measure in the open model */
    struct head_sums sums;       /* sums of the scores over the texts of the open model */
    struct head_results results; /* results of all models */
    const struct derivation *how; /* how --mean averages the results */
};

int heads_choose(struct heads_state *own, struct driver *driver, struct err *err);
int heads_open(struct heads_state *own, struct driver *driver, struct err *err);
void heads_read(const struct heads_state *own, struct driver *driver, struct job *job);
int heads_begin(struct heads_state *own, struct driver *driver, struct err *err);

/* Measure the scores on the texts of a group. `watched` [group->count]: the context passed to the
 * callback own->survey.watch for each text; NULL: no contexts. */
int heads_run(const struct heads_state *own, const struct group *group, void **watched,
              struct err *err);
