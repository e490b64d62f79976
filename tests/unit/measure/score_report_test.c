#include "measure/score_report.h"

#include <math.h>

#include "../unit.h"
#include "lens/continuation.h"

static const struct label labels[] = {
    {"␣is", "0:is", " is"}, {"short", "1:short", "short"}, {"eat", "2:eat", "eat"}};
static const struct token tokens[] = {{.id = 7}, {.id = 8}, {.id = 9}};
static const struct viewer viewer = {.model.name = "m"};
static const struct likely best[] = {{8, -1}, {9, -2}};
static struct token_score scores[] = {{NAN, NAN, 0, NULL}, {-2, 1, 2, best}, {-4, 1, 3, best}};
static struct arena arena;
static struct err err;

static struct tokenized text(size_t first, size_t count)
{
    return (struct tokenized){.tokens = tokens + first, .labels = labels + first, .count = count};
}

static struct report report_of(const struct score_view *view, const struct tokenized *text,
                               size_t best_count)
{
    struct report report;
    const struct scored scored = {scores, text->count, best_count};
    struct text_with_source pair = {.text = *text};
    const struct score_text whole = {.pairs = &pair, .scored = &scored};
    ck_assert(!score_report(&report, view, &pair, &whole, &arena, &err));
    return report;
}

TEST(the_most_likely_tokens_are_a_text_column_or_a_table)
{
    const struct tokenized sentence = text(0, 3);
    const struct score_view data = {.viewer = &viewer};
    const struct score_view people = {.viewer = &viewer, .for_people = true};
    struct report report = report_of(&people, &sentence, 2);
    ck_assert_uint_eq(report.table_count, 1);
    ck_assert_str_eq(column_text(table_column(report.tables, "most likely"), 2, true),
                     "8 -1.00  9 -2.00");
    report = report_of(&data, &sentence, 2);
    const struct table *rows = &report.tables[1];
    ck_assert_uint_eq(report.table_count, 2);
    ck_assert_uint_eq(rows->rows.size, 4); /* the first token has no score */
    ck_assert_int_eq(column_integer(table_column(rows, "position"), 3), 2);
    ck_assert_int_eq(column_integer(table_column(rows, "rank"), 3), 2);
    ck_assert_int_eq(column_integer(table_column(rows, "id"), 3), 9);
    ck_assert_double_eq(column_float(table_column(rows, "logprob"), 3), -2);
    arena_release(&arena);
}

TEST(a_word_has_a_score_if_all_its_tokens_have_one)
{
    static const struct word_span words[] = {{0, 2}, {2, 1}};
    const struct score_view view = {.viewer = &viewer, .words = true, .bits = true};
    struct tokenized sentence = text(0, 3);
    sentence.words = words;
    sentence.word_labels = labels;
    sentence.word_count = 2;
    struct report report = report_of(&view, &sentence, 0);
    const struct column *bits = table_column(report.tables, "surprisal_bits");
    ck_assert(isnan(column_float(bits, 0)));
    ck_assert_double_eq_tol(column_float(bits, 1), 4 / log(2), 1e-12);
    ck_assert_double_eq(column_float(table_column(report.facts, "logprob_nats"), 0), -6);
    ck_assert_double_eq_tol(column_float(table_column(report.facts, "perplexity"), 0), exp(3),
                            1e-9);
    arena_release(&arena);
}
