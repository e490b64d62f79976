/* model_distance.h: two models over the same texts: how far each head of one looks from where that
 * of the other does, how far all values of the pass are, and which heads have changed places.
 *
 * The distance of attention is Jensen and Shannon's, the root of their divergence in bits, so that
 * it lies between 0 and 1: a mean over all queries. That of a site is ‖a - b‖ / ‖a‖ over all
 * tokens, without values that either model masks (-inf); those that only one masks are counted. The
 * match of a head is the other model's in the same layer, where their distances together are the
 * least that one-to-one matches can have. Both models are open at a time.
 *
 *     struct model_distance_plan plan = {{&a, &b}, pairs, 1, &selection};
 *     struct model_distance distance;
 *     if (model_distance_make(&distance, &plan, &arena, err)) ...
 *     distance.heads[layer * distance.head_count + head].distance
 */
#ifndef ATTN_MEASURE_MODEL_DISTANCE_H
#define ATTN_MEASURE_MODEL_DISTANCE_H

#include "base/progress_sink.h"
#include "base/stream.h"
#include "lens/viewer.h"

struct model_distance_plan {
    struct viewer *models[2];
    const struct text_pair *pairs; /* the first one's; the other has the same ids */
    size_t pair_count;
    const struct selection *selection;    /* its layers and heads are compared */
    const struct progress_sink *progress; /* NULL: not told */
    bool equal_weights;                   /* for who reads it */
};

struct head_distance {
    double distance; /* to the head of the same number */
    size_t match;    /* a place among the heads that are compared … */
    double matched;  /* … and the distance to it */
};

struct model_distance {
    const struct model_distance_plan *plan;
    struct layers layers;
    const size_t *heads; /* [head_count] the models' numbers */
    size_t head_count;
    struct head_distance *of_heads; /* [layers, heads] */
    double *of_sites;               /* [SITE_COUNT, layers]; of a site in no layer the first … */
    size_t *masked_in_one;          /* values that only one model masks: not in of_sites */
    bool *compared;                 /* … those that both have, in the same size */
};

/* Heads at most so far from their match are called the same. */
#define MODEL_DISTANCE_SAME 0.001

/* Refuse, as not supported, models of two texts: before texts are read. */
int model_distance_check(const struct model_distance_plan *plan, struct err *err);

/* All of it is the arena's. Refused as usage: other layers, heads or ids; as not supported: models
 * of two texts. */
int model_distance_make(struct model_distance *distance, const struct model_distance_plan *plan,
                        struct arena *arena, struct err *err);

/* The place in of_sites and compared of a site and the place of its layer in the selection. */
size_t model_distance_site(const struct model_distance *distance, enum site site, size_t layer);

/* Its tables, in memory of the arena. */
int model_distance_report(struct report *report, const struct model_distance *distance,
                          struct arena *arena, struct err *err);

#endif
