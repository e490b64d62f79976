/* token_set.h: all tokens of a tokenizer: the words of its vocabulary, and what was added to them.
 *
 *     struct token_set set = {0};
 *     if (word_table_read(&set.words, words, WORD_BYTES, size, err) ||
 *         token_set_add(&set, items, count, err))
 *         ...
 *     token_set_release(&set);
 */
#ifndef ATTN_TEXT_TOKEN_SET_H
#define ATTN_TEXT_TOKEN_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "text/added_tokens.h"
#include "text/word_table.h"

struct token_set {
    struct word_table words;
    struct added_tokens added;
    struct arena arena;
};

/* Set the added tokens, which are copied, when the words are there. Refused: those that contradict
 * the vocabulary, an id of another word or another id for the same. */
int token_set_add(struct token_set *set, const struct added_token *items, size_t count,
                  struct err *err);
void token_set_release(struct token_set *set);

/* The bytes of an id, or NULL; they live as long as the set. */
const char *token_set_word(const struct token_set *set, uint32_t id, size_t *size);

/* The id of a token as the vocabulary's file or its added tokens write it. */
int token_set_find(const struct token_set *set, const char *text, size_t size, uint32_t *id,
                   bool *found, struct err *err);

/* One more than the largest id. */
size_t token_set_size(const struct token_set *set);

#endif
