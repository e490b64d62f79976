/* shard.h: which part of a batch one process does: --shard I/N, or what a cluster's scheduler says;
 * and the folders that the parts of a whole are in.
 *
 * Shards are runs of jobs in the order of the input, about the same number of tokens each, so that
 * their results, one after the other, are those of a single process.
 *
 *     --shard 2/16     the second of sixteen, in parts.2-of-16
 *     --shard auto     SLURM_ARRAY_TASK_ID of SLURM_ARRAY_TASK_MIN … MAX; OMPI_COMM_WORLD_RANK of
 *                      …_SIZE; PMI_RANK of PMI_SIZE; SLURM_PROCID of SLURM_STEP_NUM_TASKS, which
 *                      only srun sets: SLURM_NTASKS is there in a script that runs once, too. Ranks
 *                      within the tasks of an array multiply them.
 */
#ifndef ATTN_CMD_SHARD_H
#define ATTN_CMD_SHARD_H

#include <stdint.h>

#include "base/arena.h"

enum { SHARD_SUFFIX_BYTES = 48 };

struct job_shard {
    size_t index; /* from 1 */
    size_t count; /* 0: the batch is not divided */
};

/* Read the option; NULL: not divided. */
int shard_read(struct job_shard *shard, const char *text, struct err *err);

/* What follows the name of the whole in that of a shard's results, ".2-of-16"; "" of a whole. */
const char *shard_suffix(char suffix[SHARD_SUFFIX_BYTES], const struct job_shard *shard);

/* Whether a job belongs to the shard: one of `tokens`, after `before` others, of `total` in all. */
bool shard_has(const struct job_shard *shard, uint64_t before, uint64_t tokens, uint64_t total);

struct shard_list {
    const char *stem;     /* the place of the whole, without a slash at its end */
    const char **folders; /* [count] parts.1-of-3, parts.2-of-3, … */
    size_t count;
    struct arena *arena; /* what all of it lives in */
};

/* Find the folders of all shards beside the place of the whole. Refused: none, some of them, and
 * those of several batches. */
int shard_list_find(struct shard_list *list, const char *target, struct arena *arena,
                    struct err *err);

#endif
