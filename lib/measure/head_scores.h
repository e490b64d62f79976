/* head_scores.h: what each head does, in a few numbers, most of them between 0 and 1.
 *
 * A score is the mean of a measure over queries (without each text's first query, which sees only
 * itself), over words or over pairs of words. Scores that need repeated tokens are measured on
 * random tokens that come twice; those of weights alone are counted by head_circuits.h. Sums are
 * exact: the order of the texts does not change a mean.
 *
 * The baseline of a score is the same score on random input: the weight on the same positions of
 * random tokens, or the share of words that are paired at random.
 *
 *     struct score_list scores = {0};
 *     struct head_survey survey = {.viewer = &viewer, .scores = &scores, .bos = -1};
 *     if (score_choose(&scores, &index, "--score", "offset:-2", 9, err) ||
 *         head_survey_open(&survey, &arena, err) ||
 *         head_survey_add_text(&survey, &pair.sentence, err)) ...      for every text
 *     double score = mean_value(&scores.items[index].found[layer * heads + head]);
 */
#ifndef ATTN_MEASURE_HEAD_SCORES_H
#define ATTN_MEASURE_HEAD_SCORES_H

#include "lens/report.h"
#include "lens/viewer.h"
#include "math/exact_sum.h"

/* --- measures (measure.c) --------------------------------------------------------------------- */

/* The attention of one query, and what some measures need to know. */
struct attention_row {
    const float *weights; /* [keys] on the visible keys */
    size_t keys;
    size_t query;        /* its position in the text: 1 or more */
    const uint32_t *ids; /* [keys] of the text */
    long long bos;       /* the token that begins texts; -1: none */
    long long offset;    /* of the key from its query: -1 is the previous token */
    const bool *marked;  /* [keys] tokens of the needle; NULL: there is none */
};

/* What a score is measured on; OF_TEXTS means repeats if no text is given. */
enum score_material { OF_REPEATS, OF_WORDS, OF_PAIRS, OF_NEEDLES, OF_TEXTS, SCORE_MATERIALS };

struct score_row {
    const char *name, *about;
    const char *heading, *brief; /* of a column; where the page is narrow */
    const char *verdict;         /* the name of a head whose score is … */
    double from;                 /* … at least this; NULL: no name */
    enum score_material material;
    double (*measure)(const struct attention_row *); /* NaN: nothing; NULL: of weights alone */
    const char *unit;                                /* NULL: a fraction */
    bool usual;                                      /* shown if none is named */
    bool takes_offset;
};

extern const struct score_row score_rows[];
extern const size_t score_row_count;

/* A mean whose sum is exact; NaN if nothing was counted. */
struct mean {
    struct exact_sum sum;
    uint64_t count;
};

double mean_value(const struct mean *mean);

enum { SCORES_MAX = 24, HEAD_SURVEY_REPEATS = 16 /* texts of random tokens */ };

/* A score that was chosen. */
struct score {
    const struct score_row *row;
    const char *name; /* with its offset: "offset:-2" */
    long long offset;
    struct mean *found, *random; /* [layers * heads] */
};

struct score_list {
    struct score items[SCORES_MAX];
    size_t count;
};

/* Find a score by `size` bytes of its name, or append it to the list; append all usual ones. Names
 * live in the arena. Unknown names are refused as usage. */
int score_choose(struct score_list *list, size_t *index, const char *option, const char *name,
                 size_t size, struct arena *arena, struct err *err);
void score_choose_usual(struct score_list *list);

/* --- measuring (head_scores.c) ---------------------------------------------------------------- */

struct head_survey {
    struct viewer *viewer;
    struct score_list *scores;
    uint64_t seed;              /* of random tokens */
    long long bos;              /* the token that begins texts; -1: none */
    bool on_texts;              /* texts will be added */
    bool with_baseline;         /* measure on random input, too */
    struct selection selection; /* the weights of every head */
    size_t counts[SCORE_MATERIALS];
};

/* Refuses, as not supported, models that look ahead or at a second text. */
int head_survey_open(struct head_survey *survey, struct arena *arena, struct err *err);

/* True if any score is measured on it. */
bool head_survey_needs(const struct head_survey *survey, enum score_material material);

/* Run text `number` of random tokens; a text; a text whose last token looks for marked tokens. */
int head_survey_add_repeat(struct head_survey *survey, size_t number, struct err *err);
int head_survey_add_text(struct head_survey *survey, const struct tokenized *text, struct err *err);
int head_survey_add_needle(struct head_survey *survey, const struct tokenized *text,
                           const bool *marked, struct err *err);

/* --- results (head_report.c) ------------------------------------------------------------------ */

/* What was measured of one model; it outlives the model. */
struct head_result {
    const char *model;
    const char *hash;   /* of its weights; NULL: there is one model */
    const char *origin; /* what was it measured on: "1 text given" */
    size_t texts;
    size_t layers, heads;
    const double *values;        /* [columns, layers * heads] NaN: nothing was counted */
    const char *const *verdicts; /* [layers * heads] "previous token, induction"; "": none */
};

struct head_results {
    const struct score_list *scores;
    bool with_baseline;       /* columns are scores, each with its baseline after it */
    const struct score *sort; /* highest first; NULL: by layer and head */
    const struct head_result *items;
    size_t count; /* models */
};

/* Keep what a survey has measured, in memory of the arena; model names are borrowed. */
int head_result_keep(struct head_result *result, const struct head_survey *survey,
                     struct arena *arena, struct err *err);

/* A table with a row for each head of each model; text compares models side by side. */
int head_table_report(struct report *report, const struct head_results *results,
                      struct arena *arena, struct err *err);

/* A matrix of layers by heads for each score of one model, or for `only` that one. */
int head_map_report(struct report *report, const struct head_results *results,
                    const struct score *only, struct arena *arena, struct err *err);

#endif
