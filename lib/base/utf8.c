#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/buf.h"
#include "base/memory.h"

/* --- kinds of characters ---------------------------------------------------------------------- */

uint8_t unicode_page_of[UNICODE_LAST / UNICODE_PAGE + 1];
uint8_t unicode_pages[UNICODE_PAGES_MAX][UNICODE_PAGE];

/* Add a run of characters of one kind. Page `kind` contains only this kind; pages with several
 * kinds follow these pages. */
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

/* --- characters younger than the tables of Hugging Face's library -----------------------------
 *
 * Marks, punctuation and controls added after Unicode 8; marks and characters with a normal form
 * added after Unicode 9. A range may span unassigned characters, but no older ones of its kind. */

/* clang-format off */
static const struct unicode_range after_8[] = {
    {0x61D, 0x61D}, {0x7FD, 0x7FD}, {0x890, 0x8E2}, {0x9FD, 0x9FE}, {0xA76, 0xA76},
    {0xAFA, 0xAFF}, {0xB55, 0xB55}, {0xC04, 0xC3C}, {0xC77, 0xC77}, {0xC84, 0xC84},
    {0xD00, 0xD00}, {0xD3B, 0xD3C}, {0xD81, 0xD81}, {0xEBA, 0xEBA}, {0xECE, 0xECE},
    {0x180F, 0x1886}, {0x1ABF, 0x1AEB}, {0x1B4E, 0x1B4F}, {0x1B7D, 0x1B7F}, {0x1DF6, 0x1DFB},
    {0x2E43, 0x2E5D}, {0xA82C, 0xA82C}, {0xA8C5, 0xA8C5}, {0xA8FF, 0xA8FF}, {0xA9BD, 0xA9BD},
    {0x10D24, 0x10F89}, {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111C9, 0x111C9},
    {0x111CF, 0x111CF}, {0x1123E, 0x11241}, {0x1133B, 0x1133B}, {0x113BB, 0x1145E},
    {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF}, {0x12FF1, 0x1612F},
    {0x16D6D, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E6F5},
    {0x1E944, 0x1E95F},
};

static const struct unicode_range marks_after_9[] = {
    {0x7FD, 0x7FD}, {0x897, 0x8D3}, {0x9FE, 0x9FE}, {0xAFA, 0xAFF}, {0xB55, 0xB55},
    {0xC04, 0xC3C}, {0xCF3, 0xD00}, {0xD3B, 0xD3C}, {0xD81, 0xD81}, {0xEBA, 0xEBA},
    {0xECE, 0xECE}, {0x1715, 0x1715}, {0x180F, 0x180F}, {0x1ABF, 0x1AEB}, {0x1CF7, 0x1CF7},
    {0x1DF6, 0x1DFA}, {0xA82C, 0xA82C}, {0xA8FF, 0xA8FF}, {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF},
    {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x113B8, 0x113E2}, {0x1145E, 0x1145E},
    {0x1182C, 0x11B67}, {0x11D31, 0x1612F}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87},
    {0x16FE4, 0x16FF1}, {0x1CF00, 0x1CF46}, {0x1E08F, 0x1E6F5},
};

static const struct unicode_range forms_after_9[] = {
    {0x32FF, 0x32FF}, {0xA7F1, 0xA7F4}, {0xAB69, 0xAB69}, {0x105C9, 0x105E4}, {0x10781, 0x107BA},
    {0x11383, 0x11391}, {0x113C5, 0x113C8}, {0x11938, 0x11938}, {0x16121, 0x16128},
    {0x16D68, 0x16D6A}, {0x1CCD6, 0x1CCF9}, {0x1E030, 0x1E06D}, {0x1F16C, 0x1F16C},
    {0x1FBF0, 0x1FBF9},
};
/* clang-format on */

bool unicode_is_in(const struct unicode_range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count && ranges[i].first <= character; i++)
        if (character <= ranges[i].last)
            return true;
    return false;
}

bool unicode_is_form_after_9(uint32_t character)
{
    return UNICODE_IS_IN(forms_after_9, character);
}

bool unicode_is_word(enum unicode_kind kind)
{
    return kind != UNICODE_CONTROL && kind != UNICODE_SPACE && kind != UNICODE_SIGN &&
           kind != UNICODE_OTHER_NUMBER;
}

bool unicode_is_unspaced(uint32_t character)
{
    static const struct unicode_range blocks[] = {
        {0x0E00, 0x0EFF},   /* Thai, Lao */
        {0x1000, 0x109F},   /* Myanmar */
        {0x1780, 0x17FF},   /* Khmer */
        {0x1950, 0x19DF},   /* Tai Le, New Tai Lue */
        {0x1A20, 0x1AAF},   /* Tai Tham */
        {0x1B00, 0x1B7F},   /* Balinese */
        {0x3000, 0x312F},   /* symbols of East Asia, Hiragana, Katakana, Bopomofo */
        {0x3190, 0x31FF},   /* Kanbun, Bopomofo, strokes, Katakana */
        {0x3400, 0x4DBF},   /* Han */
        {0x4E00, 0xA4CF},   /* Han, Yi */
        {0xA980, 0xA9FF},   /* Javanese, Myanmar */
        {0xAA60, 0xAADF},   /* Myanmar, Tai Viet */
        {0xF900, 0xFAFF},   /* Han */
        {0xFF66, 0xFF9F},   /* halfwidth Katakana */
        {0x16FE0, 0x18DFF}, /* symbols, Tangut, Khitan */
        {0x1AFF0, 0x1B2FF}, /* Kana, Nushu */
        {0x20000, 0x3FFFF}, /* Han */
    };
    return UNICODE_IS_IN(blocks, character);
}

/* --- characters in bytes ---------------------------------------------------------------------- */

size_t utf8_decode_long(uint32_t *character, const char *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (size < 2 || b[0] < 0xC2 || b[0] > 0xF4 || !utf8_continues(bytes[1]))
        return 0;
    size_t length = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    uint32_t c = (b[0] & 0x1Fu) << 6 | (b[1] & 0x3Fu);
    if (length > 2) {
        if (size < length || !utf8_continues(bytes[2]))
            return 0;
        c = c << 6 | (b[2] & 0x3Fu);
        if (length == 3 ? c < 0x800 || (c >= 0xD800 && c <= 0xDFFF) : !utf8_continues(bytes[3]))
            return 0;
    }
    if (length == 4) {
        /* the mask 0x1F kept one bit too many of the first byte */
        c = (c << 6 | (b[3] & 0x3Fu)) & 0x1FFFFF;
        if (c < 0x10000 || c > UNICODE_LAST)
            return 0;
    }
    *character = c;
    return length;
}

/* The number of ASCII bytes at the start: eight at a time, then one by one. */
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

/* True for characters that have one of the categories in Unicode 8. This includes the two
 * characters `moved`, which have moved to another category since. */
static bool is_of(uint32_t character, unsigned categories, const uint32_t moved[2])
{
    /* most characters are letters: one lookup is enough */
    if (unicode_kind(character) == UNICODE_LETTER)
        return false;
    if (character == moved[0] || character == moved[1])
        return true;
    return categories >> utf8proc_category((utf8proc_int32_t)character) & 1 &&
           !UNICODE_IS_IN(after_8, character);
}

#define CATEGORY(name) (1u << UTF8PROC_CATEGORY_##name)

bool utf8_is_punctuation(uint32_t character)
{
    static const uint32_t moved[] = {0x166D, 0x111C9};
    return is_of(character,
                 CATEGORY(PC) | CATEGORY(PD) | CATEGORY(PS) | CATEGORY(PE) | CATEGORY(PI) |
                     CATEGORY(PF) | CATEGORY(PO),
                 moved);
}

bool utf8_is_nonspacing(uint32_t character)
{
    static const uint32_t moved[] = {0x1734, 0x1171E};
    return is_of(character, CATEGORY(MN), moved);
}

bool utf8_is_other(uint32_t character)
{
    static const uint32_t none[] = {UINT32_MAX, UINT32_MAX};
    return is_of(character, CATEGORY(CC) | CATEGORY(CF) | CATEGORY(CO), none);
}

bool utf8_is_mark(uint32_t character)
{
    if (character == 0x1CF2 || character == 0x1CF3)
        return true; /* the character was a mark in Unicode 9 */
    return unicode_kind(character) == UNICODE_MARK && !UNICODE_IS_IN(marks_after_9, character);
}

bool utf8_is_visible(uint32_t character)
{
    enum { ZERO_WIDTH_JOINER = 0x200D, ZERO_WIDTH_NON_JOINER = 0x200C };
    if (character == ZERO_WIDTH_JOINER || character == ZERO_WIDTH_NON_JOINER)
        return true; /* parts of emoji and of Indic and Persian words */
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)character);
    if (property->ignorable && property->category == UTF8PROC_CATEGORY_LO)
        return false; /* Hangul fillers: invisible letters */
    enum utf8_class class = utf8_class(character);
    return class != UTF8_CONTROL && (class != UTF8_SPACE || character == ' ');
}

size_t utf8_grapheme(const char *bytes, size_t size)
{
    uint32_t previous = 0;
    utf8proc_int32_t state = 0;
    size_t at = utf8_decode(&previous, bytes, size);
    if (at == 0)
        return size > 0;
    while (at < size) {
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

/* A grapheme is as wide as its widest character; an emoji made of several characters is
 * one emoji. */
static size_t grapheme_width(const char *bytes, size_t size)
{
    enum { VARIATION_SELECTOR_16 = 0xFE0F };
    size_t widest = 0;
    for (size_t at = 0; at < size;) {
        uint32_t c = 0;
        size_t length = utf8_decode(&c, bytes + at, size - at);
        bool regional = c >= 0x1F1E6 && c <= 0x1F1FF;       /* two such characters make a flag */
        bool wide = regional || c == VARIATION_SELECTOR_16; /* U+FE0F selects the emoji form */
        int width = wide ? 2 : utf8proc_charwidth((utf8proc_int32_t)c);
        if (width > 0 && (size_t)width > widest)
            widest = (size_t)width;
        at += length ? length : 1;
    }
    return widest;
}

size_t utf8_width(const char *bytes, size_t size)
{
    size_t columns = 0;
    for (size_t at = 0; at < size;) {
        char next = at + 1 < size ? bytes[at + 1] : ' ';
        if (bytes[at] >= ' ' && bytes[at] <= '~' && next >= ' ' && next <= '~') {
            columns++; /* nothing combines with the character: no lookup */
            at++;
            continue;
        }
        size_t length = utf8_grapheme(bytes + at, size - at);
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

/* --- normal forms ----------------------------------------------------------------------------- */

enum {
    FEW = 256,           /* most segments need at most this number of characters */
    DECOMPOSED_MAX = 18, /* number of characters of the longest decomposition, that of U+FDFA */
    CLASSES = 256,       /* number of combining classes, by which marks are sorted */
};

static bool is_compatible(enum unicode_form form)
{
    return form == UNICODE_NFKC || form == UNICODE_NFKD;
}

static bool is_composed(enum unicode_form form)
{
    return form == UNICODE_NFC || form == UNICODE_NFKC;
}

static bool is_between(uint32_t c, uint32_t first, uint32_t last)
{
    return first <= c && c <= last;
}

/* True for characters that may combine with the character before: marks, vowels and finals of
 * Hangul and, in compatibility forms, their halfwidth and separate variants. */
static bool attaches(enum unicode_form form, uint32_t c)
{
    if (c < 0x300)
        return false;
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)c);
    if (property->combining_class || property->category == UTF8PROC_CATEGORY_MN ||
        property->category == UTF8PROC_CATEGORY_MC || is_between(c, 0x1160, 0x11FF))
        return true;
    return is_compatible(form) && (is_between(c, 0xFF9E, 0xFFDC) || is_between(c, 0x3131, 0x318E));
}

/* True if a character certainly does not change when nothing combines with it. */
static bool stays(enum unicode_form form, uint32_t c)
{
    if (c < 0x80 || (form == UNICODE_NFC && c < 0x300))
        return true;
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)c);
    if (property->decomp_seqindex != UINT16_MAX)
        return unicode_is_form_after_9(c);
    return is_composed(form) || !is_between(c, 0xAC00, 0xD7A3);
}

/* The end of a run of characters whose first bytes show that they do not change and combine with
 * nothing. U+0300 begins with 0xCC; only Chinese characters begin with 0xE5 to 0xE9. */
static size_t plain_end(enum unicode_form form, const char *text, size_t size, size_t at)
{
    const unsigned char limit = form == UNICODE_NFC ? 0xCC : 0x80;
    for (; at < size; at++) {
        unsigned char byte = (unsigned char)text[at];
        if (byte >= 0xE5 && byte <= 0xE9)
            at += 2;
        else if (byte >= limit)
            break;
    }
    return at < size ? at : size;
}

size_t unicode_form_end(enum unicode_form form, const char *text, size_t size, size_t at,
                        bool *all_stay)
{
    uint32_t c = 0, next = 0;
    size_t end = at + utf8_step(&c, text + at, size - at);
    bool run = plain_end(form, text, end, at) == end || (stays(form, c) && !attaches(form, c));
    for (size_t length; end < size; end += length) {
        if (run && (end = plain_end(form, text, size, end)) == size)
            break;
        length = utf8_step(&next, text + end, size - end);
        bool joins = attaches(form, next);
        if (run && joins && utf8_before(text, end) > at) {
            end = utf8_before(text, end); /* the last character begins the next segment */
            break;
        }
        run = run && !joins;
        if (!joins && !(run && stays(form, next)))
            break;
        /* skip all further characters that equal this one */
        length = utf8_row_end(text, size, end, length) - end;
    }
    *all_stay = run;
    return end;
}

static int class_of(utf8proc_int32_t c)
{
    return utf8proc_get_property(c)->combining_class;
}

static void sort_all(utf8proc_int32_t *characters, utf8proc_int32_t *scratch, size_t count)
{
    for (size_t at = 0, end; at < count; at = end) {
        for (end = at; end < count; end++)
            if ((end == at || characters[end] != characters[end - 1]) && !class_of(characters[end]))
                break;
        bool is_sorted = true;
        for (size_t i = at + 1; i < end; i++)
            is_sorted &= characters[i] == characters[i - 1] ||
                         class_of(characters[i]) >= class_of(characters[i - 1]);
        if (!is_sorted) { /* sort the marks by class, stably */
            size_t first[CLASSES + 1] = {0};
            for (size_t i = at; i < end; i++)
                first[class_of(characters[i]) + 1]++;
            for (size_t class = 1; class <= CLASSES; class ++)
                first[class] += first[class - 1];
            for (size_t i = at; i < end; i++)
                scratch[first[class_of(characters[i])]++] = characters[i];
            memcpy(characters + at, scratch, (end - at) * sizeof *characters);
        }
        end += end == at;
    }
}

/* Write the decomposed characters of a text to `out`, unless it is NULL; returns their number. */
static size_t decompose(enum unicode_form form, utf8proc_int32_t *out, const char *text,
                        size_t size)
{
    utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    /* the decomposition of each character of a run of equal characters */
    utf8proc_int32_t parts[DECOMPOSED_MAX];
    utf8proc_ssize_t added = 0;
    size_t count = 0;
    int last = 0;
    if (is_compatible(form))
        options |= UTF8PROC_COMPAT;
    for (size_t at = 0, end; at < size; at = end) {
        uint32_t c = 0;
        size_t length = utf8_step(&c, text + at, size - at);
        end = utf8_row_end(text, size, at, length);
        added = 1;
        *parts = (utf8proc_int32_t)c;
        if (!unicode_is_form_after_9(c))
            added = utf8proc_decompose_char(*parts, parts, DECOMPOSED_MAX, options, &last);
        for (size_t i = at; out && i < end; i += length, out += added)
            memcpy(out, parts, (size_t)added * sizeof *parts);
        count += (end - at) / length * (size_t)added;
    }
    return count;
}

/* Append the characters; false, and nothing is added, if they equal the text. */
static bool write_form(struct buf *out, const utf8proc_int32_t *characters, size_t count,
                       const char *text, size_t size)
{
    size_t at = 0, i = 0;
    for (size_t length; i < count && at < size; i++, at += length) {
        uint32_t c = 0;
        length = utf8_step(&c, text + at, size - at);
        if (c != (uint32_t)characters[i])
            break;
    }
    if (i == count && at == size)
        return false;
    buf_bytes(out, text, at);
    for (; i < count; i++) {
        char bytes[4];
        buf_bytes(out, bytes, utf8_encode(bytes, (uint32_t)characters[i]));
    }
    return true;
}

bool unicode_form_put(enum unicode_form form, struct buf *out, const char *text, size_t size)
{
    utf8proc_int32_t few[2 * FEW];
    size_t most = size <= FEW / DECOMPOSED_MAX ? FEW : decompose(form, NULL, text, size);
    utf8proc_int32_t *characters = most <= FEW ? few : heap_alloc(most, 2 * sizeof *few, NULL);
    if (!characters) {
        out->out_of_memory = true;
        out->wanted_bytes = most;
        return true;
    }
    size_t count = decompose(form, characters, text, size);
    sort_all(characters, characters + most, count);
    if (is_composed(form))
        count = (size_t)utf8proc_normalize_utf32(characters, (utf8proc_ssize_t)count,
                                                 UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    bool changes = write_form(out, characters, count, text, size);
    if (characters != few)
        heap_free(characters);
    return changes;
}
