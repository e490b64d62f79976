#include "text/decoder/decoder.h"

#include <string.h>

#include "base/utf8.h"

/* How many bytes at the front of what is no UTF-8 are one unreadable character: as many as could
 * have begun one. */
static size_t unreadable_bytes(const unsigned char *bytes, size_t size)
{
    unsigned char first = bytes[0];
    size_t wanted = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
    unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    size_t count = 1;
    for (; count < wanted && count < size; count++, least = 0x80, most = 0xBF)
        if (bytes[count] < least || bytes[count] > most)
            break;
    return count;
}

void lossy_text_write(struct buf *out, struct buf *rest, bool last)
{
    size_t at = 0;
    buf_fail_with(out, rest);
    while (at < rest->size) {
        const char *bytes = rest->bytes + at;
        size_t valid = utf8_invalid_at(bytes, rest->size - at);
        buf_bytes(out, bytes, valid);
        at += valid;
        if (at == rest->size)
            break;
        size_t count = unreadable_bytes((const unsigned char *)bytes + valid, rest->size - at);
        uint32_t c = 0;
        bool open = at + count == rest->size && count < 4 &&
                    utf8_decode(&c, rest->bytes + at, count) == 0 &&
                    (unsigned char)rest->bytes[at] >= 0xC2 && (unsigned char)rest->bytes[at] < 0xF5;
        if (open && !last)
            break;
        buf_text(out, LOSSY_TEXT_SIGN);
        at += count;
    }
    if (at < rest->size)
        memmove(rest->bytes, rest->bytes + at, rest->size - at);
    rest->size -= at;
}
