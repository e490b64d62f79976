/* comparison.h: runs over the same texts, compared with the first run: other settings of a model
 * (attention patterns, edits) head by head, or another model in every tensor.
 *
 * Settings: the largest and the mean |a - b| of each head's context; `kept`, the first run's weight
 * on keys that have any weight in the other; `overlap`, the sum over keys of the smaller weight.
 * Every layer has the setting, so differences carry over. In an encoder-decoder model only the
 * decoder's self-attention is compared.
 *
 * Models: the Jensen-Shannon distance of each head's attention (root of the divergence in bits, 0
 * to 1, mean over queries); the one-to-one match of heads in each layer with the smallest sum of
 * distances; and of each site ‖a - b‖ / ‖a‖ over all tokens, without values that a model masks.
 *
 *     struct comparison_run runs[] = {{&viewer, "dense", &dense}, {&viewer, "linear", &linear}};
 *     struct comparison_plan plan = {runs, 2, pairs, 1, &selection};
 *     if (comparison_make(&report, &plan, &arena, err)) ...
 */
#ifndef ATTN_MEASURE_COMPARISON_H
#define ATTN_MEASURE_COMPARISON_H

#include "base/progress_sink.h"
#include "lens/viewer.h"

struct comparison_run {
    struct viewer *viewer;             /* settings: its mechanism and edits are changed */
    const char *name;                  /* "window:8 edited", or the model's */
    const struct mechanism *mechanism; /* NULL: models are compared */
    const struct edits *edits;         /* NULL: none */
};

struct comparison_plan {
    const struct comparison_run *runs; /* two models, or two or more settings */
    size_t run_count;
    const struct text_pair *pairs;
    size_t pair_count;
    const struct selection *selection;    /* its layers and heads are compared */
    const struct progress_sink *progress; /* of the texts; NULL: none */
    bool equal_weights;                   /* models: a fact of the report */
    size_t most_cells; /* values in memory: more layers take more passes; 0: 64 million */
};

/* Refuse, as not supported, models of two texts; as usage, models of other layers or heads. */
int comparison_check_models(const struct model *a, const struct model *b, struct err *err);

/* Run the texts and report their differences in memory of the arena. Data have one table: "ways" of
 * settings, "distances" of models. Refused as usage: settings that do not fit the model. */
int comparison_make(struct report *report, const struct comparison_plan *plan, struct arena *arena,
                    struct err *err);

#endif
