/* points.h: the points of a model: for each layer its sites, in the order of the pass.
 *
 * config_describe makes the list once, from the list of sublayers. Which sites a model has, their
 * shapes, and whether they can be edited or have a gradient, is only read from this list:
 *
 *     const struct model_point *p = point_find(config, SITE_Q_PRE, layer);
 *     if (!p) ...                                        (the layer has no such value)
 *     for (p = points_of(config); p < points_end(config); p++) ...      (all of the pass)
 *
 * A new site needs a row in site.c, and a line `put` in points.c where its sublayer is;
 * `put_unreached` if it has no gradient. */
#pragma once

#include "model/layer.h"

/* Whether a point can be edited or, if it cannot, why. */
enum point_edit {
    EDIT_NOT,
    EDIT_YES,
    EDIT_DENSE,    /* no edit: only dense attention computes this map, and this attention is not
                    * dense */
    EDIT_FOLLOWS,  /* no edit: the value follows from other values of the mixer */
    EDIT_INPUT,    /* no edit: the value is the layer's input itself */
    EDIT_STREAMS,  /* no edit: the value is made from the site `streams` */
    EDIT_BORROWED, /* no edit: these are the keys or values of another layer */
};

struct model_point {
    unsigned short site; /* enum site */
    short layer;         /* index of the layer in its stack; -1 outside of layers */
    unsigned char edit;  /* enum point_edit */
    bool gradient;       /* whether gradients of the pass include this point (pass/back.h) */
    unsigned heads;      /* number of heads; 1 if the site has no axis of heads */
    unsigned columns;    /* columns of each head */
};

/* The points of a layer: their indices in the list are first … end - 1. */
struct layer_points {
    unsigned first, end;
};

/* points_of … points_end: the points of the pass, in its order. After them come the effective
 * points, which are found by site alone, since all layers with attention share them. */
static inline const struct model_point *points_of(const struct config *config)
{
    return config->description->points;
}

static inline const struct model_point *points_end(const struct config *config)
{
    return config->description->points + config->description->pass_count;
}

/* point_find: the point of a site in a layer (any `layer` for a site outside of layers); point_any:
 * the point of a site in the first layer that has the site. NULL: there is none. */
const struct model_point *point_find(const struct config *config, enum site site, size_t layer);
const struct model_point *point_any(const struct config *config, enum site site);

/* The sites of the pass that some layer or the model has. */
static inline struct site_set model_sites(const struct config *config)
{
    return config->description->pass_sites;
}

/* site_exists: whether a model has a site anywhere; site_is_in_layer: whether a layer has it;
 * site_is_left_out: whether --without leaves out the sublayer that has it. */
static inline bool site_exists(const struct config *config, enum site site)
{
    return site_set_has(config->description->sites, site);
}

static inline bool site_is_in_layer(const struct config *config, enum site site, size_t layer)
{
    return point_find(config, site, layer) != NULL;
}

static inline bool site_is_left_out(const struct config *config, enum site site)
{
    return site_set_has(config->description->left_out, site);
}

/* Whether a layer's site belongs to an earlier layer, whose keys and values the layer reads. */
static inline bool site_is_borrowed(const struct config *config, enum site site, size_t layer)
{
    const struct model_point *point = point_find(config, site, layer);
    return point && point->edit == EDIT_BORROWED;
}

/* The number of layers in the site's stack; 1 for a site outside of layers. */
size_t site_layers(const struct config *config, enum site site);

/* site_of_output: the site of a layer's output; site_of_logits: the site before the logits, which
 * is the final norm or, without one, the last layer's output. */
enum site site_of_output(const struct config *config);
enum site site_of_logits(const struct config *config);

/* site_heads: the number of heads or copies of a site in a layer, 1 if it has none; site_columns:
 * the columns of each head. If the layer lacks the site, the first layer that has it counts.
 * site_most: the largest of these numbers in any layer. */
size_t site_heads(const struct config *config, enum site site, size_t layer);
size_t site_columns(const struct config *config, enum site site, size_t layer);
void site_most(size_t *heads, size_t *columns, const struct config *config, enum site site);

/* How many query heads share one head of a site of keys, of values, or of a mixer's queries; 1 for
 * other sites. */
size_t site_shared_by(const struct config *config, enum site site, size_t layer);

/* The most floats that a site has in any layer, with at most `heads` query heads, `tokens` tokens
 * in the text and `source` in the source; false: more than 64 bits can count. */
bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source);

/* A number above 0 for a site in a layer, which grows in the order of the pass. A site that the
 * layer lacks also has a number, between the numbers of its neighbours in lists (site_next). */
size_t site_order(const struct config *config, enum site site, size_t layer);

/* Make the list of points: config_describe calls this. If there is no memory for the list, the
 * model has no sites. */
int points_make(const struct config *config, struct description *made, struct err *err);
