#include "base/utf8.h"

#include "../unit.h"

static const struct {
    uint32_t character;
    enum unicode_kind kind;
} characters[] = {
    {0x00, UNICODE_CONTROL},
    {0x1B, UNICODE_CONTROL},
    {0x7F, UNICODE_CONTROL},
    {0xAD, UNICODE_CONTROL},
    {0x200B, UNICODE_CONTROL},
    {0xFEFF, UNICODE_CONTROL},
    {0xD800, UNICODE_CONTROL},
    {0xE000, UNICODE_CONTROL},
    {0x378, UNICODE_CONTROL},
    {0x10FFFF, UNICODE_CONTROL},
    {'A', UNICODE_LETTER},
    {'z', UNICODE_LETTER},
    {0xAA, UNICODE_LETTER},
    {0xDF, UNICODE_LETTER},
    {0x1C5, UNICODE_LETTER},
    {0x2B0, UNICODE_LETTER},
    {0x5D0, UNICODE_LETTER},
    {0x7231, UNICODE_LETTER},
    {0x1F88, UNICODE_LETTER},
    {0x2EBF0, UNICODE_LETTER},
    {0x301, UNICODE_MARK},
    {0x93E, UNICODE_MARK},
    {0x20DD, UNICODE_MARK},
    {0xFE0F, UNICODE_MARK},
    {'0', UNICODE_DIGIT},
    {0x663, UNICODE_DIGIT},
    {0x1D7CE, UNICODE_DIGIT},
    {0x2167, UNICODE_LETTER_NUMBER},
    {0x3007, UNICODE_LETTER_NUMBER},
    {0xB2, UNICODE_OTHER_NUMBER},
    {0xBD, UNICODE_OTHER_NUMBER},
    {0x2460, UNICODE_OTHER_NUMBER},
    {'\t', UNICODE_SPACE},
    {'\r', UNICODE_SPACE},
    {' ', UNICODE_SPACE},
    {0x85, UNICODE_SPACE},
    {0xA0, UNICODE_SPACE},
    {0x1680, UNICODE_SPACE},
    {0x200A, UNICODE_SPACE},
    {0x2028, UNICODE_SPACE},
    {0x3000, UNICODE_SPACE},
    {'_', UNICODE_CONNECTOR},
    {0x203F, UNICODE_CONNECTOR},
    {'!', UNICODE_SIGN},
    {'$', UNICODE_SIGN},
    {0x3002, UNICODE_SIGN},
    {0x1F370, UNICODE_SIGN},
    {0xFFFD, UNICODE_SIGN},
    {0x24B6, UNICODE_ALPHABETIC},
    {0x1F170, UNICODE_ALPHABETIC},
    {0x200C, UNICODE_JOINER},
    {0x200D, UNICODE_JOINER},
};

TEST(every_kind_has_its_characters)
{
    for (size_t i = 0; i < COUNT(characters); i++)
        ck_assert_msg(unicode_kind(characters[i].character) == characters[i].kind, "U+%04X is %d",
                      (unsigned)characters[i].character,
                      (int)unicode_kind(characters[i].character));
}

TEST(kinds_have_the_counts_of_unicode_16)
{
    static const struct {
        enum unicode_kind kind;
        size_t count;
    } cases[] = {
        {UNICODE_LETTER, 141028}, {UNICODE_MARK, 2501},         {UNICODE_DIGIT, 760},
        {UNICODE_SPACE, 25},      {UNICODE_LETTER_NUMBER, 236}, {UNICODE_OTHER_NUMBER, 915},
        {UNICODE_CONNECTOR, 10},  {UNICODE_JOINER, 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t count = 0;
        for (uint32_t at = 0; at <= UNICODE_LAST; at++)
            count += unicode_kind(at) == cases[i].kind;
        ck_assert_msg(count == cases[i].count, "kind %d: %zu", (int)cases[i].kind, count);
    }
    ck_assert_str_eq(unicode_version, "16.0.0");
}

/* Counts: all characters that Hugging Face's library removes or splits at, one by one. */
TEST(marks_punctuation_and_controls_agree_with_unicode_8)
{
    static const struct {
        bool (*is)(uint32_t character);
        size_t count;
        uint32_t one, none; /* `none` is newer, or not assigned */
    } cases[] = {
        {utf8_is_punctuation, 726 - 9, 0x2014, 0x61D}, /* without nine symbols of ASCII */
        {utf8_is_nonspacing, 1567, 0x301, 0x11A01},
        {utf8_is_other, 137682, 0xE000, 0x2FE0},
        {utf8_is_mark, 2097, 0x903, 0x1ACF},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t count = 0;
        for (uint32_t c = 1; c <= 0x10FFFF; c++)
            count += (c < 0xD800 || c > 0xDFFF) && cases[i].is(c);
        ck_assert_uint_eq(count, cases[i].count);
        ck_assert(cases[i].is(cases[i].one) && !cases[i].is(cases[i].none));
    }
}
