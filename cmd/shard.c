#include "shard.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"

enum { SHARDS_MAX = 1000000 };

/* A number in the environment; false where there is none. */
static bool read_variable(const char *name, long long *number, struct err *err)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return false;
    if (num_parse_integer(text, 0, INT_MAX, number))
        return true;
    err_usage(err, "--shard auto: expected a number in %s, found '%s'", name, text);
    return false;
}

/* The index of this process among others that do the same: 0 of 1 where it is alone. */
struct process_rank {
    long long index, count;
    bool known;
};

/* A number that is not there is an error, where another of its kind is. */
static int need_variable(const char *name, long long *number, struct err *err)
{
    if (read_variable(name, number, err))
        return 0;
    return err_usage(
        err, "--shard auto: expected %s beside its fellows in the environment, found nothing",
        name);
}

static int find_task(struct process_rank *task, struct err *err)
{
    long long id = 0;
    long long first = 0;
    long long last = 0;
    long long step = 1;
    *task = (struct process_rank){0, 1, false};
    if (!read_variable("SLURM_ARRAY_TASK_ID", &id, err))
        return err->kind ? -1 : 0;
    if (need_variable("SLURM_ARRAY_TASK_MIN", &first, err) ||
        need_variable("SLURM_ARRAY_TASK_MAX", &last, err))
        return -1;
    if ((!read_variable("SLURM_ARRAY_TASK_STEP", &step, err) && err->kind) || step < 1)
        step = 1;
    *task = (struct process_rank){(id - first) / step, (last - first) / step + 1, true};
    if (id < first || id > last)
        return err_usage(err,
                         "--shard auto: expected SLURM_ARRAY_TASK_ID from %lld to %lld, found %lld",
                         first, last, id);
    return 0;
}

static int find_rank(struct process_rank *rank, struct err *err)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    *rank = (struct process_rank){0, 1, false};
    for (size_t i = 0; i < sizeof names / sizeof *names && !rank->known; i++) {
        rank->known = read_variable(names[i][0], &rank->count, err);
        if (err->kind || (rank->known && need_variable(names[i][1], &rank->index, err)))
            return -1;
    }
    if (rank->index < rank->count)
        return 0;
    return err_usage(err, "--shard auto: expected a rank below %lld, found %lld", rank->count,
                     rank->index);
}

static int find_place(struct job_shard *shard, struct err *err)
{
    struct process_rank task;
    struct process_rank rank;
    if (find_task(&task, err) || find_rank(&rank, err))
        return -1;
    if (!task.known && !rank.known)
        return err_usage(err, "--shard auto: expected SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, "
                              "PMI_RANK or those of srun in the environment, found none");
    shard->index = (size_t)(task.index * rank.count + rank.index) + 1;
    shard->count = (size_t)(task.count * rank.count);
    return 0;
}

/* 2/16 */
static bool read_pair(struct job_shard *shard, const char *text)
{
    char first[16];
    long long index = 0;
    long long count = 0;
    size_t size = strcspn(text, "/");
    if (size >= sizeof first || !text[size])
        return false;
    memcpy(first, text, size);
    first[size] = '\0';
    if (!num_parse_integer(text + size + 1, 1, SHARDS_MAX, &count) ||
        !num_parse_integer(first, 1, count, &index))
        return false;
    *shard = (struct job_shard){(size_t)index, (size_t)count};
    return true;
}

int shard_read(struct job_shard *shard, const char *text, struct err *err)
{
    *shard = (struct job_shard){0};
    if (!text)
        return 0;
    if (strcmp(text, "auto") == 0)
        return find_place(shard, err);
    if (read_pair(shard, text))
        return 0;
    static const char *const words[] = {"auto"};
    char guess[NAMES_GUESS_BYTES];
    const char *near = names_nearest(NAMES_LIST(words), text, strlen(text));
    return err_usage(err, "--shard: expected I/N with I from 1 to N, or auto, found '%s'%s", text,
                     names_guess(guess, near));
}

/* Quotients and remainders apart: jobs times shards may be more than fits into a size. */
static size_t share(size_t jobs, size_t index, size_t count)
{
    return jobs / count * index + jobs % count * index / count;
}

void shard_range(const struct job_shard *shard, size_t jobs, size_t *first, size_t *end)
{
    *first = shard->count ? share(jobs, shard->index - 1, shard->count) : 0;
    *end = shard->count ? share(jobs, shard->index, shard->count) : jobs;
}
