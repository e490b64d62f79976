/* added_token_json.h: an added token as Hugging Face's files describe it:
 *
 *     {"id": 50256, "content": "<|endoftext|>", "single_word": false, "lstrip": false,
 *      "rstrip": false, "normalized": false, "special": true}
 */
#ifndef ATTN_TEXT_ADDED_TOKEN_JSON_H
#define ATTN_TEXT_ADDED_TOKEN_JSON_H

#include "base/err.h"
#include "format/json.h"
#include "text/added_tokens.h"

/* Read an item of tokenizer.json's `added_tokens`. The token's bytes live as long as the item. What
 * is absent is false. */
int added_token_read(struct added_token *token, const struct json *item, struct err *err);

/* Read a member of tokenizer_config.json's `added_tokens_decoder`, whose name is the id. */
int added_token_read_member(struct added_token *token, const struct json *member, struct err *err);

#endif
