/* finding.h: the findings of a text: the arrow, from a query to a key in a head, that matters most,
 * and up to three more. A text may have none. The command line, pages and figures show findings.
 *
 *     struct finding_plan plan = {.viewer = &viewer, .pair = &pair, .products = 5e9};
 *     struct findings found;
 *     if (findings_make(&found, &plan, &arena, err)) ...
 *     if (found.count)
 *         ... found.items->layer, found.items->head ...
 *
 * The surprise of an arrow from query q to key k in a head, in bits: S = w · log2(w / b).
 *     w  the weight; for a state |cell| / max(sum of |cell| over the row, largest |cell| of all
 *        heads)
 *     b  what habit and nearness explain, the largest of: the mean weight on k of the other queries
 *        that see it; for neighbours, the mean weight of the other queries at the same distance;
 *        1 / (1 + d), divided by the sum of 1 / (1 + d) over the row, where d is |q - k| or, in
 *        cross-attention, the distance from the diagonal
 * The effect of an arrow, in bits: D = log2(p / p'). p is the probability of the most likely token
 * at q; p' is the probability of the same token if q cannot attend to k in any head.
 *
 * Queries are the last token of a decoder, the token from which a classifier answers, each mask of
 * a masked model, or the rows of a translation except the last; in other models, all tokens except
 * marks such as [CLS]. A key is neither a mark nor the query itself; w is at least 0.3. The arrow
 * acts if S >= 0.25, D >= 0.15 and p >= 0.1: the largest D · S comes first. It looks if S >= 1 and
 * both tokens have letters or digits: the largest S comes first; of arrows within 10 % of it, the
 * latest query. D is measured for the six arrows with the largest S. An arrow in several heads is
 * one finding, which names the head with the largest S; a headline that acts names the head whose
 * arrow, cut alone, costs the most bits.
 *
 * The result does not depend on the clock: a number of multiplications limits the search. */
#pragma once

#include "lens/prediction.h"
#include "lens/viewer.h"

struct finding_plan {
    struct viewer *viewer;
    const struct text_with_source *pair;
    double products; /* maximum number of multiplications of all trials (trials.h); two passes of
                      * the text are always allowed */
};

/* The number of multiplications that a computer does in about half a second. */
extern const double quick_products;

/* Return the approximate number of multiplications of a pass over `tokens` tokens. */
double pass_products(const struct config *config, size_t tokens);

/* Find the findings of a text, with the mechanism and the edits of the viewer. The arena owns the
 * names of tokens. A model that has neither attention nor states has no findings. */
int findings_make(struct findings *found, const struct finding_plan *plan, struct arena *arena,
                  struct err *err);

/* True for marks such as [CLS] and <s>, which are neither queries nor keys of a finding. */
bool token_is_mark(const struct label *label);

/* Raise memory->during to at least the memory that findings_make needs. */
void findings_add_memory(struct memory *memory, const struct finding_plan *plan);

/* --- words and tables (finding_words.c) ------------------------------------------------------- */

/* Return the findings in up to four sentences, separated by newlines, or NULL with `err`.
 * `language`: "zh" for Chinese.
 *
 *     After "cabinet" the model says "are" (> 99.9 %).
 *     Head 3 of layer 1 looks back at "keys" (94 %).
 *     If "cabinet" could not look at "keys", the model would say "is" (99.9 %): --knockout 4:1
 */
const char *findings_words(const struct findings *found, const struct viewer *viewer,
                           const struct text_with_source *pair, const char *language,
                           struct arena *arena, struct err *err);

/* Write a share, from 0 to 1, as a rounded percentage: "> 99.9 %", "99.6 %", "94 %", "< 0.1 %". */
enum { SHARE_BYTES = 16 };
const char *share_text(char text[SHARE_BYTES], double share);

/* A table with a row for each finding: layer, head, query, key, weight, S, D, prediction, its
 * probability, and the prediction without the arrow. If there are no findings, the table has one
 * row, with only the prediction. */
int findings_table(struct table *table, const struct findings *found,
                   const struct text_with_source *pair, struct arena *arena, struct err *err);
