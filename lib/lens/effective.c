#include "lens/effective.h"

#include <math.h>

#include "lens/effective_parts.h"

static const enum site ingredient_sites[INGREDIENTS] = {SITE_RESID_PRE, SITE_V, SITE_WEIGHTS,
                                                        SITE_CONTEXT};

bool effective_is_selected(const struct effective *e, enum site site, int layer)
{
    struct layers layers = selection_layers_of(e->selection, site);
    if (!(e->selection->sites >> site & 1))
        return false;
    for (size_t i = 0; i < layers.count; i++)
        if (layer < 0 || layers.items[i] == (size_t)layer)
            return true;
    return false;
}

int effective_show(const struct effective *e, const struct announcement *like, enum site site,
                   const float *values, struct err *err)
{
    const struct held_text *text = &e->texts[like->text];
    size_t heads = e->run->config->n_head;
    size_t cells = text->queries * text->keys;
    struct announcement made = {.site = site, .layer = like->layer, .text = like->text};
    if (site_has_heads(site))
        made.values =
            (struct tensor){values, 3, {heads, text->queries, text->keys}, {cells, text->keys, 1}};
    else
        made.values = (struct tensor){values, 2, {text->queries, text->keys}, {text->keys, 1}};
    return e->next.sink(e->next.context, &made, err);
}

int effective_show_square(const struct effective *e, const struct announcement *seen,
                          enum site site, const double *square, struct err *err)
{
    struct arena arena = {0};
    size_t cells = e->texts[seen->text].keys * e->texts[seen->text].keys;
    float *values = arena_room(&arena, cells, sizeof *values, err);
    for (size_t i = 0; i < cells && values; i++)
        values[i] = (float)square[i];
    int failed = !values || effective_show(e, seen, site, values, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

double effective_length(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

const float *effective_values(const struct effective *e, const struct held_text *text, size_t head)
{
    const struct config *c = e->run->config;
    return text->held[HELD_VALUES] + head / (c->n_head / c->n_kv_head) * text->keys * c->d_v;
}

void effective_share_rows(double *y, size_t width)
{
    for (double *row = y; row < y + width * width; row += width) {
        double sum = 0;
        for (size_t i = 0; i < width; i++)
            sum += row[i];
        for (size_t i = 0; i < width && sum > 0; i++)
            row[i] /= sum;
    }
}

static int hold(const struct effective *e, const struct announcement *seen, enum ingredient what,
                struct err *err)
{
    struct held_text *text = &e->texts[seen->text];
    float **held = &text->held[what];
    if (!*held)
        *held = arena_room(e->arena, tensor_count(&seen->values), sizeof **held, err);
    if (!*held)
        return -1;
    tensor_copy(*held, &seen->values);
    if (what == HELD_WEIGHTS) {
        text->queries = seen->values.shape[1];
        text->keys = seen->values.shape[2];
    }
    return 0;
}

static int make(const struct effective *e, const struct announcement *seen, struct err *err)
{
    bool weights = seen->site == SITE_WEIGHTS;
    for (enum site site = SITE_VALUE_WEIGHTED; weights && site <= SITE_NORM_WEIGHTED; site++)
        if (effective_is_selected(e, site, seen->layer) && effective_weighted(e, seen, site, err))
            return -1;
    if (weights && (size_t)seen->layer < e->mixed_layers)
        return effective_through(e, seen, err);
    if (seen->site == SITE_CONTEXT && effective_is_selected(e, SITE_VALUE_ZEROING, seen->layer))
        return effective_zeroing(e, seen, err);
    return 0;
}

static int sink(void *context, const struct announcement *seen, struct err *err)
{
    const struct effective *e = context;
    if (effective_is_selected(e, seen->site, seen->layer) &&
        e->next.sink(e->next.context, seen, err))
        return -1;
    for (int what = 0; what < INGREDIENTS; what++)
        if (seen->site == ingredient_sites[what] && hold(e, seen, (enum ingredient)what, err))
            return -1;
    return make(e, seen, err);
}

/* What one is made of: in its layer, or in all up to that. */
static void watch_one(struct effective *e, struct watch *watch, enum site site, size_t layer)
{
    bool through = site == SITE_ROLLOUT;
    for (size_t below = through ? 0 : layer; below <= layer; below++)
        watch_add(watch, SITE_WEIGHTS, below);
    if (through && e->mixed_layers <= layer)
        e->mixed_layers = layer + 1;
    if (!through)
        watch_add(watch, SITE_V, layer);
    if (site != SITE_VALUE_ZEROING)
        return;
    watch_add(watch, SITE_CONTEXT, layer);
    if (site_exists(e->run->config, SITE_RESID_PRE))
        watch_add(watch, SITE_RESID_PRE, layer);
}

int effective_begin(const struct selection *selection, const struct run *run, struct watch *watch,
                    struct tap *tap, struct arena *arena, struct err *err)
{
    struct layers layers = selection_layers_of(selection, SITE_WEIGHTS);
    if (selection->sites < site_bit(SITE_VALUE_WEIGHTED))
        return 0;
    struct effective *e = arena_alloc(arena, 1, sizeof *e, err);
    if (!e)
        return -1;
    *e = (struct effective){.selection = selection, .run = run, .next = *tap, .arena = arena};
    for (enum site site = SITE_VALUE_WEIGHTED; site < SITE_ALL; site++)
        for (size_t i = 0; selection->sites >> site & 1 && i < layers.count; i++)
            watch_one(e, watch, site, layers.items[i]);
    watch->head_count = 0; /* they are made of all heads */
    e->texts = arena_alloc(arena, run->batch->count, sizeof *e->texts, err);
    *tap = (struct tap){.watch = watch, .sink = sink, .context = e};
    return e->texts ? 0 : -1;
}
