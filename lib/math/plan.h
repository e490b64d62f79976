/* plan.h: how a product works through its weight: the one place that decides.
 *
 * W goes in panels of columns, the sum in chunks, x in groups of rows. A round is a group by a
 * panel or a few; within it, for each chunk, kernels take TILE_ROWS rows at a time, or all.
 */
#ifndef ATTN_MATH_PLAN_H
#define ATTN_MATH_PLAN_H

#include "math/gemm.h"

enum { TILE_ROWS = 64 };

struct plan {
    size_t panel_columns, first_columns; /* of the panels, and of the first of them */
    size_t chunk;                        /* of the sum */
    size_t group;                        /* rows of one round */
    size_t panels;                       /* of one round: x is read once for all of them */
    bool row;                            /* no panels, no kernels: W is read row by row */
    bool strips;                         /* its rows, as [out, in], from LANES places at once */
    bool at_once;                        /* a kernel takes several panels */
    bool copy;                           /* each panel is made contiguous before it is used */
    bool prefetch;                       /* while a panel is used the next is prefetched, */
    bool prefetch_shared;                /* a share of it with every tile */
    bool groups_in_turn;                 /* all groups of a panel, then of the next; not all panels
                                            of a group */
};

/* For x of so many rows. */
struct plan plan_choose(const struct machine *machine, const struct weight *w, size_t rows);

#endif
