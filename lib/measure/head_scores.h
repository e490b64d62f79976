/* head_scores.h: scores that describe the behaviour of heads.
 *
 * A score is the mean of a measure over queries, its variance, or a mean over words
 * (head_circuits.h). The queries are all tokens but the first of each text; for cross-attention,
 * all tokens; with a needle, only the last token. Scores of repeated tokens use random tokens that
 * occur twice; in an encoder-decoder, or as "induction:texts", they use texts. A baseline is the
 * score on random tokens or pairs.
 *
 * In layers that keep a state, |mix_map| divided by the sum of its row replaces the weights. If
 * each channel is a head, mix_map_norm does, and all channels count as one head.
 *
 *     const struct score *score = score_choose(&scores, "--score", "offset:-2", err);
 *     if (!score || head_survey_open(&survey, &arena, err) ||
 *         head_sums_init(&sums, &survey, &arena, err) ||
 *         head_survey_run(&survey, &viewer, OF_TEXTS, &text, 1, err)) ...
 *     mean_value(&sums.found[(score - scores.items) * survey.heads + layer * heads + head]);
 */
#pragma once

#include <math.h>

#include "lens/report.h"
#include "lens/viewer.h"
#include "pass/tap.h"

/* Input of a score. Without texts, OF_TEXTS becomes OF_REPEATS; in an encoder-decoder, OF_REPEATS
 * becomes OF_TEXTS. */
enum score_material { OF_REPEATS, OF_WORDS, OF_PAIRS, OF_NEEDLES, OF_TEXTS, SCORE_MATERIALS };

/* Models in which a score is usual: causal models, models that attend both ways, or both kinds. */
enum usual_score { USUAL_CAUSAL = 1, USUAL_TWO_WAY = 2, USUAL = USUAL_CAUSAL | USUAL_TWO_WAY };

struct attention_row;
struct roles; /* defined in lens/prediction.h */

struct score_row {
    const char *name, *about;
    const char *heading, *brief; /* `heading`: column header; `brief`: a shorter one for a narrow
                                  * page */
    const char *verdict; /* name for heads with a score of 0.5 or more; for pairs and needles, only
                          * if there are 10 or more; NULL: heads get no name */
    enum score_material material;
    double (*measure)(const struct attention_row *); /* returns NaN if a query has no value; NULL:
                                                      * the score comes from weights alone
                                                      * (head_circuits.h) */
    const char *unit;                                /* unit of the score; NULL: the score is a
                                                      * fraction */
    unsigned usual; /* the models for which the score is included by default: bits of enum
                     * usual_score. `all` leaves out scores of USUAL_TWO_WAY alone in causal
                     * models */
    bool of_source; /* a score of cross-attention, whose keys are the source's tokens */
    bool takes_offset;
    long long offset;                               /* the offset that is passed to `measure` */
    double (*centre)(const struct attention_row *); /* for a variance, whose `measure` returns the
                                                     * mean square over the keys: returns the mean
                                                     * over the keys; else NULL */
};

/* The roles of heads. Each role has a score. A head has at most one role, which is found on the
 * texts or on repeated tokens. */
enum { ROLES = 7 };

extern const struct roles head_roles;
extern const struct score_row score_rows[];
extern const size_t score_row_count;

struct mean {
    double sum;
    uint64_t count;
    double centre; /* for a variance, whose `sum` is of mean squares: the sum of the means; else
                    * 0 */
};

static inline double mean_value(const struct mean *mean)
{
    double centre = mean->count ? mean->centre / (double)mean->count : 0;
    return mean->count ? mean->sum / (double)mean->count - centre * centre : (double)NAN;
}

enum { SCORES_MAX = 24 };

struct score {
    const struct score_row *row;
    const char *name; /* the name with its argument, such as "offset:-2" or "induction:texts" */
    enum score_material material;
    long long offset;
};

struct score_list {
    struct score items[SCORES_MAX];
    size_t count;
};

/* Find a score in the list by its name, or append it. Borrows the name. NULL with a usage error if
 * the name or its argument is unknown, or SCORES_MAX are exceeded. */
const struct score *score_choose(struct score_list *list, const char *option, const char *name,
                                 struct err *err);

/* --- measuring -------------------------------------------------------------------------------- */

/* Called with each row of weights, of any query, on any thread, like an attention_row_taker. */
typedef void head_watcher(void *context, const struct attention_map_row *row);

struct head_survey {
    const struct viewer *viewer;
    const struct score_list *scores;
    head_watcher *watch;        /* called with the rows of weights of texts (OF_TEXTS), but not of
                                 * cross-attention; NULL: not called */
    uint64_t seed;              /* seed of the random tokens */
    long long bos, sep;         /* ids of the tokens that begin and end texts; -1: no such token */
    bool on_texts;              /* true if texts were given */
    bool with_baseline;         /* true: also measure on random input */
    bool lacks_logits;          /* true if circuits_check refuses the model, which then has no
                                 * scores on words and pairs */
    struct selection selection; /* selects the weights of all heads, also of cross-attention if a
                                 * score needs them */
    size_t across;              /* largest number of heads of a layer: arrays have room for this
                                 * number in each layer */
    size_t heads;               /* number of heads of all layers: layers · across */
    /* the scores, with the input on which this survey measures each, then the roles */
    struct score measured[SCORES_MAX + ROLES];
};

/* Sums of scores. Each text has its own sums, merged in the order of texts: threads do not change
 * the result. */
struct head_sums {
    struct mean *found, *random;    /* [scores, heads] sums on the input, and on random input */
    struct mean *roles;             /* [ROLES, heads] sums of the roles' scores; they follow `found`
                                     * in memory */
    struct mean *uniform;           /* [ROLES] scores of roles if attention were uniform */
    size_t counts[SCORE_MATERIALS]; /* for each input, the number of its texts, words or pairs */
};

struct head_text {
    struct text text;
    const bool *marked;     /* OF_NEEDLES: true for tokens of the needle; else NULL */
    size_t number;          /* index of the text among the texts of the same input (enum
                             * score_material) */
    struct head_sums *sums; /* receives the results */
    const uint32_t *before; /* [count] earlier copies from head_copies, for roles; NULL: an earlier
                             * token with the same id is a copy */
    void *watched;          /* passed to survey->watch as its context */
};

#define HEAD_NO_COPY UINT32_MAX

/* For each token, the index of the last earlier token with the same word, without leading spaces,
 * or HEAD_NO_COPY if there is none. NULL with `err`. */
const uint32_t *head_copies(const struct tokenized *text, struct arena *arena, struct err *err);

/* Set bos, sep, selection, across, heads and measured. Refused: as not supported, a model that
 * reads a second text without an encoder, and scores of cross-attention if it is no
 * encoder-decoder; as usage, for an encoder-decoder, scores that need texts if there are none, and
 * `:repeats`. */
int head_survey_open(struct head_survey *survey, struct arena *arena, struct err *err);

/* True if a score of an open survey is measured on this input. */
bool head_survey_needs(const struct head_survey *survey, enum score_material material);

/* Return the bytes of all sums, which are one block of memory that begins at sums->found. */
size_t head_sums_bytes(const struct head_survey *survey);

int head_sums_init(struct head_sums *sums, const struct head_survey *survey, struct arena *arena,
                   struct err *err);
void head_sums_merge(struct head_sums *sums, const struct head_survey *survey,
                     const struct head_sums *others);

/* Run texts in one pass; with a baseline, random tokens in a second pass. The viewer is the
 * survey's or, in another thread, one of viewer_share. */
int head_survey_run(const struct head_survey *survey, struct viewer *viewer,
                    enum score_material material, const struct head_text *texts, size_t count,
                    struct err *err);

/* Add the memory of a pass over one text that measures the given number of scores. */
void head_survey_add_memory(struct memory *memory, const struct viewer *viewer, size_t scores,
                            const struct text_with_source *pair);

/* Run texts of repeated random tokens, if a score needs them. */
int head_survey_run_repeats(const struct head_survey *survey, struct viewer *viewer,
                            struct head_sums *sums, struct err *err);

/* --- results ---------------------------------------------------------------------------------- */

/* The heads of a layer. The channels of a mixer count as one head. */
struct head_layer {
    size_t heads;
    enum { HEADS_ATTEND, HEADS_MIX, HEADS_ARE_CHANNELS } kind;
};

/* The scores of one model. The model itself may be closed already. */
struct head_result {
    const char *model;
    const char *hash;     /* SHA-256 of the model's weights; NULL: there is only one model */
    const char *origin;   /* description of the input, such as "1 text given" */
    size_t layers, heads; /* `heads`: largest number of heads of a layer (head_survey.across) */
    const struct head_layer *of_layer; /* [layers] the heads of each layer */
    size_t rows;                       /* number of heads over all layers: rows of the table */
    bool mixes;                        /* true if some layers have mixers */
    struct head_sums sums;
};

struct head_results {
    const struct score_list *scores;
    bool with_baseline; /* add a baseline column after each score */
    struct head_result *items;
    size_t count;
};

/* Make a result from sums. Borrows the sums and the model's name. */
int head_result_keep(struct head_result *result, const struct head_survey *survey,
                     const struct head_sums *sums, struct arena *arena, struct err *err);

/* Make a report with a table that has a row for each head of each model, and return this table; for
 * several models, also add a table of models. NULL with `err`. */
struct table *head_table_report(struct report *report, const struct head_results *results,
                                struct arena *arena, struct err *err);

/* Make a report with a map (layers by heads) of each score of one model; the report's subject
 * describes the score `only`, unless it is NULL. */
int head_grid_report(struct report *report, const struct head_results *results,
                     const struct score *only, struct arena *arena, struct err *err);
