/* tokenizer_config.h: what a folder's tokenizer_config.json says that makes a difference to ids;
 * the tokenizer itself stands in another file. A member that is null is as good as none.
 */
#ifndef ATTN_TEXT_TOKENIZER_CONFIG_H
#define ATTN_TEXT_TOKENIZER_CONFIG_H

#include "text/tokenizer.h"

struct pipeline;
struct token_set;

enum answer { ANSWER_NONE, ANSWER_NO, ANSWER_YES };

struct tokenizer_config {
    const char
        *tokens[TOKEN_ROLES];      /* bos_token, eos_token: a text, or the `content` of an object */
    enum answer adds[TOKEN_ROLES]; /* add_bos_token, add_eos_token */
    enum answer prefixes;          /* add_prefix_space */
    enum answer legacy;
    enum answer splits_special; /* split_special_tokens: special tokens are text */
    const char *class;          /* tokenizer_class; "": none */
};

/* Read it, or nothing where there is none. Texts live as long as the arena. */
int tokenizer_config_read(struct tokenizer_config *config, const struct folder *folder,
                          struct arena *arena, struct err *err);

/* Find the `bos_token_id` of the model's config.json; one that the vocabulary lacks is a default
 * that was kept, and passed over. */
int tokenizer_config_model_begin(uint32_t *id, bool *found, const struct token_set *set,
                                 const struct folder *folder, struct err *err);

/* Let a pipeline do what the config says of blanks before a text, as transformers does: ByteLevel,
 * when it is all that cuts, follows `add_prefix_space`; so does SentencePiece's own file when that
 * is false; and when `legacy` is false, its blank goes before the text alone, not after each added
 * token, too. */
int tokenizer_config_apply(const struct tokenizer_config *config, struct pipeline *pipeline,
                           struct err *err);

/* Is its class one that puts BOS before texts unless it is told not to? Of a tokenizer.model no
 * other file says it. */
bool tokenizer_config_begins(const struct tokenizer_config *config);

#endif
