/* heads.h: what the files of `attn-cli heads` share: the job, and ways that need files or weights
 * alone.
 *
 *     struct heads_job job = {.options = options, .session.options = options};
 *     if (head_materials_read(&job, err) || head_materials_measure(&job, err)) ...
 *     if (head_reports_asked(options)) head_reports_write(&job, err);
 */
#ifndef ATTN_CMD_HEADS_H
#define ATTN_CMD_HEADS_H

#include "draw/measured_form.h"
#include "measure/head_circuits.h"
#include "output.h"
#include "progress.h"
#include "session.h"

struct heads_job {
    const struct options *options;
    struct score_list scores;
    const struct score *sort, *map;   /* NULL: none */
    bool table, csv;                  /* a line a head … */
    const struct measured_form *form; /* … else layers by heads, in this form */
    struct style style;
    struct session session;
    struct head_survey survey;
    struct progress progress;
    size_t done, steps; /* of all that is measured */
    struct file pairs, needles;
    size_t needle_count;
};

/* Open the files of --pairs and --needle; then, with a model, measure what they say, and what
 * weights alone do, as far as scores need it. */
int head_materials_open(struct heads_job *job, struct err *err);
int head_materials_measure(struct heads_job *job, struct err *err);
void head_materials_release(struct heads_job *job);

/* Is something else than scores asked for, --composition or --gold? Check that, measure and write
 * it. */
bool head_reports_asked(const struct options *options);
int head_reports_check(struct output *output, const struct options *options, struct err *err);
int head_reports_write(struct heads_job *job, struct output *output, struct err *err);

#endif
