#include "explain/explain_walk.h"

#include <stdbool.h>
#include <string.h>

void html_text(struct buf *out, const char *text, size_t size)
{
    static const char *const entities[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *entity = c < sizeof entities / sizeof *entities ? entities[c] : NULL;
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
