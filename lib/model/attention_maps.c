#include "base/num.h"
#include "model/pass.h"

/* Watched, and something the mechanism makes. */
static bool is_wanted(const struct pass *pass, enum site site, size_t layer)
{
    return pass_watches(pass, site, layer) && site_exists(pass->config, SITE_OF(pass->part, site));
}

bool attention_maps_are_wanted(const struct pass *pass, enum site site)
{
    for (size_t layer = 0; layer < pass->layers; layer++)
        if (is_wanted(pass, site, layer))
            return true;
    return false;
}

static size_t cells_of(const struct pass *pass, size_t text)
{
    return pass->batch->queries[text].count * batch_keys(pass->batch, text);
}

/* The floats of one site for all heads of all texts. */
static int count_cells(const struct pass *pass, size_t *total)
{
    const struct batch *batch = pass->batch;
    for (size_t s = 0; s < batch->count; s++) {
        size_t cells = 0;
        if (!num_multiply(&cells, batch->queries[s].count, batch_keys(batch, s)) ||
            !num_multiply(&cells, cells, pass->config->n_head) || !num_add(total, *total, cells))
            return err_memory(pass->err, (size_t)-1);
    }
    return 0;
}

int attention_maps_init(struct pass *pass)
{
    struct attention_maps *maps = &pass->scratch.maps;
    size_t heads = pass->batch->count * pass->config->n_head;
    size_t total = 0;
    if (count_cells(pass, &total))
        return -1;
    if (pass->tap->lend) {
        maps->rows = arena_alloc(pass->arena, pass->batch->count, sizeof *maps->rows, pass->err);
        if (!maps->rows)
            return -1;
    }
    for (int i = 0; i < ATTENTION_MAPS; i++) {
        if (!attention_maps_are_wanted(pass, (enum site)(SITE_SCORES + i)))
            continue;
        maps->places[i] = arena_alloc(pass->arena, heads, sizeof(float *), pass->err);
        if (!pass->tap->lend)
            maps->own[i] = arena_room(pass->arena, total, sizeof(float), pass->err);
        if (!maps->places[i] || (!pass->tap->lend && !maps->own[i]))
            return -1;
    }
    return 0;
}

static int borrow(struct pass *pass, enum site site, size_t layer, float **places)
{
    const struct batch *batch = pass->batch;
    size_t heads = pass->config->n_head;
    for (size_t s = 0; s < batch->count; s++) {
        struct attention_map_room room = {
            .site = SITE_OF(pass->part, site),
            .layer = (int)layer,
            .text = s,
            .queries = batch->queries[s].count,
            .keys = batch_keys(batch, s),
            .heads = places + s * heads,
        };
        if (room.queries && pass->tap->lend(pass->tap->context, &room, pass->err))
            return -1;
        pass->scratch.maps.rows[s] = room.rows;
    }
    return 0;
}

int attention_maps_begin(struct pass *pass, size_t layer)
{
    struct attention_maps *maps = &pass->scratch.maps;
    size_t heads = pass->batch->count * pass->config->n_head;
    for (int i = 0; i < ATTENTION_MAPS; i++) {
        enum site site = (enum site)(SITE_SCORES + i);
        float **places = maps->places[i];
        for (size_t k = 0; places && k < heads; k++)
            places[k] = NULL;
        if (!is_wanted(pass, site, layer))
            continue;
        float *own = maps->own[i];
        if (!own && borrow(pass, site, layer, places))
            return -1;
        for (size_t k = 0; own && k < heads; k++) {
            places[k] = own;
            own += cells_of(pass, k / pass->config->n_head);
        }
    }
    return 0;
}

float *attention_maps_at(const struct pass *pass, enum site site, size_t text, size_t head)
{
    float *const *places = pass->scratch.maps.places[site - SITE_SCORES];
    return places ? places[text * pass->config->n_head + head] : NULL;
}

enum pass_state attention_maps_announce(struct pass *pass, enum site site, size_t layer)
{
    const struct batch *batch = pass->batch;
    const float *own = pass->scratch.maps.own[site - SITE_SCORES];
    size_t heads = pass->config->n_head;
    if (!own || !is_wanted(pass, site, layer))
        return pass_after(pass, site, layer);
    for (size_t s = 0; s < batch->count; s++) {
        size_t keys = batch_keys(batch, s);
        struct tensor values = {
            .data = own,
            .rank = 3,
            .shape = {heads, batch->queries[s].count, keys},
            .stride = {cells_of(pass, s), keys, 1},
        };
        if (batch->queries[s].count && tap_show(pass, site, layer, s, values))
            return PASS_FAILED;
        own += heads * cells_of(pass, s);
    }
    return pass_after(pass, site, layer);
}
