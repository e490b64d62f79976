/* head_scores.h: what each head does, in a few numbers: most between 0 and 1.
 *
 * A score is the mean of a measure (reduction.h), over queries (but for a text's first one), words
 * or pairs of words. Duplicates and what followed them are known where tokens come twice: those
 * scores are taken from repeated random tokens. What weights alone say is counted in by
 * head_circuits.h.
 *
 * Beside each stands the same of random things: of attention the weight on the same places where
 * the tokens are random ones, of weights the share of words that are paired at random.
 *
 *     struct score_list scores = {0};
 *     struct head_survey survey = {.viewer = &viewer, .scores = &scores, .bos = -1};
 *     if (score_choose(&scores, &index, "--score", "offset:-2", 9, err) ||
 *         head_survey_open(&survey, &arena, err) ||
 *         head_survey_add_text(&survey, &pair.sentence, err)) ...      for every text
 *     double found = head_survey_score(&scores.items[index], layer, head, false);
 */
#ifndef ATTN_MEASURE_HEAD_SCORES_H
#define ATTN_MEASURE_HEAD_SCORES_H

#include "base/stream.h"
#include "measure/reduction.h"
#include "lens/viewer.h"
#include "write/format.h"

/* What a score is taken from; of texts, where none are given, from repeats. */
enum score_material { OF_REPEATS, OF_WORDS, OF_PAIRS, OF_NEEDLES, OF_TEXTS, SCORE_MATERIALS };

struct score_row {
    const char *name, *about;
    const char *heading, *brief; /* of a column, and of a narrow one */
    const char *clear;           /* what a head is whose score is … */
    double from;                 /* … at least this; NULL: no name */
    enum score_material material;
    enum measure measure;
    bool usual; /* shown where none are named */
};

extern const struct score_row score_rows[];
extern const size_t score_row_count;

enum { SCORES_MAX = 24, HEAD_SURVEY_REPEATS = 16 /* texts of random tokens */ };

/* One that was chosen. */
struct score {
    const struct score_row *row;
    const char *name; /* with its offset: "offset:-2" */
    struct reduction found, random;
};

struct score_list {
    struct score items[SCORES_MAX];
    size_t count;
};

/* Find a score by `size` bytes of its name, or put it at the end of the list; all that are usual.
 * Names live in the arena. Others are refused as usage. */
int score_choose(struct score_list *list, size_t *index, const char *option, const char *name,
                 size_t size, struct arena *arena, struct err *err);
void score_choose_usual(struct score_list *list);

struct head_survey {
    struct viewer *viewer;
    struct score_list *scores;
    uint64_t seed;              /* of what is random */
    long long bos;              /* the token that begins texts; -1: there is none */
    bool on_texts;              /* some will be added */
    bool with_random;           /* the same of random things is wanted, too */
    struct selection selection; /* the weights of every head */
    size_t counts[SCORE_MATERIALS];
};

/* Refused, as not supported: a model that looks ahead, or at a second text. */
int head_survey_open(struct head_survey *survey, struct arena *arena, struct err *err);

/* Is any score taken from it? */
bool head_survey_needs(const struct head_survey *survey, enum score_material material);

/* Run one of the texts of random tokens, by its number; a text; a text whose last token looks for
 * the tokens that are marked. */
int head_survey_add_repeat(struct head_survey *survey, size_t number, struct err *err);
int head_survey_add_text(struct head_survey *survey, const struct tokenized *text, struct err *err);
int head_survey_add_needle(struct head_survey *survey, const struct tokenized *text,
                           const bool *marked, struct err *err);

/* NaN where no query could be counted. */
double head_survey_score(const struct score *score, size_t layer, size_t head, bool random);

/* The number of queries, words, pairs or needles whose mean that is. */
uint64_t head_survey_count(const struct score *score, size_t layer, size_t head);

/* All scores, or `only` one unless it is NULL, as layers × heads, each with the same of random
 * things after it where that was wanted: fills in all of `measured`. */
int head_survey_measure(struct measured *measured, const struct head_survey *survey,
                        const struct score *only, struct arena *arena, struct err *err);

/* "duplicate, induction: 16 texts of repeated random tokens; the others: 2 texts given" */
int head_survey_origin(struct buf *text, const struct head_survey *survey, struct err *err);

/* --- a line a head (head_table.c) ------------------------------------------------------------- */

struct head_column {
    const struct score *score;
    bool random;
};

struct head_line {
    size_t layer, head;
    const double *values; /* [column_count] NaN: there is none */
};

struct head_table {
    const char *model; /* of several; NULL: there is one */
    const struct head_column *columns;
    size_t column_count;
    const struct head_line *lines;
    size_t count;
};

/* For people: as wide as the page, every column of a colour scale of its own. */
int head_table_write(struct stream *out, const struct head_table *table, const struct place *place,
                     struct err *err);

/* Below the head of the first, with the columns of all. */
int head_table_csv(struct stream *out, const struct head_table *table, bool is_first,
                   struct err *err);

#endif
