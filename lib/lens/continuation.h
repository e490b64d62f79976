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
 * whole text (MPT: nearly). Where rotations depend on the text's length, a step runs all tokens. */
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
    size_t tokens; /* most new tokens; 0: as many as the model says, or 32 */
    struct sampling sampling;
    size_t beams;  /* beams of a search; 0: the model's number or, with a temperature, 1 */
    bool past_end; /* continue after the model's end-of-text token */
    bool logits;   /* compute all logits, and keep `choices` */
    const struct selection *selection; /* tensors of the report; NULL: it has tables instead */
};

enum continuation_end {
    GOES_ON,
    END_AS_ASKED,   /* the limit of new tokens is reached */
    END_OF_TEXT,    /* the model chose its end-of-text token, which is not added */
    END_OF_CONTEXT, /* the model's positions are used up */
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
    const struct tokenized *source; /* text of the encoder; its count is 0 without one */
    uint32_t *ids;                  /* [count] prompt and new tokens */
    struct token *tokens;           /* [count] */
    size_t count;
    size_t prompt_count, added_before; /* `prompt_count`: tokens of the prompt; `added_before`:
                                        * special tokens that begin it */
    size_t prompt_bytes;               /* bytes of the prompt at the start of `text` */
    size_t capacity;                   /* largest number of tokens */
    struct buf text;                   /* the text so far */
    size_t shown;               /* offset in `text` of the last token, with the space before it */
    const char *queries, *keys; /* the prompt's: see struct tokenized */
    const float *logits;    /* [V] logits of the last choice, valid until the next choice; NULL: not
                             * computed */
    bool screens;           /* choose without computing all logits, if possible */
    uint32_t chosen;        /* last choice, possibly the end-of-text token */
    struct choice *choices; /* a choice for each step, including the end of the text, or NULL */
    uint32_t *forced;       /* the ids to choose, as found by a search; NULL: none */
    double score;           /* after a search: log-probability / (new tokens)^penalty (config.h) */
    struct sampler sampler;
    struct cache cache, source_cache;
    struct arena arena; /* memory of the text */
    struct arena step;  /* memory of one choice */
};

/* Call before the first of `texts` texts of a model: reads its generation rules and the tokens that
 * end a text, if they are used, and announces the number of steps to the viewer. Refused: as not
 * supported, models without logits or that are not causal, and cross-attention without an encoder;
 * as usage, --mask-after, --attention sqrt. */
int continuation_prepare(struct viewer *viewer, const struct generation_config *generation,
                         size_t texts, struct err *err);

/* Start after a prompt. The pair, viewer and selection are borrowed. */
int continuation_open(struct continuation *text, struct viewer *viewer,
                      const struct text_with_source *pair,
                      const struct generation_config *generation, struct err *err);
void continuation_release(struct continuation *text);

/* The most tokens that a text can have: `prompt` tokens and the limit of new ones, but no more than
 * the model's context. */
size_t continuation_capacity(const struct viewer *viewer,
                             const struct generation_config *generation, size_t prompt);

/* Add the memory of growing a text to continuation_capacity tokens. */
void continuation_add_memory(struct memory *memory, const struct viewer *viewer,
                             const struct generation_config *generation,
                             const struct text_with_source *pair);

/* Choose and add a token. If the text has ended instead, `*more` is false and `end` says why. With
 * beams, the first call finds all tokens: the continuation with the highest score. The score is the
 * mean log-probability of the new tokens, including the end of the text; for a model with an
 * encoder, its generation_rules define the score, and when the search ends. */
int continuation_next(struct continuation *text, bool *more, struct err *err);

/* The steps of a text whose tokens the caller chooses. `continuation_run` runs the first `count`
 * tokens, of which some may be in the cache; indices in edits refer to these tokens. Without a
 * selection, the text keeps the logits of the last token as `logits`. `continuation_ruled` returns
 * logits [V], in `arena`, that follow the rules of a model with an encoder, or for other models
 * `logits` itself; NULL with `err`. `continuation_add` needs room for a token. `continuation_cut`
 * keeps the first `count` tokens, at least the prompt. `continuation_forget` drops the later tokens
 * from the cache alone or, if the cache keeps states, all tokens. */
int continuation_run(struct continuation *text, size_t count, const struct selection *selection,
                     struct tap tap, struct err *err);
const float *continuation_ruled(struct continuation *text, const float *logits, struct arena *arena,
                                struct err *err);
bool continuation_ends(const struct continuation *text, uint32_t id);
int continuation_add(struct continuation *text, uint32_t id, struct err *err);
void continuation_cut(struct continuation *text, size_t count);
void continuation_forget(struct continuation *text, size_t count);

/* The prompt and the new tokens as one text, in `arena`. */
int continuation_whole(struct tokenized *whole, const struct continuation *text,
                       struct arena *arena, struct err *err);

/* Replace the text of a pair, the beginning of a translation, by the model's translation of the
 * source. `*choices` gets the chosen ids, in `kept`; if it has ids already, these are the
 * translation, and nothing is chosen. */
int continuation_translate(struct text_with_source *pair, struct viewer *viewer, uint32_t **choices,
                           struct arena *kept, struct arena *arena, struct err *err);

/* Report the selected tensors of one pass over the ended text; the steps had the same numbers (MPT:
 * nearly). Without a selection, report the tables of continuation_tables instead. */
int continuation_report(struct continuation *text, struct report *report, struct arena *arena,
                        struct err *err);

/* After the end of the text, set the facts of a report ("prompt_tokens", "end_of" and, of a search,
 * "score") and its tables: "tokens" (step, id, text) and, if choices were kept, "logprob" in it and
 * "choices", the most likely tokens of each step. */
int continuation_tables(struct report *report, const struct continuation *text, struct arena *arena,
                        struct err *err);

/* Report the most likely tokens of several positions as a table with a row per token: the keys of
 * the position, rank (from 1), id, text and logprob. */
struct likely_best {
    const char *name;
    const struct table *positions; /* one row for each position; the values of the first `keys`
                                    * columns, integers or texts, are repeated in its rows */
    size_t keys;
    const struct likely *const *lists; /* [positions] lists of `each` tokens; NULL: none */
    size_t each;
    const struct tokenizer *tokenizer; /* NULL: label tokens by their ids */
    bool alone; /* the report's only table: also for people, with probabilities */
};

int likely_table(struct table *table, const struct likely_best *best, struct arena *arena,
                 struct err *err);

/* Format a list: "␣short -0.57  ␣cold -2.18"; NULL with `err`. */
const char *likely_text(const struct likely *list, size_t count, const struct tokenizer *tokenizer,
                        struct arena *arena, struct err *err);
