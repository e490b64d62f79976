/* heads.h: what the files of `attn-cli heads` share: heads.c chooses, measures and writes,
 * head_materials.c reads the files of --pairs and --needle. */
#ifndef ATTN_CMD_HEADS_H
#define ATTN_CMD_HEADS_H

#include "measure/head_circuits.h"
#include "output.h"
#include "session.h"

struct heads_job {
    const struct options *options;
    struct model_list models;
    struct head_result *found; /* [models] */
    struct score_list scores;
    const struct score *sort, *map; /* NULL: none */
    size_t way;                     /* of --composition */
    bool in_maps;                   /* matrices of layers by heads, not a table */
    bool with_baseline;
    bool has_texts;       /* texts and files are read, once for all models */
    size_t layers, heads; /* of the first model */
    size_t done, steps;   /* of all that is measured */
    struct style style;
    struct output output;
    struct session session;
    struct head_survey survey;
    struct progress progress;
    struct file pairs, needles;
    size_t needle_count;
    struct arena kept; /* outlives the models */
};

/* Open the files of --pairs and --needle. */
int head_materials_open(struct heads_job *job, struct err *err);

/* Measure the scores of weights and of needles, with a model. */
int head_materials_measure(struct heads_job *job, struct err *err);
void head_materials_release(struct heads_job *job);

#endif
