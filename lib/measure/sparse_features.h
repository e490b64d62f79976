/* sparse_features.h: the features of a dictionary (lens/dictionary.h) in a text: activations, the
 * error of the reconstruction, and the tokens that a feature promotes.
 *
 *     struct selection selection = {0};
 *     features_select(&selection, &dictionary);
 *     ... viewer_capture(&viewer, &asked, &arena, err) ...
 *     struct feature_plan plan = {&viewer, &dictionary, .top = 5, .promoted = 5};
 *     if (features_report(&report, &plan, &arena, err)) ...
 */
#pragma once

#include "lens/dictionary.h"
#include "lens/viewer.h"
#include "pass/sampler.h"

struct feature_plan {
    struct viewer *viewer;
    const struct dictionary *dictionary;
    size_t top;           /* number of features to show for each token: the largest ones */
    const size_t *listed; /* [listed_count] features to show at every token; NULL: the `top`
                           * largest */
    size_t listed_count;
    size_t promoted; /* number of promoted tokens to name for each feature; 0: name no tokens */
    bool dense;      /* true: make an array [tokens, features], not the table */
};

/* Select the sites that a dictionary reads and writes, in its layer. The dictionary must outlive
 * the selection. */
void features_select(struct selection *selection, const struct dictionary *dictionary);

/* Add the memory to capture a dictionary's sites for a text, and to encode their rows. */
void features_add_memory(struct memory *memory, const struct viewer *viewer,
                         const struct dictionary *dictionary, const struct text_with_source *pair);

/* Find the features of each token of a captured text, and the rows [T, in] from which they are
 * computed. */
int features_of_report(struct feature_row **rows, struct matrix *x, const struct feature_plan *plan,
                       const struct report *report, struct arena *arena, struct err *err);

/* Replace the captured arrays of a report by its table "features", a row for each token and
 * feature, or its array, and set its facts: the mean number of active features (l0), and the share
 * of the variance that the reconstruction does not explain (`unexplained`; if the files do not say
 * whether rows are centered, also `unexplained_centered`). Special tokens at the beginning are left
 * out of these numbers. */
int features_report(struct report *report, const struct feature_plan *plan, struct arena *arena,
                    struct err *err);
