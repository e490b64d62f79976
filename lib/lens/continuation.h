/* continuation.h: a text that goes on, token by token, and what is kept of the passes it takes.
 *
 *     struct continuation text = {0};
 *     struct generation_config generation = {.tokens = 32, .sampling = {.top_p = 1}};
 *     bool more = true;
 *     if (continuation_prepare(&viewer, &generation, 1, err) ||
 *         continuation_open(&text, &viewer, &pair, &generation, err)) ...
 *     while (!continuation_next(&text, &more, err) && more)
 *         ... text.text.bytes + text.shown ...
 *     if (continuation_report(&text, &report, &arena, err)) ...
 *     continuation_release(&text);
 *
 * The keys and values of what was read stay in a cache, so a step takes one token; its numbers are
 * those that one pass over the whole text would have given. (A text that is so long that rotations
 * depend on its length is read as a whole for every token.) Where there is an encoder it runs once,
 * with the first step; what the decoder makes of its output stays in a cache, too.
 */
#ifndef ATTN_LENS_CONTINUATION_H
#define ATTN_LENS_CONTINUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "model/cache.h"
#include "model/sampler.h"

struct viewer;
struct text_pair;

struct generation_config {
    size_t tokens; /* at most so many more */
    struct sampling sampling;
    bool past_end;                     /* the model's end-of-text token is one like any other */
    bool logits;                       /* those of every choice are looked at */
    const struct selection *selection; /* what the report shows; NULL: nothing */
};

enum continuation_end {
    GOES_ON,
    END_AS_ASKED,   /* with as many tokens as were asked for */
    END_OF_TEXT,    /* the model chose its end-of-text token, which is no part of the text */
    END_OF_CONTEXT, /* the model has no more positions */
};

struct continuation {
    struct viewer *viewer;
    struct generation_config generation;
    enum continuation_end end;
    const struct tokenized
        *source;          /* what it looks at, where there is an encoder; else count is 0 */
    uint32_t *ids;        /* [count] of the prompt and of what came after it … */
    struct token *tokens; /* … and their places in the text */
    size_t count;
    size_t prompt_count;
    size_t room;         /* the most there can be: asked for and with a position */
    struct buf text;     /* the text so far */
    size_t shown;        /* where in it the last token begins, with the blank before it */
    const float *logits; /* [V] that the last choice was made by, until the next one; NULL, unless
                          * they were asked for: it was made without */
    bool screens;        /* choices are, where they can be */
    uint32_t chosen;     /* the last choice, the end of the text included */
    uint32_t *forced;    /* the choices that a search found best; NULL: there was none */
    struct sampler sampler;
    struct cache cache, source_cache;
    struct arena arena; /* what lives as long as the text */
    struct arena step;  /* the logits; its memory serves for the next ones */
};

/* Before the first of `texts` texts of a model: read which tokens end a text, and tell the viewer
 * how many steps there will be. Refused, as not supported: models without logits, and those whose
 * attention looks ahead, or at a source alone. */
int continuation_prepare(struct viewer *viewer, const struct generation_config *generation,
                         size_t texts, struct err *err);

/* Begin after a prompt, the pair's sentence; it is borrowed, as viewer and selection are. On
 * failure nothing is held. */
int continuation_open(struct continuation *text, struct viewer *viewer,
                      const struct text_pair *pair, const struct generation_config *generation,
                      struct err *err);
void continuation_release(struct continuation *text);

/* Find the most likely continuation among `beams` that grow at the same time, before the first
 * token is chosen: continuation_next then gives its tokens. In each step the most likely texts
 * stay; a text that has ended is kept. The search ends when `beams` texts have, or all have as many
 * tokens as were asked for: the result is the text with the highest mean log-probability of its new
 * tokens, the end included. */
int continuation_search(struct continuation *text, size_t beams, struct err *err);

/* Choose one more token and add it; `*more` is false when the text has ended instead, for which
 * `end` gives the reason. */
int continuation_next(struct continuation *text, bool *more, struct err *err);

/* The report on the whole text, when it has ended: of a pass over all of it, which gives the
 * numbers of the steps again. Its memory is `arena`'s. */
int continuation_report(struct continuation *text, struct report *report, struct arena *arena,
                        struct err *err);

enum { CHOICE_BEST = 5 };

/* A token and the logarithm of its probability, as the model gives it: before any temperature and
 * whatever is left out. */
struct likely {
    uint32_t id;
    float logprob;
};

struct choice {
    struct likely chosen;
    struct likely best[CHOICE_BEST]; /* the most likely first */
    size_t best_count;               /* fewer in a vocabulary of fewer words */
};

/* How likely a chosen token was, and which ones were most likely: of the logits [count]. */
void choice_make(struct choice *choice, const float *logits, size_t count, uint32_t chosen);

/* Add to a report, when the text has ended, the facts "prompt_tokens" and "end_of", and a table
 * "tokens" with a row for each chosen token (step, id, text; the end of the text included). With
 * `choices`, one for each (NULL: none), it has a column "logprob", and a table "choices" lists the
 * most likely tokens of each step. */
int continuation_tables(struct report *report, const struct continuation *text,
                        const struct choice *choices, struct arena *arena, struct err *err);

/* The most likely tokens of several places as a table: a row for each token. */
struct likely_table {
    const char *name;
    const struct frame *places; /* a row for each; its first `keys` columns, integers, come first */
    size_t keys;
    const struct likely *const *lists; /* [places], of `each` tokens; NULL: none */
    size_t each;
    const struct tokenizer *tokenizer; /* NULL: tokens are called by their ids */
};

/* Columns: the keys, rank (from 1), id, text and logprob. */
int likely_frame(struct frame *frame, const struct likely_table *table, struct arena *arena,
                 struct err *err);

/* One list as a text, "␣short -0.57  ␣cold -2.18"; NULL with `err`. */
const char *likely_text(const struct likely *list, size_t count, const struct tokenizer *tokenizer,
                        struct arena *arena, struct err *err);

#endif
