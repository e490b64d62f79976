/* family_tensors.c: a slot's tensor: its name, its shape, and which of its rows are the slot's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/family/family.h"

static const struct family_tensor *find(const struct family *family, enum parameter_id id)
{
    for (const struct family_names *names = family->names; names; names = names->base)
        for (const struct family_tensor *tensor = names->tensors; tensor->name; tensor++)
            if (tensor->id == id)
                return tensor;
    return NULL;
}

const struct family_tensor *family_tensor(const struct family *family, enum parameter_id id)
{
    const struct family_tensor *own = find(family, id);
    return own || id == 0 ? own : find(family, id - 1);
}

const char *family_tensor_name(char name[PARAMETER_NAME_BYTES], const struct family *family,
                               enum parameter_id id, size_t layer)
{
    const struct family_tensor *tensor = family_tensor(family, id);
    const char *ending = tensor && tensor->id == id ? "weight" : "bias";
    const char *prefix =
        id == PARAMETER_LM_HEAD || id == PARAMETER_LM_HEAD + 1 ? "" : family->names->prefix;
    const char *text = tensor ? tensor->name : "?";
    if (id < PARAMETERS_OF_MODEL)
        snprintf(name, PARAMETER_NAME_BYTES, "%s%s.%s", prefix, text, ending);
    else
        snprintf(name, PARAMETER_NAME_BYTES, "%s%s%zu.%s.%s", prefix, family->names->layers, layer,
                 text, ending);
    return name;
}

long family_layer_of(const char *prefix, const char *layers, const char *name)
{
    while (*prefix && strncmp(name, prefix, strlen(prefix)) != 0)
        prefix = strchr(prefix, '.') + 1;
    name += strlen(prefix);
    if (strncmp(name, layers, strlen(layers)) != 0)
        return -1;
    name += strlen(layers);
    return *name >= '0' && *name <= '9' ? strtol(name, NULL, 10) : -1;
}

size_t family_shape(size_t shape[2], enum parameter_id id, const struct config *config)
{
    const struct family_tensor *tensor = family_tensor(config->family, id);
    size_t rank = parameter_shape(shape, id, config);
    enum layout layout = tensor ? tensor->layout : LAYOUT_ROWS;
    bool of_words = id == PARAMETER_WTE || id == PARAMETER_WPE || id == PARAMETER_LM_HEAD;
    if (!of_words && rank > 1) {
        size_t in = shape[0];
        shape[0] = shape[1];
        shape[1] = in;
    }
    if (layout == LAYOUT_JOINED || layout == LAYOUT_GROUPED)
        shape[0] = (config->n_head + 2 * config->n_kv_head) * config->d_k; /* q, k and v */
    else if (layout != LAYOUT_ROWS)
        shape[0] *= 2;
    return rank;
}

struct row_view family_view(enum parameter_id id, const struct config *c)
{
    const struct family_tensor *tensor = family_tensor(c->family, id);
    size_t third = id < PARAMETER_K ? 0 : id < PARAMETER_V ? 1 : 2; /* is it of q, k or v? */
    size_t queries = c->n_head * c->d_k;
    size_t keys = c->n_kv_head * c->d_k;
    size_t shared = c->n_head / c->n_kv_head; /* queries of a group */
    struct row_view all = {0, SIZE_MAX, 0};
    switch (tensor ? tensor->layout : LAYOUT_ROWS) {
    case LAYOUT_ROWS:
    case LAYOUT_FIRST_HALF:
        return all;
    case LAYOUT_LAST_HALF:
        all.first = c->n_inner;
        return all;
    case LAYOUT_JOINED:
        all.first = third == 0 ? 0 : third == 1 ? queries : queries + keys;
        return all;
    case LAYOUT_GROUPED:
        break;
    }
    return (struct row_view){
        .first = third == 0 ? 0 : (shared + third - 1) * c->d_k,
        .block = third == 0 ? shared * c->d_k : c->d_k,
        .stride = (shared + 2) * c->d_k,
    };
}
