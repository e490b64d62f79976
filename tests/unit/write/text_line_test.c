#include "write/text.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"

TEST(cells_are_padded_or_shortened_to_their_width)
{
    static const struct {
        const char *text;
        size_t width;
        const char *left;
        const char *right;
    } cases[] = {
        {"", 3, "   ", "   "},
        {"is", 4, "is  ", "  is"},
        {"Life", 4, "Life", "Life"},
        {"dessert", 6, "desse…", "desse…"},
        {"dessert", 1, "…", "…"},
        {"dessert", 0, "", ""},
        {"爱", 4, "爱  ", "  爱"},
        {"自然语言", 8, "自然语言", "自然语言"},
        {"自然语言", 7, "自然语…", "自然语…"},
        {"自然语言", 6, "自然… ", " 自然…"},
        {"🍰", 3, "🍰 ", " 🍰"},
        {"🍰🍰", 3, "🍰…", "🍰…"},
        {"e\xCC\x81t\xC3\xA9", 4, "e\xCC\x81t\xC3\xA9 ", " e\xCC\x81t\xC3\xA9"},
        {"e\xCC\x81t\xC3\xA9", 2, "e\xCC\x81…", "e\xCC\x81…"},
        {"\xFF"
         "dessert\xC3",
         6,
         "\xFF"
         "desse…",
         "\xFF"
         "desse…"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf left = {0};
        struct buf right = {0};
        buf_text(&left, "");
        buf_text(&right, "");
        text_cell(&left, cases[i].text, cases[i].width, false);
        text_cell(&right, cases[i].text, cases[i].width, true);
        ck_assert_str_eq(left.bytes, cases[i].left);
        ck_assert_str_eq(right.bytes, cases[i].right);
        buf_release(&left);
        buf_release(&right);
    }
}

TEST(text_is_wrapped_at_blanks)
{
    static const struct {
        const char *text;
        size_t column, indent, width;
        const char *lines;
    } cases[] = {
        {"", 0, 0, 10, "\n"},
        {"one two three", 0, 2, 13, "one two three\n"},
        {"one two three", 0, 2, 12, "one two\n  three\n"},
        {"one two three", 6, 1, 13, "one two\n three\n"},
        {"one two three", 0, 3, 1, "one\n   two\n   three\n"},
        {"one two three", 0, 2, 0, "one two three\n"},
        {"爱 🍰 é", 0, 0, 5, "爱 🍰\né\n"},
        {"em\xC3z \xFF", 0, 0, 3, "em\xC3z\n\xFF\n"},
        {"\xC3\xC3z \xE7\x88", 0, 0, 9, "\xC3\xC3z \xE7\x88\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stream out = {0};
        memory_stream_open(&out);
        text_wrap(&out, cases[i].text, cases[i].column, cases[i].indent, cases[i].width);
        struct file written = memory_stream_take(&out);
        ck_assert_uint_eq(written.size, strlen(cases[i].lines));
        ck_assert_mem_eq(written.bytes, cases[i].lines, written.size);
        file_release(&written);
    }
}

TEST(a_long_line_is_shortened)
{
    static const struct {
        const char *text;
        size_t width;
        const char *shortened;
    } cases[] = {
        {"", 4, ""},
        {"life", 0, "life"},
        {"life", 4, "life"},
        {"lives", 4, "liv…"},
        {"我爱自", 4, "我…"},
        {"li\xC3ves\xC3", 4, "li\xC3v…"},
        {"\x1b[48;5;24mli\x1b[0mfe", 4, "\x1b[48;5;24mli\x1b[0mfe"},
        {"\x1b[48;5;24mli\x1b[0mves", 4, "\x1b[48;5;24mli\x1b[0mv…"},
        {"l\x1b[48;5;24mives\x1b[0m", 4, "l\x1b[48;5;24miv…\x1b[0m"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf line = {0};
        buf_text(&line, cases[i].text);
        text_shorten(&line, cases[i].width);
        ck_assert_str_eq(line.bytes, cases[i].shortened);
        buf_release(&line);
    }
}

TEST(trailing_blanks_are_removed)
{
    struct stream out = {0};
    struct buf line = {0};
    struct err err = {0};
    memory_stream_open(&out);
    ck_assert_int_eq(text_end(&out, &line, &err), 0);
    buf_text(&line, "  a b   ");
    ck_assert_int_eq(text_end(&out, &line, &err), 0);
    buf_text(&line, "   ");
    ck_assert_int_eq(text_end(&out, &line, &err), 0);
    struct file written = memory_stream_take(&out);
    ck_assert_uint_eq(written.size, 8);
    ck_assert_mem_eq(written.bytes, "\n  a b\n\n", 8);
    file_release(&written);
    buf_release(&line);
}

TEST(long_names_of_models_are_shortened_at_the_beginning)
{
    static const struct {
        const char *names[3];
        size_t width;
        const char *seen[3];
    } cases[] = {
        {{"few/step-010", "few/step-020", "few/step-040"}, 12, {NULL, NULL, NULL}},
        {{"few/step-010", "few/step-020", "few/step-040"},
         10,
         {"…/step-010", "…/step-020", "…/step-040"}},
        {{"few/step-010", "few/step-020", "few/step-040"}, 6, {"…p-010", "…p-020", "…p-040"}},
        {{"a/b/step-010", "few/step-010", "tiny"}, 3, {"…10", "…10", "…ny"}},
        {{"step-8", "step-1000", "step-2000"}, 6, {NULL, "…-1000", "…-2000"}},
        /* whole characters, with the widths of a terminal */
        {{"自然语言一", "自然语言二", "e\xCC\x81"}, 6, {"…言一", "…言二", NULL}},
        {{"few/step-010", "few/step-020", "few/step-040"}, 1, {"…", "…", "…"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t k = 0; k < 3; k++) {
            struct label labels[3];
            struct axis axis = {"model", 3, labels, 0};
            struct buf line = {0};
            const char *seen = cases[i].seen[k];
            for (size_t j = 0; j < 3; j++)
                labels[j] = (struct label){cases[i].names[j], "", ""};
            text_label(&line, &axis, k, cases[i].width);
            ck_assert_msg(strcmp(line.bytes, seen ? seen : cases[i].names[k]) == 0, "%s in %zu: %s",
                          cases[i].names[k], cases[i].width, line.bytes);
            buf_release(&line);
            axis.name = "key"; /* tokens are not shortened */
            text_label(&line, &axis, k, cases[i].width);
            ck_assert_str_eq(line.bytes, cases[i].names[k]);
            buf_release(&line);
        }
}

TEST(omitted_lines_leave_lines_at_both_ends)
{
    static const struct {
        size_t size, lines;
        size_t front, back;
    } cases[] = {
        {5, 0, 5, 0}, {5, 5, 5, 0}, {6, 5, 6, 0}, {7, 5, 2, 2}, {60, 6, 3, 2},
        {5, 3, 1, 1}, {5, 1, 1, 1}, {2, 1, 2, 0}, {1, 1, 1, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text_cut cut = text_cut_lines(cases[i].size, cases[i].lines);
        ck_assert_uint_eq(cut.front, cases[i].front);
        ck_assert_uint_eq(cut.back, cases[i].back);
        ck_assert_uint_eq(cut.size, cases[i].size);
    }
}
