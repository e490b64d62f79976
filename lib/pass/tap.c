#include "pass/tap.h"

#include "base/memory.h"
#include "base/num.h"
#include "model/points.h"

int watch_init(struct watch *watch, const struct config *config, struct arena *arena,
               struct err *err)
{
    *watch = (struct watch){
        .config = config,
        .layer_count = num_max(config->n_layer, stack_of(config, BRANCH_SOURCE)->layers),
    };
    watch->layers = arena_alloc(arena, watch->layer_count, sizeof *watch->layers, err);
    return watch->layers ? 0 : -1;
}

void watch_add(struct watch *watch, enum site site, size_t layer)
{
    site_set_add(&watch->layers[site_row(site)->in_layer ? layer : 0], site);
    site_set_add(&watch->any, site);
    watch->end = num_max(watch->end, site_order(watch->config, site, layer));
}

bool watch_has(const struct watch *watch, enum site site, size_t layer)
{
    return site_set_has(watch->layers[site_row(site)->in_layer ? layer : 0], site);
}
