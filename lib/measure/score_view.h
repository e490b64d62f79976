/* score_view.h: scored texts ready to be written: as sheets for data and pictures, as
 * a page, and as JSON.
 *
 *     struct score_view view = {.origin.viewer = &viewer, .bits = true};
 *     if (score_page_write(&out, &view, &text, &place, err)) ...
 *
 *     tiny · Life is short
 *
 *     token   id  text   logprob  surprisal  rank  entropy  most likely
 *         0   17  Life
 *         1  120  is     -1.2346     1.2346     2   3.1002  was -0.98  is -1.23
 *
 *     1 token scored · logprob -1.2346 · 1.2346 nats a token · perplexity 3.4370
 */
#ifndef ATTN_MEASURE_SCORE_VIEW_H
#define ATTN_MEASURE_SCORE_VIEW_H

#include "measure/text_origin.h"
#include "measure/token_scores.h"

/* How scores are shown. */
struct score_view {
    struct text_origin origin;
    bool bits;  /* surprisal and entropy; else nats */
    bool words; /* the tokens of a word are one line, their scores summed */
    bool whole; /* of texts their sums alone */
};

/* One text. */
struct scored_text {
    const struct tokenized *sentence; /* with its words, where these are shown */
    const struct scored *scored;
};

/* What several tokens have together: a text's, a continuation's, those of all texts. */
struct score_sum {
    struct label label;
    size_t tokens; /* that have a score */
    double logprob;
};

/* Sums beside each other. */
struct score_sums {
    const struct tokenized *sentence; /* that they are of; of several texts an empty one */
    const struct score_sum *items;    /* [count] */
    size_t count;
    const char *things; /* what a row is: "text", "continuation" */
    bool differences;   /* to the first, in place of perplexity */
};

/* The sum of tokens first … first + count - 1; its perplexity, exp of the mean surprisal. */
struct score_sum score_sum_of(const struct scored *scored, size_t first, size_t count);
double score_perplexity(const struct score_sum *sum);

/* How much likelier it is than the first, in the unit of the view. */
double score_difference(const struct score_view *view, const struct score_sums *sums, size_t index);

/* --- as reports of one sheet, which live as long as the arena and the texts (score_sheet.c) --- */

/* A row a token, or a word, whose score is NaN where one of its tokens has none; `alone`: surprisal
 * is the only column, so that it has all colours to itself. */
int score_report(struct report *report, const struct score_view *view,
                 const struct scored_text *text, bool alone, struct arena *arena, struct err *err);
int score_sums_report(struct report *report, const struct score_view *view,
                      const struct score_sums *sums, bool alone, struct arena *arena,
                      struct err *err);

/* Surprisal in the unit of the view; how that is called; of a word, NaN where a token has none. */
double score_surprisal(const struct score_view *view, double logprob);
const char *score_unit(const struct score_view *view);
double score_of_word(const struct scored *scored, const struct word_span *word);

/* --- as pages and JSON (score_page.c, score_json.c) ------------------------------------------- */

int score_page_write(struct stream *out, const struct score_view *view,
                     const struct scored_text *text, const struct place *place, struct err *err);
int score_sums_page_write(struct stream *out, const struct score_view *view,
                          const struct score_sums *sums, const struct place *place,
                          struct arena *arena, struct err *err);

/* Below several pages: what all texts have together. */
void score_all_write(struct stream *out, const struct score_view *view, const struct score_sum *sum,
                     size_t texts);

/* An object, of `place->count` in an array, or with `lines` on a line each. */
void score_json_write(struct stream *out, const struct score_view *view,
                      const struct scored_text *text, const struct place *place, bool lines);
void score_sums_json_write(struct stream *out, const struct score_view *view,
                           const struct score_sums *sums, const struct place *place, bool lines);

#endif
