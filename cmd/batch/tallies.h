/* tallies.h: what --reduce finds: a tally for every group of jobs that are computed alike.
 *
 * Jobs belong together when their settings agree; what is shown of them (--layer, --head) only says
 * what is counted. Groups are found before anything is computed, in the order of the input, so that
 * every shard of a batch has the same ones.
 *
 *     struct tallies tallies = {0};
 *     if (tallies_open(&tallies, options, err)) ...
 *     if (tallies_note(&tallies, &job, model, &pair, err)) ...           (for all jobs)
 *     if (tallies_begin(&tallies, err)) ...
 *     struct tally_group *group = tallies_find(&tallies, &job);
 *     ... tally_add(&group->tally, …); group->texts++ ...
 *     tallies_release(&tallies);
 */
#ifndef ATTN_CMD_TALLIES_H
#define ATTN_CMD_TALLIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "../options.h"
#include "lens/tally.h"

struct job;
struct open_model;
struct text_pair;

/* A setting that makes groups different, or differs from what the command line says for all. */
struct tally_setting {
    const char *name, *value;
};

struct tally_group {
    struct options options; /* those of its first job, as far as they are settings */
    const char *model;
    struct tally_setting *settings; /* [setting_count] */
    size_t setting_count;
    struct tally_size size;
    struct tally tally;
    uint64_t texts;           /* that were counted */
    struct tally_group *next; /* in the order of the input */
};

struct tallies {
    unsigned measures; /* one bit each; 0: nothing is reduced */
    const struct options *defaults;
    struct tally_group *first;
    struct arena arena;
};

/* Read --reduce; without it there are no measures. */
int tallies_open(struct tallies *tallies, const struct options *options, struct err *err);
void tallies_release(struct tallies *tallies);

/* Find the group of a job, or make it; a measure that makes no sense for the model is refused. */
int tallies_note(struct tallies *tallies, const struct job *job, const struct open_model *model,
                 const struct text_pair *pair, struct err *err);

/* The group of a job that was noted. */
struct tally_group *tallies_find(const struct tallies *tallies, const struct job *job);

/* Add a group that somebody else found, behind the others. */
struct tally_group *tallies_add(struct tallies *tallies, struct err *err);

/* All groups are there: begin to count. */
int tallies_begin(struct tallies *tallies, struct err *err);

#endif
