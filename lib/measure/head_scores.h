/* head_scores.h: what each head does, in a few numbers between 0 and 1, and two beyond.
 *
 * A score is the mean of a measure (reduction.h) over queries, but for a text's first one.
 * Duplicates and what followed them are known where tokens come twice: those scores are taken from
 * repeated random tokens, the others from the texts, where there are any.
 *
 *     struct head_survey survey;
 *     if (head_survey_open(&survey, &viewer, seed, &arena, err)) ...
 *     if (head_survey_add_repeat(&survey, i, err)) ...                 for i below 16
 *     if (head_survey_add_text(&survey, &pair.sentence, err)) ...      for every text
 *     double previous = head_survey_score(&survey, layer, head, SCORE_PREVIOUS);
 */
#ifndef ATTN_MEASURE_HEAD_SCORES_H
#define ATTN_MEASURE_HEAD_SCORES_H

#include "base/stream.h"
#include "measure/reduction.h"
#include "lens/viewer.h"
#include "write/format.h"

enum score {
    SCORE_PREVIOUS,
    SCORE_FIRST,
    SCORE_SELF,
    SCORE_DUPLICATE,
    SCORE_INDUCTION,
    SCORE_ENTROPY,
    SCORE_DISTANCE,
    SCORES,
};

struct score_row {
    const char *name, *about;
    const char *heading, *brief; /* of a column, and of a narrow one */
    const char *clear;           /* what a head is whose score is … */
    double from;                 /* … at least this; NULL: no name */
    bool of_repeats;             /* says most where tokens come twice */
    enum measure measure;
};

extern const struct score_row score_rows[SCORES];

enum { HEAD_SURVEY_REPEATS = 16 }; /* texts of random tokens */

struct head_survey {
    struct viewer *viewer;
    uint64_t seed;              /* of the random tokens */
    struct selection selection; /* the weights of every head */
    struct reduction of_texts, of_repeats;
    size_t texts; /* that were added */
};

/* Refused, as not supported: a model that looks ahead, or at a second text. */
int head_survey_open(struct head_survey *survey, struct viewer *viewer, uint64_t seed,
                     struct arena *arena, struct err *err);

/* Run one of the texts of random tokens, by its number; a text. */
int head_survey_add_repeat(struct head_survey *survey, size_t number, struct err *err);
int head_survey_add_text(struct head_survey *survey, const struct tokenized *text, struct err *err);

/* `half` ids from below `limit`, drawn by a key, and the same again. */
void head_survey_repeat(uint32_t *ids, size_t half, size_t limit, uint64_t key);

/* NaN where no query could be counted. */
double head_survey_score(const struct head_survey *survey, size_t layer, size_t head,
                         enum score score);

/* All scores, or `only` one unless it is SCORES, as layers × heads: fills in all of `measured`. */
int head_survey_measure(struct measured *measured, const struct head_survey *survey,
                        enum score only, struct arena *arena, struct err *err);

/* --- a line a head (head_table.c) ------------------------------------------------------------- */

struct head_line {
    size_t layer, head;
    double scores[SCORES]; /* NaN: there is none */
};

/* For people: as wide as the page, every column of a colour scale of its own. */
int head_table_write(struct stream *out, const struct head_line *lines, size_t count,
                     const struct place *place, struct err *err);

void head_table_csv(struct stream *out, const struct head_line *lines, size_t count);

#endif
