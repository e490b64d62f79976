/* score_report.h: scores of texts as reports, which every format writes:
 *
 *     position,id,text,logprob_nats,surprisal_nats,entropy_nats,rank      tokens
 *     0,367,Life,,,,
 *     1,274, is,-0.000538506,0.000538506,0.0074412473,1
 *
 *     position,text,logprob_nats,surprisal_nats,entropy_nats,subwords,start,end      words
 *     1,is,-0.000538506,0.000538506,0.0074412473,1,5,7
 *
 *     sentence,text,logprob_nats,surprisal_nats,tokens,perplexity    totals of texts
 *     0,Life is short,-0.5684006,0.5684006,2,1.328699
 *
 *     struct score_view view = {.origin.viewer = &viewer, .bits = true};
 *     if (score_report(&report, &view, &pair.sentence, &scored, &arena, err)) ...
 *
 * Reports live as long as their arena, the view and the texts.
 */
#ifndef ATTN_MEASURE_SCORE_REPORT_H
#define ATTN_MEASURE_SCORE_REPORT_H

#include "measure/text_origin.h"
#include "measure/token_scores.h"

/* A part of a text that a table of stimuli names. */
struct region {
    const char *name;
    size_t number; /* rises in a text; regions of one number are compared */
    size_t end;    /* byte */
};

/* How scores are shown. */
struct score_view {
    struct text_origin origin;
    bool bits;       /* surprisal, entropy and differences in bits, not nats */
    bool words;      /* a row for each word, not for each token */
    bool for_people; /* the most likely tokens are a column to read, not a table of their own */
    size_t lines;    /* of a page: most likely tokens are made for the rows that it shows; 0: all */
    bool has_regions;
    const struct region **regions; /* [tokens] of a text; NULL: it has none */
};

/* The total of a text, of a continuation, or of several texts; of minimal pairs, whose texts are
 * the good ones; or of predictions. */
struct score_total {
    struct label label;
    struct label bad;   /* of one pair */
    long long sentence; /* the text's number; COLUMN_MISSING */
    size_t tokens;      /* that have a score */
    double logprob, bad_logprob;
    size_t count, correct;      /* pairs or predictions */
    const char *const *columns; /* [name_count] values of other columns; NULL: none */
};

/* The total of tokens first … first + count - 1; its label is left to the caller. */
struct score_total score_total_of(const struct scored *scored, size_t first, size_t count);
void score_total_add(struct score_total *sum, const struct score_total *total);
double score_perplexity(const struct score_total *total);

/* "5 tokens scored · logprob -20.1 · 4.02 nats a token · perplexity 55.7" */
const char *score_summary(const struct score_view *view, const struct score_total *total,
                          struct arena *arena, struct err *err);

/* A text, whose words were found if the view shows words. A word has no score (NaN) if one of its
 * tokens has none; its entropy is that of its first token. A text without tokens has a row, too. */
int score_report(struct report *report, const struct score_view *view,
                 const struct tokenized *sentence, const struct scored *scored, struct arena *arena,
                 struct err *err);

/* Totals, a row each; pairs and predictions have an accuracy, pairs also means. */
enum totals_kind {
    TOTALS_OF_TEXTS,
    TOTALS_OF_CONTINUATIONS,
    TOTALS_OF_PAIRS,
    TOTALS_OF_PREDICTIONS
};

struct score_totals {
    const char *rows; /* what a row is: "text", "continuation", "model", a column of the input */
    enum totals_kind kind;
    const struct score_total *items;
    size_t count;
    bool is_numbered;         /* rows are texts, which have numbers */
    bool shows_columns;       /* columns are for people, too */
    const char *const *names; /* [name_count] of columns of the texts that are copied */
    size_t name_count;
    const struct tokenized *sentence; /* that was continued; NULL: they are of several texts … */
    size_t texts;                     /* … of so many */
};

int score_totals_report(struct report *report, const struct score_view *view,
                        const struct score_totals *totals, struct arena *arena, struct err *err);

/* --- means of words ----------------------------------------------------------------------------
 *
 * The mean surprisal of the words at the same place of a region, or of a text without regions, over
 * the texts of each line, such as a condition: a row for each place, a column for each line.
 */
struct word_means {
    struct word_record {
        size_t line, region, place; /* the place counts the words of the region */
        const char *name, *text;    /* of the region, and the word */
        double surprisal;
    } * items;
    size_t count;
};

int word_means_add(struct word_means *means, size_t line, const struct score_view *view,
                   const struct tokenized *sentence, const struct scored *scored,
                   struct arena *arena, struct err *err);

/* Lines are called by the columns of `lines`, all of which are theirs. */
int word_means_report(struct report *report, struct word_means *means,
                      const struct score_view *view, const struct score_totals *lines,
                      struct arena *arena, struct err *err);

/* --- several models ----------------------------------------------------------------------------
 *
 * A table for each text, with the surprisals of each model as a column. Models are added in turn,
 * each with all texts; the reports of the last model become the tables:
 *
 *     struct score_models models;
 *     if (score_models_init(&models, names, 3, text_count, &kept, err) ||
 *         score_models_add(&models, model, text, &report, &arena, err)) ...   (of each)
 */
struct score_models {
    const char *const *names; /* borrowed */
    size_t count;
    struct label *labels; /* [count] their names */
    const char *title;    /* "3 models" */
    struct score_table {
        struct label *rows; /* [row_count] copies of the first model's */
        size_t row_count;
        double *surprisals; /* [count, row_count] of each model */
    } * texts;              /* [texts] */
    struct arena *arena;
};

int score_models_init(struct score_models *models, const char *const *names, size_t count,
                      size_t texts, struct arena *arena, struct err *err);

/* Add the report of score_report or score_totals_report on a text; that of the last model is
 * replaced by the table of all, which lives as long as `arena` and the report. Refused as usage:
 * other rows than those of the first model, for example because its vocabulary splits the text
 * differently. */
int score_models_add(struct score_models *models, size_t model, size_t text, struct report *report,
                     struct arena *arena, struct err *err);

#endif
