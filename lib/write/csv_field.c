#include "write/csv_field.h"

#include <string.h>

#include "base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static void append_valid(struct buf *out, const char *text, size_t size)
{
    for (;;) {
        size_t valid = utf8_invalid_at(text, size);
        buf_bytes(out, text, valid);
        if (valid == size)
            return;
        buf_text(out, replacement);
        text += valid + 1;
        size -= valid + 1;
    }
}

void csv_field(struct buf *out, const char *text)
{
    bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    if (quoted)
        buf_char(out, '"');
    for (;;) {
        size_t size = strcspn(text, "\"");
        append_valid(out, text, size);
        if (text[size] == '\0')
            break;
        buf_text(out, "\"\"");
        text += size + 1;
    }
    if (quoted)
        buf_char(out, '"');
}
