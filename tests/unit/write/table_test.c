#include "write/table.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"

static void expect(struct table *table, const char *expected)
{
    struct err err = {0};
    ck_assert_int_eq(table_close(table, &err), 0);
    struct file written = memory_stream_take(table->out);
    ck_assert_msg(written.size == strlen(expected) &&
                      memcmp(written.bytes, expected, written.size) == 0,
                  "%.*s", (int)written.size, written.bytes);
    file_release(&written);
}

TEST(every_column_has_its_gap_width_and_side)
{
    static const struct table_column columns[] = {
        {"token", .width = 6, .left = true, .shortens = true},
        {"id", .gap = 2, .width = 4},
        {.gap = 1, .width = 3, .repeat = 2},
        {"text", .gap = 2},
    };
    struct stream out = {0};
    struct table table = {.out = &out, .columns = columns, .count = 4};
    memory_stream_open(&out);
    table_titles(&table);
    table_text(&table, "dessert");
    table_number(&table, 12345);
    table_text(&table, "爱");
    table_text(&table, "c");
    table_text(&table, "end ");
    table_end(&table);
    table_text(&table, "爱");
    table_text(&table, "1 µs");
    table_end(&table);
    expect(&table, "token     id          text\n"
                   "desse…  12345  爱   c  end\n"
                   "爱      1 µs\n");
}

TEST(a_line_is_shortened_to_the_page_and_another_table_stands_beside)
{
    static const struct table_column columns[] = {{.width = 3}, {.gap = 1, .width = 2}};
    struct stream out = {0};
    struct table table = {.out = &out, .columns = columns, .count = 2, .page = 14};
    memory_stream_open(&out);
    for (int i = 0; i < 2; i++) {
        table_text(&table, "a");
        table_text(&table, "b");
        table_beside(&table, 4);
        table_text(&table, "c");
        table_text(&table, i ? "long" : "d");
        table_end(&table);
    }
    expect(&table, "  a  b      c…\n"
                   "  a  b      c…\n");
}

TEST(a_column_gives_the_page_what_others_need)
{
    static const struct {
        size_t least, page, width;
    } cases[] = {
        {4, 0, 30}, {4, 100, 30}, {4, 52, 30}, {4, 51, 29}, {4, 26, 4},
        {4, 25, 4}, {4, 1, 4},    {0, 22, 0},  {0, 1, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct table_column columns[] = {
            {.width = 5}, {.gap = 2, .width = 30}, {.gap = 2, .width = 13}};
        table_narrow(columns, COUNT(columns), 1, cases[i].least, cases[i].page);
        ck_assert_uint_eq(columns[0].width, 5);
        ck_assert_uint_eq(columns[1].width, cases[i].width);
        ck_assert_uint_eq(columns[2].width, 13);
    }
}
