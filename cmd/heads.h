/* heads.h: what the files of `attn-cli heads` share: heads.c measures, head_output.c writes.
 *
 *     struct heads_job job = {.options = options, .session.options = options};
 *     if (head_materials_open(&job, err)) ...
 *     if (head_materials_measure(&job, err) || head_output_keep(&job, err)) ...   (of each model)
 *     if (head_output_write(&job, err)) ...
 */
#ifndef ATTN_CMD_HEADS_H
#define ATTN_CMD_HEADS_H

#include "draw/measured_form.h"
#include "measure/head_circuits.h"
#include "measure/side_by_side.h"
#include "output.h"
#include "session.h"

/* What is kept of a model until all are measured. */
struct heads_found {
    struct head_table table; /* a line a head … */
    struct measured measured;
    const char *origin; /* what it was measured on */
};

struct heads_job {
    const struct options *options;
    struct model_list models;
    struct heads_found *found;  /* [models] */
    struct side_by_side beside; /* their labels */
    struct score_list scores;
    const struct score *sort, *map;   /* NULL: none */
    bool table, csv;                  /* a line a head … */
    const struct measured_form *form; /* … else layers by heads, in this form */
    bool with_random;
    bool shared; /* models stand in one table: they have the same heads … */
    size_t layers, heads;
    bool has_texts; /* and all that is read beside a model */
    struct style style;
    struct output output; /* of --composition */
    struct session session;
    struct head_survey survey;
    struct progress progress;
    size_t done, steps; /* of all that is measured */
    struct file pairs, needles;
    size_t needle_count;
    struct arena kept; /* what is not a model's own */
};

/* Open the files of --pairs and --needle; then, with a model, measure what they say, and what
 * weights alone do, as far as scores need it. */
int head_materials_open(struct heads_job *job, struct err *err);
int head_materials_measure(struct heads_job *job, struct err *err);
void head_materials_release(struct heads_job *job);

/* Keep what was measured of the open model; then write what was kept of all. */
bool heads_is_form(const struct heads_job *job, const char *name);
int head_output_keep(struct heads_job *job, struct err *err);
int head_output_write(struct heads_job *job, struct err *err);

/* Is --composition asked for in place of scores? Check it; then, of each
 * model, measure and write it. */
bool head_reports_asked(const struct options *options);
int head_reports_check(struct heads_job *job, struct err *err);
int head_reports_write(struct heads_job *job, struct err *err);

#endif
