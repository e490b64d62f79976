/* effective_parts.h: what effective.c consists of: what is made of a layer that a pass announced,
 * and how it is announced in its turn. */
#ifndef ATTN_LENS_EFFECTIVE_PARTS_H
#define ATTN_LENS_EFFECTIVE_PARTS_H

#include "lens/effective.h"
#include "model/config.h"

/* What they are made of. */
enum ingredient { HELD_STREAM, HELD_VALUES, HELD_WEIGHTS, HELD_CONTEXT, INGREDIENTS };

/* One text on its way through the layers. */
struct held_text {
    float *held[INGREDIENTS]; /* of the layer that it is in, dense; NULL: not seen yet */
    size_t queries, keys;
    double *mixed;   /* [T, T] (mean weights + 1) / 2 of the layer */
    double *rollout; /* [T, T] */
    double *spare;   /* [T, T] */
};

struct effective {
    const struct selection *selection;
    const struct run *run;
    struct tap next;
    struct held_text *texts;
    size_t mixed_layers; /* so many layers go into rollout */
    struct arena *arena;
};

/* Is it shown of that layer? */
bool effective_is_selected(const struct effective *e, enum site site, int layer);

/* Hand on values of the text and layer that `like` is of: dense, with heads, or in float64 [T, T].
 */
int effective_show(const struct effective *e, const struct announcement *like, enum site site,
                   const float *values, struct err *err);
int effective_show_square(const struct effective *e, const struct announcement *like,
                          enum site site, const double *square, struct err *err);

/* The values [S, dv] that a query head weighs; |x|; divide rows [T, T] by their sums, where a row
 * of nothing stays so. */
const float *effective_values(const struct effective *e, const struct held_text *text, size_t head);
double effective_length(const float *x, size_t count);
void effective_share_rows(double *square, size_t width);

/* Make what is selected of a layer: of weights and values; of weights, with all layers before; of
 * the context, and all of the others. */
int effective_weighted(const struct effective *e, const struct announcement *seen, enum site site,
                       struct err *err);
int effective_through(const struct effective *e, const struct announcement *seen, struct err *err);
int effective_zeroing(const struct effective *e, const struct announcement *seen, struct err *err);

#endif
