#include "text/subword/bpe.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/heap.h"

/* ids: 0 a, 1 b, 2 c, 3 a blank, 4 ab, 5 abc, 6 " a", 7 "a b" (a text), 8 爱, 9 爱a (texts), 10 aa */
static const char vocab[] =
    "[\"a\", \"b\", \"c\", \"\\u0120\", \"ab\", \"abc\", \"Ġa\", \"a b\", \"爱\", \"爱a\", \"aa\"]";

static void open_words(struct word_table *words)
{
    struct json_cursor cursor;
    ck_assert_int_eq(json_cursor_open(&cursor, NULL, vocab, strlen(vocab), NULL), 0);
    ck_assert_int_eq(word_table_read(words, cursor, WORD_BYTES, strlen(vocab), NULL), 0);
}

static int read_lines(struct bpe *bpe, const char *lines, bool brief, struct err *err)
{
    struct word_table words = {0};
    open_words(&words);
    int failed = merges_read_lines(bpe, &words, lines, strlen(lines), brief, err);
    word_table_release(&words);
    return failed;
}

static int read_prefixed(struct bpe *bpe, const char *json, size_t prefix, bool brief,
                         struct err *err)
{
    struct word_table words = {0};
    struct json_cursor cursor;
    open_words(&words);
    struct json_cursor counter;
    size_t count = 0;
    ck_assert_int_eq(json_cursor_open(&cursor, NULL, json, strlen(json), NULL), 0);
    counter = cursor;
    json_cursor_count(&counter, &count);
    int failed = merges_read_json(bpe, &words, cursor, count, prefix, brief, err);
    word_table_release(&words);
    return failed;
}

static int read_json(struct bpe *bpe, const char *json, bool brief, struct err *err)
{
    return read_prefixed(bpe, json, 0, brief, err);
}

static void expect_merges(const struct bpe *bpe, const struct bpe_merge *merges, size_t count)
{
    ck_assert_uint_eq(bpe->count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(bpe->merges[i].left, merges[i].left);
        ck_assert_uint_eq(bpe->merges[i].right, merges[i].right);
        ck_assert_uint_eq(bpe->merges[i].id, merges[i].id);
    }
}

static const struct bpe_merge three[] = {{0, 1, 4}, {4, 2, 5}, {3, 0, 6}};

TEST(lines_are_merges_in_the_order_of_their_ranks)
{
    static const char *const forms[] = {
        "#version: 0.2\na b\nab c\nĠ a\n",
        "a b\nab c\nĠ a",
        "#version: 0.2\r\na b\r\nab c\r\nĠ a\r\n",
        "a b\n#version: 0.2\nab c\nĠ a\n\n",
        "a b\nab c\r\nĠ a\n",
    };
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct bpe bpe;
        struct err err = {0};
        ck_assert_msg(!read_lines(&bpe, forms[i], false, &err), "%s", err.text);
        expect_merges(&bpe, three, COUNT(three));
        ck_assert_uint_eq(bpe.byte_ids['a'], 0);
        ck_assert_uint_eq(bpe.byte_ids[' '], 3);
        ck_assert_uint_eq(bpe.byte_ids['d'], BPE_NONE);
        bpe_release(&bpe);
    }
}

TEST(a_file_may_hold_no_merges)
{
    static const char *const forms[] = {"", "#version: 0.2", "#version: 0.2\n", "\n"};
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct bpe bpe;
        ck_assert_int_eq(read_lines(&bpe, forms[i], false, NULL), 0);
        ck_assert_uint_eq(bpe.count, 0);
        ck_assert_uint_eq(bpe.byte_ids['b'], 1);
        bpe_release(&bpe);
    }
}

TEST(both_forms_of_json_are_read)
{
    static const char *const forms[] = {
        "[\"a b\", \"ab c\", \"\\u0120 a\"]",
        "[[\"a\", \"b\"], [\"ab\",\"c\"] , [\"Ġ\", \"a\"]]",
        "[ [ \"\\u0061\" , \"b\" ], \"ab c\", \"Ġ a\"]",
    };
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct bpe bpe;
        struct err err = {0};
        ck_assert_msg(!read_json(&bpe, forms[i], false, &err), "%s", err.text);
        expect_merges(&bpe, three, COUNT(three));
        bpe_release(&bpe);
    }
    struct bpe none;
    ck_assert_int_eq(read_json(&none, "[]", false, NULL), 0);
    ck_assert_uint_eq(none.count, 0);
    bpe_release(&none);
}

TEST(words_outside_the_alphabet_are_merged_as_texts)
{
    static const struct bpe_merge expected[] = {{8, 0, 9}};
    struct bpe bpe;
    ck_assert_int_eq(read_lines(&bpe, "爱 a\n", false, NULL), 0);
    expect_merges(&bpe, expected, 1);
    bpe_release(&bpe);
    ck_assert_int_eq(read_json(&bpe, "[[\"爱\", \"a\"]]", false, NULL), 0);
    expect_merges(&bpe, expected, 1);
    bpe_release(&bpe);
}

/* With ## before what goes a word on, "a" and "##b" are "ab"; a right part that is no longer than
 * the prefix stays as it is. */
TEST(a_prefix_goes_away_when_parts_are_joined)
{
    static const struct {
        const char *json;
        size_t prefix;
        struct bpe_merge merge;
    } cases[] = {
        {"[\"a Ġa\"]", 2, {0, 6, 10}},
        {"[[\"a\", \"Ġa\"]]", 2, {0, 6, 10}},
        {"[\"a b\"]", 1, {0, 1, 4}},
        {"[\"a b\"]", 9, {0, 1, 4}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bpe bpe;
        struct err err = {0};
        ck_assert_msg(!read_prefixed(&bpe, cases[i].json, cases[i].prefix, true, &err), "%s",
                      err.text);
        expect_merges(&bpe, &cases[i].merge, 1);
        bpe_release(&bpe);
    }
}

/* What a merge is written with is twice what it stands for; those that are read after it and before
 * it is added stay as they are. */
TEST(a_long_merge_leaves_those_after_it_alone)
{
    enum { LEFT = 240, RIGHT = 200, MERGES = 40, TEXT = 4 * (LEFT + RIGHT) };
    char json[4 * TEXT] = "[\"#\", \"a\", \"#b\", \"ab\", \"";
    char merges[2 * TEXT] = "[\"a \\u0023b\"";
    struct word_table words = {0};
    struct json_cursor cursor;
    struct bpe bpe;
    struct err err = {0};
    const char *ends[] = {"\", \"#", "\", \"", "\"]"};
    const size_t blanks[] = {LEFT, RIGHT, LEFT + RIGHT};
    for (size_t i = 0; i < COUNT(ends); i++) {
        for (size_t k = 0; k < blanks[i]; k++)
            strcat(json, "Ġ");
        strcat(json, ends[i]);
    }
    strcat(merges, ", \"");
    for (size_t k = 0; k < LEFT; k++)
        strcat(merges, "Ġ");
    strcat(merges, " #");
    for (size_t k = 0; k < RIGHT; k++)
        strcat(merges, "Ġ");
    strcat(merges, "\"");
    for (size_t i = 2; i < MERGES; i++)
        strcat(merges, ", \"a \\u0023b\"");
    strcat(merges, "]");
    ck_assert_int_eq(json_cursor_open(&cursor, NULL, json, strlen(json), NULL), 0);
    ck_assert_int_eq(word_table_read(&words, cursor, WORD_BYTES, strlen(json), NULL), 0);
    ck_assert_int_eq(json_cursor_open(&cursor, NULL, merges, strlen(merges), NULL), 0);
    ck_assert_msg(!merges_read_json(&bpe, &words, cursor, MERGES, 1, false, &err), "%s", err.text);
    for (size_t i = 0; i < MERGES; i++)
        ck_assert_uint_eq(bpe.merges[i].id, i == 1 ? 6 : 3);
    bpe_release(&bpe);
    word_table_release(&words);
}

/* The next word is abc, and " a" after that. */
TEST(merges_that_make_words_in_order_are_read_briefly)
{
    static const char *const forms[] = {"#version: 0.2\na b\nab c\nĠ a\n", "a b\na bc\r\nĠ a"};
    static const uint32_t rank_of[][2] = {{1, BPE_NONE}, {BPE_NONE, BPE_NONE}};
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct word_table words = {0};
        struct bpe bpe;
        open_words(&words);
        ck_assert_int_eq(merges_read_lines(&bpe, &words, forms[i], strlen(forms[i]), true, NULL),
                         0);
        ck_assert_ptr_nonnull(bpe.splits);
        ck_assert_uint_eq(bpe.count, 3);
        ck_assert_uint_eq(bpe_rank(&bpe, 0, 1), 0);
        ck_assert_uint_eq(bpe_rank(&bpe, 4, 2), rank_of[i][0]);
        ck_assert_uint_eq(bpe_rank(&bpe, 0, 2), rank_of[i][1]);
        ck_assert_uint_eq(bpe_rank(&bpe, 3, 0), 2);
        ck_assert_uint_eq(bpe_product(&bpe, 2, 3, 0), 6);
        ck_assert_uint_eq(bpe_product(&bpe, 2, 0, 1), BPE_NONE);
        bpe_release(&bpe);
        word_table_release(&words);
    }
}

TEST(merges_in_another_order_are_read_whole)
{
    static const struct bpe_merge expected[] = {{4, 2, 5}, {0, 1, 4}};
    struct bpe bpe;
    ck_assert_int_eq(read_lines(&bpe, "ab c\na b\n", true, NULL), 0);
    ck_assert_ptr_null(bpe.splits);
    expect_merges(&bpe, expected, 2);
    bpe_release(&bpe);
    ck_assert_int_eq(read_json(&bpe, "[\"ab c\", \"a b\"]", true, NULL), 0);
    ck_assert_ptr_null(bpe.splits);
    expect_merges(&bpe, expected, 2);
    bpe_release(&bpe);
}

TEST(a_line_that_is_no_merge_is_refused_with_its_number)
{
    static const struct {
        const char *lines;
        const char *text;
    } cases[] = {
        {"#version: 0.2\nab\n", "line 2: expected two tokens with a blank between them, found "
                                "'ab'"},
        {"a b\na b c\n", "line 2: expected two tokens with a blank between them, found 'a␣b␣c'"},
        {"a  b\n", "line 1: expected two tokens with a blank between them, found 'a␣␣b'"},
        {" b\n", "line 1: expected two tokens with a blank between them, found '␣b'"},
        {"b \n", "line 1: expected two tokens with a blank between them, found 'b␣'"},
        {" ", "line 1: expected two tokens with a blank between them, found '␣'"},
        {"a\tb\n", "line 1: expected two tokens with a blank between them, found 'a⇥b'"},
        {"\na b\n", "line 1: expected two tokens with a blank between them, found ''"},
        {"a b\n\n\n", "line 2: expected two tokens with a blank between them, found ''"},
        {"# b\n", "line 1: '#' is not in the vocabulary"},
        {"a x\n", "line 1: 'x' is not in the vocabulary"},
        {"a b\nxyz a\n", "line 2: 'xyz' is not in the vocabulary"},
        {"b a\n", "line 1: 'ba' is not in the vocabulary"},
        {"爱 b\n", "line 1: '爱b' is not in the vocabulary"},
        {"a 自\n", "line 1: '自' is not in the vocabulary"},
        {"a b\na \xFF\n", "line 2: expected UTF-8, found the byte 0xff"},
        {"a \xC4", "line 1: expected UTF-8, found the byte 0xc4"},
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        struct bpe bpe;
        struct err err = {0};
        ck_assert_int_eq(read_lines(&bpe, cases[i / 2].lines, i % 2, &err), -1);
        ck_assert_str_eq(err.text, cases[i / 2].text);
        ck_assert_int_eq(err.kind, ERR_INPUT);
        ck_assert_ptr_null(bpe.merges);
    }
}

TEST(an_item_that_is_no_merge_is_refused_with_its_number)
{
    static const struct {
        const char *json;
        const char *text;
    } cases[] = {
        {"[3]", "merge 0: expected \"a b\" or [\"a\", \"b\"], found 3"},
        {"[\"a b\", {}]", "merge 1: expected \"a b\" or [\"a\", \"b\"], found {}"},
        {"[[]]", "merge 0: expected \"a b\" or [\"a\", \"b\"], found []"},
        {"[[\"a\"]]", "merge 0: expected \"a b\" or [\"a\", \"b\"], found [\"a\"]"},
        {"[[\"a\",\"b\",\"c\"]]",
         "merge 0: expected \"a b\" or [\"a\", \"b\"], found [\"a\",\"b\",\"c\"]"},
        {"[[\"a\",1]]", "merge 0: expected \"a b\" or [\"a\", \"b\"], found [\"a\",1]"},
        {"[[\"\",\"a\"]]", "merge 0: expected \"a b\" or [\"a\", \"b\"], found [\"\",\"a\"]"},
        {"[\"ab\"]", "merge 0: expected two tokens with a blank between them, found 'ab'"},
        {"[\"a b\", \"b c\"]", "merge 1: 'bc' is not in the vocabulary"},
        {"[[\"a\", \"x\"]]", "merge 0: 'x' is not in the vocabulary"},
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        struct bpe bpe;
        struct err err = {0};
        ck_assert_int_eq(read_json(&bpe, cases[i / 2].json, i % 2, &err), -1);
        ck_assert_str_eq(err.text, cases[i / 2].text);
        ck_assert_ptr_null(bpe.merges);
    }
}

TEST(an_allocation_that_fails_is_an_error)
{
    struct word_table words = {0};
    size_t nth = 1;
    open_words(&words);
    for (;; nth++) {
        struct bpe bpe = {0};
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = merges_read_lines(&bpe, &words, "a b\n", 4, false, &err);
        heap_fail_at(0, 0);
        if (!failed) {
            bpe_release(&bpe);
            break;
        }
        ck_assert_ptr_nonnull(strstr(err.text, "out of memory: "));
    }
    ck_assert_uint_ge(nth, 3);
    word_table_release(&words);
}
