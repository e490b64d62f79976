/* tallies.h: what --reduce finds: a tally for every group of jobs that are computed alike.
 *
 * Jobs belong together when their settings agree; what is shown of them (--layer, --head) only says
 * what is counted. Groups are found before anything is computed, in the order of the input, so that
 * every shard of a batch has the same ones.
 *
 *     struct tallies tallies = {0};
 *     if (tallies_open(&tallies, "entropy,distance", err)) ...
 *     struct tally_group *group = tallies_note(&tallies, &job, model, &subject, err);   (all jobs)
 *     if (tallies_begin(&tallies, err)) ...
 *     ... tally_add(&group->tally, …) ...
 *     tallies_release(&tallies);
 */
#ifndef ATTN_CMD_TALLIES_H
#define ATTN_CMD_TALLIES_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/stream.h"
#include "jobs.h"
#include "lens/tally.h"
#include "open_models.h"

struct tally_group {
    struct options options; /* those of its first job, as far as they are settings */
    const char *model;
    struct tally_size size;
    struct tally tally;
    size_t texts;             /* that were counted */
    struct tally_group *next; /* in the order of the input */
};

struct tallies {
    unsigned measures; /* one bit each; 0: nothing is reduced */
    struct tally_group *first;
    struct arena arena;
};

/* Read --reduce; NULL: nothing. */
int tallies_open(struct tallies *tallies, const char *list, struct err *err);
void tallies_release(struct tallies *tallies);

/* The group of a job; a new one where there is none. A measure that makes no sense for the model is
 * refused. */
struct tally_group *tallies_note(struct tallies *tallies, const struct job *job,
                                 const struct open_model *model, const struct subject *subject,
                                 struct err *err);

/* The group of a job that was noted. */
struct tally_group *tallies_find(const struct tallies *tallies, const struct job *job);

/* All jobs are noted: begin to count. */
int tallies_begin(struct tallies *tallies, struct err *err);

#endif
