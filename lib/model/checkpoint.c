#include "model/checkpoint.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "format/json.h"

static const char single_name[] = "model.safetensors";
static const char index_name[] = "model.safetensors.index.json";
static const char pickled_name[] = "pytorch_model.bin"; /* which is a program: it is not read */

/* Shards are files of the folder itself: a name with a path in it leads out of the model. */
static bool is_plain_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int open_shards(struct checkpoint *checkpoint, const struct folder *folder, struct err *err)
{
    for (size_t i = 0; i < checkpoint->count; i++) {
        struct shard *shard = &checkpoint->shards[i];
        if (safetensors_open(&shard->tensors, folder, shard->name, err))
            return -1;
    }
    return 0;
}

/* The files that a weight map names, each once. */
static int list_shards(struct checkpoint *checkpoint, const struct json *map, struct err *err)
{
    struct map seen = {0};
    int failed = -1;
    checkpoint->shards =
        arena_alloc(&checkpoint->arena, json_count(map), sizeof *checkpoint->shards, err);
    if (!checkpoint->shards)
        return -1;
    for (const struct json *member = json_first(map); member; member = json_next(member)) {
        const char *name = NULL;
        if (!json_get_text(member, &name) || !is_plain_name(name)) {
            char found[64];
            err_set(err, "field 'weight_map': '%s': expected the name of a file, found %s",
                    json_key(member), json_describe(member, found, sizeof found));
            goto done;
        }
        if (map_get(&seen, name, strlen(name), NULL))
            continue;
        char *copy = arena_text(&checkpoint->arena, name, strlen(name), err);
        if (!copy || map_put(&seen, copy, strlen(copy), 0, err))
            goto done;
        checkpoint->shards[checkpoint->count++].name = copy;
    }
    failed = 0;
done:
    map_release(&seen);
    return failed;
}

/* Every tensor must be where the index says it is. */
static int check_places(const struct checkpoint *checkpoint, const struct json *map,
                        struct err *err)
{
    for (const struct json *member = json_first(map); member; member = json_next(member)) {
        const char *name = NULL;
        json_get_text(member, &name);
        size_t i = 0;
        while (strcmp(checkpoint->shards[i].name, name) != 0)
            i++;
        if (!safetensors_find(&checkpoint->shards[i].tensors, json_key(member)))
            return err_set(err, "field 'weight_map': expected tensor '%s' in '%s', found none",
                           json_key(member), name);
    }
    return 0;
}

static int open_index(struct checkpoint *checkpoint, const struct folder *folder, struct err *err)
{
    struct file file = {0};
    struct json *root = NULL;
    int failed = -1;
    if (folder_open(&file, folder, index_name, err))
        return -1;
    checkpoint->name = index_name;
    if (json_parse(&root, file.bytes, file.size, err) ||
        (json_is_object(root) && json_unique_keys(root, err)))
        goto named;
    const struct json *map = json_is_object(root) ? json_member(root, "weight_map") : NULL;
    if (!map || !json_is_object(map) || json_count(map) == 0) {
        err_set(err, "field 'weight_map': expected an object of tensors and files");
        goto named;
    }
    if (json_unique_keys(map, err) || list_shards(checkpoint, map, err))
        goto named;
    if (open_shards(checkpoint, folder, err))
        goto done; /* the message names the shard */
    failed = check_places(checkpoint, map, err);
named:
    if (failed)
        err_prefix(err, "'%s/%s'", folder->path, index_name);
done:
    json_free(root);
    file_release(&file);
    return failed;
}

static int open_single(struct checkpoint *checkpoint, const struct folder *folder, struct err *err)
{
    if (!folder_has(folder, single_name) && folder_has(folder, pickled_name))
        return err_set(err,
                       "'%s': expected %s, found %s alone: save_pretrained of PyTorch's "
                       "transformers writes it",
                       folder->path, single_name, pickled_name);
    checkpoint->shards = arena_alloc(&checkpoint->arena, 1, sizeof *checkpoint->shards, err);
    if (!checkpoint->shards)
        return -1;
    checkpoint->count = 1;
    checkpoint->name = checkpoint->shards[0].name = single_name;
    return open_shards(checkpoint, folder, err);
}

int checkpoint_open(struct checkpoint *checkpoint, const struct folder *folder, struct err *err)
{
    *checkpoint = (struct checkpoint){0};
    bool single = folder_has(folder, single_name) || !folder_has(folder, index_name);
    int failed = (single ? open_single : open_index)(checkpoint, folder, err);
    if (failed)
        checkpoint_release(checkpoint);
    return failed;
}

void checkpoint_release(struct checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->count; i++)
        safetensors_release(&checkpoint->shards[i].tensors);
    arena_release(&checkpoint->arena);
    *checkpoint = (struct checkpoint){0};
}

static struct found_tensor find_exactly(const struct checkpoint *checkpoint, const char *name)
{
    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct shard *shard = &checkpoint->shards[i];
        const struct safetensors_entry *entry = safetensors_find(&shard->tensors, name);
        if (entry)
            return (struct found_tensor){entry, shard->name};
    }
    return (struct found_tensor){0};
}

struct found_tensor checkpoint_find(const struct checkpoint *checkpoint, const char *name)
{
    char prefixed[128];
    struct found_tensor found = find_exactly(checkpoint, name);
    if (found.entry)
        return found;
    snprintf(prefixed, sizeof prefixed, "transformer.%s", name);
    return find_exactly(checkpoint, prefixed);
}
