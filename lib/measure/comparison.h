/* comparison.h: runs over the same texts, compared with the first of them: other settings of a
 * model (kinds of attention, edits) head by head, or another model in every tensor.
 *
 * Settings: the largest and the mean |a - b| of each head's context; `kept`, the first run's weight
 * on keys that have any in the other; `overlap`, the sum of the smaller weight of each key, 1 where
 * both attend alike. A setting holds for all layers, so differences go into the next one. Of an
 * encoder-decoder the decoder's self-attention is compared.
 *
 * Models: the Jensen-Shannon distance of the attention of each head, the root of the divergence in
 * bits, 0 to 1, a mean over queries; the one-to-one match of heads in each layer with the least sum
 * of distances; and of each site ‖a - b‖ / ‖a‖ over all tokens, without values that either model
 * masks (-inf): those that only one masks are counted. Both models are open at a time.
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
    struct viewer *viewer;             /* of a setting: afterwards it attends as before */
    const char *name;                  /* "window:8 edited"; of a model its own */
    const struct mechanism *mechanism; /* NULL: this run is that of another model */
    const struct edits *edits;         /* NULL: none */
};

struct comparison_plan {
    const struct comparison_run *runs; /* others are compared with the first; of models two */
    size_t run_count;
    const struct text_pair *pairs; /* another model reads them as the same ids */
    size_t pair_count;
    const struct selection *selection;    /* its layers and heads are compared */
    const struct progress_sink *progress; /* of the texts; NULL: not told */
    bool equal_weights;                   /* of models: a fact of the report */
    size_t most_cells; /* that a pass keeps: more layers take further passes; 0: 64 million */
};

/* Refuse, as not supported, models of two texts: before texts are read. */
int comparison_check_models(const struct viewer *a, const struct viewer *b, struct err *err);

/* Run the texts and report their differences as tables, in memory of the arena. Data have one
 * table: "ways" of settings, "distances" of models. Refused as usage: settings that the model does
 * not have; models of other layers or heads. */
int comparison_make(struct report *report, const struct comparison_plan *plan, struct arena *arena,
                    struct err *err);

#endif
