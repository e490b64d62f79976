/* tokenizer_json.h: tokenizers as Hugging Face's library saves them, in one tokenizer.json.
 *
 * Read are the model (BPE, or WordLevel), the added tokens and the pre-tokenizer: ByteLevel, alone
 * or behind a Split by GPT-2's pattern; for WordLevel Whitespace, WhitespaceSplit or none. What
 * would give other ids and is not supported is refused by its name. Post-processors and
 * padding are passed over, and truncation is only looked at: no token is added or taken away unless
 * somebody asks.
 *
 *     struct tokenizer_json json = {0};
 *     if (tokenizer_json_open(&json, folder, err)) ...
 *     if (json.model == TOKENIZER_JSON_BPE) use(&json.byte_level);
 */
#ifndef ATTN_TEXT_TOKENIZER_JSON_H
#define ATTN_TEXT_TOKENIZER_JSON_H

#include "base/err.h"
#include "base/folder.h"
#include "text/byte_level.h"
#include "text/word_level.h"

struct tokenizer_json {
    enum { TOKENIZER_JSON_BPE, TOKENIZER_JSON_WORD_LEVEL } model;
    struct byte_level byte_level; /* one of them is filled; who opened releases it */
    struct word_level word_level;
    long long truncation; /* tokens that other programs leave of a text; 0: all */
};

/* Errors name the file and the field. On failure nothing is held. */
int tokenizer_json_open(struct tokenizer_json *json, const struct folder *folder, struct err *err);

#endif
