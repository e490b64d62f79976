#include <math.h>
#include <string.h>

#include "../../../cmd/output.h"
#include "../rigs/memory_stream.h"
#include "../unit.h"
#include "write/text.h"

static const struct label labels[] = {{"a", "0:a", "a"}, {"b", "1:b", "b,"}};
static const long long heads[] = {0, COLUMN_MISSING};
static const double scores[] = {0.123456, NAN};
static const double small[] = {-0.0, 1.234e-7};
static const struct column columns[] = {
    {.name = "text", .kind = COLUMN_LABEL, .flags = COLUMN_KEY, .values = labels},
    {.name = "head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = heads},
    {.name = "score", .title = "mean score", .digits = 4, .values = scores},
    {.name = "small", .digits = 2, .flags = COLUMN_TEXT_ONLY, .values = small},
};
static const struct table sample = {
    "it", {"token", 2, labels, 0}, columns, 4, .note = "That is all."};

static void expect(struct stream *out, int failed, const char *expected)
{
    ck_assert_int_eq(failed, 0);
    struct file written = memory_stream_take(out);
    ck_assert_msg(written.size == strlen(expected) &&
                      memcmp(written.bytes, expected, written.size) == 0,
                  "%.*s", (int)written.size, written.bytes);
    file_release(&written);
}

TEST(a_table_is_written_as_a_table)
{
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {0};
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &sample, &layout, &err),
           "text  head  mean score    small\n"
           "a        0      0.1235     0.00\n"
           "b                       1.2e-07\n"
           "\n"
           "That is all.\n");
}

/* A name that a file gives could look like more rows; data keep it. */
TEST(a_text_with_a_newline_stays_in_its_row)
{
    static const char *const names[] = {"x\ny  1", "z\x1b[1m"};
    struct column own[] = {{.name = "name", .kind = COLUMN_TEXT, .values = names}, columns[2]};
    struct table named = {"it", {"token", 2, labels, 0}, own, 2};
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {0};
    struct report report = {.model = "m", .tables = &named, .table_count = 1};
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &named, &layout, &err),
           "name      mean score\n"
           "x↵y  1        0.1235\n"
           "z\\x1b[1m\n");
    memory_stream_open(&out);
    expect(
        &out,
        report_write(format_find("csv"), &(struct target){.stream = &out}, &report, &layout, &err),
        "name,score\n\"x\ny  1\",0.123456\nz\\x1b[1m,\n");
}

TEST(selected_rows_keep_their_cells_and_labels)
{
    static const size_t rows[] = {1, 0, 1};
    struct table picked = sample;
    struct stream out = {0};
    struct err err = {0};
    struct arena arena = {0};
    struct layout layout = {0};
    ck_assert(!table_pick(&picked, rows, COUNT(rows), &arena, &err));
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &picked, &layout, &err),
           "text  head  mean score    small\n"
           "b                       1.2e-07\n"
           "a        0      0.1235     0.00\n"
           "b                       1.2e-07\n"
           "\n"
           "That is all.\n");
    ck_assert_str_eq(picked.rows.labels[0].text, "b");
    arena_release(&arena);
}

TEST(a_heading_indents_the_table_and_empty_titles_have_no_header)
{
    struct column untitled[] = {columns[0], columns[2]};
    struct table headed = {"it", {"token", 2, labels, 0}, untitled, 2, .heading = "Scores"};
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {0};
    untitled[0].title = untitled[1].title = "";
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &headed, &layout, &err), "Scores\n  a  0.1235\n  b\n");
}

TEST(tidy_rows_are_positions_if_the_table_has_them)
{
    static const long long positions[] = {5, 6};
    struct column own[] = {
        {.name = "position", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = positions},
        columns[2]};
    struct table placed = {"it", {"token", 2, labels, 0}, own, 2};
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {0};
    struct report report = {.model = "m", .tables = &placed, .table_count = 1};
    memory_stream_open(&out);
    expect(
        &out,
        report_write(format_find("tidy"), &(struct target){.stream = &out}, &report, &layout, &err),
        "tensor,layer,head,row,row_token,column,column_token,value\n"
        "it,,,5,a,0,score,0.123456\nit,,,6,\"b,\",0,score,\n");
}

TEST(columns_that_do_not_fit_follow_below_with_the_key_columns)
{
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {.columns = 24};
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &sample, &layout, &err),
           "text  head  mean score\n"
           "a        0      0.1235\n"
           "b\n"
           "\n"
           "text  head    small\n"
           "a        0     0.00\n"
           "b           1.2e-07\n"
           "\n"
           "That is all.\n");
}

TEST(data_formats_have_all_digits_and_empty_missing_values)
{
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {0};
    struct report report = {.model = "m", .tables = &sample, .table_count = 1};
    memory_stream_open(&out);
    expect(
        &out,
        report_write(format_find("csv"), &(struct target){.stream = &out}, &report, &layout, &err),
        "text,head,score\na,0,0.123456\n\"b,\",,\n");
    memory_stream_open(&out);
    expect(
        &out,
        report_write(format_find("tidy"), &(struct target){.stream = &out}, &report, &layout, &err),
        "tensor,layer,head,row,row_token,column,column_token,value\n"
        "it,,0,0,a,0,score,0.123456\nit,,,1,\"b,\",0,score,\n");
    memory_stream_open(&out);
    expect(&out,
           report_write(format_find("jsonl"), &(struct target){.stream = &out}, &report, &layout,
                        &err),
           "{\"format\": \"attn-cli/result/2\", \"model\": \"m\", \"tables\": "
           "{\"it\": [{\"text\": \"a\", \"head\": 0, \"score\": 0.123456}, "
           "{\"text\": \"b,\", \"head\": null, \"score\": null}]}}\n");
}

TEST(a_narrow_page_has_short_headers_and_fewer_decimals)
{
    static const char *const words[] = {"a long one", ""};
    const struct column wide[] = {
        {.name = "previous", .brief = "prev", .digits = 3, .values = scores},
        {.name = "small", .flags = COLUMN_PLAIN, .digits = 3, .values = small},
        {.name = "words", .kind = COLUMN_TEXT, .values = words},
    };
    const struct table table = {"it", {"token", 2, labels, 0}, wide, 3};
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {.columns = 30};
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &table, &layout, &err),
           "previous  small  words\n"
           "   0.123  0.000  a long one\n"
           "          0.000\n");
    layout.columns = 24;
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &table, &layout, &err),
           "prev  small  words\n"
           "0.12  0.000  a long one\n"
           "      0.000\n");
    layout.columns = 9; /* shortens a text that is wider than the page */
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &table, &layout, &err),
           "prev\n0.12\n\n\n  small\n  0.000\n  0.000\n\n  words\n  a long…\n\n");
}

TEST(a_note_is_wrapped_to_the_page)
{
    struct table noted = {"it", {"token", 2, labels, 0}, columns, 1, .note = "That is\nall of it."};
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {.columns = 6};
    memory_stream_open(&out);
    expect(&out, table_text_write(&out, &noted, &layout, &err),
           "text\na\nb\n\nThat\nis\nall of\nit.\n");
}

TEST(leading_columns_are_the_first_of_tidy_rows)
{
    static const char *const models[] = {"one", "o,ther"};
    const struct column several[] = {
        {.name = "model",
         .kind = COLUMN_TEXT,
         .flags = COLUMN_KEY | COLUMN_LEADS,
         .values = models},
        {.name = "score", .values = scores},
    };
    const struct table table = {"it", {"token", 2, labels, 0}, several, 2};
    struct stream out = {0};
    struct err err = {0};
    struct layout layout = {0};
    struct report report = {.model = "m", .tables = &table, .table_count = 1};
    memory_stream_open(&out);
    expect(
        &out,
        report_write(format_find("tidy"), &(struct target){.stream = &out}, &report, &layout, &err),
        "model,tensor,layer,head,row,row_token,column,column_token,value\n"
        "one,it,,,0,a,0,score,0.123456\n\"o,ther\",it,,,1,\"b,\",0,score,\n");
}
