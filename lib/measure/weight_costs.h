/* weight_costs.h: compares the weights of other models that have the same tensors, such as
 * quantised copies, with the first model's: the difference of each tensor, and the cost of the
 * weights of each layer.
 *
 * To find the cost of a layer, the first model runs with this layer's weights from the other model.
 * The cost is the Kullback-Leibler divergence of its predictions from the predictions with its own
 * weights, in nats, mean over tokens. The report also says how much the surprisal of the text
 * rises, and how often the most likely token is the same. Models without predictions have no costs.
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
    const struct progress_sink *progress; /* counts passes; NULL: progress is not reported */
    bool draws;                           /* true (for pictures): also report the matrices of
                                           * distances and costs */
};

/* Refuse models whose tensors have other names or shapes. */
int weight_costs_check(const struct model *a, const struct model *b, struct err *err);

/* Make the report, which the arena owns. Its table for data, "weights", has a row for each tensor,
 * then rows for the weights outside of layers, of each layer, and of the whole model. */
int weight_costs_make(struct report *report, const struct weight_costs_plan *plan,
                      struct arena *arena, struct err *err);

void weight_costs_add_memory(struct memory *memory, const struct weight_costs_plan *plan,
                             const struct text_with_source *pair);
