#include "math/max_flow.h"

#include <stdbool.h>
#include <string.h>

static const double NOTHING = 1e-13; /* what rounding leaves of an edge */

int max_flow_init(struct max_flow *flow, const double *const *capacities, size_t levels,
                  size_t width, struct arena *arena, struct err *err)
{
    size_t nodes = (levels + 1) * width;
    size_t edges = levels * width * width;
    *flow = (struct max_flow){
        .capacities = capacities,
        .levels = levels,
        .width = width,
        .down = arena_room(arena, edges, sizeof *flow->down, err),
        .up = arena_room(arena, edges, sizeof *flow->up, err),
        .depth = arena_room(arena, nodes, sizeof *flow->depth, err),
        .next = arena_room(arena, nodes, sizeof *flow->next, err),
        .path = arena_room(arena, nodes, sizeof *flow->path, err),
    };
    return flow->down && flow->up && flow->depth && flow->next && flow->path ? 0 : -1;
}

/* Node level · W + place has W edges down, then W up, along which flow is taken back: where the
 * edge leads, and what it still takes; NULL: it is beyond the top or the bottom. */
static double *edge_at(const struct max_flow *flow, size_t node, size_t edge, size_t *target)
{
    size_t width = flow->width;
    size_t level = node / width;
    size_t place = node % width;
    if (edge < width) {
        *target = node - place - width + edge;
        return level ? &flow->down[((level - 1) * width + place) * width + edge] : NULL;
    }
    *target = node - place + edge; /* edge - width, a level above */
    return level < flow->levels ? &flow->up[(level * width + edge - width) * width + place] : NULL;
}

/* The same edge the other way round. */
static double *reverse_of(const struct max_flow *flow, const double *edge)
{
    size_t edges = flow->levels * flow->width * flow->width;
    bool down = edge >= flow->down && edge < flow->down + edges;
    return down ? flow->up + (edge - flow->down) : flow->down + (edge - flow->up);
}

/* Mark how far each node is from the source; false: the sink cannot be reached. */
static bool measure_depths(struct max_flow *flow, size_t source, size_t sink)
{
    size_t nodes = (flow->levels + 1) * flow->width;
    size_t *queue = flow->path;
    size_t end = 0;
    memset(flow->depth, 0, nodes * sizeof *flow->depth);
    memset(flow->next, 0, nodes * sizeof *flow->next);
    flow->depth[source] = 1;
    queue[end++] = source;
    for (size_t i = 0; i < end && !flow->depth[sink]; i++) {
        for (size_t edge = 0; edge < 2 * flow->width; edge++) {
            size_t target = 0;
            const double *left = edge_at(flow, queue[i], edge, &target);
            if (!left || *left <= NOTHING || flow->depth[target])
                continue;
            flow->depth[target] = flow->depth[queue[i]] + 1;
            queue[end++] = target;
        }
    }
    return flow->depth[sink] > 0;
}

/* The next node on a shortest way from one; false: there is none. */
static bool step(struct max_flow *flow, size_t node, size_t *target)
{
    for (; flow->next[node] < 2 * flow->width; flow->next[node]++) {
        const double *left = edge_at(flow, node, flow->next[node], target);
        if (left && *left > NOTHING && flow->depth[*target] == flow->depth[node] + 1)
            return true;
    }
    return false;
}

/* Send what the path takes along it. */
static double send(struct max_flow *flow, size_t steps)
{
    size_t target = 0;
    double most = 0;
    for (size_t i = 0; i < steps; i++) {
        double left = *edge_at(flow, flow->path[i], flow->next[flow->path[i]], &target);
        most = i == 0 || left < most ? left : most;
    }
    for (size_t i = 0; i < steps; i++) {
        double *left = edge_at(flow, flow->path[i], flow->next[flow->path[i]], &target);
        *left -= most;
        *reverse_of(flow, left) += most;
    }
    return most;
}

/* All that flows along shortest ways. */
static double fill_shortest(struct max_flow *flow, size_t source, size_t sink)
{
    double total = 0;
    size_t steps = 0;
    flow->path[0] = source;
    for (;;) {
        size_t node = flow->path[steps];
        if (node == sink) {
            total += send(flow, steps);
            steps = 0;
        } else if (step(flow, node, &flow->path[steps + 1])) {
            steps++;
        } else if (steps == 0) {
            return total;
        } else {
            flow->next[flow->path[--steps]]++;
        }
    }
}

double max_flow_find(struct max_flow *flow, size_t from, size_t to)
{
    size_t square = flow->width * flow->width;
    size_t source = flow->levels * flow->width + from;
    double total = 0;
    for (size_t level = 0; level < flow->levels; level++)
        memcpy(flow->down + level * square, flow->capacities[level], square * sizeof *flow->down);
    memset(flow->up, 0, flow->levels * square * sizeof *flow->up);
    while (measure_depths(flow, source, to))
        total += fill_shortest(flow, source, to);
    return total;
}
