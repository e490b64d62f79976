/* attribute_score.h: `attn-cli attribute --head`: explains an attention score as a sum of parts. */
#pragma once

#include "measure/score_attribution.h"

struct attribution;
struct driver;
struct group;
struct job;

/* What to compute for one text, as read by score_job_read. */
struct score_job {
    struct score_plan plan;
    struct text_with_source corrupt; /* the text of --corrupt */
};

/* Read --head and the options that belong to it. Options that name tokens are read only if `job` is
 * not NULL. */
int score_job_read(struct score_job *own, struct driver *driver, struct job *job,
                   struct arena *arena, struct err *err);

/* Fill the report of a job, and set `sum` to the score and the sum of its parts. */
int score_job_run(struct score_job *own, struct attribution *sum, struct job *job,
                  const struct group *group, struct facts *facts, struct err *err);
