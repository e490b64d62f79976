/* score_report.h: scores of texts as reports: a row for each token or word, for each total, or for
 * each word with a column for each model or condition.
 *
 *     struct score_view view = {.viewer = &viewer, .bits = true};
 *     struct score_text text = {&pair, &scored};
 *     if (score_report(&report, &view, &pair, &text, &arena, err)) ...
 *
 * Reports live as long as their arena, the view and the texts. */
#pragma once

#include "base/hash.h"
#include "base/names.h"
#include "measure/question.h"
#include "measure/token_scores.h"

struct score_view {
    const struct viewer *viewer;
    struct report origin; /* the report of viewer_report, without text and tables */
    bool bits;            /* true: surprisal, entropy and differences are in bits, not in nats */
    bool words;           /* true: reports have a row for each word, not for each token */
    bool for_people;      /* true: the most likely tokens are a column, not a second table */
    bool fills;           /* true: rows are only the most likely tokens, at mask tokens or, with
                           * `next`, after the text */
    bool next;            /* true: rows are only the most likely tokens after each text */
    bool has_regions;     /* true if some text has regions */
    bool ends;            /* scores have the entropy after each text, and words the entropy after
                           * each word */
    bool lists;           /* true: rows are only the most likely tokens, at all positions */
    bool of_rows;         /* the words of a text are rows of a table, whose columns are in
                           * `parts` */
    bool of_pairs;        /* true if some text is a pair */
};

/* A text, or its continuations: the text is read together with each continuation. */
struct score_text {
    struct text_with_source *pairs; /* the text; with continuations [part_count], the text with each
                                     * of them */
    const struct scored *scored;    /* the scores of each of `pairs` */
    const struct score_region {     /* [part_count] continuations, or regions of the text */
        const char *name;
        long long number;
        size_t first, count;                   /* range of tokens in the text */
        const struct identity_column *columns; /* [column_count] columns of a table of words; NULL:
                                                * the words are not from a table */
        size_t column_count;
    } * parts;
    const struct score_region *bad_parts; /* [part_count] for a minimal pair, the regions of the bad
                                           * text */
    size_t part_count;
    bool continues;   /* true: `parts` are continuations, not regions */
    const size_t *at; /* [at_count] indices of the tokens or words to show; NULL: show all */
    size_t at_count;
};

/* Report the scores of the tokens or words of a text, or of its continuations. If the view shows
 * words, call word_spans_find before. A word has no score (NaN) if one of its tokens has none; its
 * entropy is the entropy of its first token. A blank text has one row; continuations of a blank
 * text have none. With `fills`, rows are likely tokens of masks or, with `next`, of the next
 * token. */
int score_report(struct report *report, const struct score_view *view,
                 const struct text_with_source *pair, const struct score_text *text,
                 struct arena *arena, struct err *err);

/* Report the words of a minimal pair, aligned: a row for each word that both texts have, or that
 * only one text has. */
int score_pair_report(struct report *report, const struct score_view *view,
                      const struct score_text *text, struct arena *arena, struct err *err);

/* --- totals: a row for each text, continuation or group of texts, or for each word --- */

enum totals_kind {
    TOTALS_OF_TEXTS,
    TOTALS_OF_GROUPS, /* groups of texts, with the mean per token */
    TOTALS_OF_CONTINUATIONS,
    TOTALS_OF_PAIRS, /* minimal pairs, with an accuracy; a group has means, not sums */
    TOTALS_OF_PREDICTIONS,
    TOTALS_OF_WORDS,  /* means of words at one position of their region, by condition */
    TOTALS_OF_MODELS, /* tokens, words or continuations of one text, by model */
};

struct score_total {
    const char *name;         /* row label in figures, such as "reduced, verb" or, for words,
                               * "are/is" */
    const char *const *keys;  /* [key_count] values of the key columns; NULL: missing */
    const char *bad;          /* bad text of one pair; the last key is the good text */
    long long number;         /* number of the text or of the region; COLUMN_MISSING: it has no
                               * number */
    size_t part;              /* index of the region in the text or, if words are rows of a table,
                               * of the row */
    size_t position, earlier; /* `position`: a word's index in its region; `earlier`: number of
                               * earlier regions with the same name */
    size_t tokens;            /* number of tokens with a score */
    double logprob, bad_logprob; /* `logprob`: sum of log-probabilities; `bad_logprob`: the sum for
                                  * the bad text, or for the group's first text */
    double unigrams;             /* sum of the words' log-probabilities in the list of
                                  * frequencies */
    size_t words, unknown; /* `words`: number of words that are summed; `unknown`: words that the
                            * list of frequencies lacks */
    size_t count;          /* number of pairs, predictions or words */
    double correct;        /* number of correct predictions, or of pairs whose good text is
                            * likelier; a tie counts 0.5 */
    struct score_total *lines; /* [line_count] the total of each model or condition */
    size_t line_count;
    size_t next; /* number, from 1, of the row to show after this one; 0: this is the last row */
};

/* Return the total of `count` tokens from `first` on, without keys. */
struct score_total score_total_of(const struct scored *scored, size_t first, size_t count);

/* Return the total of the rows of a text that are shown. */
struct score_total score_total_of_rows(const struct score_text *text, bool words);

void score_total_add(struct score_total *sum, const struct score_total *total);
double score_perplexity(const struct score_total *total);

/* Describe a total in words: "5 tokens scored · logprob -20.1000 · 4.0200 nats a token · perplexity
 * 55.7011". */
const char *score_summary(const struct score_view *view, const struct score_total *total,
                          struct arena *arena, struct err *err);

struct score_totals {
    enum totals_kind kind;
    bool are_single;          /* true: a row is one text, pair, continuation or word; false: a
                               * group */
    bool has_unigrams;        /* true: add a column with the SLOR of each row */
    bool hides_text;          /* true: data output omits the text, because a column of the input
                               * contains it */
    bool grouped;             /* true: add a column with the difference from the first text of the
                               * group */
    const char *query;        /* value of --query: totals are over these tokens; NULL: over all
                               * tokens */
    const char *const *names; /* [key_count] names of key columns; the last labels the row */
    size_t key_count;
    struct names lines;  /* names of the models or conditions, which have a column each */
    const char *factors; /* names of the factors, in their order, if conditions have several; NULL:
                          * they have one factor */
    struct score_total *rows;
    size_t count, first; /* `count`: number of rows; `first`: number, from 1, of the row to show
                          * first; 0: there are no rows */
    size_t most;         /* maximum number of rows; 0: no maximum, and each total adds a row */
    struct hash_index found;
    const struct text_with_source *pair; /* the text of all totals; NULL: totals of several texts */
    size_t texts;                        /* number of texts, if `pair` is NULL */
    const struct score_total *sums; /* [sum_count] totals over all rows: facts of the report, not
                                     * rows */
    size_t sum_count;               /* 1 or, for TOTALS_OF_PREDICTIONS, the number of predictions */
};

/* Add a total to the row with the same keys, `position` and `earlier`, or as a new row after row
 * `after` (0: before all rows). Returns the row's number; 0 with `err`. */
size_t score_totals_add(struct score_totals *totals, const struct score_total *total, size_t after,
                        struct arena *arena, struct err *err);

/* Add the rows of a report to the column of a model or condition. Refused as usage: a model with
 * other rows than the first one, because it splits the text into other tokens. */
int score_totals_add_words(struct score_totals *totals, size_t line, const struct report *report,
                           struct arena *arena, struct err *err);

int score_totals_report(struct report *report, const struct score_view *view,
                        const struct score_totals *totals, struct arena *arena, struct err *err);

/* --- unigrams: how frequent words are, for SLOR (Pauls and Klein, 2012; Lau et al., 2017), the
 * log-probability of a text minus the log-probabilities of its words by themselves, per word. */

struct unigrams {
    struct unigram {
        const char *word;
        size_t size;
        double count;
    } * items;
    size_t count;
    double total; /* sum of all counts */
    struct hash_index found;
};

/* Read lines of a word, a tab and its count; more columns, and a first line without a count, are
 * skipped. The words point into `bytes`. */
int unigrams_read(struct unigrams *unigrams, const char *bytes, size_t size, struct arena *arena,
                  struct err *err);

/* Return the log-probability of a word. It is looked up as it is, then without punctuation around
 * it, then in lower case. A word that is not listed counts as 1, and adds 1 to `unknown`. */
double unigrams_logprob(const struct unigrams *unigrams, const char *word, size_t size,
                        size_t *unknown);
