/* spans.h: which tokens of a text make a word together.
 *
 * Two neighbours belong together when nothing stands between them and the text would go on as one
 * word there: both sides are letters or digits (`dess` `ert`), an apostrophe stands between letters
 * (`don` `'t`), or a character was cut in two. Marks stay alone, and scripts without blanks keep
 * the words that the tokenizer made of them.
 *
 *     if (spans_find(&reading, tokenizer, &arena, err)) ...
 *     reading.words[i].first, reading.word_labels[i].text ...
 */
#ifndef ATTN_LENS_SPANS_H
#define ATTN_LENS_SPANS_H

#include "base/arena.h"
#include "base/err.h"
#include "lens/report.h"
#include "text/tokenizer.h"

/* Fill in the words of a reading. The tokenizer is the one that read it, or that knows the ids that
 * were given in place of a text. */
int spans_find(struct reading *reading, const struct tokenizer *tokenizer, struct arena *arena,
               struct err *err);

#endif
