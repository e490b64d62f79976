/* score_attribution.h: why a head looks at a key: the score of a query and a key as a sum over
 * pairs of a part of the query's stream and a part of the key's (resid_parts.h).
 *
 *     score = Σ_a Σ_b scale · q_a · k_b + bias
 *
 * This score is before a soft cap and the mask, and `bias` depends on the distance (ALiBi, T5). A
 * contrast is the score less another key's score, or less a mean of the scores of all visible keys:
 * terms that all of these scores share cancel. Parts, pairs, sources and the path describe the
 * contrast; if the plan has another text, that text's contrast is subtracted.
 *
 *     struct score_plan plan = {&viewer, {BRANCH_TEXT, 18, 6}, 16, 4, AGAINST_MEAN};
 *     if (score_attribution_make(&found, &report, &plan, &pair, &arena, err)) ...
 */
#pragma once

#include "measure/resid_parts.h"

enum score_against {
    AGAINST_NOTHING,
    AGAINST_KEY,
    AGAINST_MEAN,    /* the mean of the scores of the visible keys */
    AGAINST_WEIGHTS, /* the mean of the scores of the visible keys, weighted by the head's
                      * attention */
    AGAINSTS,
};

extern const struct score_against_row {
    const char *name;  /* name of a mean in options and data; NULL: not a mean */
    const char *about; /* the subtracted score, as the end of a sentence; NULL: the score of another
                        * key */
} score_againsts[AGAINSTS];

/* Read the name of what is subtracted: NULL or "" means AGAINST_NOTHING, and a word that does not
 * name a mean means AGAINST_KEY. */
enum score_against score_against_read(const char *word);

/* The arrays that a report has in addition to its tables. */
enum score_by {
    SCORE_BY_PART, /* for the query and for the key: for each part, the sum of its pairs with all
                    * parts of the other vector */
    SCORE_BY_PAIR, /* the contribution of each pair of parts */
    SCORE_BY_KEY,  /* for the query and for the key, for each layer: contributions of its heads,
                    * split by the tokens that the heads read */
};

struct score_plan {
    struct viewer *viewer;
    struct resid_head head;
    size_t query, key;
    enum score_against against;
    size_t other; /* with AGAINST_KEY: the key whose score is subtracted from the score of `key` */
    enum score_by by;
    size_t depth; /* maximum number of steps of the path back from the largest part of each side; 0:
                   * report no path */
    const struct text_with_source *corrupt; /* a text whose pairs are subtracted; NULL: nothing is
                                             * subtracted */
    const struct dictionary *dictionary;    /* a dictionary whose features are parts; NULL: no
                                             * dictionary */
    size_t number;                          /* number of the text, for messages */
};

struct score_attribution {
    double score, bias; /* score and bias of the contrast; with `corrupt`, minus the other text's
                         * score and bias */
    double sum;         /* sum of all pairs, plus the bias */
    double weight;      /* the head's attention to the key */
};

/* Add to the report of a pair the arrays of `by`: `score_query` and `score_key` [layers with parts
 * + 2, columns], `score_pairs`, or for each layer `score_query_source` and `score_key_source`
 * [heads, tokens], whose names begin with `cross_` for cross-attention. Set its tables: the sums of
 * parts, the largest pairs and the path; unless `by` is SCORE_BY_PART, only the tables for people.
 * Refused: as usage, a key that is hidden from the query; as not supported, models with features
 * that this split lacks, edits, and a dictionary of a value that the head does not read. */
int score_attribution_make(struct score_attribution *found, struct report *report,
                           const struct score_plan *plan, const struct text_with_source *pair,
                           struct arena *arena, struct err *err);

void score_attribution_add_memory(struct memory *memory, const struct score_plan *plan,
                                  const struct text_with_source *pair);
