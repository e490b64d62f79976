/* added_tokens.h: tokens that stand beside a vocabulary's own, `<|endoftext|>` for one. They are
 * looked for in a text before it is cut, so no merge can touch them.
 *
 * As Hugging Face has it: of those that begin at the first place where one begins the longest is
 * taken; those that are not `normalized` are looked for first, in the whole text, then the others
 * in what lies between.
 *
 *     struct added_walk walk = {.text = &text, .list = &list, .between = encode};
 *     if (added_tokens_walk(&tokens, &walk, err)) ...
 */
#ifndef ATTN_TEXT_ADDED_TOKENS_H
#define ATTN_TEXT_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "text/token_list.h"

struct added_token {
    const char *bytes;
    size_t size;
    uint32_t id;
    bool special;     /* read as text when special tokens are */
    bool single_word; /* not where a letter, a digit or _ touches it */
    bool left_strip;  /* takes the white space before it, */
    bool right_strip; /* and behind it */
    bool normalized;
};

struct added_tokens {
    struct added_token *items; /* [count] by first byte, the longest first */
    struct added_token *by_id; /* [count] */
    size_t count;
    size_t first[257];  /* where those with a first byte begin */
    size_t count_of[2]; /* those that are not normalized, and those that are */
};

/* A text that is to become tokens. */
struct token_text {
    const char *bytes; /* valid UTF-8 */
    size_t size;
    bool plain; /* special tokens in it are text too */
};

struct added_walk {
    const struct token_text *text;
    struct token_list *list; /* gets what is found */
    int (*between)(void *context, size_t start, size_t end, struct err *err); /* gets the rest */
    void *context;
};

/* Copy the tokens, with their bytes, to the arena. Refused: one that is empty or stands twice, two
 * with one id. */
int added_tokens_init(struct added_tokens *tokens, const struct added_token *items, size_t count,
                      struct arena *arena, struct err *err);

/* Walk through the text: what is found goes to the list, each stretch between to `between`, in the
 * order of the text. */
int added_tokens_walk(const struct added_tokens *tokens, const struct added_walk *walk,
                      struct err *err);

/* The token of an id, or NULL. */
const struct added_token *added_tokens_of_id(const struct added_tokens *tokens, uint32_t id);

#endif
