#include "explain/explain_walk.h"

#include <stdbool.h>
#include <string.h>

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

void html_text(struct buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char *entity = entity_of(text[i]);
        if (entity)
            buf_text(out, entity);
        else
            buf_char(out, text[i]);
    }
}

void html_prose(struct buf *out, const char *sentence)
{
    while (*sentence) {
        size_t blanks = strspn(sentence, " ");
        size_t size = strcspn(sentence + blanks, " ");
        const char *word = sentence + blanks;
        buf_bytes(out, sentence, blanks);
        if (memchr(word, '_', size))
            html_symbol(out, word, size);
        else
            html_text(out, word, size);
        sentence = word + size;
    }
}
