/* info_words.h: the words of a vocabulary, on a page: whoever may use no others wants to see them.
 */
#ifndef ATTN_CMD_INFO_WORDS_H
#define ATTN_CMD_INFO_WORDS_H

#include "base/err.h"
#include "base/stream.h"
#include "text/tokenizer.h"

/* Those of a tokenizer that has whole words alone, in the order of their ids; nothing of any other.
 */
int info_words_write(struct stream *out, const struct tokenizer *tokenizer, size_t columns,
                     struct err *err);

#endif
