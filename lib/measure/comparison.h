/* comparison.h: compares runs over the same texts with the first run: runs of one model with other
 * attention patterns or edits, by head; or runs of other models, in every tensor.
 *
 * Runs of one model: maximum and mean |a - b| of each head's context; `kept`, the first run's
 * weight on keys with a weight above 0 in the other run; `overlap`, the sum over keys of the
 * smaller weight. A pattern applies to all layers, so differences accumulate. In an
 * encoder-decoder, all three attentions are compared.
 *
 * Other models: the Jensen-Shannon distance of each head's attention (root of the divergence in
 * bits, 0 to 1, mean over queries); the one-to-one match of heads in each layer with the smallest
 * sum of distances; and for each site ‖a - b‖ / ‖a‖ over all tokens, without values that a model
 * masks, and the median of this ratio over single tokens, since a first token may have a much
 * larger norm than all others.
 *
 *     struct comparison_run runs[] = {{&viewer, "dense", &dense}, {&viewer, "linear", &linear}};
 *     struct comparison_plan plan = {runs, 2, pairs, 1, &selection};
 *     if (comparison_make(&report, &plan, &arena, err)) ...
 */
#pragma once

#include "base/progress_sink.h"
#include "lens/viewer.h"

struct comparison_run {
    struct viewer *viewer; /* the model; its mechanism and edits are replaced if `mechanism` is not
                            * NULL */
    const char *name;      /* name of the pattern and edits, like "window:8 edited", or of the
                            * model */
    const struct mechanism *mechanism; /* the attention pattern of this run; NULL: the runs are of
                                        * different models */
    bool edited;                       /* true: each text is run with its edits */
    bool equal_weights; /* true if the weights equal the first model's; the report says so */
};

struct comparison_plan {
    const struct comparison_run *runs; /* [run_count] two or more runs: of different models, or of
                                        * one model with different patterns or edits */
    size_t run_count;
    const struct text_with_source *pairs;
    size_t pair_count;
    const struct selection *selection;    /* the layers and heads to compare */
    const struct progress_sink *progress; /* counts the compared texts; NULL: progress is not
                                           * reported */
    bool hide_first;   /* leave out the first token and the attention to it, and renormalise */
    bool draws;        /* true (for pictures): also report the matrices of distances between
                        * models */
    size_t most_cells; /* maximum number of values to capture in a pass, which captures at least one
                        * layer; 0: 2^26 */
};

/* Refuse models with different numbers of layers or heads. */
int comparison_check_models(const struct model *a, const struct model *b, struct err *err);

/* Run the texts and report differences; the arena owns the report. The table for data is "ways"
 * (runs of one model) or "distances" (of different models). Attention patterns are refused as by
 * mechanism_check. */
int comparison_make(struct report *report, const struct comparison_plan *plan, struct arena *arena,
                    struct err *err);

/* Match rows and columns of costs [count, count] one to one, with the smallest sum of costs (Kuhn,
 * 1955; Munkres, 1957), in count³ steps: match[i] becomes the column of row i. Row i gets column i
 * unless that costs more. */
int assignment_find(size_t *match, const double *costs, size_t count, struct arena *arena,
                    struct err *err);

void comparison_add_memory(struct memory *memory, const struct comparison_plan *plan,
                           const struct text_with_source *pair);
