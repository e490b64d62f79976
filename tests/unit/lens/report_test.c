#include "lens/report.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"

TEST(a_tensor_falls_into_a_sheet_for_each_head)
{
    static const char *const titles[] = {
        "embedding",
        "k layer 0 head 0",
        "k layer 0 head 1",
        "weights layer 0 head 0",
        "weights layer 0 head 1",
        "masked layer 1 head 0",
        "masked layer 1 head 1",
        "weights layer 1 head 0",
        "weights layer 1 head 1",
    };
    ck_assert_uint_eq(report_sheet_count(&fixture_layers), COUNT(titles));
    for (size_t i = 0; i < COUNT(titles); i++) {
        struct sheet sheet = report_sheet(&fixture_layers, i);
        char title[SHEET_NAME_BYTES];
        ck_assert_str_eq(sheet_title(title, &sheet), titles[i]);
    }
}

TEST(a_report_without_tensors_has_no_sheets)
{
    struct report report = fixture_plain;
    report.tensor_count = 0;
    ck_assert_uint_eq(report_sheet_count(&report), 0);
}

TEST(a_head_keeps_the_number_it_has_in_the_model)
{
    struct sheet sheet = report_sheet(&fixture_selected, 0);
    ck_assert_int_eq(sheet.head, 1);
    ck_assert_float_eq(sheet_cell(&sheet, 2, 2), 0.4f);
}

TEST(a_sheet_sees_the_numbers_of_its_own_head)
{
    const struct kept *keys = &fixture_layers.tensors[1];
    struct sheet first = kept_sheet(&fixture_layers, keys, 0);
    struct sheet second = kept_sheet(&fixture_layers, keys, 1);
    ck_assert_uint_eq(kept_sheet_count(keys), 2);
    ck_assert_float_eq(sheet_cell(&first, 1, 0), 3);
    ck_assert_float_eq(sheet_cell(&second, 1, 0), 7);
}

TEST(the_tensor_behind_a_sheet_has_its_head_alone)
{
    struct kept one = report_kept(&fixture_layers, 2);
    ck_assert_int_eq(one.site, SITE_K);
    ck_assert_uint_eq(one.shape[0], 1);
    ck_assert_uint_eq(one.heads[0], 1);
    ck_assert_float_eq(one.data[0], -5);
    struct kept embedding = report_kept(&fixture_layers, 0);
    ck_assert_mem_eq(&embedding, &fixture_layers.tensors[0], sizeof embedding);
}

TEST(each_kind_of_site_has_its_axes)
{
    static const struct label words[] = {{"one", "0:one", "one"}, {"two", "1:two", "two"}};
    static const size_t heads[] = {0};
    static const float values[6] = {0};
    static const struct {
        enum site site;
        const char *rows, *row;
        const char *columns, *column;
    } cases[] = {
        {SITE_EMBEDDING, "token", "0:3", "channel", "0"},
        {SITE_SOURCE_EMBEDDING, "token", "0:Life", "channel", "0"},
        {SITE_LOGITS, "token", "0:3", "word", "0:one"},
        {SITE_Q, "token", "0:3", "dim", "0"},
        {SITE_K, "token", "0:Life", "dim", "0"},
        {SITE_V, "token", "0:Life", "dim", "0"},
        {SITE_CONTEXT, "token", "0:3", "dim", "0"},
        {SITE_SCORES, "query", "0:3", "key", "0:Life"},
        {SITE_WEIGHTS, "query", "0:3", "key", "0:Life"},
    };
    struct report report = fixture_cross;
    report.words = words;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool has_heads = site_rows[cases[i].site].axes >= AXES_HEAD_TOKEN_DIM;
        struct kept kept = has_heads
                               ? (struct kept){cases[i].site, 0, 3, {1, 2, 2}, values, heads, NULL}
                               : (struct kept){cases[i].site, 0, 2, {2, 2}, values, NULL, NULL};
        struct sheet sheet = kept_sheet(&report, &kept, 0);
        ck_assert_str_eq(sheet.rows.name, cases[i].rows);
        ck_assert_str_eq(sheet.rows.labels[0].exact, cases[i].row);
        ck_assert_uint_eq(sheet.rows.size, 2);
        ck_assert_str_eq(sheet.columns.name, cases[i].columns);
        ck_assert_str_eq(sheet.columns.labels[0].exact, cases[i].column);
        ck_assert_uint_eq(sheet.columns.size, 2);
    }
}

/* With an encoder, self-attention stays in its text; what is called cross_… does not. */
TEST(an_encoder_has_tensors_of_its_own_text)
{
    static const float values[6] = {0};
    static const size_t heads[] = {0};
    static const struct {
        enum site site;
        const char *row, *column;
    } cases[] = {
        {SITE_WEIGHTS, "0:3", "0:3"},
        {SITE_K, "0:3", "0"},
        {SITE_CROSS_WEIGHTS, "0:3", "0:Life"},
        {SITE_CROSS_K, "0:Life", "0"},
        {SITE_CROSS_Q, "0:3", "0"},
        {SITE_ENC_WEIGHTS, "0:Life", "0:Life"},
        {SITE_ENC_CONTEXT, "0:Life", "0"},
        {SITE_ENC_K, "0:Life", "0"},
        {SITE_ENC_LN_1, "0:Life", "0"},
        {SITE_SOURCE_EMBEDDING, "0:Life", "0"},
        {SITE_LN_CROSS, "0:3", "0"},
    };
    struct report report = fixture_cross;
    report.has_encoder = true;
    report.causal = true;
    for (size_t i = 0; i < COUNT(cases); i++) {
        enum site site = cases[i].site;
        bool has_heads = site_rows[site].axes >= AXES_HEAD_TOKEN_DIM;
        struct kept kept = has_heads ? (struct kept){site, 0, 3, {1, 2, 2}, values, heads, NULL}
                                     : (struct kept){site, 0, 2, {2, 2}, values, NULL, NULL};
        struct sheet sheet = kept_sheet(&report, &kept, 0);
        ck_assert_str_eq(sheet.rows.labels[0].exact, cases[i].row);
        ck_assert_str_eq(sheet.columns.labels[0].exact, cases[i].column);
        ck_assert_int_eq(sheet.causal, site == SITE_WEIGHTS);
    }
}

TEST(without_a_source_the_sentence_looks_at_itself)
{
    struct sheet weights = report_sheet(&fixture_plain, 0);
    ck_assert_ptr_eq(weights.columns.labels, fixture_plain.sentence.labels);
}

TEST(without_a_vocabulary_words_are_numbers)
{
    static const float values[6] = {0};
    struct kept logits = {SITE_LOGITS, -1, 2, {3, 2}, values, NULL, NULL};
    struct sheet sheet = kept_sheet(&fixture_plain, &logits, 0);
    ck_assert_str_eq(sheet.columns.labels[1].text, "1");
}

TEST(only_masked_sites_of_a_causal_report_hide_the_future)
{
    ck_assert(!report_sheet(&fixture_layers, 0).causal); /* embedding */
    ck_assert(!report_sheet(&fixture_layers, 1).causal); /* k */
    ck_assert(report_sheet(&fixture_layers, 3).causal);  /* weights */
    ck_assert(report_sheet(&fixture_layers, 5).causal);  /* masked */
    struct kept scores = fixture_layers.tensors[2];
    scores.site = SITE_SCORES;
    ck_assert(!kept_sheet(&fixture_layers, &scores, 0).causal);
    ck_assert(!report_sheet(&fixture_cross, 1).causal);
}

TEST(a_text_is_made_visible_on_one_line)
{
    static const struct {
        const char *text;
        const char *visible;
    } cases[] = {
        {"", ""},
        {"Life is short", "Life is short"},
        {"  two  blanks ", "  two  blanks "},
        {"a\nb\tc", "a↵b⇥c"},
        {"\x1b[31mred", "\\x1b[31mred"},
        {"我 爱🍰", "我 爱🍰"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out = {0};
        struct tokenized tokenized = {.text = cases[i].text, .size = strlen(cases[i].text)};
        buf_text(&out, "");
        tokenized_visible(&out, &tokenized);
        ck_assert_str_eq(out.bytes, cases[i].visible);
        buf_release(&out);
    }
}

TEST(ids_stand_in_for_a_text_that_is_not_known)
{
    struct buf out = {0};
    tokenized_visible(&out, &fixture_cross.sentence);
    ck_assert_str_eq(out.bytes, "ids 3,11");
    buf_release(&out);
}
