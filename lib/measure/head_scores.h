/* head_scores.h: what each head does, in a few numbers between 0 and 1, and two beyond.
 *
 * A score is a mean over queries of how much weight lies where its name says. Duplicates and what
 * followed them are known where tokens come twice: in repeated random tokens there is nothing else
 * to go by.
 *
 *     struct head_scores scores = {0};
 *     if (head_scores_open(&scores, &model.config, &arena, err)) ...
 *     if (head_scores_add(&scores, &viewer, &text, err)) ...               for every text
 *     double previous = head_score(&scores, layer, head, SCORE_PREVIOUS);
 */
#ifndef ATTN_MEASURE_HEAD_SCORES_H
#define ATTN_MEASURE_HEAD_SCORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/stream.h"
#include "lens/measure.h"
#include "lens/viewer.h"
#include "math/machine.h"
#include "model/batch.h"
#include "model/model.h"
#include "write/format.h"

enum score {
    SCORE_PREVIOUS,  /* on the token before */
    SCORE_FIRST,     /* on the first token */
    SCORE_SELF,      /* on the token itself */
    SCORE_DUPLICATE, /* on earlier tokens that are the same */
    SCORE_INDUCTION, /* on those that followed them */
    SCORE_ENTROPY,   /* -Σ w ln w, in nats */
    SCORE_DISTANCE,  /* Σ w · (query - key) */
    SCORES,
};

struct score_row {
    const char *name, *about;
    const char *heading, *brief; /* of a column, and of a narrow one */
    const char *clear;           /* what a head is whose score is … */
    double from;                 /* … at least this; NULL: no name */
    bool of_repeats;             /* says most where tokens come twice */
};

extern const struct score_row score_rows[SCORES];

struct head_scores {
    const struct config *config;
    double *sums; /* [layers, heads, SCORES] */
    double *counts;
    const struct text *text; /* the one that is looked at */
};

int head_scores_open(struct head_scores *scores, const struct config *config, struct arena *arena,
                     struct err *err);

/* Run a text and count how every head looks at it. */
int head_scores_add(struct head_scores *scores, struct viewer *viewer, const struct text *text,
                    struct err *err);

/* The mean; NaN where no query could be counted. */
double head_score(const struct head_scores *scores, size_t layer, size_t head, enum score score);

/* `half` ids from below `limit`, drawn by a key, and the same again. */
void head_scores_repeat(uint32_t *ids, size_t half, size_t limit, uint64_t key);

/* --- on texts and on repeated random tokens -----------------------------------------------------
 *
 * Scores that say most where tokens come twice are taken from the random tokens, the others from
 * the texts, where there are any.
 */

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
int head_survey_add_text(struct head_survey *survey, const struct tokenized *text, struct err *err);

/* NaN where no query could be counted. */
double head_survey_score(const struct head_survey *survey, size_t layer, size_t head,
                         enum score score);

/* All scores, or `only` one unless it is SCORES, as layers × heads: fills in all of `measured`. */
int head_survey_measure(struct measured *measured, const struct head_survey *survey,
                        enum score only, struct arena *arena, struct err *err);

/* --- a line a head ------------------------------------------------------------------------------
 *
 *     layer head   prev first  self  dup.  ind. entr. dist.
 *         0    1   0.93  0.02  0.00  0.00  0.00  0.30  1.26  previous token
 */

struct head_line {
    size_t layer, head;
    double scores[SCORES]; /* NaN: there is none */
};

/* For people: as wide as the page, every column of a colour scale of its own. */
int head_table_write(struct stream *out, const struct head_line *lines, size_t count,
                     const struct place *place, struct err *err);

void head_table_csv(struct stream *out, const struct head_line *lines, size_t count);

#endif
