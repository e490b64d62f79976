/* token_list.h: the tokens of a text: where each stands, and how they leave an encoder: all of them
 * kept, or handed on in portions, so that a text of any size takes little memory.
 *
 *     struct token_list list = {.sink = sink};     (NULL: keep them)
 *     if (token_list_add(&list, (struct token){id, start, end}, err)) ...
 *     if (sink ? token_list_flush(&list, err) : token_list_keep(&list, &tokens, &arena, err)) ...
 *     token_list_release(&list);
 */
#ifndef ATTN_TEXT_TOKEN_LIST_H
#define ATTN_TEXT_TOKEN_LIST_H

#include <stdint.h>

#include "base/memory.h"

struct token {
    uint32_t id;
    size_t start; /* byte offsets into the text: [start, end) */
    size_t end;
};

struct tokens {
    struct token *items;
    size_t count;
    size_t dropped_count;        /* characters that the vocabulary does not have */
    struct token *dropped_first; /* where the first of it stood, or NULL (its id means nothing) */
    uint32_t *segments;          /* [count] of a pair of texts, or NULL */
};

enum { TOKEN_PORTION = 4096 }; /* a sink gets at most so many at a time */

/* Takes the tokens of a text, portion by portion, in order. They are gone when it returns. */
struct token_sink {
    int (*take)(void *context, const struct token *tokens, size_t count, struct err *err);
    void *context;
};

struct token_list {
    struct token *items;
    size_t count;
    size_t room;
    const struct token_sink *sink;
    bool only_ids;        /* where tokens stand is not asked for: they have no place */
    size_t dropped_count; /* as in struct tokens */
    struct token dropped_first;
};

/* Make room for one more, when there is none; at the end hand on what is left, or move all to the
 * arena. */
int token_list_grow(struct token_list *list, struct err *err);
int token_list_flush(struct token_list *list, struct err *err);
int token_list_keep(const struct token_list *list, struct tokens *tokens, struct arena *arena,
                    struct err *err);
void token_list_release(struct token_list *list);

/* Add one. */
static inline int token_list_add(struct token_list *list, struct token token, struct err *err)
{
    if (list->count == list->room && token_list_grow(list, err))
        return -1;
    list->items[list->count++] = token;
    return 0;
}

/* Ids in a text of any size, with blanks, new lines or commas between them. */
struct id_list {
    const char *at;
    const char *end;
    size_t limit;   /* ids are below it, and fit into 32 bits */
    size_t count;   /* of those read */
    bool failed;    /* what came is no id */
    bool is_option; /* of --ids: one id at least, one comma between two, and signs are read */
};

/* The next id; false at the end and, with `err` and `failed`, at what is none. */
bool id_list_next(struct id_list *list, uint32_t *id, struct err *err);

/* Read "3,1,4", as --ids has it, kept in `arena`. Such tokens have no place: start = end = 0. */
int tokens_from_ids(struct tokens *tokens, const char *list, size_t id_limit, struct arena *arena,
                    struct err *err);

#endif
