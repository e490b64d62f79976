#include "model/tap.h"

#include "base/arena.h"
#include "model/layer.h"

int watch_init(struct watch *watch, const struct config *config, struct arena *arena,
               struct err *err)
{
    size_t encoder = config->n_encoder_layer;
    *watch = (struct watch){
        .layer_count = config->n_layer > encoder ? config->n_layer : encoder,
        .norms_sums = style_norms_sums(config->style),
    };
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

/* Twice the place of a site in its layer; a norm that comes last stands directly after a sum. */
static int place_of(enum site site)
{
    enum site after = site_rows[site].after;
    return after ? 2 * (int)after + 1 : 2 * (int)site;
}

/* The sites that come later, in the same layer or at all. */
static uint64_t later_sites(const struct watch *watch, enum site site)
{
    uint64_t later = 0;
    if (!watch->norms_sums)
        return ~(site_bit(site) | (site_bit(site) - 1));
    for (int other = 0; other < SITE_COUNT; other++)
        if (place_of((enum site)other) > place_of(site))
            later |= site_bit((enum site)other);
    return later;
}

/* The sites in the layers that a site's own layer is one of: the encoder's, or all others. */
static uint64_t sites_of_stack(enum site site)
{
    uint64_t encoder = (site_bit(SITE_ENC_RESID_POST) << 1) - site_bit(SITE_ENC_RESID_PRE);
    if (!site_rows[site].in_layer)
        return 0;
    return site_rows[site].part == PART_SOURCE ? encoder : ~encoder;
}

bool watch_after(const struct watch *watch, enum site site, size_t layer)
{
    uint64_t later = later_sites(watch, site);
    uint64_t stack = sites_of_stack(site);
    uint64_t watched = watch->model_sites & later;
    for (size_t i = 0; i < watch->layer_count; i++) {
        uint64_t sites = watch->layers[i];
        watched |= sites & later & ~stack; /* a stack comes after the whole of another */
        watched |= i > layer ? sites & stack : i == layer ? sites & stack & later : 0;
    }
    return watched != 0;
}

bool watch_from(const struct watch *watch, enum site site, size_t layer)
{
    return watch_has(watch, site, layer) || watch_after(watch, site, layer);
}

bool watch_has_any(const struct watch *watch, enum site_part part)
{
    for (int site = 0; site < SITE_COUNT; site++)
        for (size_t layer = 0; site_rows[site].part == part && layer < watch->layer_count; layer++)
            if (watch_has(watch, (enum site)site, layer))
                return true;
    return false;
}
