/* head_survey.h: what every head of a model does, measured on texts and on repeated random tokens.
 *
 * Scores that say most where tokens come twice are taken from the random tokens, the others from
 * the texts, where there are any.
 *
 *     struct head_survey survey;
 *     if (head_survey_open(&survey, &viewer, seed, &arena, err)) ...
 *     for (size_t i = 0; i < HEAD_SURVEY_REPEATS; i++)
 *         if (head_survey_add_repeat(&survey, i, err)) ...
 *     if (head_survey_add_text(&survey, &subject.sentence, err)) ...
 *     double induction = head_survey_score(&survey, layer, head, SCORE_INDUCTION);
 */
#ifndef ATTN_MEASURE_HEAD_SURVEY_H
#define ATTN_MEASURE_HEAD_SURVEY_H

#include "base/arena.h"
#include "base/err.h"
#include "measure/head_scores.h"
#include "lens/measured.h"
#include "lens/viewer.h"

enum { HEAD_SURVEY_REPEATS = 16 }; /* texts of random tokens */

struct head_survey {
    struct viewer *viewer;
    uint64_t seed; /* of the random tokens */
    struct head_scores of_texts, of_repeats;
    size_t texts; /* that were added */
};

int head_survey_open(struct head_survey *survey, struct viewer *viewer, uint64_t seed,
                     struct arena *arena, struct err *err);

/* Run one of the texts of random tokens, by its number; a text. */
int head_survey_add_repeat(struct head_survey *survey, size_t number, struct err *err);
int head_survey_add_text(struct head_survey *survey, const struct reading *text, struct err *err);

/* NaN where no query could be counted. */
double head_survey_score(const struct head_survey *survey, size_t layer, size_t head,
                         enum score score);

/* All scores, or `only` one unless it is SCORES, as layers × heads: fills in all of `measured`. */
int head_survey_measure(struct measured *measured, const struct head_survey *survey,
                        enum score only, struct arena *arena, struct err *err);

#endif
