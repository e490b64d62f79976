/* page_explained.c: exact queries, keys, values and what comes of them, of the heads whose cells a
 * page explains. */
#include <string.h>

#include "page_parts.h"

enum { USUAL_BYTES = 1000000 }; /* of a page, for what nobody asked for */

static size_t layers_of(const struct config *config)
{
    return config->n_layer > config->n_encoder_layer ? config->n_layer : config->n_encoder_layer;
}

/* --- which heads ------------------------------------------------------------------------------ */

/* One of the list, "0.1". */
static int read_head(struct page_source *source, const char *text, size_t size, struct err *err)
{
    const struct config *config = &source->viewer->model.config;
    const char *dot = memchr(text, '.', size);
    size_t before = dot ? (size_t)(dot - text) : size;
    size_t layer = 0;
    size_t head = 0;
    if (!dot || !selection_index(&layer, text, before, layers_of(config)) ||
        !selection_index(&head, dot + 1, size - before - 1, config->n_head))
        return err_usage(err,
                         "--explain: expected LAYER.HEAD of %zu layers of %zu heads, as 0.1, or "
                         "all or none, found '%.*s'",
                         layers_of(config), config->n_head, (int)size, text);
    source->explains[layer * config->n_head + head] = true;
    return 0;
}

int page_explained_read(struct page_source *source, struct arena *arena, struct err *err)
{
    const struct config *config = &source->viewer->model.config;
    const char *list = source->options->page.explain;
    size_t count = layers_of(config) * config->n_head;
    source->explains = arena_alloc(arena, count, sizeof *source->explains, err);
    if (!source->explains)
        return -1;
    source->usual = !list;
    memset(source->explains, list && strcmp(list, "all") == 0, count);
    if (!list || strcmp(list, "all") == 0 || strcmp(list, "none") == 0)
        return 0;
    for (;; list++) {
        size_t size = strcspn(list, ",");
        if (read_head(source, list, size, err))
            return -1;
        list += size;
        if (!*list)
            return 0;
    }
}

/* Four letters for three bytes of the numbers that are seen, in all layers. */
static size_t bytes_of_all(const struct config *config, const struct text_pair *pair)
{
    size_t queries = pair->sentence.count;
    uint64_t all = page_explained_sites(config);
    size_t bytes = 0;
    for (int i = 0; i < SITE_ALL; i++) {
        enum site site = (enum site)i;
        size_t count = 0;
        bool in_encoder = site_rows[site].part == PART_SOURCE;
        bool seen_by_half =
            site_rows[site].masked && config->causal && site_rows[site].part == PART_SENTENCE;
        if (!(all & site_bit(site)) ||
            !site_size(&count, config, site, config->n_head, queries, pair->source.count))
            continue;
        if (seen_by_half)
            count = count / queries * (queries + 1) / 2;
        bytes += (in_encoder ? config->n_encoder_layer : config->n_layer) * count * 16 / 3;
    }
    return bytes;
}

/* Is a head, of keys or values that of a group, one that is explained? */
static bool is_wanted(const struct page_source *source, const struct kept *kept, size_t head)
{
    const struct config *config = &source->viewer->model.config;
    bool grouped = site_rows[kept->site].axes == AXES_GROUP_TOKEN_DIM;
    size_t served = grouped ? config->n_head / config->n_kv_head : 1;
    const bool *row = source->explains + (size_t)kept->layer * config->n_head;
    for (size_t i = 0; i < served; i++)
        if (row[head * served + i])
            return true;
    return false;
}

/* The tensor with the heads that are wanted alone; without any its shape begins with 0. */
static int narrow(struct kept *kept, const struct page_source *source, struct arena *arena,
                  struct err *err)
{
    size_t size = kept->shape[1] * kept->shape[2];
    size_t count = 0;
    float *data = arena_room(arena, kept->shape[0] * size, sizeof *data, err);
    size_t *heads = arena_alloc(arena, kept->shape[0], sizeof *heads, err);
    if (!data || !heads)
        return -1;
    for (size_t i = 0; i < kept->shape[0]; i++) {
        if (!is_wanted(source, kept, kept->heads[i]))
            continue;
        memcpy(data + count * size, kept->data + i * size, size * sizeof *data);
        heads[count++] = kept->heads[i];
    }
    kept->shape[0] = count;
    kept->data = data;
    kept->heads = heads;
    return 0;
}

static int select_heads(struct selection *selection, const struct page_source *source,
                        struct arena *arena, struct err *err)
{
    const struct config *config = &source->viewer->model.config;
    size_t *layers = arena_alloc(arena, layers_of(config), sizeof *layers, err);
    size_t count = 0;
    if (!layers)
        return -1;
    for (size_t layer = 0; layer < layers_of(config); layer++)
        if (memchr(source->explains + layer * config->n_head, true, config->n_head))
            layers[count++] = layer;
    size_t decoder = 0;
    size_t encoder = 0;
    for (size_t i = 0; i < count; i++) {
        decoder += layers[i] < config->n_layer;
        encoder += layers[i] < config->n_encoder_layer;
    }
    *selection = (struct selection){.sites = count ? page_explained_sites(config) : 0,
                                    .layers = {layers, decoder},
                                    .encoder_layers = {layers, encoder}};
    return 0;
}

int page_explained_find(struct page_facts *facts, const struct page_source *source,
                        const struct text_pair *pair, struct arena *arena, struct err *err)
{
    const struct config *config = &source->viewer->model.config;
    struct selection selection;
    struct report *report = arena_alloc(arena, 1, sizeof *report, err);
    struct page_source all = *source;
    facts->explained_bytes = bytes_of_all(config, pair);
    if (!report)
        return -1;
    if (source->usual && facts->explained_bytes <= USUAL_BYTES / source->texts) {
        size_t count = layers_of(config) * config->n_head;
        if (!(all.explains = arena_alloc(arena, count, sizeof *all.explains, err)))
            return -1;
        memset(all.explains, true, count);
    }
    const struct look look = {&selection, pair, 1, 0, report};
    if (select_heads(&selection, &all, arena, err))
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
        if (narrow(&tensors[count], &all, arena, err))
            return -1;
        count += tensors[count].shape[0] > 0;
    }
    report->tensors = tensors;
    report->tensor_count = count;
    facts->explained = report;
    return 0;
}
