/* head_scores.h: what each head does, in a few numbers, most of them between 0 and 1.
 *
 * A score is the mean of a measure over queries (without each text's first query, which sees only
 * itself), over words or over pairs of words. Scores that need repeated tokens are measured on
 * random tokens that come twice, unless they are asked for on the texts ("induction:texts"); those
 * of weights alone are counted by head_circuits.h.
 *
 * Each text has sums of its own, and texts may be measured at the same time; their sums are then
 * merged in the order of the texts, so that threads and groups do not change a bit.
 *
 * The baseline of a score is the same score on random input: the weight on the same positions of
 * random tokens, or the share of words that are paired at random.
 *
 *     struct score_list scores = {0};
 *     struct head_survey survey = {.viewer = &viewer, .scores = &scores, .bos = -1};
 *     struct head_sums sums;
 *     struct head_text text = {ids, count, .sums = &sums};
 *     const struct score *score = score_choose(&scores, "--score", "offset:-2", err);
 *     if (!score ||
 *         head_survey_open(&survey, &arena, err) || head_sums_init(&sums, &survey, &arena, err) ||
 *         head_survey_run(&survey, &viewer, OF_TEXTS, &text, 1, err)) ...
 *     struct mean *mean =
 *         &sums.found[(score - scores.items) * survey.heads + layer * heads + head];
 */
#ifndef ATTN_MEASURE_HEAD_SCORES_H
#define ATTN_MEASURE_HEAD_SCORES_H

#include <math.h>

#include "lens/report.h"
#include "lens/viewer.h"

/* What a score is measured on; OF_TEXTS means repeats if no text is given. */
enum score_material { OF_REPEATS, OF_WORDS, OF_PAIRS, OF_NEEDLES, OF_TEXTS, SCORE_MATERIALS };

struct attention_row;

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

struct mean {
    double sum;
    uint64_t count;
};

/* NaN where nothing was counted. */
static inline double mean_value(const struct mean *mean)
{
    return mean->count ? mean->sum / (double)mean->count : (double)NAN;
}

enum { SCORES_MAX = 24 };

/* A score that was chosen. */
struct score {
    const struct score_row *row;
    const char *name;             /* with what follows it: "offset:-2", "induction:texts" */
    enum score_material material; /* the row's, or that of the name */
    long long offset;
};

struct score_list {
    struct score items[SCORES_MAX];
    size_t count;
};

/* Find a score in the list by its name, or append it. Borrows the name; NULL: an unknown one, which
 * is refused as usage. */
const struct score *score_choose(struct score_list *list, const char *option, const char *name,
                                 struct err *err);

/* --- measuring -------------------------------------------------------------------------------- */

struct head_survey {
    const struct viewer *viewer;
    const struct score_list *scores;
    uint64_t seed;              /* of random tokens */
    long long bos;              /* the token that begins texts; -1: none */
    bool on_texts;              /* texts will be run */
    bool with_baseline;         /* measure on random input, too */
    bool lacks_logits;          /* scores on words and pairs have no values */
    struct selection selection; /* the weights of every head */
    size_t heads;               /* in all layers */
};

/* What was counted so far. */
struct head_sums {
    struct mean *found, *random;    /* [scores, heads] */
    size_t counts[SCORE_MATERIALS]; /* texts, words or pairs */
};

struct head_text {
    const uint32_t *ids;
    size_t count;
    const bool *marked;     /* OF_NEEDLES: tokens that the last one looks for */
    size_t number;          /* among the texts of its material */
    struct head_sums *sums; /* its rows are added here */
};

/* Refuses, as not supported, models that look ahead or at a second text. */
int head_survey_open(struct head_survey *survey, struct arena *arena, struct err *err);

/* True if any score is measured on it. */
bool head_survey_needs(const struct head_survey *survey, enum score_material material);

/* Sums that are zero; and add others to them. */
int head_sums_init(struct head_sums *sums, const struct head_survey *survey, struct arena *arena,
                   struct err *err);
void head_sums_merge(struct head_sums *sums, const struct head_survey *survey,
                     const struct head_sums *others);

/* Run texts in one pass and add what each head does; with a baseline, as many random tokens in
 * another pass. The viewer is the survey's or, in a thread, a copy of it. */
int head_survey_run(const struct head_survey *survey, struct viewer *viewer,
                    enum score_material material, const struct head_text *texts, size_t count,
                    struct err *err);

/* The same of all texts of repeated random tokens. */
int head_survey_run_repeats(const struct head_survey *survey, struct viewer *viewer,
                            struct head_sums *sums, struct err *err);

/* --- results ---------------------------------------------------------------------------------- */

/* What was measured of one model; it outlives the model. */
struct head_result {
    const char *model;
    const char *hash;   /* of its weights; NULL: there is one model */
    const char *origin; /* what was it measured on: "1 text given" */
    size_t layers, heads;
    struct head_sums sums;
};

struct head_results {
    const struct score_list *scores;
    bool with_baseline;       /* columns are scores, each with its baseline after it */
    const struct score *sort; /* highest first; NULL: by layer and head */
    size_t top;               /* rows of each model; 0: all */
    const struct head_result *items;
    size_t count; /* models */
};

/* What a survey has measured; sums and model names are borrowed. */
int head_result_keep(struct head_result *result, const struct head_survey *survey,
                     const struct head_sums *sums, struct arena *arena, struct err *err);

/* A table with a row for each head of each model; text compares models side by side. */
int head_table_report(struct report *report, const struct head_results *results,
                      struct arena *arena, struct err *err);

/* A matrix of layers by heads for each score of one model, or for `only` that one. */
int head_map_report(struct report *report, const struct head_results *results,
                    const struct score *only, struct arena *arena, struct err *err);

#endif
