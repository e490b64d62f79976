/* byte_level.h: byte-level BPE, the tokenizer of GPT-2: added tokens are taken out, the rest is cut
 * into pieces (bpe_split.h), the bytes of each piece are merged (bpe.h). Every text has tokens, and
 * their bytes in a row are the text.
 *
 *     struct byte_level level = {0};
 *     if (byte_level_open(&level, folder, err)) ...
 *     if (byte_level_encode(&level, &list, &text, err)) ...
 *     byte_level_release(&level);
 */
#ifndef ATTN_TEXT_BYTE_LEVEL_H
#define ATTN_TEXT_BYTE_LEVEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/folder.h"
#include "text/bpe.h"
#include "text/token_list.h"
#include "text/token_set.h"

struct byte_level {
    struct token_set set;
    struct bpe bpe;
    bool prefix_space; /* a blank goes before what does not begin with one, without a place in it */
};

/* Read vocab.json and merges.txt; and the added tokens from tokenizer_config.json or, where that
 * names none, from added_tokens.json, with `<|endoftext|>` for a special one. Errors name the file,
 * and the key or the line. On failure nothing is held. */
int byte_level_open(struct byte_level *level, const struct folder *folder, struct err *err);
void byte_level_release(struct byte_level *level);

/* Add a text's tokens to the list. */
int byte_level_encode(const struct byte_level *level, struct token_list *list,
                      const struct token_text *text, struct err *err);

#endif
