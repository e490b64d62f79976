/* score_report.h: scores of texts as reports: a row for each token or word, for each total, or for
 * each word with a column for each model or condition.
 *
 *     struct score_view view = {.origin.viewer = &viewer, .bits = true};
 *     if (score_report(&report, &view, &pair.sentence, &scored, &arena, err)) ...
 *
 * Reports live as long as their arena, the view and the texts.
 */
#ifndef ATTN_MEASURE_SCORE_REPORT_H
#define ATTN_MEASURE_SCORE_REPORT_H

#include "base/names.h"
#include "measure/text_origin.h"
#include "measure/token_scores.h"

struct score_view {
    struct text_origin origin;
    bool bits;                  /* surprisal, entropy and differences in bits, not nats */
    bool words;                 /* a row for each word, not for each token */
    bool for_people;            /* the most likely tokens are a column, not a table of their own */
    bool has_regions;           /* some text has regions */
    const struct score_region { /* of this one, [region_count] */
        const char *name;
        size_t first, count; /* tokens */
    } * regions;
    size_t region_count;
};

/* A text, whose words were found if the view shows words. A word has no score (NaN) if one of its
 * tokens has none; its entropy is that of its first token. A text without tokens has a row, too. */
int score_report(struct report *report, const struct score_view *view,
                 const struct tokenized *sentence, const struct scored *scored, struct arena *arena,
                 struct err *err);

/* --- totals: a row for each text, continuation or group of texts --- */

enum totals_kind {
    TOTALS_OF_TEXTS,
    TOTALS_OF_GROUPS, /* of texts, with the mean per token */
    TOTALS_OF_CONTINUATIONS,
    TOTALS_OF_PAIRS, /* minimal pairs, with an accuracy; of a group means, not sums */
    TOTALS_OF_PREDICTIONS,
};

struct score_total {
    const char *name;        /* of the row in figures: "reduced, verb" */
    const char *const *keys; /* [key_count] NULL: missing */
    const char *bad;         /* text of one pair, whose last key is the good text */
    long long number;        /* of the text, or of the region from 1; COLUMN_MISSING */
    size_t tokens;           /* that have a score */
    double logprob, bad_logprob;
    size_t count, correct; /* pairs or predictions */
};

/* The total of tokens first … first + count - 1, without keys. */
struct score_total score_total_of(const struct scored *scored, size_t first, size_t count);
void score_total_add(struct score_total *sum, const struct score_total *total);
double score_perplexity(const struct score_total *total);

/* "5 tokens scored · logprob -20.1 · 4.02 nats a token · perplexity 55.7" */
const char *score_summary(const struct score_view *view, const struct score_total *total,
                          struct arena *arena, struct err *err);

struct score_totals {
    enum totals_kind kind;
    bool are_single;          /* a row is one text or pair; else a group of them */
    const char *const *names; /* [key_count] of the key columns; the last key labels the row */
    size_t key_count;
    struct score_total *rows;
    size_t count;
    const struct tokenized *sentence; /* the only text; NULL: they are of several, */
    size_t texts;                     /* and this is their number */
};

/* "reduced, verb": keys as a name, without those that are missing. NULL with `err`. */
const char *score_keys_name(const char *const *keys, size_t count, struct arena *arena,
                            struct err *err);

int score_totals_report(struct report *report, const struct score_view *view,
                        const struct score_totals *totals, struct arena *arena, struct err *err);

/* --- surprisal in columns -----------------------------------------------------------------------
 *
 * A column (line) for each model, with the rows of one text's report; or the mean for each
 * condition, over the words at the same position of regions with the same name, or of the text.
 */
struct score_lines {
    struct names names; /* of models; of conditions, which may be set last */
    bool are_means;     /* of conditions */
    size_t texts;       /* that were added */
    struct line_row {
        const char *region; /* "": none */
        size_t earlier;     /* regions of the same name before it in the text */
        size_t position;    /* in the region, or in the text */
        const char *words;
        struct line_sum {
            double surprisal;
            size_t count;
        } * lines;
        size_t line_count;
    } * rows;
    size_t count;
};

/* Add a report of score_report, or of continuations. Refused as usage, unless lines are means: rows
 * that differ from those of the first model, whose vocabulary splits the text differently. */
int score_lines_add(struct score_lines *lines, size_t line, const struct report *report,
                    struct arena *arena, struct err *err);

/* Replace the tables of a report, the last model's; of means the text as well. */
int score_lines_report(struct report *report, const struct score_lines *lines,
                       const struct score_view *view, struct arena *arena, struct err *err);

#endif
