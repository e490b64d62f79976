/* reference_model.h: the forward pass by its formulas, in double, for comparison with the fast one.
 *
 * It computes everything, one number at a time: no tiles, no strips, no threads.
 *
 *     struct reference reference;
 *     reference_run(&reference, &model, &text);
 *     const double *weights = reference.sites[SITE_WEIGHTS][layer];     ([H, T, S])
 *     reference_release(&reference);
 */
#pragma once

#include <stddef.h>

#include "base/memory.h"
#include "pass/forward.h"
#include "model/site.h"
#include "tiny_model.h"

enum { REFERENCE_LAYERS_MAX = 4 };

struct reference {
    /* The values of each site, dense, in the order of its axes; sites in no layer are in layer 0.
     * NULL if the model lacks the site. */
    const double *sites[SITE_COUNT][REFERENCE_LAYERS_MAX];
    size_t counts[SITE_COUNT][REFERENCE_LAYERS_MAX];
    struct tiny_model *model;
    const struct text *text;
    struct arena arena;
};

void reference_run(struct reference *reference, struct tiny_model *model, const struct text *text);
void reference_release(struct reference *reference);

/* The formulas of activations, in forms without cancellation. */
double reference_activation(enum activation activation, double x);
