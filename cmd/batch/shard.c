#include "shard.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/listing.h"
#include "base/num.h"

enum { SHARDS_MAX = 1000000 };

/* --- the option ------------------------------------------------------------------------------- */

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

/* Where this process stands among others that do the same: 0 of 1 where it is alone. */
struct standing {
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

static int find_task(struct standing *task, struct err *err)
{
    long long id = 0;
    long long first = 0;
    long long last = 0;
    long long step = 1;
    *task = (struct standing){0, 1, false};
    if (!read_variable("SLURM_ARRAY_TASK_ID", &id, err))
        return err->kind ? -1 : 0;
    if (need_variable("SLURM_ARRAY_TASK_MIN", &first, err) ||
        need_variable("SLURM_ARRAY_TASK_MAX", &last, err))
        return -1;
    if ((!read_variable("SLURM_ARRAY_TASK_STEP", &step, err) && err->kind) || step < 1)
        step = 1;
    *task = (struct standing){(id - first) / step, (last - first) / step + 1, true};
    if (id < first || id > last)
        return err_usage(err,
                         "--shard auto: expected SLURM_ARRAY_TASK_ID from %lld to %lld, found %lld",
                         first, last, id);
    return 0;
}

static int find_rank(struct standing *rank, struct err *err)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    *rank = (struct standing){0, 1, false};
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
    struct standing task;
    struct standing rank;
    if (find_task(&task, err) || find_rank(&rank, err))
        return -1;
    if (!task.known && !rank.known)
        return err_usage(err, "--shard auto: expected SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, "
                              "PMI_RANK or those of srun in the environment, found none");
    shard->index = (size_t)(task.index * rank.count + rank.index) + 1;
    shard->count = (size_t)(task.count * rank.count);
    return 0;
}

/* 2/16, or 2-of-16 */
static bool read_pair(struct job_shard *shard, const char *text, const char *between)
{
    char first[16];
    long long index = 0;
    long long count = 0;
    const char *second = strstr(text, between);
    size_t size = second ? (size_t)(second - text) : sizeof first;
    if (size >= sizeof first)
        return false;
    memcpy(first, text, size);
    first[size] = '\0';
    if (!num_parse_integer(second + strlen(between), 1, SHARDS_MAX, &count) ||
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
    if (read_pair(shard, text, "/"))
        return 0;
    return err_usage(err, "--shard: expected I/N with I from 1 to N, or auto, found '%s'", text);
}

const char *shard_suffix(char suffix[SHARD_SUFFIX_BYTES], const struct job_shard *shard)
{
    *suffix = '\0';
    if (shard->count)
        snprintf(suffix, SHARD_SUFFIX_BYTES, ".%zu-of-%zu", shard->index, shard->count);
    return suffix;
}

bool shard_has(const struct job_shard *shard, uint64_t before, uint64_t tokens, uint64_t total)
{
    if (!shard->count)
        return true;
    /* By its middle, in halves of tokens: 2^43 tokens in 2^20 shards still fit into 64 bits. */
    uint64_t place = (2 * before + tokens) * shard->count / (2 * total);
    return (place < shard->count ? place : shard->count - 1) == shard->index - 1;
}

/* --- the folders ------------------------------------------------------------------------------ */

static int note_shard(struct shard_list *list, const struct job_shard *shard, struct err *err)
{
    char suffix[SHARD_SUFFIX_BYTES];
    if (list->count && list->count != shard->count)
        return err_set(err, "'%s': expected the shards of one batch, found some of %zu and of %zu",
                       list->stem, list->count, shard->count);
    if (!list->count) {
        list->count = shard->count;
        list->folders = arena_alloc(list->arena, shard->count, sizeof *list->folders, err);
        if (!list->folders)
            return -1;
    }
    const char **folder = &list->folders[shard->index - 1];
    *folder = arena_format(list->arena, err, "%s%s", list->stem, shard_suffix(suffix, shard));
    return *folder ? 0 : -1;
}

static int check_complete(const struct shard_list *list, struct err *err)
{
    struct buf missing = {0};
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->folders[i])
            continue;
        if (count++ < 8)
            buf_format(&missing, "%s%zu", count > 1 ? ", " : "", i + 1);
    }
    if (count)
        err_set(err, "'%s': expected %zu shards, missing are %s%s", list->stem, list->count,
                missing.bytes ? missing.bytes : "", count > 8 ? ", …" : "");
    buf_release(&missing);
    return count ? -1 : 0;
}

int shard_list_find(struct shard_list *list, const char *target, struct arena *arena,
                    struct err *err)
{
    struct listing listing;
    struct job_shard shard;
    size_t size = strlen(target);
    while (size > 1 && target[size - 1] == '/')
        size--;
    *list = (struct shard_list){.arena = arena, .stem = arena_text(arena, target, size, err)};
    if (!list->stem || !size)
        return size ? -1 : err_usage(err, "expected a path, found ''");
    const char *slash = strrchr(list->stem, '/');
    const char *name = slash ? slash + 1 : list->stem;
    const char *parent = slash == list->stem ? "/" : ".";
    if (slash && slash != list->stem)
        parent = arena_text(arena, list->stem, (size_t)(slash - list->stem), err);
    if (!parent || listing_read(&listing, parent, arena, err))
        return -1;
    for (size_t i = 0; i < listing.count; i++) {
        const char *found = listing.names[i];
        bool is_shard = strncmp(found, name, strlen(name)) == 0 && found[strlen(name)] == '.' &&
                        read_pair(&shard, found + strlen(name) + 1, "-of-");
        if (is_shard && note_shard(list, &shard, err))
            return -1;
    }
    if (!list->count)
        return err_set(err, "'%s': expected its shards, '%s.1-of-N' and so on, found none",
                       list->stem, list->stem);
    return check_complete(list, err);
}
