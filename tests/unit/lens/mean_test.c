#include "../unit.h"

#include <math.h>

#include "lens/mean.h"

static struct arena arena;
static struct text_mean mean;
static struct err err;

static void release(void)
{
    text_mean_release(&mean);
    arena_release(&arena);
}
FIXTURE(NULL, release)

enum { HEADS = 2, LONGEST = 4 };

/* Add a text whose weights of head h are all `value` + h. */
static void add(size_t tokens, float value)
{
    static const size_t heads[HEADS] = {1, 3};
    float data[HEADS * LONGEST * LONGEST];
    for (size_t i = 0; i < HEADS * tokens * tokens; i++)
        data[i] = value + (float)(i / (tokens * tokens));
    const struct array array = {.site = SITE_WEIGHTS,
                                .heads = {"head", HEADS, NULL, 0, heads},
                                .rows.size = tokens,
                                .columns.size = tokens,
                                .data = data};
    const struct report report = {.model = "m", .arrays = &array, .array_count = 1};
    mean.longest = LONGEST;
    ck_assert_int_eq(text_mean_add(&mean, &report, &err), 0);
}

static struct report report(bool has_counts)
{
    struct report report;
    ck_assert_int_eq(text_mean_report(&report, &mean, NULL, has_counts, &arena, &err), 0);
    return report;
}

/* Texts of different lengths, in every order. */
TEST(each_cell_is_the_mean_over_texts_that_are_long_enough)
{
    static const size_t orders[][3] = {{2, 4, 3}, {4, 3, 2}, {2, 3, 4}};
    for (size_t i = 0; i < COUNT(orders); i++) {
        for (size_t k = 0; k < 3; k++)
            add(orders[i][k], (float)orders[i][k]);
        struct report whole = report(true);
        ck_assert_uint_eq(whole.array_count, 2);
        for (size_t sheet = 0; sheet < HEADS; sheet++) {
            struct sheet weights = array_matrix(&whole, &whole.arrays[0], sheet);
            struct sheet counts = array_matrix(&whole, &whole.arrays[1], 0);
            ck_assert_uint_eq(weights.rows.size, LONGEST);
            ck_assert_int_eq(weights.head, sheet ? 3 : 1);
            for (size_t row = 0; row < LONGEST; row++)
                for (size_t column = 0; column < LONGEST; column++) {
                    size_t last = row > column ? row : column;
                    float expected = last < 2 ? 3 : last == 2 ? 3.5F : 4;
                    ck_assert_float_eq(sheet_cell(&weights, row, column), expected + (float)sheet);
                    ck_assert_float_eq(sheet_cell(&counts, row, column), last < 2    ? 3
                                                                         : last == 2 ? 2
                                                                                     : 1);
                }
        }
        ck_assert_str_eq(array_matrix(&whole, &whole.arrays[1], 0).name, "weights.count");
        ck_assert_str_eq(array_matrix(&whole, &whole.arrays[0], 0).rows.labels[3].text, "3");
        ck_assert_str_eq(whole.about, "mean of 3 texts");
        text_mean_release(&mean);
    }
}

TEST(counts_are_omitted_if_the_format_has_none)
{
    add(2, 1);
    ck_assert_uint_eq(report(false).array_count, 1);
}

TEST(counts_of_an_encoder_have_names_of_their_own)
{
    static const float data[] = {1};
    const struct array maps[] = {
        {.site = SITE_OF(BRANCH_SOURCE, SITE_WEIGHTS),
         .rows.size = 1,
         .columns.size = 1,
         .data = data},
        {.site = SITE_WEIGHTS, .rows.size = 1, .columns.size = 1, .data = data}};
    const struct report one = {.model = "m", .arrays = maps, .array_count = COUNT(maps)};
    mean.longest = 1;
    ck_assert_int_eq(text_mean_add(&mean, &one, &err), 0);
    struct report whole = report(true);
    ck_assert_uint_eq(whole.array_count, 4);
    ck_assert_str_eq(whole.arrays[2].name, "enc.weights.count");
    ck_assert_str_eq(whole.arrays[3].name, "weights.count");
}

/* One text has a second query, another a second key; none has both. */
TEST(a_cell_without_texts_is_nan)
{
    static const size_t shapes[][2] = {{1, 2}, {2, 1}};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        static const float data[] = {1, 2};
        const struct array kept = {.site = SITE_OF(BRANCH_CROSS, SITE_WEIGHTS),
                                   .rows.size = shapes[i][0],
                                   .columns.size = shapes[i][1],
                                   .data = data};
        mean.longest = 2;
        const struct report one = {.model = "m", .arrays = &kept, .array_count = 1};
        ck_assert_int_eq(text_mean_add(&mean, &one, &err), 0);
    }
    struct report whole = report(true);
    struct sheet weights = array_matrix(&whole, &whole.arrays[0], 0);
    ck_assert_float_eq(sheet_cell(&weights, 0, 0), 1);
    ck_assert_float_eq(sheet_cell(&weights, 0, 1), 2);
    ck_assert(isnan(sheet_cell(&weights, 1, 1)));
    struct sheet counts = array_matrix(&whole, &whole.arrays[1], 0);
    ck_assert_float_eq(sheet_cell(&counts, 1, 1), 0);
}

static void add_facts(double number, long long integer)
{
    struct facts *facts = facts_new(&arena, &err);
    facts_float(facts, "number", number);
    facts_integer(facts, "integer", integer);
    facts_text(facts, "over", "heads");
    const struct report one = {.model = "m", .facts = &facts->table};
    ck_assert_int_eq(text_mean_add(&mean, &one, &err), 0);
}

TEST(floats_of_facts_are_averaged_and_integers_omitted)
{
    add_facts(1, 1);
    add_facts(4, 1);
    add_facts(7, 2);
    const struct report whole = report(false);
    ck_assert_str_eq(whole.about, "mean of 3 texts: number 4.0000, over heads");
    static const char *const names[] = {"texts", "number", "over"};
    ck_assert_uint_eq(whole.facts->count, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_str_eq(whole.facts->columns[i].name, names[i]);
    ck_assert_double_eq(column_float(&whole.facts->columns[1], 0), 4);
}

enum { MOST = 4 };

/* A table with a row for each value of layer `layers[i]`, position i and token `tokens[i]`. */
static struct table table(const char *name, const long long *layers, const char *tokens,
                          const double *values, size_t count)
{
    struct table_rows rows = {.most = count, .arena = &arena, .err = &err};
    struct table table;
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        const char *token = arena_format(&arena, &err, "%c", tokens[i]);
        rows_integer(&rows, "layer", COLUMN_KEY, layers[i]);
        rows_integer(&rows, "position", COLUMN_KEY, (long long)i % 2);
        rows_label(&rows, "token", COLUMN_KEY, (struct label){token, token, token});
        rows_float(&rows, (struct column){name}, values[i]);
        rows_integer(&rows, "rank", 0, (long long)i);
        rows_text(&rows, "best", 0, token);
    }
    ck_assert_int_eq(rows_finish(&table, &rows, "t", "token"), 0);
    return table;
}

static int add_table(const struct table *table)
{
    const struct report one = {.model = "m", .tables = table, .table_count = 1};
    return text_mean_add(&mean, &one, &err);
}

static const long long layers[] = {0, 0, 1, 1};
static const long long reversed[] = {1, 1, 0, 0};

static const double *floats(const struct table *table, size_t column)
{
    return table->columns[column].values;
}

static long long integer(const struct table *table, size_t column, size_t row)
{
    return column_integer(&table->columns[column], row);
}

/* Tokens and the order of rows differ. */
TEST(a_mean_of_texts_has_a_row_and_a_count_for_each_position)
{
    static const double one[] = {1, 2, 3, NAN};
    static const double other[] = {30, 40, 10};
    struct table first = table("x", layers, "abab", one, 4);
    struct table second = table("x", reversed, "cdcd", other, 3);
    ck_assert_int_eq(add_table(&first), 0);
    ck_assert_int_eq(add_table(&second), 0);
    const struct table table = *report(false).tables;
    static const char *const names[] = {"layer", "position", "texts", "x", "rank"};
    static const double x[] = {5.5, 2, 16.5, 40}, ranks[] = {1, 1, 1, 2};
    static const long long texts[] = {2, 1, 2, 2};
    ck_assert_uint_eq(table.count, COUNT(names));
    ck_assert_uint_eq(table.rows.size, MOST);
    for (size_t i = 0; i < table.count; i++)
        ck_assert_str_eq(table.columns[i].name, names[i]);
    for (size_t i = 0; i < MOST; i++) {
        ck_assert_int_eq(integer(&table, 0, i), layers[i]);
        ck_assert_int_eq(integer(&table, 1, i), (long long)i % 2);
        ck_assert_int_eq(integer(&table, 2, i), texts[i]);
        ck_assert_double_eq(floats(&table, 3)[i], x[i]);
        ck_assert_double_eq(floats(&table, 4)[i], ranks[i]);
        ck_assert_str_eq(table.rows.labels[i].text, i % 2 ? "1" : "0");
    }
}

TEST(a_mean_of_layers_keeps_the_other_keys)
{
    static const double values[] = {1, NAN, 3, NAN};
    static const struct derivation how = {.mean_of_layers = true};
    struct table both = table("x", layers, "abab", values, 4);
    struct report whole = {.model = "m", .tables = &both, .table_count = 1};
    ck_assert_int_eq(report_take_means(NULL, &whole, &how, &arena, &err), 0);
    const struct table table = *whole.tables;
    ck_assert_uint_eq(table.rows.size, 2);
    ck_assert_str_eq(table.columns[0].name, "position");
    ck_assert_str_eq(column_text(&table.columns[1], 1, true), "b");
    ck_assert_double_eq(floats(&table, 2)[0], 2);
    ck_assert(isnan(floats(&table, 2)[1]));
}

TEST(texts_with_other_columns_are_refused)
{
    static const double values[] = {1, 2, 3, 4};
    struct table first = table("x", layers, "abab", values, 4);
    struct table second = table("y", layers, "abab", values, 4);
    ck_assert_int_eq(add_table(&first), 0);
    ck_assert_int_eq(add_table(&second), -1);
    ck_assert_str_eq(err.text, "--mean: expected the column 'x' for all texts as for the first");
}
