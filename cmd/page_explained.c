/* page_explained.c: the exact tensors of the heads whose cells a page explains (--explain). */
#include <string.h>

#include "page_parts.h"

enum { DEFAULT_BYTES = 1000000 }; /* of a page, for the tensors of all heads without --explain */

static size_t layers_of(const struct config *config)
{
    return config->n_layer > config->n_encoder_layer ? config->n_layer : config->n_encoder_layer;
}

int page_explained_read(struct page_source *source, struct arena *arena, struct err *err)
{
    const struct config *config = &source->viewer->model.config;
    const char *list = source->options->page.explain;
    size_t count = layers_of(config) * config->n_head;
    bool all = list && strcmp(list, "all") == 0;
    source->usual = !list;
    source->explains = arena_alloc(arena, count, sizeof *source->explains, err);
    if (!source->explains)
        return -1;
    memset(source->explains, all, count);
    if (!list || all || strcmp(list, "none") == 0)
        return 0;
    for (;; list++) {
        size_t size = strcspn(list, ",");
        const char *dot = memchr(list, '.', size);
        size_t before = dot ? (size_t)(dot - list) : size;
        size_t layer = 0;
        size_t head = 0;
        if (!dot || !selection_index(&layer, list, before, layers_of(config)) ||
            !selection_index(&head, dot + 1, size - before - 1, config->n_head))
            return err_usage(err,
                             "--explain: expected LAYER.HEAD of %zu layers of %zu heads, as 0.1, "
                             "or all or none, found '%.*s'",
                             layers_of(config), config->n_head, (int)size, list);
        source->explains[layer * config->n_head + head] = true;
        list += size;
        if (!*list)
            return 0;
    }
}

/* Four letters for three bytes of the visible numbers of all layers. */
static size_t bytes_of_all(const struct config *config, const struct text_pair *pair)
{
    size_t queries = pair->sentence.count;
    uint64_t all = page_explained_sites(config);
    size_t bytes = 0;
    for (int i = 0; i < SITE_ALL; i++) {
        enum site site = (enum site)i;
        const struct site_row *row = &site_rows[site];
        size_t count = 0;
        if (!(all & site_bit(site)) ||
            !site_size(&count, config, site, config->n_head, queries, pair->source.count))
            continue;
        if (row->masked && config->causal && row->part == PART_SENTENCE)
            count = count / queries * (queries + 1) / 2;
        bytes +=
            (row->part == PART_SOURCE ? config->n_encoder_layer : config->n_layer) * count * 16 / 3;
    }
    return bytes;
}

/* Keep the heads of a tensor that are explained, or the key/value heads of these; the shape begins
 * with their count. */
static int narrow(struct kept *kept, const bool *explains, const struct config *config,
                  struct arena *arena, struct err *err)
{
    bool grouped = site_rows[kept->site].axes == AXES_GROUP_TOKEN_DIM;
    size_t served = grouped ? config->n_head / config->n_kv_head : 1;
    const bool *layer = explains + (size_t)kept->layer * config->n_head;
    size_t size = kept->shape[1] * kept->shape[2];
    size_t count = 0;
    float *data = arena_room(arena, kept->shape[0] * size, sizeof *data, err);
    size_t *heads = arena_alloc(arena, kept->shape[0], sizeof *heads, err);
    if (!data || !heads)
        return -1;
    for (size_t i = 0; i < kept->shape[0]; i++) {
        if (!memchr(layer + kept->heads[i] * served, true, served))
            continue;
        memcpy(data + count * size, kept->data + i * size, size * sizeof *data);
        heads[count++] = kept->heads[i];
    }
    kept->shape[0] = count;
    kept->data = data;
    kept->heads = heads;
    return 0;
}

/* The layers that have heads to explain; without any no sites. */
static int select_layers(struct selection *selection, const bool *explains,
                         const struct config *config, struct arena *arena, struct err *err)
{
    size_t *layers = arena_alloc(arena, layers_of(config), sizeof *layers, err);
    *selection = (struct selection){.layers = {layers, 0}, .encoder_layers = {layers, 0}};
    if (!layers)
        return -1;
    for (size_t layer = 0, count = 0; layer < layers_of(config); layer++) {
        if (!memchr(explains + layer * config->n_head, true, config->n_head))
            continue;
        layers[count++] = layer;
        selection->sites = page_explained_sites(config);
        selection->layers.count += layer < config->n_layer;
        selection->encoder_layers.count += layer < config->n_encoder_layer;
    }
    return 0;
}

int page_explained_find(struct page_facts *facts, const struct page_source *source,
                        const struct text_pair *pair, struct arena *arena, struct err *err)
{
    const struct config *config = &source->viewer->model.config;
    struct selection selection;
    struct report *report = arena_alloc(arena, 1, sizeof *report, err);
    const bool *explains = source->explains;
    facts->explained_bytes = bytes_of_all(config, pair);
    if (!report)
        return -1;
    if (source->usual && facts->explained_bytes <= DEFAULT_BYTES / source->texts) {
        size_t count = layers_of(config) * config->n_head;
        bool *all = arena_alloc(arena, count, sizeof *all, err);
        if (!all)
            return -1;
        explains = memset(all, true, count);
    }
    const struct look look = {&selection, pair, 1, 0, report};
    if (select_layers(&selection, explains, config, arena, err))
        return -1;
    if (!selection.sites)
        return 0;
    if (viewer_look(source->viewer, &look, arena, err))
        return -1;
    struct kept *tensors = arena_alloc(arena, report->tensor_count, sizeof *tensors, err);
    size_t count = 0;
    if (!tensors)
        return -1;
    for (size_t i = 0; i < report->tensor_count; i++) {
        tensors[count] = report->tensors[i];
        if (narrow(&tensors[count], explains, config, arena, err))
            return -1;
        count += tensors[count].shape[0] > 0;
    }
    report->tensors = tensors;
    report->tensor_count = count;
    facts->explained = report;
    return 0;
}
