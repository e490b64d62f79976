/* jobs.h: what a batch does, one after another: each item as often as sweeps and --repeat multiply
 * it.
 *
 *     --sweep head=0-2 --sweep model=life,journey --repeat 2      12 jobs an item
 *
 * The last sweep turns fastest, repetitions faster still. `0-2` stands for 0,1,2. The seed of a
 * repetition is --seed and its number.
 *
 *     if (jobs_open(&jobs, options, err)) ...
 *     while (jobs_next(&jobs, &job, &arena, &job_err))
 *         use(&job);
 *     jobs_release(&jobs);
 */
#ifndef ATTN_CMD_JOBS_H
#define ATTN_CMD_JOBS_H

#include "items.h"

struct sweep {
    const char *name; /* of the option … */
    const struct option_row *row;
    int commands; /* … of these */
    const char **values;
    size_t count;
};

struct jobs {
    struct items items;
    const struct options *options;
    struct sweep *sweeps;
    size_t sweep_count;
    size_t repeats;
    size_t of_item; /* jobs that each item makes */
    size_t turn;    /* which of them comes next */
    struct arena arena;
};

struct job {
    struct item item; /* with the options of this job */
    const char *name; /* "a", or "a,head=2,repeat=1": no two jobs have the same */
    const struct sweep *sweeps;
    const size_t *choices; /* [sweep_count] which value of each sweep */
    size_t sweep_count;
    size_t repetition;
    bool repeats; /* there is more than one */
};

/* Open the items and read the sweeps. On failure nothing is held. */
int jobs_open(struct jobs *jobs, const struct options *options, struct err *err);
void jobs_release(struct jobs *jobs);

/* The next job, as items_next has it; false at the end. */
bool jobs_next(struct jobs *jobs, struct job *job, struct arena *arena, struct err *err);

/* Give each of the jobs from `first` to `end` to `visit`, as far as there are so many; what is
 * wrong with it is in `job_err`. Done when that returns anything but 0, which is an error below 0.
 * Then the first one stands next again. */
typedef int job_visit(void *context, const struct job *job, struct arena *arena,
                      struct err *job_err, struct err *err);
int jobs_visit(struct jobs *jobs, size_t first, size_t end, job_visit *visit, void *context,
               struct err *err);

#endif
