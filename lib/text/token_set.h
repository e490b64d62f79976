/* token_set.h: all tokens of a tokenizer: the words of its vocabulary and the added tokens, such as
 * `<|endoftext|>`, which are split off before the model sees a text. As in Hugging Face's library,
 * the first match counts, and the longest of several at one position. Tokens that are not
 * `normalized` are searched for in the original text; the others, in normalized form, in the
 * normalized text between them.
 *
 *     struct token_set set = {0};
 *     if (word_table_read(&set.words, words, WORD_BYTES, size, err) ||
 *         token_set_add(&set, items, count, err)) ...
 *     struct added_walk walk = {.text = &text, .list = &list, .between = encode};
 *     if (added_tokens_walk(&set.added, &walk, err)) ...
 *     token_set_release(&set);
 */
#pragma once

#include "text/aligned_text.h"
#include "text/token_list.h"
#include "text/word_table.h"

struct added_token {
    const char *bytes;
    size_t size;
    const char *pattern; /* the normalized form that is searched for; NULL: the bytes */
    size_t pattern_size;
    uint32_t id;
    bool special;     /* a special token, which callers may treat as text */
    bool single_word; /* the token does not match next to a \w, such as a letter or _ */
    bool left_strip;  /* a match includes the white space before it */
    bool right_strip; /* a match includes the white space after it */
    bool normalized;
    bool in_model; /* the model itself finds the token, as one of its words */
};

struct added_tokens {
    struct added_token *items; /* `count` tokens, sorted by the first byte of the pattern, then the
                                * longest first */
    struct added_token *by_id; /* array of `count` tokens, sorted by id */
    size_t count;
    size_t first[257];   /* index of the first item whose pattern begins with each byte */
    size_t count_of[2];  /* number of tokens that are not `normalized`, and of those that are */
    bool begins[2][256]; /* [normalized][byte] true if a pattern begins with the byte */
};

/* A text to encode. */
struct token_text {
    const char *bytes; /* valid UTF-8 */
    size_t size;
    bool plain; /* special tokens in the text are treated as text */
};

struct added_walk {
    const struct aligned_text *text;
    bool normalized;         /* search for tokens that are normalized; false: for all others */
    bool plain;              /* special tokens are treated as text */
    struct token_list *list; /* gets the tokens that are found */
    int (*between)(void *context, const struct aligned_text *text, struct text_range range,
                   struct err *err); /* receives each range between tokens that is not empty */
    void *context;
};

/* Copy the tokens to the arena. An empty token, equal ids, and equal texts with equal patterns are
 * errors. */
int added_tokens_init(struct added_tokens *tokens, const struct added_token *items, size_t count,
                      struct arena *arena, struct err *err);

/* Search a text: add each token found to the list and call `between` for the ranges between them,
 * in the order of the text. */
int added_tokens_walk(const struct added_tokens *tokens, const struct added_walk *walk,
                      struct err *err);

/* added_tokens_at returns the longest normalized token with which a text begins, including those
 * that the model finds; added_tokens_of_id the token with an id. NULL if there is none. */
const struct added_token *added_tokens_at(const struct added_tokens *tokens, const char *text,
                                          size_t size);
const struct added_token *added_tokens_of_id(const struct added_tokens *tokens, uint32_t id);

/* Compare two tokens by id, for qsort. */
int added_token_compare_ids(const void *a, const void *b);

/* Read all fields except "id" of an added token such as {"id": 50256, "content": "<|endoftext|>",
 * "lstrip": false, …}. The bytes are valid as long as the JSON. */
int added_token_read_content(struct added_token *token, const struct json *item, struct err *err);

struct token_set {
    struct word_table words;
    struct added_tokens added;
    struct arena arena;
};

/* Set the added tokens, which are copied, after the words were read. A token whose text or id
 * belongs to another word is an error. */
int token_set_add(struct token_set *set, const struct added_token *items, size_t count,
                  struct err *err);
void token_set_release(struct token_set *set);

/* The bytes of the token with this id, valid as long as the set; NULL: there is none. */
const char *token_set_word(const struct token_set *set, uint32_t id, size_t *size);

/* token_set_find finds the id of a token; `text` is written as in the list of added tokens or in
 * the vocabulary's file. token_set_find_word searches the vocabulary only. token_set_size returns
 * the largest id + 1. */
int token_set_find(const struct token_set *set, const char *text, size_t size, uint32_t *id,
                   bool *found, struct err *err);
int token_set_find_word(const struct token_set *set, const char *text, size_t size, uint32_t *id,
                        bool *found, struct err *err);
size_t token_set_size(const struct token_set *set);
