/* decode.h: `attn-cli tokenize --decode`: from ids back to the text they came from. */
#ifndef ATTN_CMD_DECODE_H
#define ATTN_CMD_DECODE_H

#include "base/err.h"
#include "options.h"
#include "text/tokenizer.h"

/* Write the bytes of the ids that the operands, the file or standard input give. */
int decode_ids(const struct options *options, const struct tokenizer *tokenizer, struct err *err);

#endif
