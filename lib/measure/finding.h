/* finding.h: the finding of a text: the arrow, from a query to a key in a head, that matters most,
 * and up to three more; or honestly nothing. The command line, pages and figures all ask it.
 *
 *     struct finding_plan plan = {.viewer = &viewer, .pair = &pair, .products = 5e9};
 *     struct findings found;
 *     if (findings_make(&found, &plan, &arena, err)) ...
 *     if (found.count)
 *         ... found.items->layer, found.items->head ...
 *
 * The surprise of an arrow from query q to key k in a head, in bits: S = w · log2(w / b).
 *     w  the weight; of a state |map| / the larger of the sum of the row's |map| and the largest
 *        |map| of all heads
 *     b  what habit and nearness explain, the largest of: the mean weight on k of the other queries
 *        that see it; for neighbours, the mean weight of the other queries at the same distance;
 *        1 / (1 + d) over its sum over the row, where d is |q - k| or, in cross-attention, the
 *        distance from the diagonal
 * The effect of an arrow, in bits: D = log2(p / p'). p is the probability of the most likely token
 * at q; p' is the same token's if q cannot attend to k in any head.
 *
 * Queries are the last token of a decoder, each mask of a masked model, the rows of a translation
 * but the last, else all tokens but marks such as [CLS]. Keys are no marks, and not the query
 * itself; w is at least 0.3. The arrow acts if S >= 0.25, D >= 0.15 and p >= 0.1: the largest D · S
 * comes first. It looks if S >= 1 and both tokens have letters: the largest S comes first; of those
 * within 10 % of it, the latest query. Six arrows are tried, the largest S first. An arrow in
 * several heads is one finding: named is the head whose arrow alone costs most, if it is the
 * headline and acts, else the head with the largest S.
 *
 * Nothing depends on the clock: what is tried is limited by multiplications. */
#pragma once

#include "lens/prediction.h"
#include "lens/viewer.h"

struct finding_plan {
    struct viewer *viewer;
    const struct text_with_source *pair;
    double products; /* most multiplications for trying arrows; two passes are always allowed */
};

/* So many multiplications last about half a second. */
extern const double quick_products;

/* About the number of multiplications of a pass over some tokens. */
double pass_products(const struct config *config, size_t tokens);

/* Find the findings of a text, with the mechanism and the edits of the viewer. The arena owns the
 * names of tokens. A model without attention and states has none. */
int findings_make(struct findings *found, const struct finding_plan *plan, struct arena *arena,
                  struct err *err);

/* True for marks such as [CLS] and <s>, which are neither queries nor keys of a finding. */
bool token_is_mark(const struct label *label);

/* Add the memory of findings_make. */
void findings_add_memory(struct memory *memory, const struct finding_plan *plan);

/* --- words and tables (finding_words.c) ------------------------------------------------------- */

/* The findings in up to four sentences with a newline between two; `language` "zh" is Chinese.
 * Returns NULL with `err`:
 *
 *     After "cabinet" the model says "are" (> 99.9 %).
 *     Head 3 of layer 1 looks back at "keys" (94 %).
 *     If "cabinet" could not look at "keys", the model would say "is" (99.9 %): --knockout 4:1
 */
const char *findings_words(const struct findings *found, const struct viewer *viewer,
                           const struct text_with_source *pair, const char *language,
                           struct arena *arena, struct err *err);

/* A share as people read it: "> 99.9 %", "99.6 %", "94 %", "< 0.1 %". */
enum { SHARE_BYTES = 16 };
const char *share_text(char text[SHARE_BYTES], double share);

/* A table with a row for each finding: layer, head, query, key, weight, S, D, prediction, its
 * probability, and the prediction without the arrow. Without findings, a row has the prediction
 * alone. */
int findings_table(struct table *table, const struct findings *found,
                   const struct text_with_source *pair, struct arena *arena, struct err *err);
