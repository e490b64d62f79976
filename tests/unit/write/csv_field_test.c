#include "write/format.h"

#include "../unit.h"

TEST(a_field_is_quoted_if_necessary)
{
    static const struct {
        const char *text;
        const char *field;
    } cases[] = {
        {"", ""},
        {"Life", "Life"},
        {"0:Life", "0:Life"},
        {" the ", " the "},
        {"it's", "it's"},
        {"爱🍰", "爱🍰"},
        {",", "\",\""},
        {"\"", "\"\"\"\""},
        {"\"\"", "\"\"\"\"\"\""},
        {"a\"b,c", "\"a\"\"b,c\""},
        {"\n", "\"\n\""},
        {"\r", "\"\r\""},
        {"=cmd|'/C calc'!A0", "\"=cmd|'/C calc'!A0\""},
        {"+", "\"+\""},
        {"-1+2", "\"-1+2\""},
        {"-2e+30", "-2e+30"},
        {"@x", "\"@x\""},
        {"\tx", "\"\tx\""},
        {"a=b", "a=b"},
        {"\x1b[31mred\x07", "\\x1b[31mred\\x07"},
        {"\x7F\xC2\x9B", "\\x7f\\xc2\\x9b"},
        {"co\xC2\xADop\xE2\x80\xAE", "co\xC2\xADop\xE2\x80\xAE"},
        {"\xEF\xBB\xBF\xEE\x80\x80", "\xEF\xBB\xBF\xEE\x80\x80"},
        {"\xC2\xA0\t", "\xC2\xA0\t"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        buf_text(&out, "");
        csv_field(&out, cases[i].text);
        ck_assert_str_eq(out.bytes, cases[i].field);
        buf_release(&out);
    }
}

TEST(bytes_that_are_not_utf8_become_replacement_characters)
{
    static const struct {
        const char *text;
        const char *field;
    } cases[] = {
        {"\xC3", "\xEF\xBF\xBD"},
        {"a\xC3z", "a\xEF\xBF\xBDz"},
        {"\xFF\xFE", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xC3\"", "\"\xEF\xBF\xBD\"\"\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        csv_field(&out, cases[i].text);
        ck_assert_str_eq(out.bytes, cases[i].field);
        buf_release(&out);
    }
}
