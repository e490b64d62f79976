/* mean.h: means of results over heads, layers or texts (--mean), summed in float64 in order. Over
 * texts, each cell of a tensor or table is the mean over the texts that have it, position by
 * position. Facts with decimals are means over all texts; facts that are integers are left out.
 *
 *     struct text_mean mean = {.longest = 40};
 *     if (text_mean_add(&mean, &report, err)) ...          (each report, after derive)
 *     if (text_mean_report(&whole, &mean, tokenizer, true, &arena, err)) ...
 *     text_mean_release(&mean);
 */
#pragma once

#include "lens/report.h"

/* Replace the report's tensors `arrays` by means over heads or layers, in `arena`. Tables with a
 * key column `head` or `layer` that is averaged become tables of means; the report then loses its
 * tensors. */
int report_take_means(struct array *arrays, struct report *report, const struct derivation *how,
                      struct arena *arena, struct err *err);

struct text_mean {
    size_t longest;            /* number of tokens of the longest text or source */
    struct report first;       /* report of the first text */
    struct label start;        /* label of the first text's special token that has no number */
    struct mean_sums *sums;    /* [first.array_count] sums of each tensor */
    struct table_mean *tables; /* [first.table_count] sums of each table */
    struct facts *facts;       /* sums of the facts with decimals, and the facts that are texts;
                                * NULL: no facts yet */
    size_t texts;              /* number of texts added */
    struct arena arena;
};

/* Add a report with the same tensors as the first report. Computed tensors must have equally many
 * columns, or columns of positions. The numbers of the report are added up, not kept; tables that
 * only text output shows are skipped. */
int text_mean_add(struct text_mean *mean, const struct report *report, struct err *err);

/* Make the report of means in `arena`; it borrows from `mean`. Tokens are labelled by position, and
 * vocabulary entries by their text or, if `tokenizer` is NULL, by number. A cell that no text has
 * is NaN. If `counts`, also add arrays SITE.count with the number of texts that have each cell, one
 * for each attention branch and kind of axes. */
int text_mean_report(struct report *report, const struct text_mean *mean,
                     const struct tokenizer *tokenizer, bool counts, struct arena *arena,
                     struct err *err);

void text_mean_release(struct text_mean *mean);
