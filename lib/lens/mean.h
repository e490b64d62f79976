/* mean.h: means of results over heads, layers or texts (--mean), summed in double precision in
 * their order. Over texts each cell of a tensor, row of a table and number among the facts is the
 * mean over the texts that have it, position by position.
 *
 *     struct text_mean mean = {.longest = 40};
 *     if (text_mean_add(&mean, &report, err)) ...          (each report, after derive)
 *     if (text_mean_report(&whole, &mean, tokenizer, true, &arena, err)) ...
 *     text_mean_release(&mean);
 */
#ifndef ATTN_LENS_MEAN_H
#define ATTN_LENS_MEAN_H

#include "lens/report.h"

/* Replace tensors by their means over heads or layers, in memory of the arena; tables get a row for
 * all heads or layers whose other keys are the same. */
int report_take_means(struct report *report, const struct derivation *how, struct arena *arena,
                      struct err *err);

struct text_mean {
    size_t longest;            /* tokens of the longest text or source */
    struct report first;       /* of the first text */
    struct mean_sums *sums;    /* [first.tensor_count] */
    struct frame_mean *tables; /* [first.frame_count] */
    struct facts *facts;       /* sums of numbers; NULL: none */
    size_t texts;              /* that were added */
    struct arena arena;
};

/* Add a report with the tensors of the first (and, if they are sheets, their sizes). Its memory is
 * not used later; tables for people only are left out. */
int text_mean_add(struct text_mean *mean, const struct report *report, struct err *err);

/* The report of the means, in memory of the arena. Tokens are labelled with their positions, the
 * vocabulary with its words (tokenizer NULL: numbers). With `counts` a sheet SITE.count per kind of
 * axes gives the number of texts of each cell. Cells of no text are NaN. */
int text_mean_report(struct report *report, const struct text_mean *mean,
                     const struct tokenizer *tokenizer, bool counts, struct arena *arena,
                     struct err *err);

void text_mean_release(struct text_mean *mean);

#endif
