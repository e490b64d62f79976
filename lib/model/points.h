/* points.h: the points of a model: the sites that each of its layers has, in the order of the pass.
 *
 * config_describe makes the list once, from the list of sublayers; which sites a model has, their
 * shape there, and whether they can be edited or have a gradient, is read from the list alone:
 *
 *     const struct model_point *p = point_find(config, SITE_Q_PRE, layer);
 *     if (!p) ...                                        (the layer has no such value)
 *     for (p = points_of(config); p < points_end(config); p++) ...      (all of the pass)
 *
 * A new site is a row in site.c, and a line `put` in points.c where its sublayer is; without a
 * gradient, a line `put_unreached`. */
#pragma once

#include "model/layer.h"

/* Whether a point can be edited, or why not. */
enum point_edit {
    EDIT_NOT,
    EDIT_YES,
    EDIT_DENSE,    /* a map, which only dense attention makes */
    EDIT_FOLLOWS,  /* it follows from other values of the mixer */
    EDIT_INPUT,    /* it is the layer's input itself */
    EDIT_STREAMS,  /* it is made of `streams` */
    EDIT_BORROWED, /* keys and values of another layer */
};

struct model_point {
    unsigned short site; /* enum site */
    short layer;         /* layer of its stack; -1 outside of layers */
    unsigned char edit;  /* enum point_edit */
    bool gradient;       /* the walk back has its gradient (pass/back.h) */
    unsigned heads;      /* 1: it has none */
    unsigned columns;    /* columns of each head */
};

/* Where the points of a layer are in the list. */
struct layer_points {
    unsigned first, end;
};

/* The points of the pass, in its order. Others, the effective ones, are found by site alone: all
 * layers with attention share them. */
static inline const struct model_point *points_of(const struct config *config)
{
    return config->description->points;
}

static inline const struct model_point *points_end(const struct config *config)
{
    return config->description->points + config->description->pass_count;
}

/* The point of a site in a layer, or outside of layers; NULL: the model has none there. point_any:
 * in the first layer that has it. */
const struct model_point *point_find(const struct config *config, enum site site, size_t layer);
const struct model_point *point_any(const struct config *config, enum site site);

/* The sites of the pass that a model has in any layer. */
static inline struct site_set model_sites(const struct config *config)
{
    return config->description->pass_sites;
}

/* Whether a model has a site in any layer, or in one; whether --without leaves out its sublayer. */
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

/* Whether a site of a layer is that of an earlier one: keys and values that it reads. */
static inline bool site_is_borrowed(const struct config *config, enum site site, size_t layer)
{
    const struct model_point *point = point_find(config, site, layer);
    return point && point->edit == EDIT_BORROWED;
}

/* The number of layers of the site's stack, 1 for a site outside of layers. */
size_t site_layers(const struct config *config, enum site site);

/* The output of a layer; the end of the layers: the final norm, else the last output. */
enum site site_of_output(const struct config *config);
enum site site_of_logits(const struct config *config);

/* The heads or copies of a site in a layer, 1 if it has none; its columns, of each head; of a layer
 * that lacks the site, those of another. The most of both in any layer. */
size_t site_heads(const struct config *config, enum site site, size_t layer);
size_t site_columns(const struct config *config, enum site site, size_t layer);
void site_most(size_t *heads, size_t *columns, const struct config *config, enum site site);

/* How many heads share one of a site: of keys and values, and of a mixer's queries; else 1. */
size_t site_shared_by(const struct config *config, enum site site, size_t layer);

/* The most floats of a site in a layer, for `heads` query heads if it has heads, and for the
 * tokens of a text and its source; false if it exceeds 64 bits. */
bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source);

/* A number above 0 that grows in the order of the pass, also for sites that a layer lacks: these
 * are between the points before and after them in lists (site_next). */
size_t site_order(const struct config *config, enum site site, size_t layer);

/* Make the list: called by config_describe. Without memory for it, the model has no sites. */
int points_make(const struct config *config, struct description *made, struct err *err);
