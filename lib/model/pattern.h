/* pattern.h: the keys that a query of sparse attention sees by a pattern (mechanism.h), as a list.
 *
 *     struct view view = {.query = 9, .keys = 10, .visible = 10, .drawn = drawn};
 *     view.drawn_count = pattern_draw(&pattern, &view, drawn);
 *     size_t count = pattern_keys(&pattern, &view, keys);
 */
#ifndef ATTN_MODEL_PATTERN_H
#define ATTN_MODEL_PATTERN_H

#include "model/mechanism.h"

/* A query, and what mask and window let it see: keys first … visible - 1. */
struct view {
    size_t query;
    size_t keys; /* of the text */
    size_t visible;
    size_t first;
    const uint32_t *drawn; /* the random part, as pattern_draw gave it */
    size_t drawn_count;
};

/* At most how many keys a query sees of a text of so many. */
size_t pattern_most(const struct pattern *pattern, size_t keys);

/* The keys of the random part, the query's own among them, rising; returns how many: 0 without a
 * random part. `drawn` has capacity for the smaller of pattern->random + 1 and view->visible. */
size_t pattern_draw(const struct pattern *pattern, const struct view *view, uint32_t *drawn);

/* The keys that a query sees, rising; returns how many. `keys` has capacity for pattern_most. */
size_t pattern_keys(const struct pattern *pattern, const struct view *view, uint32_t *keys);

#endif
