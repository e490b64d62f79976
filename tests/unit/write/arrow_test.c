#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/arrow_reader.h"
#include "../rigs/memory_stream.h"
#include "../rigs/report_fixture.h"
#include "write/arrow_table.h"

/* Each file has the cells of the tidy table, which is the judge. */
static void compare(const char *tidy, const char *arrow, size_t size, size_t batches)
{
    struct buf csv = {0};
    ck_assert_uint_eq(arrow_reader_csv(&csv, arrow, size), batches);
    ck_assert_str_eq(csv.bytes, tidy);
    buf_release(&csv);
}

TEST_LOOP(the_cells_are_those_of_tidy, 3)
{
    const struct report *const reports[] = {&fixture_plain, &fixture_layers, &fixture_cross};
    char *tidy = strdup(fixture_written(tidy_write, reports[_i], &fixture_alone));
    const char *arrow = fixture_written(arrow_write, reports[_i], &fixture_alone);
    compare(tidy, arrow, fixture_size(), 1);
    free(tidy);
}

TEST(several_sentences_are_one_file)
{
    static const struct report *const reports[] = {&fixture_plain, &fixture_selected,
                                                   &fixture_layers};
    char *tidy = strdup(fixture_several(tidy_write, reports, 3));
    const char *arrow = fixture_several(arrow_write, reports, 3);
    compare(tidy, arrow, fixture_size(), 3);
    free(tidy);
}

TEST(a_report_without_tensors_is_an_empty_table)
{
    struct report report = fixture_plain;
    report.tensor_count = 0;
    const char *arrow = fixture_written(arrow_write, &report, &fixture_alone);
    compare("tensor,layer,head,row,row_token,column,column_token,value\n", arrow, fixture_size(),
            0);
}

TEST(memory_that_is_out_is_said)
{
    fixture_starve(arrow_write, &fixture_layers);
}

/* --- tables ----------------------------------------------------------------------------------- */

static const struct arrow_column columns[] = {
    {"a", ARROW_INTEGER}, {"b", ARROW_LONG}, {"c", ARROW_TEXT}, {"d", ARROW_FLOAT}};

static struct file table_of(size_t rows, struct buf *expected)
{
    struct stream out = {0};
    struct arrow_table table = {.out = &out};
    char text[32];
    memory_stream_open(&out);
    arrow_table_begin(&table, columns, 4);
    buf_text(expected, "a,b,c,d\n");
    for (size_t i = 0; i < rows; i++) {
        snprintf(text, sizeof text, "w%zu\xff", i % 7);
        arrow_table_integer(&table, -(long long)i);
        if (i % 5)
            arrow_table_integer(&table, (long long)i << 33);
        else
            arrow_table_null(&table);
        if (i % 3)
            arrow_table_text(&table, text);
        else
            arrow_table_null(&table);
        arrow_table_float(&table, 0.5f * (float)i);
        ck_assert_int_eq(arrow_table_end_row(&table, NULL), 0);
        buf_format(expected, i ? "-%zu," : "%zu,", i);
        if (i % 5)
            buf_format(expected, "%lld", (long long)i << 33);
        if (i % 3)
            buf_format(expected, ",w%zu\xef\xbf\xbd,%g\n", i % 7, 0.5 * (double)i);
        else
            buf_format(expected, ",,%g\n", 0.5 * (double)i);
    }
    ck_assert_int_eq(arrow_table_end(&table, NULL), 0);
    arrow_table_release(&table);
    return memory_stream_take(&out);
}

TEST_LOOP(any_number_of_rows_comes_back, 6)
{
    static const struct {
        size_t rows, batches;
    } cases[] = {{0, 0}, {1, 1}, {8, 1}, {9, 1}, {65536, 1}, {65537, 2}};
    struct buf expected = {0};
    struct file file = table_of(cases[_i].rows, &expected);
    compare(expected.bytes, file.bytes, file.size, cases[_i].batches);
    file_release(&file);
    buf_release(&expected);
}

TEST(what_waits_is_bounded_by_its_text_too)
{
    enum { LONG = 1 << 20, ROWS = 40 };
    static const struct arrow_column texts[] = {{"c", ARROW_TEXT}};
    struct stream out = {0};
    struct arrow_table table = {.out = &out};
    struct buf csv = {0};
    char *text = malloc(LONG + 1);
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    memory_stream_open(&out);
    arrow_table_begin(&table, texts, 1);
    for (size_t i = 0; i < ROWS; i++) {
        arrow_table_text(&table, text);
        ck_assert_int_eq(arrow_table_end_row(&table, NULL), 0);
        ck_assert_uint_lt(table.values[0].values.size, 16 * LONG);
    }
    ck_assert_int_eq(arrow_table_end(&table, NULL), 0);
    arrow_table_release(&table);
    struct file file = memory_stream_take(&out);
    ck_assert_uint_eq(arrow_reader_csv(&csv, file.bytes, file.size), 3);
    ck_assert_uint_eq(csv.size, strlen("c\n") + (size_t)ROWS * (LONG + 1));
    buf_release(&csv);
    file_release(&file);
    free(text);
}
