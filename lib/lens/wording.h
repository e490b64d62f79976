/* wording.h: tokens as running text.
 *
 * Words of a vocabulary get blanks between them where people write them: not before a comma, not
 * behind a bracket that opens, not between Chinese words. Tokens that bring their own blanks
 * (byte-level BPE) are joined as they are. Where there is no tokenizer the text is the ids, as
 * --ids takes them: 3,1,4.
 *
 *     struct buf text = {0};
 *     size_t start = wording_add(&text, tokenizer, id);     (its bytes are text.bytes + start …)
 */
#ifndef ATTN_LENS_WORDING_H
#define ATTN_LENS_WORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "text/tokenizer.h"

/* Append a token, and what stands before it; returns where its own bytes begin. A token that the
 * tokenizer does not know is written as its number. `tokenizer` may be NULL. */
size_t wording_add(struct buf *text, const struct tokenizer *tokenizer, uint32_t id);

/* True for a character of a script that puts no blanks between words: Han, kana, Thai, … */
bool wording_has_no_blanks(uint32_t character);

#endif
