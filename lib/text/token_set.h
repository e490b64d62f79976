/* token_set.h: all tokens of a tokenizer: the words of its vocabulary, and what was added to them,
 * `<|endoftext|>` for one, which no merge can touch. As Hugging Face has it: at the first place
 * where some begin the longest is taken; those not `normalized` are looked for in the text as it
 * is, the others, normalized themselves, in what lies between, after it was normalized.
 *
 *     struct token_set set = {0};
 *     if (word_table_read(&set.words, words, WORD_BYTES, size, err) ||
 *         token_set_add(&set, items, count, err)) ...
 *     struct added_walk walk = {.text = &text, .list = &list, .between = encode};
 *     if (added_tokens_walk(&set.added, &walk, err)) ...
 *     token_set_release(&set);
 */
#ifndef ATTN_TEXT_TOKEN_SET_H
#define ATTN_TEXT_TOKEN_SET_H

#include "text/aligned_text.h"
#include "text/token_list.h"
#include "text/word_table.h"

struct json;

struct added_token {
    const char *bytes;
    size_t size;
    const char *pattern; /* what is looked for, when it was normalized; NULL: the bytes */
    size_t pattern_size;
    uint32_t id;
    bool special;     /* read as text when special tokens are */
    bool single_word; /* not where a letter, a digit or _ touches it */
    bool left_strip;  /* takes the white space before it, */
    bool right_strip; /* and after it */
    bool normalized;
    bool in_model; /* found by the model among the words, not before them */
};

struct added_tokens {
    struct added_token *items; /* [count] by first byte of the pattern, the longest first */
    struct added_token *by_id; /* [count] */
    size_t count;
    size_t first[257];   /* where those with a first byte begin */
    size_t count_of[2];  /* those that are not normalized, and those that are; by the same: … */
    bool begins[2][256]; /* … does a pattern begin with the byte? */
};

/* A text that is to become tokens. */
struct token_text {
    const char *bytes; /* valid UTF-8 */
    size_t size;
    bool plain; /* special tokens in it are text too */
};

struct added_walk {
    const struct aligned_text *text;
    bool normalized;         /* look for those that are, or for those that are not */
    bool plain;              /* special tokens are text */
    struct token_list *list; /* gets what is found */
    int (*between)(void *context, const struct aligned_text *text, struct text_range range,
                   struct err *err); /* gets the rest, which is not empty */
    void *context;
};

/* Copy the tokens to the arena; refused: one that is empty or stands twice, two with one id. */
int added_tokens_init(struct added_tokens *tokens, const struct added_token *items, size_t count,
                      struct arena *arena, struct err *err);

/* What is found goes to the list, each stretch between to `between`, in the order of the text. */
int added_tokens_walk(const struct added_tokens *tokens, const struct added_walk *walk,
                      struct err *err);

/* The longest normalized token with which a text begins, also one of the model's, or NULL; that of
 * an id, or NULL. */
const struct added_token *added_tokens_at(const struct added_tokens *tokens, const char *text,
                                          size_t size);
const struct added_token *added_tokens_of_id(const struct added_tokens *tokens, uint32_t id);

/* Read an added token, {"id": 50256, "content": "<|endoftext|>", "lstrip": false, …}: an item of
 * tokenizer.json's `added_tokens`; or a member of tokenizer_config.json's `added_tokens_decoder`,
 * whose name is the id; or all but the id. The token's bytes live as long as the JSON. */
int added_token_read(struct added_token *token, const struct json *item, struct err *err);
int added_token_read_member(struct added_token *token, const struct json *member, struct err *err);
int added_token_read_content(struct added_token *token, const struct json *item, struct err *err);

struct token_set {
    struct word_table words;
    struct added_tokens added;
    struct arena arena;
};

/* Set the added tokens, which are copied, when the words are there; refused where they contradict.
 */
int token_set_add(struct token_set *set, const struct added_token *items, size_t count,
                  struct err *err);
void token_set_release(struct token_set *set);

/* The bytes of an id, or NULL; they live as long as the set. */
const char *token_set_word(const struct token_set *set, uint32_t id, size_t *size);

/* The id of a token as the vocabulary's file or its added tokens write it, or as the former does;
 * one more than the largest id. */
int token_set_find(const struct token_set *set, const char *text, size_t size, uint32_t *id,
                   bool *found, struct err *err);
int token_set_find_word(const struct token_set *set, const char *text, size_t size, uint32_t *id,
                        bool *found, struct err *err);
size_t token_set_size(const struct token_set *set);

#endif
