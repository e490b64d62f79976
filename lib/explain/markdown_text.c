#include "explain/markdown_text.h"

#include <stdbool.h>
#include <string.h>

/* Markup wherever it stands; and what is only in a row: -- and ... become other signs. */
static bool is_special(char c, char next)
{
    static const char always[] = "\\`*_[]<>|$~^&#@'\"";
    static const char repeated[] = "-.";
    return memchr(always, c, sizeof always - 1) ||
           (c == next && memchr(repeated, c, sizeof repeated - 1));
}

void markdown_text(struct buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (is_special(text[i], i + 1 < size ? text[i + 1] : '\0'))
            buf_char(out, '\\');
        buf_char(out, text[i]);
    }
}
