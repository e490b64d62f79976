#include "format/csv_read.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"

static struct arena arena;
static struct err err;

/* All records as `line:[field][field]…;`; an error is `!`, after which reading continues. */
static const char *read_all(struct buf *out, const char *text, size_t size, char separator)
{
    struct csv_reader reader = {text, text + size, 1, separator};
    struct csv_record record;
    buf_clear(out);
    buf_text(out, "");
    for (;;) {
        err = (struct err){0};
        if (csv_read(&reader, &record, &arena, &err)) {
            ck_assert_str_ne(err.text, "");
            buf_format(out, "%zu!;", record.line);
            continue;
        }
        if (!record.count)
            return out->bytes;
        buf_format(out, "%zu:", record.line);
        for (size_t i = 0; i < record.count; i++)
            buf_format(out, "[%s]", record.fields[i]);
        buf_text(out, ";");
    }
}

TEST(records_are_read_as_in_rfc_4180)
{
    static const struct {
        const char *text;
        const char *records;
    } cases[] = {
        {"", ""},
        {"\n\r\n\n", ""},
        {"a", "1:[a];"},
        {"a,b\nc,d\n", "1:[a][b];2:[c][d];"},
        {"a,b\r\nc,d\r\n", "1:[a][b];2:[c][d];"},
        {",\n,,", "1:[][];2:[][][];"},
        {"a\n\n\nb", "1:[a];4:[b];"},
        {"\"a,b\",c", "1:[a,b][c];"},
        {"\"a\"\"b\",\"\"\"\"", "1:[a\"b][\"];"},
        {"\"\",x", "1:[][x];"},
        {"\"two\nlines\",x\nnext", "1:[two\nlines][x];3:[next];"},
        {"5\" high,a\"\"b,\"c\"", "1:[5\" high][a\"\"b][c];"},
        {"\"Life is short, eat dessert\"\n", "1:[Life is short, eat dessert];"},
        {" a , b ", "1:[ a ][ b ];"},
        {"a\rb\n", "1:[a\rb];"},
        {"\"a\r\nb\"\r\n", "1:[a\r\nb];"},
    };
    struct buf out = {0};
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(read_all(&out, cases[i].text, strlen(cases[i].text), ','),
                         cases[i].records);
    buf_release(&out);
    arena_release(&arena);
}

TEST(other_separators_have_the_same_quotes)
{
    static const struct {
        char separator;
        const char *text, *records;
    } cases[] = {
        {';', "a,b;c\n\"d;\"\"\";e\r\n;", "1:[a,b][c];2:[d;\"][e];3:[][];"},
        {'\t', "a,b\tc;d\n\"e\tf\"\t", "1:[a,b][c;d];2:[e\tf][];"},
        {';', "\"a\",b", "1!;"},
        {'\t', "\"a\";b", "1!;"},
    };
    struct buf out = {0};
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(read_all(&out, cases[i].text, strlen(cases[i].text), cases[i].separator),
                         cases[i].records);
    buf_release(&out);
    arena_release(&arena);
}

TEST(an_invalid_record_skips_only_its_line)
{
    static const struct {
        const char *text;
        size_t size;
        const char *records;
    } cases[] = {
        {"a\n\"b", 4, "1:[a];2!;"},      {"\"b\nc\nd\n", 7, "1!;2:[c];3:[d];"},
        {"\"a\"b,c\nd", 8, "1!;2:[d];"}, {"\"a\" ,c\nd", 8, "1!;2:[d];"},
        {"a\0b\nc", 5, "1!;2:[c];"},
    };
    struct buf out = {0};
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(read_all(&out, cases[i].text, cases[i].size, ','), cases[i].records);
    buf_release(&out);
    arena_release(&arena);
}
