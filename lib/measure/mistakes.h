/* mistakes.h: runs a model with a mistake that is usual in programs that run models: another rotary
 * embedding, no scale, no mask, another norm, no bias.
 *
 *     struct trial trial;
 *     for (size_t i = 0; i < mistake_count(); i++) {
 *         if (trial_begin(&trial, &viewer, &from, i, err)) ...
 *         if (trial.is_possible) ... trial_capture(&report, &trial, asked, &arena, err) ...
 *         trial_end(&trial);
 *     }
 *
 * All layers from a first one on have the mistake, because earlier layers agree; or one layer alone
 * has it. */
#pragma once

#include "lens/viewer.h"

/* The layers that have a mistake: in the stack of the text and in the encoder, `first_layer` and
 * all later layers. */
struct trial_range {
    size_t first_layer[BRANCH_SOURCE + 1];
    bool alone;              /* true: only layer `first_layer` of one stack has the mistake, and
                              * nothing outside of layers */
    enum site_branch branch; /* the attention in which mistakes in queries, keys, maps and heads are
                              * made */
};

enum { TRIAL_EDITS = 6, TRIAL_WORDS_BYTES = 200 };

struct trial {
    bool is_possible;              /* true if this model can have the mistake */
    char words[TRIAL_WORDS_BYTES]; /* description, such as "scale missing" */
    struct viewer viewer;
    struct trial_range from;
    struct weights_change change;
    struct edit *items; /* the viewer's edits, then the edits that make the mistake */
    struct edits edits;
    struct edit_range layers;
    int variant;
    bool regroups;  /* true: the pass has its query heads in another order, which trial_capture
                     * undoes */
    float *kept[2]; /* copies of the queries [0] and keys [1] before the rotary embedding */
    struct arena arena;
    struct err *err;
};

size_t mistake_count(void);

/* Prepare a mistake. The caller ends the trial with trial_end even if the mistake is not
 * possible. */
int trial_begin(struct trial *trial, const struct viewer *viewer, const struct trial_range *from,
                size_t mistake, struct err *err);
int trial_capture(struct report *report, struct trial *trial, struct capture_request asked,
                  struct arena *arena, struct err *err);
void trial_end(struct trial *trial);
