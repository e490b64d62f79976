#include "model/tap.h"

int watch_init(struct watch *watch, const struct config *config, struct arena *arena,
               struct err *err)
{
    *watch = (struct watch){.layer_count = config->n_layer};
    watch->layers = arena_alloc(arena, watch->layer_count, sizeof *watch->layers, err);
    return watch->layers ? 0 : -1;
}

void watch_add(struct watch *watch, enum site site, size_t layer)
{
    if (site_rows[site].in_layer)
        watch->layers[layer] |= site_bit(site);
    else
        watch->model_sites |= site_bit(site);
}

bool watch_has(const struct watch *watch, enum site site, size_t layer)
{
    uint64_t sites = site_rows[site].in_layer ? watch->layers[layer] : watch->model_sites;
    return (sites & site_bit(site)) != 0;
}

/* Is anything in the layers after this one watched? */
static bool later_layers(const struct watch *watch, size_t first)
{
    for (size_t layer = first; layer < watch->layer_count; layer++)
        if (watch->layers[layer])
            return true;
    return false;
}

bool watch_after(const struct watch *watch, enum site site, size_t layer)
{
    uint64_t after = ~(site_bit(site) | (site_bit(site) - 1));
    if (watch->model_sites & after)
        return true;
    if (site == SITE_EMBEDDING || site == SITE_SOURCE_EMBEDDING)
        return later_layers(watch, 0);
    if (!site_rows[site].in_layer)
        return false;
    return (watch->layers[layer] & after) != 0 || later_layers(watch, layer + 1);
}

bool watch_from(const struct watch *watch, enum site site, size_t layer)
{
    return watch_has(watch, site, layer) || watch_after(watch, site, layer);
}
