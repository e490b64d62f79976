/* shard.h: which part of a batch one process does: --shard I/N, or what a cluster's scheduler says.
 *
 * A batch is a sequence of jobs, and shard I of N a contiguous range of them, so that the logs of
 * all shards, one after the other, are that of a single process.
 *
 *     --shard 2/16     the second of sixteen
 *     --shard auto     SLURM_ARRAY_TASK_ID of SLURM_ARRAY_TASK_MIN … MAX; OMPI_COMM_WORLD_RANK of
 *                      …_SIZE; PMI_RANK of PMI_SIZE; SLURM_PROCID of SLURM_STEP_NUM_TASKS, which
 *                      only srun sets: SLURM_NTASKS is there in a script that runs once, too. Ranks
 *                      within the tasks of an array multiply them.
 */
#ifndef ATTN_CMD_SHARD_H
#define ATTN_CMD_SHARD_H

#include "base/err.h"

struct job_shard {
    size_t index; /* from 1 */
    size_t count; /* 0: the batch is not divided */
};

/* Read the option; NULL: not divided. */
int shard_read(struct job_shard *shard, const char *text, struct err *err);

/* The jobs of the shard, from `first` up to `end`. */
void shard_range(const struct job_shard *shard, size_t jobs, size_t *first, size_t *end);

#endif
