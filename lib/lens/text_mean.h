/* text_mean.h: means of the tensors of several texts, position by position: --mean texts.
 *
 * A cell is averaged over the texts that are long enough to have it, and has a count of its own.
 * Sums run in double precision in the order in which reports are added.
 *
 *     struct text_mean mean = {.longest = 40};
 *     if (text_mean_add(&mean, &report, err)) ...          (each report, after derive)
 *     if (text_mean_report(&whole, &mean, &as, &arena, err)) ...
 *     text_mean_release(&mean);
 */
#ifndef ATTN_LENS_TEXT_MEAN_H
#define ATTN_LENS_TEXT_MEAN_H

#include "lens/report.h"

struct text_mean {
    size_t longest;         /* tokens of the longest text or source */
    struct report first;    /* of the first text: model, selection and the like */
    struct mean_sums *sums; /* [first.tensor_count] */
    size_t texts;           /* that were added */
    struct arena arena;
};

struct text_mean_form {
    const struct tokenizer *tokenizer; /* names the vocabulary; NULL: numbers do */
    bool has_counts;                   /* a sheet of counts follows the tensors */
};

/* Add a report, which has the tensors of the first one (of the same size, if they are sheets). Its
 * memory may go. */
int text_mean_add(struct text_mean *mean, const struct report *report, struct err *err);

/* The report of the means, in memory of the arena: positions label tokens, `about` says how many
 * texts there were. For each kind of axes a sheet SITE.count follows, with the number of texts of
 * each cell. A cell of no text, as the last query of one with the last key of another, is NaN. */
int text_mean_report(struct report *report, const struct text_mean *mean,
                     const struct text_mean_form *form, struct arena *arena, struct err *err);

void text_mean_release(struct text_mean *mean);

#endif
