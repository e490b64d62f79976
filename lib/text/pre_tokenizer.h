/* pre_tokenizer.h: how a tokenizer.json wants texts to be cut before its model sees them. */
#ifndef ATTN_TEXT_PRE_TOKENIZER_H
#define ATTN_TEXT_PRE_TOKENIZER_H

#include <stdbool.h>

#include "base/err.h"
#include "format/json.h"

enum pre_tokenizer_kind {
    PRE_TOKENIZER_NONE,
    PRE_TOKENIZER_BYTE_LEVEL, /* GPT-2's pattern, then bytes */
    PRE_TOKENIZER_WHITESPACE,
    PRE_TOKENIZER_WHITESPACE_SPLIT,
};

struct pre_tokenizer {
    enum pre_tokenizer_kind kind;
    bool prefix_space; /* of ByteLevel */
};

/* Read the value of `pre_tokenizer`; NULL and null: none. What is not supported is refused by its
 * type or pattern. */
int pre_tokenizer_read(struct pre_tokenizer *out, const struct json *value, struct err *err);

/* Its name in the file, for messages. */
const char *pre_tokenizer_name(enum pre_tokenizer_kind kind);

#endif
