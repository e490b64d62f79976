/* weight_costs.h: the weights of other models with the same tensors, as quantised ones, compared
 * with the first model's: each tensor's difference, and the cost of the weights of each layer.
 *
 * The cost of a layer: the first model runs with this layer's weights from the other model, and all
 * others its own; the Kullback-Leibler divergence of its predictions from the predictions of the
 * first model alone, in nats, mean over tokens. Also how much the surprisal of the text rises, and
 * how often the most likely token is the same. Models without predictions have no costs.
 *
 *     struct weight_costs_plan plan = {viewers, 2, pairs, 1, &selection};
 *     if (weight_costs_check(&viewers[0]->model, &viewers[1]->model, err) ||
 *         weight_costs_make(&report, &plan, &arena, err)) ...
 */
#pragma once

#include "base/progress_sink.h"
#include "lens/viewer.h"

struct weight_costs_plan {
    struct viewer *const *viewers; /* [count] the first model, then others with the same tensors */
    size_t count;
    const struct text_with_source *pairs;
    size_t pair_count;
    const struct selection *selection;    /* layers whose cost is measured */
    const struct progress_sink *progress; /* counts passes; NULL: none */
    bool draws;                           /* add matrices for figures, which data do not have */
};

/* Refuse models whose tensors have other names or shapes. */
int weight_costs_check(const struct model *a, const struct model *b, struct err *err);

/* The table for data is "weights": a row for each tensor, then each layer. The arena owns it. */
int weight_costs_make(struct report *report, const struct weight_costs_plan *plan,
                      struct arena *arena, struct err *err);

void weight_costs_add_memory(struct memory *memory, const struct weight_costs_plan *plan,
                             const struct text_with_source *pair);
