/* max_flow.h: the largest flow through matrices that lie on top of each other: each [W, W] has the
 * capacities of the edges from nodes above to nodes below (Dinic, 1970).
 *
 *     struct max_flow flow;
 *     if (max_flow_init(&flow, capacities, 2, width, &arena, err)) ...
 *     double most = max_flow_find(&flow, from, to);      from a node on top to one at the bottom
 */
#ifndef ATTN_MATH_MAX_FLOW_H
#define ATTN_MATH_MAX_FLOW_H

#include <stddef.h>

#include "base/arena.h"

struct max_flow {
    const double *const *capacities; /* [levels], that of the lowest edges first; borrowed */
    size_t levels, width;
    double *down, *up; /* [levels, W, W] what is left of an edge, and what flows there */
    size_t *depth;     /* [nodes] steps from the source on the way that has fewest; 0: none */
    size_t *next;      /* [nodes] the edge to be tried */
    size_t *path;      /* [nodes] */
};

/* For so many levels of edges; the memory is the arena's. */
int max_flow_init(struct max_flow *flow, const double *const *capacities, size_t levels,
                  size_t width, struct arena *arena, struct err *err);

/* From node `from` above the highest edges to node `to` below the lowest. */
double max_flow_find(struct max_flow *flow, size_t from, size_t to);

#endif
