/* log_join.c: the logs of all shards as one. */
#include <string.h>

#include "log.h"

enum { MISSING_NAMED = 8 };

/* Refuse shards that differ in more than their number, and one that is not finished. */
static int check_shard(const struct log *first, const struct log *other, struct err *err)
{
    for (size_t i = 0; i < LOG_SHARD; i++)
        if (strcmp(first->facts[i], other->facts[i]) != 0)
            return err_set(err, "expected shards of one batch: %s: '%s' has \"%s\", '%s' \"%s\"",
                           log_fact_names[i], first->name, first->facts[i], other->name,
                           other->facts[i]);
    if (first->plan.shard.count != other->plan.shard.count)
        return err_set(err, "expected shards of one batch: '%s' is one of %zu, '%s' of %zu",
                       first->name, first->plan.shard.count, other->name, other->plan.shard.count);
    if (!other->finished)
        return err_set(err, "'%s': expected a shard that is finished: --resume continues it",
                       other->name);
    return 0;
}

static int refuse_missing(const struct log *const *ordered, size_t shards, struct err *err)
{
    struct buf missing = {0};
    size_t lacking = 0;
    for (size_t i = 0; i < shards; i++)
        if (!ordered[i] && lacking++ < MISSING_NAMED)
            buf_format(&missing, "%s%zu", lacking > 1 ? ", " : "", i + 1);
    int failed = buf_check(&missing, err);
    if (!failed)
        err_set(err, "expected %zu shards, missing: %s%s", shards, missing.bytes,
                lacking > MISSING_NAMED ? ", …" : "");
    buf_release(&missing);
    return -1;
}

/* Bring the shards, each of which is there once, into the order of their jobs. */
static int join(struct log *joined, const struct log *logs, size_t count, struct err *err)
{
    struct arena *arena = &joined->arena;
    size_t shards = logs->plan.shard.count;
    const struct log **ordered = arena_alloc(arena, shards, sizeof *ordered, err);
    joined->parts = arena_alloc(arena, shards, sizeof *joined->parts, err);
    if (!ordered || !joined->parts)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct log **index = &ordered[logs[i].plan.shard.index - 1];
        if (check_shard(&logs[0], &logs[i], err))
            return -1;
        if (*index)
            return err_set(err, "expected shard %zu once, found '%s' and '%s'",
                           logs[i].plan.shard.index, (*index)->name, logs[i].name);
        *index = &logs[i];
    }
    for (; joined->part_count < shards; joined->part_count++) {
        const struct log *log = ordered[joined->part_count];
        if (!log)
            return refuse_missing(ordered, shards, err);
        joined->parts[joined->part_count] = arena_text(arena, log->part, strlen(log->part), err);
        if (!joined->parts[joined->part_count])
            return -1;
        joined->done += log->done;
        if (log->failed && !joined->failed)
            buf_bytes(&joined->failure, log->failure.bytes, log->failure.size);
        joined->failed += log->failed;
    }
    static const char folder_of[] = "folder of ";
    const char *results = logs->facts[LOG_RESULTS];
    joined->plan.is_folder = strncmp(results, folder_of, sizeof folder_of - 1) == 0;
    results += joined->plan.is_folder ? sizeof folder_of - 1 : 0;
    joined->facts[LOG_RESULTS] = arena_text(arena, results, strlen(results), err);
    return joined->facts[LOG_RESULTS] ? buf_check(&joined->failure, err) : -1;
}

int log_join(struct log *joined, const char *const *paths, size_t count, struct err *err)
{
    struct arena arena = {0};
    size_t read = 0;
    *joined = (struct log){.lock = -1, .descriptor = -1};
    struct log *logs = arena_alloc(&arena, count, sizeof *logs, err);
    int failed = !logs;
    while (!failed && read < count) {
        failed = log_read(&logs[read], paths[read], err);
        read++;
    }
    failed = failed || join(joined, logs, count, err);
    for (size_t i = 0; i < read; i++)
        log_close(&logs[i]);
    arena_release(&arena);
    return failed ? -1 : 0;
}
