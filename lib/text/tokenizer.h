/* tokenizer.h: from a sentence to ids and back, by the files of a model's folder.
 *
 * `vocab.json` alone makes a word vocabulary (words.h). A folder without any tokenizer file is
 * served by ids; then the labels are the ids.
 *
 *     struct tokenizer *tokenizer = NULL;
 *     if (tokenizer_open(&tokenizer, folder, err)) ...
 *     struct tokens tokens;
 *     if (tokenizer_encode(tokenizer, &tokens, text, size, &arena, err)) ...
 *     tokenizer_free(tokenizer);
 */
#ifndef ATTN_TEXT_TOKENIZER_H
#define ATTN_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"
#include "text/token.h"

struct tokenizer;

/* Open the folder's tokenizer. A folder that has none gives 0 and `*tokenizer` NULL. Byte-level BPE
 * files (merges.txt, tokenizer.json) are refused by name as not supported. Errors name the file,
 * and the key or the id. The caller frees `*tokenizer`; the folder's files need not stay open. */
int tokenizer_open(struct tokenizer **tokenizer, const struct folder *folder, struct err *err);
void tokenizer_free(struct tokenizer *tokenizer);

/* Cut a text into tokens, kept in `arena`. Refused: bytes that are not UTF-8 (with the offset), and
 * a word that is no entry where the vocabulary has no word for the unknown (with its position). */
int tokenizer_encode(const struct tokenizer *tokenizer, struct tokens *tokens, const char *text,
                     size_t size, struct arena *arena, struct err *err);

/* The bytes of a token, not 0-terminated, valid as long as the tokenizer; NULL when the id is no
 * entry. */
const char *tokenizer_token(const struct tokenizer *tokenizer, uint32_t id, size_t *size);

/* One more than the largest id. */
size_t tokenizer_size(const struct tokenizer *tokenizer);

/* What it is, for `info`: "words". */
const char *tokenizer_kind(const struct tokenizer *tokenizer);

/* Read "3,1,4" as ids below `id_limit`. Tokens of a list have no place in a text: start = end = 0.
 */
int tokens_from_ids(struct tokens *tokens, const char *list, size_t id_limit, struct arena *arena,
                    struct err *err);

#endif
