/* token.h: what a tokenizer makes of a text. */
#ifndef ATTN_TEXT_TOKEN_H
#define ATTN_TEXT_TOKEN_H

#include <stddef.h>
#include <stdint.h>

struct token {
    uint32_t id;
    size_t start; /* byte offsets into the text: [start, end) */
    size_t end;
};

struct tokens {
    struct token *items;
    size_t count;
    size_t dropped_count;        /* punctuation that is no entry of the vocabulary */
    struct token *dropped_first; /* where the first of it stood, or NULL (its id means nothing) */
};

#endif
