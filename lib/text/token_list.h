/* token_list.h: the tokens of a text with their positions. A list keeps all tokens, or passes them
 * to a sink in portions, so that a text of any size needs little memory.
 *
 *     struct token_list list = {.sink = sink};     (NULL: keep them)
 *     if (token_list_add(&list, (struct token){id, false, start, end}, err)) ...
 *     if (sink ? token_list_flush(&list, err) : token_list_keep(&list, &tokens, &arena, err)) ...
 *     token_list_release(&list);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

struct token {
    uint32_t id;
    bool joins;   /* false: the token begins a piece of the pre-tokenizers, such as a word */
    size_t start; /* byte offsets into the text: [start, end) */
    size_t end;
};

struct tokens {
    struct token *items;
    size_t count;
    size_t dropped_count;        /* number of characters of the text without a token */
    struct token *dropped_first; /* the first dropped character, whose `id` is the index of its
                                  * text; NULL: none was dropped */
    unsigned char *segments;     /* segment of each token of a pair of texts; NULL: there is only
                                  * one text */
    size_t second;               /* index of the first token of the second text of a pair */
    size_t added[3];             /* numbers of special tokens: before the text, between the texts of
                                  * a pair, after the text */
};

enum { TOKEN_PORTION = 4096 }; /* maximum number of tokens that a sink gets in one call */

/* A receiver of the tokens of a text, in order, in portions that are valid only during the call. */
struct token_sink {
    int (*take)(void *context, const struct token *tokens, size_t count, struct err *err);
    void *context;
};

struct token_list {
    struct token *items;
    size_t count;
    size_t capacity;
    const struct token_sink *sink;
    bool only_ids;        /* positions and `joins` are not needed, and may be unset */
    size_t dropped_count; /* number of characters of the text without a token */
    struct token dropped_first;
};

/* token_list_grow makes room for one more token. After the last token, token_list_flush passes the
 * remaining tokens to the sink; without a sink, token_list_keep copies all tokens to the arena. */
int token_list_grow(struct token_list *list, struct err *err);
int token_list_flush(struct token_list *list, struct err *err);
int token_list_keep(const struct token_list *list, struct tokens *tokens, struct arena *arena,
                    struct err *err);
void token_list_release(struct token_list *list);

/* Append a token. */
static inline int token_list_add(struct token_list *list, struct token token, struct err *err)
{
    if (list->count == list->capacity && token_list_grow(list, err))
        return -1;
    list->items[list->count++] = token;
    return 0;
}

/* A reader of ids in a text of any size, separated by spaces, tabs, line breaks or commas. */
struct id_list {
    const char *at;
    const char *end;
    size_t limit;   /* an id must be below this number and fit into 32 bits */
    size_t count;   /* number of items read */
    bool failed;    /* true if an item was not an id */
    bool is_option; /* true: the rules of --ids: at least one id, at most one comma between two ids;
                     * +7 and -0 are ids as well */
};

/* Read the next id. False at the end of the list or, with `err` and `failed` set, at an item that
 * is not an id. */
bool id_list_next(struct id_list *list, uint32_t *id, struct err *err);

/* Read the list of --ids, such as "3,1,4", into `arena`. The tokens have start = end = 0. */
int tokens_from_ids(struct tokens *tokens, const char *list, size_t id_limit, struct arena *arena,
                    struct err *err);
