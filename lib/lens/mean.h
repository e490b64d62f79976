/* mean.h: means of results over heads, layers or texts (--mean), summed in float64 in order. Over
 * texts, each cell of a tensor, row of a table and numeric fact is the mean over the texts that
 * have it, position by position.
 *
 *     struct text_mean mean = {.longest = 40};
 *     if (text_mean_add(&mean, &report, err)) ...          (each report, after derive)
 *     if (text_mean_report(&whole, &mean, tokenizer, true, &arena, err)) ...
 *     text_mean_release(&mean);
 */
#pragma once

#include "lens/report.h"

/* Replace the report's tensors `arrays` by means over heads or layers, in `arena`. Rows of tables
 * that differ only in these are replaced by their mean; then `arrays` are dropped. */
int report_take_means(struct array *arrays, struct report *report, const struct derivation *how,
                      struct arena *arena, struct err *err);

struct text_mean {
    size_t longest;            /* tokens in the longest text or source */
    struct report first;       /* report of the first text */
    struct mean_sums *sums;    /* [first.array_count] */
    struct table_mean *tables; /* [first.table_count] */
    struct facts *facts;       /* sums of numeric facts; NULL: none */
    size_t texts;              /* number of texts added */
    struct arena arena;
};

/* Add a report with the tensors of the first; computed ones with its columns, unless these are
 * positions. Its tensors and tables are not used afterwards; tables for people are skipped. */
int text_mean_add(struct text_mean *mean, const struct report *report, struct err *err);

/* Make the report of means in `arena`; it borrows from `mean`. Tokens are labelled by position, the
 * vocabulary by its words (tokenizer NULL: by number). With `counts`, an array SITE.count for each
 * kind of axes has the number of texts of each cell. Cells of no text are NaN. */
int text_mean_report(struct report *report, const struct text_mean *mean,
                     const struct tokenizer *tokenizer, bool counts, struct arena *arena,
                     struct err *err);

void text_mean_release(struct text_mean *mean);
