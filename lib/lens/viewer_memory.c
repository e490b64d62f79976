/* viewer_memory.c: the bytes that passes will take. */
#include "lens/viewer.h"

#include <math.h>

#include "base/num.h"
#include "model/pass.h"

/* The floats of a site in one layer: of all heads and queries, or of the selected ones. */
static double site_floats(const struct viewer *viewer, const struct selection *selection,
                          enum site site, const struct text_with_source *pair, bool all)
{
    const struct config *config = &viewer->model.config;
    size_t tokens = pair->sentence.count, count = 0;
    bool whole = all || !selection->heads || site_set_has(selection->whole, site);
    if (!site_size(&count, config, site, whole ? config_most_heads(config) : selection->head_count,
                   tokens, pair->source.count))
        return (double)INFINITY;
    if (site == SITE_LOGITS && selection->last_logits && !selection->queries)
        return (double)config_logits(config);
    if (all || !selection_has_queries(selection, site) || !tokens)
        return (double)count;
    return (double)count / (double)tokens *
           (double)selection_query_count(selection, &pair->sentence);
}

double viewer_captured_bytes(const struct viewer *viewer, const struct selection *selection,
                             const struct text_with_source *pair)
{
    double floats = 0;
    for (enum site site = 0; site != SITE_END; site = site_next(site))
        if (site_set_has(selection->sites, site))
            floats += (double)selection_layers_of(selection, site).count *
                      site_floats(viewer, selection, site, pair, false);
    return floats * sizeof(float);
}

/* The bytes of the maps of visible keys (viewer_visible_maps) that a capture stores beside its
 * attention maps; with `by_map` only beside the one that needs most. */
static double visible_bytes(const struct viewer *viewer, const struct selection *selection,
                            const struct text_with_source *pair, size_t heads_at_once, bool by_map)
{
    double all = 0, most = 0;
    const struct layers *layers = &selection->layers;
    size_t heads = selection->heads ? selection->head_count : viewer->model.config.n_head;
    for (size_t i = 0; i < layers->count; i++)
        for (enum site site = FIRST_MAP; site <= LAST_MAP; site++) {
            if (!site_set_has(selection->sites, site))
                continue;
            size_t layer = layers->items ? layers->items[i] : i;
            double floats = (double)viewer_visible_maps(viewer, site, layer, heads_at_once) *
                            site_floats(viewer, selection, site, pair, false) / (double)heads;
            all += floats;
            most = fmax(most, floats);
        }
    return (by_map ? most : all) * sizeof(float);
}

/* The bytes of a pass: its buffers, the memory of threads, logits, what effective sites need, and
 * attention maps of one layer unless they are lent; for maps that are taken by rows, a strip for
 * each thread. */
static double pass_bytes(const struct viewer *viewer, const struct selection *selection,
                         const struct text_with_source *pair, enum capture_way way)
{
    bool lends = way != CAPTURE_NOTHING;
    const struct config *config = &viewer->model.config;
    size_t tokens = num_max(pair->sentence.count, pair->source.count);
    size_t threads = pool_threads(viewer->machine.pool);
    double bytes = (double)pass_memory_bytes(config, tokens) +
                   (double)attention_bytes(config, tokens, tokens, threads);
    struct site_set sites = selection->sites;
    if (way == CAPTURE_ROWS)
        bytes += (double)attention_rows_bytes(tokens) * (double)threads;
    if (site_set_has_effective(sites)) {
        bytes += effective_bytes(selection, config, pair->sentence.count);
        for (enum site_part part = 0; part < SITE_PARTS; part++)
            if (sites.of[part] >> SITE_PASS_END)
                site_set_add(&sites, SITE_OF(part, SITE_WEIGHTS));
        lends = false;
    }
    for (enum site site = 0; site != SITE_PASS_END; site = site_next(site))
        if (site_set_has(sites, site) &&
            (site_axes(site) == AXES_TOKEN_WORD ||
             ((site_axes(site) == AXES_HEAD_QUERY_KEY || site_is_by_name(site)) && !lends)))
            bytes += sizeof(float) * site_floats(viewer, selection, site, pair, true);
    return bytes;
}

void viewer_add_memory(struct memory *memory, const struct viewer *viewer,
                       const struct selection *selection, const struct text_with_source *pair,
                       enum capture_way way)
{
    struct selection one = *selection; /* what is captured at once */
    size_t heads = one.heads ? one.head_count : viewer->model.config.n_head;
    bool by_map = way == CAPTURE_MAPS;
    double held = 0;
    if (by_map) {
        one.sites = SITE_SET(SITE_WEIGHTS);
        one.layers.count = 1;
        double map = viewer_captured_bytes(viewer, &one, pair) / (double)heads;
        double most = fmax(floor(FLOATS_AT_ONCE * sizeof(float) / map), 1);
        heads = (size_t)fmin(most, (double)heads);
        held = (double)heads * map +
               sizeof(float) * site_floats(viewer, &one, SITE_RESID_PRE, pair, true);
    } else if (way == CAPTURE_ALL) {
        held = viewer_captured_bytes(viewer, selection, pair);
    }
    if (way >= CAPTURE_ALL)
        held += visible_bytes(viewer, selection, pair, heads, by_map);
    memory->held += held;
    memory->during = fmax(memory->during, pass_bytes(viewer, &one, pair, way));
}
