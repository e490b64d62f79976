/* fold.h: tensors of tokens as tensors of words, and without the first token.
 *
 *     if (spans_find(&report.sentence, tokenizer, &arena, err) || fold_words(&report, &arena, err))
 *         ...
 *
 * What a word looks at is the mean over its tokens, what it is looked at is the sum over them: rows
 * of attention still sum to 1. A vector of a word is the mean of its tokens' vectors.
 */
#ifndef ATTN_LENS_FOLD_H
#define ATTN_LENS_FOLD_H

#include "base/arena.h"
#include "base/err.h"
#include "lens/report.h"
#include "lens/selection.h"

/* False for what has no meaning as a mean: scores before the softmax, and logits. */
bool fold_has_words(enum site site);

/* Turn every token axis into one of the words that the report's readings have. */
int fold_words(struct report *report, struct arena *arena, struct err *err);

/* Leave the first token (or word) out of every axis: it draws so much attention that nothing else
 * is seen. Numbers stay as they are. Refused where nothing would be left. */
int fold_hide_first(struct report *report, struct arena *arena, struct err *err);

#endif
