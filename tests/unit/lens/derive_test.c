#include "lens/report.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"
#include "base/heap.h"

static struct arena arena;

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, release)

/* "Life is Life" with its last two tokens as one word. */
static struct report with_words(const struct report *fixture)
{
    static const struct word_span words[] = {{0, 1}, {1, 2}};
    static const struct label labels[] = {{"Life", "0:Life", "Life"},
                                          {"isLife", "1:isLife", "isLife"}};
    struct report report = *fixture;
    struct tokenized *read = report.source.count ? &report.source : &report.sentence;
    read->words = words;
    read->word_labels = labels;
    read->word_count = 2;
    return report;
}

TEST(attention_to_a_word_is_a_sum_and_from_it_a_mean)
{
    struct report report = with_words(&fixture_plain);
    ck_assert_int_eq(derive_words(&report, &arena, NULL), 0);
    struct sheet sheet = report_sheet(&report, 0);
    ck_assert_uint_eq(sheet.rows.size, 2);
    ck_assert_uint_eq(sheet.columns.size, 2);
    ck_assert_str_eq(sheet.rows.labels[1].text, "isLife");
    ck_assert_str_eq(sheet.columns.labels[1].exact, "1:isLife");
    ck_assert_float_eq(sheet_cell(&sheet, 0, 0), 1);
    ck_assert_float_eq(sheet_cell(&sheet, 0, 1), 0);
    ck_assert_float_eq_tol(sheet_cell(&sheet, 1, 0), (0.25f + 0.1f) / 2, 1e-7f);
    ck_assert_float_eq_tol(sheet_cell(&sheet, 1, 1), (0.75f + 0.9f) / 2, 1e-7f);
    ck_assert(sheet_hides(&sheet, 0, 1));
}

TEST(a_vector_of_a_word_is_the_mean_of_its_tokens)
{
    struct report report = with_words(&fixture_layers);
    ck_assert_int_eq(derive_words(&report, &arena, NULL), 0);
    const struct kept *embedding = &report.tensors[0];
    const struct kept *keys = &report.tensors[1];
    ck_assert_uint_eq(embedding->shape[0], 2);
    ck_assert_uint_eq(embedding->shape[1], 2);
    ck_assert_float_eq(embedding->data[3], (0.25f - 0.5f) / 2);
    ck_assert_uint_eq(keys->shape[1], 2);
    ck_assert_float_eq(keys->data[4 + 2], 1);
}

TEST(words_of_a_source_are_columns)
{
    struct report report = with_words(&fixture_cross);
    struct derivation how = {.hide_first = true};
    ck_assert_int_eq(derive_words(&report, &arena, NULL), 0); /* the sentence keeps its tokens */
    struct sheet sheet = report_sheet(&report, 1);
    ck_assert_uint_eq(sheet.columns.size, 2);
    ck_assert_float_eq(sheet_cell(&sheet, 0, 1), 0.5f);
    ck_assert_int_eq(derive(&report, &how, NULL, &arena, NULL), 0);
    sheet = report_sheet(&report, 1);
    ck_assert_uint_eq(sheet.rows.size, 1);
    ck_assert_str_eq(sheet.rows.labels[0].text, "11");
    ck_assert_str_eq(sheet.columns.labels[0].text, "isLife");
    ck_assert_float_eq(sheet_cell(&sheet, 0, 0), 1);
}

TEST(without_the_first_token_the_rest_keeps_its_numbers_and_names)
{
    struct report report = fixture_layers;
    struct derivation how = {.hide_first = true};
    ck_assert_int_eq(derive(&report, &how, NULL, &arena, NULL), 0);
    ck_assert_uint_eq(report.first_shown, 1);
    struct sheet embedding = kept_sheet(&report, &report.tensors[0], 0);
    struct sheet weights = kept_sheet(&report, &report.tensors[2], 1);
    ck_assert_uint_eq(embedding.rows.size, 2);
    ck_assert_uint_eq(embedding.columns.size, 2);
    ck_assert_str_eq(embedding.columns.labels[0].text, "0");
    ck_assert_float_eq(sheet_cell(&embedding, 0, 0), 12345678);
    ck_assert_str_eq(weights.rows.labels[0].exact, "1:is");
    ck_assert_float_eq(sheet_cell(&weights, 1, 0), 0.3f);
    ck_assert(sheet_hides(&weights, 0, 1));
}

TEST(one_token_cannot_be_hidden)
{
    struct report report = fixture_plain;
    struct derivation how = {.hide_first = true};
    struct err err = {0};
    report.sentence.count = 1;
    ck_assert_int_eq(derive(&report, &how, NULL, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--hide-first: expected a text of two tokens or more, found one");
    report = fixture_cross;
    report.source.count = 1;
    err_clear(&err);
    ck_assert_int_eq(derive(&report, &how, NULL, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--hide-first: expected a source of two tokens or more, found one");
}

TEST(means_are_read_from_a_list)
{
    static const struct {
        const char *list;
        bool heads, layers;
    } cases[] = {{"heads", true, false}, {"layers", false, true}, {"layers,heads", true, true}};
    struct err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct derivation how = {0};
        ck_assert_int_eq(derive_read_mean(&how, cases[i].list, &err), 0);
        ck_assert(how.mean_of_heads == cases[i].heads && how.mean_of_layers == cases[i].layers);
    }
    struct derivation how = {0};
    ck_assert_int_eq(derive_read_mean(&how, "heads,tokens", &err), -1);
    ck_assert_str_eq(err.text, "--mean: expected one of heads, layers, found 'tokens'");
    ck_assert_int_eq(err.kind, ERR_USAGE);
}

TEST(means_words_and_hiding_go_together)
{
    struct report report = with_words(&fixture_layers);
    struct derivation how = {true, true, false, true};
    ck_assert_int_eq(derive_words(&report, &arena, NULL), 0);
    ck_assert_int_eq(derive(&report, &how, NULL, &arena, NULL), 0);
    const struct kept *weights = &report.tensors[2];
    double sum = (0.75 + 0.9) / 2 + (0.5 + 0.7) / 2 + (1 + 0.875) / 2 + 0;
    ck_assert_uint_eq(weights->rank, 2);
    ck_assert_uint_eq(weights->shape[0], 1);
    ck_assert_double_eq_tol((double)weights->data[0], sum / 4, 1e-6);
}

TEST(memory_that_is_missing_is_an_error_everywhere)
{
    struct derivation how = {true, true, true, true};
    struct err err = {0};
    int failed = -1;
    for (size_t nth = 1; failed; nth++) {
        struct arena starved = {0};
        struct report report = fixture_layers;
        err_clear(&err);
        heap_fail_at(nth, 0);
        failed = derive(&report, &how, NULL, &starved, &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "'%s'", err.text);
        arena_release(&starved);
        ck_assert_uint_lt(nth, 100);
    }
}
