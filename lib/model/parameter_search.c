#include "model/parameter_search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/parameter_table.h"

int parameter_blame(const struct folder *folder, const char *file, const char *tensor,
                    struct err *err)
{
    return err_prefix(err, "'%s/%s': tensor '%s'", folder->path, file, tensor);
}

static bool same_shape(const struct safetensors_entry *entry, size_t rank, const size_t *shape)
{
    return entry->rank == rank && memcmp(entry->shape, shape, rank * sizeof *shape) == 0;
}

static int shape_error(const struct safetensors_entry *entry, size_t rank, const size_t *shape,
                       struct err *err)
{
    char expected[PARAMETER_SHAPE_BYTES];
    char found[PARAMETER_SHAPE_BYTES];
    return err_set(err, "expected %s, found %s", parameter_shape_text(expected, rank, shape),
                   parameter_shape_text(found, entry->rank, entry->shape));
}

static int check_entry(const struct safetensors_entry *entry, enum parameter_id id,
                       const struct config *config, struct err *err)
{
    size_t shape[2];
    size_t rank = parameter_shape(shape, id, config);
    if (!same_shape(entry, rank, shape))
        return shape_error(entry, rank, shape, err);
    if (!dtype_is_weight(entry->dtype))
        return err_unsupported(err, "expected F32, F16, BF16 or F64, found %s",
                               dtype_name(entry->dtype));
    return 0;
}

int parameter_search_find(struct found_tensor *found, const struct parameter_search *search,
                          size_t index, struct err *err)
{
    struct parameter_key key = parameter_key(index);
    const char *file = search->checkpoint->name;
    char name[PARAMETER_NAME_BYTES];
    if (!parameter_is_used(key.id, key.layer, search->config))
        return 0;
    parameter_name(name, key.id, key.layer, search->config);
    *found = checkpoint_find(search->checkpoint, name);
    if (!found->entry && parameter_rows[key.id].optional)
        return 0;
    if (!found->entry)
        err_set(err, "expected in the file, found none of that name");
    else if (check_entry(found->entry, key.id, search->config, err))
        file = found->file;
    else
        return 0;
    return parameter_blame(search->folder, file, name, err);
}

/* The number in "h.12.attn…" or "transformer.h.12.attn…", where `stack` is "h."; -1 where the name
 * has none. */
static long layer_of_name(const char *name, const char *stack)
{
    static const char prefix[] = "transformer.";
    size_t size = strlen(stack);
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
        name += sizeof prefix - 1;
    if (strncmp(name, stack, size) != 0 || name[size] < '0' || name[size] > '9')
        return -1;
    return strtol(name + size, NULL, 10);
}

static int check_layer(const char *name, const struct config *config, struct err *err)
{
    long layer = layer_of_name(name, "h.");
    long encoder_layer = layer_of_name(name, "enc.");
    if (layer >= 0 && (size_t)layer >= config->n_layer)
        return err_set(err, "expected layers below n_layer = %zu, found layer %ld", config->n_layer,
                       layer);
    if (encoder_layer >= 0 && (size_t)encoder_layer >= config->n_encoder_layer)
        return err_set(err, "expected layers below n_encoder_layer = %zu, found layer %ld",
                       config->n_encoder_layer, encoder_layer);
    return 0;
}

/* A file with more layers than the config says is not the model that the config describes. */
int parameter_search_layers(const struct parameter_search *search, struct err *err)
{
    for (size_t s = 0; s < search->checkpoint->count; s++) {
        const struct shard *shard = &search->checkpoint->shards[s];
        for (size_t i = 0; i < shard->tensors.count; i++) {
            const char *name = shard->tensors.entries[i].name;
            if (check_layer(name, search->config, err))
                return parameter_blame(search->folder, shard->name, name, err);
        }
    }
    return 0;
}
