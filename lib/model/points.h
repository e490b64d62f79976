/* points.h: the points of a model: a point is a site in a layer, or a site outside of layers. The
 * list of points is in the order of the pass.
 *
 * config_describe makes the list once, from the list of sublayers. All code reads from this list
 * which sites a model has, their shapes, and whether they can be edited or have a gradient:
 *
 *     const struct model_point *p = point_find(config, SITE_Q_PRE, layer);
 *     if (!p) ...                                        (the layer has no such value)
 *     for (p = points_of(config); p < points_end(config); p++) ...      (all of the pass)
 *
 * A new site needs a row in site.c, and a call of `put` in points.c where the points of its
 * sublayer are added; `put_unreached` if it has no gradient. */
#pragma once

#include "model/layer.h"

/* Whether a point can be edited or, if it cannot, why. */
enum point_edit {
    EDIT_NOT,
    EDIT_YES,
    EDIT_DENSE,    /* cannot be edited: only dense attention computes this map, and the model has
                    * another kind of attention */
    EDIT_FOLLOWS,  /* cannot be edited: the value follows from other values of the mixer */
    EDIT_INPUT,    /* cannot be edited: the value is the input of attention itself */
    EDIT_STREAMS,  /* cannot be edited: the value is computed from the values of the site
                    * `streams` */
    EDIT_BORROWED, /* cannot be edited: the layer reads the keys and values of another layer */
};

struct model_point {
    unsigned short site; /* enum site */
    short layer;         /* index of the layer in its stack; -1 outside of layers */
    unsigned char edit;  /* enum point_edit */
    bool gradient;       /* whether gradients are computed for this point (pass/back.h) */
    unsigned heads;      /* number of heads; 1 if the site has no axis of heads */
    unsigned columns;    /* columns of each head */
};

/* The points of a layer: elements first … end - 1 of the list. */
struct layer_points {
    unsigned first, end;
};

/* points_of and points_end: beginning and end of the points of the pass, in the order of the pass.
 * The effective points come after them. An effective site has one point for all layers with
 * attention, so it is found by its site alone. */
static inline const struct model_point *points_of(const struct config *config)
{
    return config->description->points;
}

static inline const struct model_point *points_end(const struct config *config)
{
    return config->description->points + config->description->pass_count;
}

/* point_find: the point of a site in a layer (for a site outside of layers `layer` is ignored);
 * NULL: the layer lacks the site. point_any: the point of a site in the first layer that has the
 * site; NULL: the model lacks the site. */
const struct model_point *point_find(const struct config *config, enum site site, size_t layer);
const struct model_point *point_any(const struct config *config, enum site site);

/* The sites of the pass that the model has, in some layer or outside of layers. */
static inline struct site_set model_sites(const struct config *config)
{
    return config->description->pass_sites;
}

/* site_exists: whether a model has a site anywhere; site_is_in_layer: whether a layer has a site;
 * site_is_left_out: whether the site belongs to a sublayer that --without leaves out. */
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

/* site_of_output: the site of a layer's output. site_of_logits: the last site of the stream, from
 * which the logits are computed: the final norm or, without one, the last layer's output. */
enum site site_of_output(const struct config *config);
enum site site_of_logits(const struct config *config);

/* site_heads: the number of heads or copies of a site in a layer, 1 if the site has neither.
 * site_columns: the number of columns of each head. If the layer lacks the site, the numbers of the
 * first layer that has it are returned; if the model lacks it, 1 and 0. site_most: the maximum of
 * both numbers over all layers. */
size_t site_heads(const struct config *config, enum site site, size_t layer);
size_t site_columns(const struct config *config, enum site site, size_t layer);
void site_most(size_t *heads, size_t *columns, const struct config *config, enum site site);

/* How many heads share one head of the site: query heads for keys and values of attention, heads of
 * values for a mixer's queries and keys; 1 for other sites. */
size_t site_shared_by(const struct config *config, enum site site, size_t layer);

/* Set *count to the maximum number of floats of a site in any layer, with at most `heads` query
 * heads, `tokens` tokens in the text and `source` tokens in the source; false: the number exceeds
 * 64 bits. */
bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source);

/* The sort key of a site in a layer: a number above 0 that grows in the order of the pass. If the
 * layer lacks the site, the number is between the numbers of the sites before and after it in lists
 * (site_next). */
size_t site_order(const struct config *config, enum site site, size_t layer);

/* Make the list of points; config_describe calls this. On failure, which is lack of memory, the
 * model has no sites. */
int points_make(const struct config *config, struct description *made, struct err *err);
