/* derive.h: what can be made of kept tensors before they are shown: means, words, the rest without
 * the first token. It works on reports, so that every format has it.
 *
 *     struct derivation how = {.hide_first = true};
 *     if (derive_read_mean(&how, "heads", err) ||
 *         derive_check(&how, &selection, tokenizer, err)) ...
 *     ... the pass ...
 *     if (derive(&report, &how, tokenizer, &arena, err)) ...
 */
#ifndef ATTN_LENS_DERIVE_H
#define ATTN_LENS_DERIVE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "text/tokenizer.h"

struct derivation {
    bool mean_of_heads;
    bool mean_of_layers;
    bool words;
    bool hide_first;
};

/* Read "heads", "layers" or "heads,layers". */
int derive_read_mean(struct derivation *how, const char *list, struct err *err);

/* Refuse, before anything is computed, what cannot be derived of the selection. */
int derive_check(const struct derivation *how, const struct selection *selection,
                 const struct tokenizer *tokenizer, struct err *err);

/* Change the report; what is new is the arena's. These are its parts: */
int derive(struct report *report, const struct derivation *how, const struct tokenizer *tokenizer,
           struct arena *arena, struct err *err);

/* Every tensor with heads becomes one without; the tensors of one site in several layers become
 * one, where the first of them stood. Only what was kept counts. */
int derive_mean_of_heads(struct report *report, struct arena *arena, struct err *err);
int derive_mean_of_layers(struct report *report, struct arena *arena, struct err *err);

/* Which tokens of a text make a word together (word_spans.c): fills in the words of a text. The
 * tokenizer is the one that read it, or that knows the ids that were given in place of a text. */
int word_spans_find(struct tokenized *tokenized, const struct tokenizer *tokenizer,
                    struct arena *arena, struct err *err);

/* Every axis of tokens becomes one of those words. What a word looks at is the mean over its
 * tokens, what it is looked at is the sum over them: rows of attention still sum to 1. A vector of
 * a word is the mean of its tokens' vectors. */
int derive_words(struct report *report, struct arena *arena, struct err *err);

/* Leave the first token (or word) out of every axis: it draws so much attention that nothing else
 * is seen. Numbers stay as they are. Refused where nothing would be left. */
int derive_hide_first(struct report *report, struct arena *arena, struct err *err);

#endif
