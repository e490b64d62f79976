#include "explain/explain_walk.h"

#include <string.h>

#include "../unit.h"

TEST(nothing_in_a_text_is_markup)
{
    static const char *const cases[][2] = {
        {"Life is short, eat dessert first.", "Life is short, eat dessert first."},
        {"a|b", "a\\|b"},
        {"*a* _b_ `c` ~d~", "\\*a\\* \\_b\\_ \\`c\\` \\~d\\~"},
        {"[a](b) <c> &amp;", "\\[a\\](b) \\<c\\> \\&amp;"},
        {"$x$ #1 ^2 @me", "\\$x\\$ \\#1 \\^2 \\@me"},
        {"\\x0d", "\\\\x0d"},
        {"-a- -- --- a.b ..", "-a- \\-- \\-\\-- a.b \\.."},
        {"\"it's\"", "\\\"it\\'s\\\""},
        {"爱␣é🍰", "爱␣é🍰"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        markdown_text(&out, cases[i][0], strlen(cases[i][0]));
        ck_assert_str_eq(out.bytes, cases[i][1]);
        buf_release(&out);
    }
}
