/* continuation.h: continue a text token by token, and report on the passes.
 *
 *     struct continuation text;
 *     struct generation_config generation = {.tokens = 32, .sampling = {.top_p = 1}};
 *     bool more = true;
 *     if (continuation_prepare(&viewer, &generation, 1, err) ||
 *         continuation_open(&text, &viewer, &pair, &generation, err)) ...
 *     while (!continuation_next(&text, &more, err) && more)
 *         ... text.text.bytes + text.shown ...
 *     if (continuation_report(&text, &report, &arena, err)) ...
 *     continuation_release(&text);
 *
 * Keys and values are cached: a step runs one token, with the same numbers as one pass over the
 * whole text (nearly the same for MPT). If the model's rotary angles depend on the text's length, a
 * step runs all tokens. */
#pragma once

#include "base/buf.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "pass/cache.h"
#include "pass/sampler.h"
#include "pass/tap.h"

struct memory;
struct viewer;
struct text_with_source;

struct generation_config {
    size_t tokens; /* maximum number of new tokens; 0: the model's or, if it has none, 32 */
    struct sampling sampling;
    size_t beams;  /* width of the beam search; 0: the model's width or, with a temperature, 1 */
    bool past_end; /* continue after the model's end-of-text token */
    bool logits;   /* compute the logits of all tokens in each step, and record `choices` */
    const struct selection *selection; /* tensors of the report; NULL: the report has tables of
                                        * tokens instead of tensors */
};

enum continuation_end {
    GOES_ON,
    END_AS_ASKED,   /* the text has the maximum number of new tokens */
    END_OF_TEXT,    /* the model chose its end-of-text token, which is not added */
    END_OF_CONTEXT, /* the text fills the model's context */
};

enum { CHOICE_BEST = 5 };

struct choice {
    struct likely chosen;
    struct likely best[CHOICE_BEST]; /* most likely first */
    size_t best_count;               /* CHOICE_BEST, or the size of a smaller vocabulary */
};

struct continuation {
    struct viewer *viewer;
    struct generation_config generation;
    enum continuation_end end;
    const struct tokenized *source; /* text of the encoder; no tokens if the model has no encoder */
    uint32_t *ids;                  /* [count] ids of the tokens: the prompt, then new tokens */
    struct token *tokens;           /* [count] id and byte range in `text` of each token */
    size_t count;
    size_t prompt_count, added_before; /* `prompt_count`: number of tokens of the prompt;
                                        * `added_before`: number of special tokens at its start */
    size_t prompt_bytes;               /* number of bytes of the prompt, at the start of `text` */
    size_t capacity;                   /* largest number of tokens, including the prompt */
    struct buf text;                   /* the text of the prompt and of the new tokens */
    size_t shown;               /* byte offset in `text` of the last token, including the space
                                 * before it */
    const char *queries, *keys; /* `queries` and `keys` of the prompt's struct tokenized */
    const float *logits;    /* [V] logits of the last choice, valid until the next choice; NULL: not
                             * computed */
    bool screens;           /* choose without computing all logits, if possible */
    uint32_t chosen;        /* id of the token chosen last, possibly the end-of-text token */
    struct choice *choices; /* [steps] the choice of each step, including the end of the text; NULL:
                             * not recorded */
    uint32_t *forced;       /* ids to choose, such as the result of a beam search; NULL: choose by
                             * the logits */
    double score;           /* after a beam search: log-probability of the new tokens / (their
                             * number)^penalty (config.h) */
    struct sampler sampler;
    struct cache cache, source_cache;
    struct arena arena; /* memory of the text */
    struct arena step;  /* memory of one choice */
};

/* Call before the first of `texts` texts of a model. Reads the model's generation rules and
 * end-of-text tokens, if they are used, and tells the viewer how many steps to expect
 * (viewer_expect). Models that have no logits or are not causal, and cross-attention without an
 * encoder, are unsupported errors; --mask-after and --attention sqrt are usage errors. */
int continuation_prepare(struct viewer *viewer, const struct generation_config *generation,
                         size_t texts, struct err *err);

/* Start a continuation after the prompt, the text of `pair`. It borrows the pair, the viewer and
 * the selection. */
int continuation_open(struct continuation *text, struct viewer *viewer,
                      const struct text_with_source *pair,
                      const struct generation_config *generation, struct err *err);
void continuation_release(struct continuation *text);

/* Return the largest number of tokens of a text: `prompt` tokens and the limit of new tokens, but
 * no more than the model's context. */
size_t continuation_capacity(const struct viewer *viewer,
                             const struct generation_config *generation, size_t prompt);

/* Add to `memory` the bytes that growing a text to continuation_capacity tokens needs. */
void continuation_add_memory(struct memory *memory, const struct viewer *viewer,
                             const struct generation_config *generation,
                             const struct text_with_source *pair);

/* Choose a token and add it to the text. If the text has ended, no token is added, `*more` is
 * false, and `end` says why. With beams, the first call finds all tokens: the continuation with the
 * highest score. The score is the mean log-probability of the new tokens, including the end of the
 * text; for a model with an encoder, its generation_rules define the score and when the search
 * ends. */
int continuation_next(struct continuation *text, bool *more, struct err *err);

/* For callers that choose the tokens themselves. `continuation_run` runs the first `count` tokens,
 * some of which may be in the cache; indices in edits refer to these tokens. Without a selection,
 * it keeps the logits of the last token as `text->logits`. `continuation_ruled` returns logits [V],
 * in `arena`, that follow the generation rules of a model with an encoder; for other models it
 * returns `logits` itself, and on errors NULL. `continuation_add` expects room for a token.
 * `continuation_cut` shortens the text to `count` tokens, at least the prompt.
 * `continuation_forget` drops the tokens after the first `count` from the cache, but not from the
 * text; a cache of recurrent states may drop all tokens. */
int continuation_run(struct continuation *text, size_t count, const struct selection *selection,
                     struct tap tap, struct err *err);
const float *continuation_ruled(struct continuation *text, const float *logits, struct arena *arena,
                                struct err *err);
bool continuation_ends(const struct continuation *text, uint32_t id);
int continuation_add(struct continuation *text, uint32_t id, struct err *err);
void continuation_cut(struct continuation *text, size_t count);
void continuation_forget(struct continuation *text, size_t count);

/* Make one text of the prompt and the new tokens, in `arena`. */
int continuation_whole(struct tokenized *whole, const struct continuation *text,
                       struct arena *arena, struct err *err);

/* The text of a pair is the beginning of a translation: replace it by the model's translation of
 * the source. If `*choices` is NULL, the model chooses, and `*choices` gets the chosen ids,
 * which the arena `kept` owns. Otherwise `*choices` has the ids of the translation. */
int continuation_translate(struct text_with_source *pair, struct viewer *viewer, uint32_t **choices,
                           struct arena *kept, struct arena *arena, struct err *err);

/* Report the selected tensors of one pass over the ended text, which has the same numbers as the
 * steps had (nearly the same for MPT). Without a selection, report the tables of
 * continuation_tables instead of tensors. */
int continuation_report(struct continuation *text, struct report *report, struct arena *arena,
                        struct err *err);

/* After the end of the text, set the facts and tables of a report. Facts: "prompt_tokens", "end_of"
 * and, after a beam search, "score". Tables: "tokens" (step, id, text); if choices were kept,
 * "tokens" has a column "logprob", and the table "choices" lists the most likely tokens of each
 * step. */
int continuation_tables(struct report *report, const struct continuation *text, struct arena *arena,
                        struct err *err);

/* The most likely tokens of several positions. likely_table makes a table of them with one row for
 * each token: the keys of its position, rank (from 1), id, text and logprob. */
struct likely_best {
    const char *name;
    const struct table *positions; /* one row for each position; its first `keys` columns, integers
                                    * or texts, are repeated in the row of each token */
    size_t keys;
    const struct likely *const *lists; /* for each position, a list of `each` tokens; NULL: the
                                        * position gets no rows */
    size_t each;
    const struct tokenizer *tokenizer; /* labels the tokens; NULL: label them by their ids */
    bool alone; /* true: the report has no other table; text output then shows this table, with
                 * probabilities */
};

int likely_table(struct table *table, const struct likely_best *best, struct arena *arena,
                 struct err *err);

/* Format a list of tokens with log-probabilities: "␣short -0.57  ␣cold -2.18"; NULL with `err`. */
const char *likely_text(const struct likely *list, size_t count, const struct tokenizer *tokenizer,
                        struct arena *arena, struct err *err);
