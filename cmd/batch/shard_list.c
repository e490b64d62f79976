#include "shard_list.h"

#include <string.h>

#include "base/buf.h"
#include "base/listing.h"
#include "base/num.h"
#include "shard.h"

enum { SHARDS_MAX = 1000000 };

/* The target without a slash at its end. */
static int find_stem(struct shard_list *list, const char *target, struct err *err)
{
    size_t size = strlen(target);
    while (size > 1 && target[size - 1] == '/')
        size--;
    if (!size)
        return err_usage(err, "expected a path, found ''");
    list->stem = arena_text(&list->arena, target, size, err);
    return list->stem ? 0 : -1;
}

/* ".3-of-16" behind a name. */
static bool read_suffix(const char *text, struct job_shard *shard)
{
    char first[24];
    long long index = 0;
    long long count = 0;
    const char *of = *text == '.' ? strstr(text, "-of-") : NULL;
    size_t size = of ? (size_t)(of - text) - 1 : sizeof first;
    if (size >= sizeof first)
        return false;
    memcpy(first, text + 1, size);
    first[size] = '\0';
    if (!num_parse_integer(of + 4, 1, SHARDS_MAX, &count) ||
        !num_parse_integer(first, 1, count, &index))
        return false;
    *shard = (struct job_shard){(size_t)index, (size_t)count};
    return true;
}

/* The folder of the target, and where in it the name begins. */
static const char *parent_of(struct shard_list *list, const char **name, struct err *err)
{
    const char *slash = strrchr(list->stem, '/');
    *name = slash ? slash + 1 : list->stem;
    if (!slash)
        return ".";
    size_t size = slash == list->stem ? 1 : (size_t)(slash - list->stem);
    return arena_text(&list->arena, list->stem, size, err);
}

static int note_shard(struct shard_list *list, const struct job_shard *shard, struct err *err)
{
    struct buf path = {0};
    if (list->count && list->count != shard->count)
        return err_set(err, "'%s': expected the shards of one batch, found some of %zu and of %zu",
                       list->stem, list->count, shard->count);
    if (!list->count) {
        list->count = shard->count;
        list->folders = arena_alloc(&list->arena, shard->count, sizeof *list->folders, err);
        if (!list->folders)
            return -1;
    }
    buf_text(&path, list->stem);
    shard_suffix(&path, shard);
    if (!buf_check(&path, err))
        list->folders[shard->index - 1] = arena_text(&list->arena, path.bytes, path.size, err);
    buf_release(&path);
    return list->folders[shard->index - 1] ? 0 : -1;
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

int shard_list_find(struct shard_list *list, const char *target, struct err *err)
{
    struct listing listing;
    const char *name = NULL;
    *list = (struct shard_list){0};
    if (find_stem(list, target, err))
        return -1;
    const char *parent = parent_of(list, &name, err);
    size_t size = strlen(name);
    if (!parent || listing_read(&listing, parent, &list->arena, err))
        return -1;
    for (size_t i = 0; i < listing.count; i++) {
        struct job_shard shard;
        if (strncmp(listing.names[i], name, size) == 0 &&
            read_suffix(listing.names[i] + size, &shard) && note_shard(list, &shard, err))
            return -1;
    }
    if (!list->count)
        return err_set(err, "'%s': expected its shards, '%s.1-of-N' and so on, found none",
                       list->stem, list->stem);
    return check_complete(list, err);
}

void shard_list_release(struct shard_list *list)
{
    arena_release(&list->arena);
    *list = (struct shard_list){0};
}
