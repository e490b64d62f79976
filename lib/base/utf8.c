#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum {
    VARIATION_16 = 0xFE0F, /* "draw the character before me as an emoji" */
};

/* --- kinds of characters ---------------------------------------------------------------------- */

uint8_t unicode_page_of[UNICODE_LAST / UNICODE_PAGE + 1];
uint8_t unicode_pages[UNICODE_PAGES_MAX][UNICODE_PAGE];

/* The first pages are of one kind each; a page in which runs meet is one of its own. */
static void add_run(uint8_t kind, uint32_t first, uint32_t end, uint8_t *used)
{
    for (uint32_t next; first < end; first = next) {
        uint8_t *page = &unicode_page_of[first / UNICODE_PAGE];
        uint32_t at = first % UNICODE_PAGE;
        next = first - at + UNICODE_PAGE < end ? first - at + UNICODE_PAGE : end;
        if (at == 0)
            *page = next - first == UNICODE_PAGE ? kind : (*used)++;
        assert(*page < UNICODE_PAGES_MAX);
        memset(&unicode_pages[*page][at], kind, next - first);
    }
}

__attribute__((constructor)) static void fill_pages(void)
{
    uint8_t used = UNICODE_JOINER + 1;
    uint32_t first = 0;
    for (const char *const *line = unicode_runs; *line; line++) {
        for (char *run = (char *)*line; *run;) {
            uint8_t kind = (uint8_t)(strchr(unicode_letters, *run) - unicode_letters);
            uint32_t end = first + (uint32_t)strtoul(run + 1, &run, 10);
            add_run(kind, first, end, &used);
            first = end;
        }
    }
}

bool unicode_is_word(enum unicode_kind kind)
{
    return kind != UNICODE_CONTROL && kind != UNICODE_SPACE && kind != UNICODE_SIGN &&
           kind != UNICODE_OTHER_NUMBER;
}

bool unicode_is_unspaced(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } blocks[] = {
        {0x0E00, 0x0EFF},   /* Thai, Lao */
        {0x1000, 0x109F},   /* Myanmar */
        {0x1780, 0x17FF},   /* Khmer */
        {0x1950, 0x19DF},   /* Tai Le, New Tai Lue */
        {0x1A20, 0x1AAF},   /* Tai Tham */
        {0x1B00, 0x1B7F},   /* Balinese */
        {0x3000, 0x312F},   /* marks of East Asia, Hiragana, Katakana, Bopomofo */
        {0x3190, 0x31FF},   /* Kanbun, Bopomofo, strokes, Katakana */
        {0x3400, 0x4DBF},   /* Han */
        {0x4E00, 0xA4CF},   /* Han, Yi */
        {0xA980, 0xA9FF},   /* Javanese, Myanmar */
        {0xAA60, 0xAADF},   /* Myanmar, Tai Viet */
        {0xF900, 0xFAFF},   /* Han */
        {0xFF66, 0xFF9F},   /* Katakana of half the width */
        {0x16FE0, 0x18DFF}, /* marks, Tangut, Khitan */
        {0x1AFF0, 0x1B2FF}, /* Kana, Nushu */
        {0x20000, 0x3FFFF}, /* Han */
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && blocks[i].first <= character; i++)
        if (character <= blocks[i].last)
            return true;
    return false;
}

/* --- characters in bytes ---------------------------------------------------------------------- */

static bool goes_on(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

size_t utf8_decode_long(uint32_t *character, const char *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (size < 2 || b[0] < 0xC2 || b[0] > 0xF4 || !goes_on(b[1]))
        return 0;
    size_t length = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    uint32_t c = (b[0] & 0x1Fu) << 6 | (b[1] & 0x3Fu);
    if (length > 2) {
        if (size < length || !goes_on(b[2]))
            return 0;
        c = c << 6 | (b[2] & 0x3Fu);
        if (length == 3 ? c < 0x800 || (c >= 0xD800 && c <= 0xDFFF) : !goes_on(b[3]))
            return 0;
    }
    if (length == 4) {
        c = (c << 6 | (b[3] & 0x3Fu)) & 0x1FFFFF; /* the first byte has a bit more */
        if (c < 0x10000 || c > UNICODE_LAST)
            return 0;
    }
    *character = c;
    return length;
}

/* How many bytes from here on are ASCII: eight at a time, then what is left of the last eight. */
static size_t ascii_run(const char *bytes, size_t size)
{
    static const uint64_t high_bits = 0x8080808080808080u;
    size_t at = 0;
    uint64_t eight = 0;
    for (; size - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, bytes + at, sizeof eight);
        if (eight & high_bits)
            break;
    }
    while (at < size && (unsigned char)bytes[at] < 0x80)
        at++;
    return at;
}

size_t utf8_encode(char out[4], uint32_t character)
{
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)character, (utf8proc_uint8_t *)out);
}

size_t utf8_invalid_at(const char *bytes, size_t size)
{
    uint32_t character = 0;
    size_t at = 0;
    while ((at += ascii_run(bytes + at, size - at)) < size) {
        size_t length = utf8_decode(&character, bytes + at, size - at);
        if (length == 0)
            break;
        at += length;
    }
    return at;
}

enum utf8_class utf8_class(uint32_t character)
{
    static const enum utf8_class classes[] = {
        [UNICODE_CONTROL] = UTF8_CONTROL,      [UNICODE_LETTER] = UTF8_LETTER,
        [UNICODE_MARK] = UTF8_LETTER,          [UNICODE_DIGIT] = UTF8_NUMBER,
        [UNICODE_LETTER_NUMBER] = UTF8_NUMBER, [UNICODE_OTHER_NUMBER] = UTF8_NUMBER,
        [UNICODE_SPACE] = UTF8_SPACE,          [UNICODE_CONNECTOR] = UTF8_OTHER,
        [UNICODE_SIGN] = UTF8_OTHER,           [UNICODE_ALPHABETIC] = UTF8_OTHER,
        [UNICODE_JOINER] = UTF8_CONTROL,
    };
    return classes[unicode_kind(character)];
}

uint32_t utf8_small(uint32_t character)
{
    if (character < 0x80)
        return character >= 'A' && character <= 'Z' ? character - 'A' + 'a' : character;
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)character);
}

static utf8proc_category_t category_of(uint32_t character)
{
    return utf8proc_category((utf8proc_int32_t)character);
}

bool utf8_is_punctuation(uint32_t character)
{
    if (unicode_kind(character) == UNICODE_LETTER) /* as most are: in one look */
        return false;
    utf8proc_category_t category = category_of(character);
    if (character == 0x166D || character == 0x111C9)
        return true; /* they were, then */
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO &&
           !unicode_is_after_8(character);
}

bool utf8_is_nonspacing(uint32_t character)
{
    if (unicode_kind(character) == UNICODE_LETTER) /* as most are: in one look */
        return false;
    if (character == 0x1734 || character == 0x1171E)
        return true; /* they were, then */
    return category_of(character) == UTF8PROC_CATEGORY_MN && !unicode_is_after_8(character);
}

bool utf8_is_other(uint32_t character)
{
    if (unicode_kind(character) == UNICODE_LETTER) /* as most are: in one look */
        return false;
    utf8proc_category_t category = category_of(character);
    return (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
            category == UTF8PROC_CATEGORY_CO) &&
           !unicode_is_after_8(character);
}

bool utf8_is_mark(uint32_t character)
{
    if (character == 0x1CF2 || character == 0x1CF3)
        return true; /* they were, then */
    return unicode_kind(character) == UNICODE_MARK && !unicode_is_mark_after_9(character);
}

bool utf8_is_visible(uint32_t character)
{
    enum { ZERO_WIDTH_JOINER = 0x200D, ZERO_WIDTH_NON_JOINER = 0x200C };
    if (character == ZERO_WIDTH_JOINER || character == ZERO_WIDTH_NON_JOINER)
        return true; /* parts of emoji and of Indic and Persian words */
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)character);
    if (property->ignorable && property->category == UTF8PROC_CATEGORY_LO)
        return false; /* Hangul fillers: letters without a shape */
    enum utf8_class class = utf8_class(character);
    return class != UTF8_CONTROL && (class != UTF8_SPACE || character == ' ');
}

size_t utf8_grapheme(const char *bytes, size_t size)
{
    uint32_t previous = 0;
    utf8proc_int32_t state = 0;
    size_t at = utf8_decode(&previous, bytes, size);
    while (at > 0 && at < size) {
        uint32_t next = 0;
        size_t length = utf8_decode(&next, bytes + at, size - at);
        if (length == 0 || utf8proc_grapheme_break_stateful((utf8proc_int32_t)previous,
                                                            (utf8proc_int32_t)next, &state))
            break;
        at += length;
        previous = next;
    }
    return at;
}

/* A grapheme is as wide as its widest character; an emoji made of several is one emoji. */
static size_t grapheme_width(const char *bytes, size_t size)
{
    size_t widest = 0;
    for (size_t at = 0; at < size;) {
        uint32_t c = 0;
        size_t length = utf8_decode(&c, bytes + at, size - at);
        bool regional = c >= 0x1F1E6 && c <= 0x1F1FF; /* two of them make a flag */
        bool wide = regional || c == VARIATION_16;
        int width = wide ? 2 : utf8proc_charwidth((utf8proc_int32_t)c);
        if (width > 0 && (size_t)width > widest)
            widest = (size_t)width;
        at += length ? length : 1;
    }
    return widest;
}

static bool is_plain(char c)
{
    return c >= ' ' && c <= '~';
}

size_t utf8_width(const char *bytes, size_t size)
{
    size_t columns = 0;
    for (size_t at = 0; at < size;) {
        if (is_plain(bytes[at]) && (at + 1 == size || is_plain(bytes[at + 1]))) {
            columns++; /* nothing joins it, and no table needs to say so */
            at++;
            continue;
        }
        size_t length = utf8_grapheme(bytes + at, size - at);
        if (length == 0)
            length = 1;
        columns += grapheme_width(bytes + at, length);
        at += length;
    }
    return columns;
}

bool utf8_ends_leftwards(const char *bytes, size_t size)
{
    bool leftwards = false;
    for (size_t at = 0; at < size;) {
        uint32_t c = 0;
        size_t length = utf8_decode(&c, bytes + at, size - at);
        utf8proc_propval_t class =
            length ? utf8proc_get_property((utf8proc_int32_t)c)->bidi_class : 0;
        if (class == UTF8PROC_BIDI_CLASS_R || class == UTF8PROC_BIDI_CLASS_AL)
            leftwards = true;
        else if (class == UTF8PROC_BIDI_CLASS_L)
            leftwards = false;
        at += length ? length : 1;
    }
    return leftwards;
}
