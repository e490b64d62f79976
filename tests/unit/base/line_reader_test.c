#include "base/line_reader.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/heap.h"

FIXTURE(scratch_enter, scratch_leave)

TEST(lines_come_one_by_one)
{
    static const struct {
        const char *text;
        const char *lines[4];
        bool whole; /* the last */
    } cases[] = {
        {"", {NULL}, true},
        {"a", {"a"}, false},
        {"a\n", {"a"}, true},
        {"\n", {""}, true},
        {"a\n\nb\n", {"a", "", "b"}, true},
        {"a\nb", {"a", "b"}, false},
        {"\na\n\n", {"", "a", ""}, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        scratch_write("text", cases[i].text);
        struct line_reader reader = {.descriptor = open("text", O_RDONLY)};
        bool more = true;
        for (size_t n = 0; cases[i].lines[n]; n++) {
            ck_assert_int_eq(line_reader_next(&reader, &more, NULL), 0);
            ck_assert(more);
            ck_assert_uint_eq(reader.size, strlen(cases[i].lines[n]));
            ck_assert_mem_eq(reader.line, cases[i].lines[n], reader.size);
            ck_assert(reader.whole == (cases[i].whole || cases[i].lines[n + 1] != NULL));
        }
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(line_reader_next(&reader, &more, NULL), 0);
            ck_assert(!more);
        }
        close(reader.descriptor);
        line_reader_release(&reader);
    }
}

TEST(lines_may_be_longer_than_any_buffer)
{
    enum { LINES = 40 };
    FILE *file = fopen("text", "w");
    for (size_t n = 0; n < LINES; n++) {
        for (size_t i = 0; i < n * n * 300; i++)
            fputc('a' + (int)((n + i) % 26), file);
        fputc('\n', file);
    }
    ck_assert_int_eq(fclose(file), 0);
    struct line_reader reader = {.descriptor = open("text", O_RDONLY)};
    bool more = true;
    for (size_t n = 0; n < LINES; n++) {
        ck_assert_int_eq(line_reader_next(&reader, &more, NULL), 0);
        ck_assert(more && reader.whole);
        ck_assert_uint_eq(reader.size, n * n * 300);
        size_t same = 0;
        while (same < reader.size && reader.line[same] == 'a' + (int)((n + same) % 26))
            same++;
        ck_assert_uint_eq(same, reader.size);
    }
    close(reader.descriptor);
    line_reader_release(&reader);
}

TEST(what_cannot_be_read_is_an_error)
{
    struct err err = {0};
    struct line_reader reader = {.descriptor = open(".", O_RDONLY), .name = "here"};
    bool more = true;
    ck_assert_int_eq(line_reader_next(&reader, &more, &err), -1);
    ck_assert_str_eq(err.text, "cannot read 'here': Is a directory");
    line_reader_release(&reader);
    err = (struct err){0};
    heap_fail_at(1, 0);
    ck_assert_int_eq(line_reader_next(&reader, &more, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
}
