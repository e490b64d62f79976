#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "lens/tokenized.h"

enum { ID_BYTES = 16 };

/* Signs that stand close to the word after them, and to the word before them. */
static const char *const opening = "([{¿¡‘“‚„«‹「『《〈（【〔、。，：；！？'";
static const char *const closing = ".,:;!?)]}%…’”»›」』》〉）】〕、。，：；！？'";

/* Scripts that put no blanks between words. */
static const struct script {
    uint32_t first, last;
} without_blanks[] = {
    {0x0e00, 0x0eff},   /* Thai, Lao */
    {0x1000, 0x109f},   /* Myanmar */
    {0x1780, 0x17ff},   /* Khmer */
    {0x2e80, 0x312f},   /* Han radicals, their punctuation, kana, bopomofo */
    {0x31a0, 0x9fff},   /* Han */
    {0xf900, 0xfaff},   /* Han for compatibility */
    {0xff00, 0xffef},   /* signs of full width */
    {0x20000, 0x3ffff}, /* Han */
};

bool wording_has_no_blanks(uint32_t c)
{
    for (size_t i = 0; i < sizeof without_blanks / sizeof *without_blanks; i++)
        if (c >= without_blanks[i].first && c <= without_blanks[i].last)
            return true;
    return false;
}

static bool is_one_of(uint32_t c, const char *signs)
{
    size_t size = strlen(signs);
    for (size_t at = 0; at < size;) {
        uint32_t sign = 0;
        at += utf8_decode(&sign, signs + at, size - at);
        if (sign == c)
            return true;
    }
    return false;
}

/* The last character; 0 where the bytes are none. */
static uint32_t last_character(const char *bytes, size_t size)
{
    uint32_t c = 0;
    size_t start = size - 1;
    while (start > 0 && size - start < 4 && ((unsigned char)bytes[start] & 0xc0) == 0x80)
        start--;
    return utf8_decode(&c, bytes + start, size - start) == size - start ? c : 0;
}

static bool needs_blank(const struct buf *text, const char *word, size_t size)
{
    uint32_t first = 0;
    if (text->size == 0 || utf8_decode(&first, word, size) == 0)
        return false;
    uint32_t last = last_character(text->bytes, text->size);
    if (utf8_class(last) == UTF8_SPACE || utf8_class(first) == UTF8_SPACE)
        return false;
    if (is_one_of(last, opening) || is_one_of(first, closing))
        return false;
    return !(wording_has_no_blanks(last) && wording_has_no_blanks(first));
}

size_t wording_add(struct buf *text, const struct tokenizer *tokenizer, uint32_t id)
{
    char number[ID_BYTES];
    size_t size = 0;
    const char *bytes = tokenizer ? tokenizer_token(tokenizer, id, &size) : NULL;
    if (!bytes) {
        size = (size_t)snprintf(number, sizeof number, "%u", id);
        bytes = number;
    }
    if (!tokenizer && text->size)
        buf_char(text, ',');
    if (tokenizer && *tokenizer_gap(tokenizer) && needs_blank(text, bytes, size))
        buf_text(text, tokenizer_gap(tokenizer));
    size_t start = text->size;
    buf_bytes(text, bytes, size);
    return start;
}
