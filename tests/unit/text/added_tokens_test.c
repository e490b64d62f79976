#include "text/token_set.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/memory.h"

/* A walk as a line: tokens as <id start-end>, the texts between them as |text|. */
struct record {
    struct buf line;
};

static int take(void *context, const struct token *tokens, size_t count, struct err *err)
{
    struct record *record = context;
    (void)err;
    for (size_t i = 0; i < count; i++)
        buf_format(&record->line, "<%u %zu-%zu>", tokens[i].id, tokens[i].start, tokens[i].end);
    return 0;
}

/* Flush the list first, so that tokens and texts are in order. */
static int between(void *context, const struct aligned_text *text, struct text_range range,
                   struct err *err)
{
    struct token_list *list = context;
    struct record *record = list->sink->context;
    if (token_list_flush(list, err))
        return -1;
    ck_assert_uint_lt(range.start, range.end);
    buf_char(&record->line, '|');
    buf_bytes(&record->line, text->bytes + range.start, range.end - range.start);
    buf_char(&record->line, '|');
    return 0;
}

/* How to walk: special tokens are text (plain), or the pass for normalized tokens. */
struct way {
    bool plain, normalized;
};

static void walk(struct buf *line, const struct added_token *items, size_t count,
                 const struct aligned_text *text, struct way way)
{
    struct arena arena = {0};
    struct added_tokens tokens;
    struct record record = {0};
    struct token_sink sink = {take, &record};
    struct token_list list = {.sink = &sink};
    struct added_walk walk = {text, way.normalized, way.plain, &list, between, &list};
    ck_assert_int_eq(added_tokens_init(&tokens, items, count, &arena, NULL), 0);
    ck_assert_int_eq(added_tokens_walk(&tokens, &walk, NULL), 0);
    ck_assert_int_eq(token_list_flush(&list, NULL), 0);
    buf_text(&record.line, "");
    *line = record.line;
    token_list_release(&list);
    arena_release(&arena);
}

static void expect_way(const struct added_token *items, size_t count, struct way way,
                       const char *text, const char *expected)
{
    struct buf line;
    struct aligned_text whole = {.bytes = text, .size = strlen(text)};
    walk(&line, items, count, &whole, way);
    ck_assert_msg(strcmp(line.bytes, expected) == 0, "'%s' gives '%s'", text, line.bytes);
    buf_release(&line);
}

static void expect_walk(const struct added_token *items, size_t count, const char *text,
                        const char *expected)
{
    expect_way(items, count, (struct way){0}, text, expected);
}

static const struct added_token end_of_text[] = {
    {.bytes = "<|endoftext|>", .size = 13, .id = 50256, .special = true}};

TEST(added_tokens_split_a_text)
{
    expect_walk(end_of_text, 1, "", "");
    expect_walk(end_of_text, 1, "Life", "|Life|");
    expect_walk(end_of_text, 1, "<|endoftext|>", "<50256 0-13>");
    expect_walk(end_of_text, 1, "a <|endoftext|><|endoftext|>b",
                "|a |<50256 2-15><50256 15-28>|b|");
    expect_walk(end_of_text, 1, "<<|endoftext|>>", "|<|<50256 1-14>|>|");
    expect_walk(end_of_text, 1, "<|endoftext|", "|<|endoftext||");
    expect_walk(NULL, 0, "<|endoftext|>", "|<|endoftext|>|");
}

TEST(special_tokens_can_be_text)
{
    static const struct added_token items[] = {
        {.bytes = "<s>", .size = 3, .id = 1, .special = true},
        {.bytes = "<t>", .size = 3, .id = 2}};
    expect_way(items, 2, (struct way){.plain = true}, "a<s><t><s>", "|a<s>|<2 4-7>|<s>|");
}

TEST(the_first_and_longest_token_matches)
{
    static const struct added_token items[] = {{.bytes = "ab", .size = 2, .id = 1},
                                               {.bytes = "abcd", .size = 4, .id = 2},
                                               {.bytes = "bcd", .size = 3, .id = 3},
                                               {.bytes = "\xE7\x88\xB1", .size = 3, .id = 4}};
    expect_walk(items, 4, "abc", "<1 0-2>|c|");
    expect_walk(items, 4, "abcd", "<2 0-4>");
    expect_walk(items, 4, "abcbcd", "<1 0-2>|c|<3 3-6>");
    expect_walk(items, 4, "爱ab", "<4 0-3><1 3-5>");
}

TEST(each_pass_finds_its_own_kind_of_tokens)
{
    static const struct added_token items[] = {
        {.bytes = "ab", .size = 2, .id = 1, .normalized = true},
        {.bytes = "bc", .size = 2, .id = 2}};
    static const struct way second = {.normalized = true};
    expect_walk(items, 2, "abcab", "|a|<2 1-3>|ab|");
    expect_way(items, 2, second, "abcab", "<1 0-2>|c|<1 3-5>");
}

TEST(the_second_pass_finds_normalized_tokens)
{
    static const struct added_token items[] = {
        {.bytes = "AB", .size = 2, .pattern = "ab", .pattern_size = 2, .id = 1, .normalized = true},
        {.bytes = "C", .size = 1, .pattern = "", .pattern_size = 0, .id = 2, .normalized = true}};
    expect_way(items, 2, (struct way){.normalized = true}, "ABabC", "|AB|<1 2-4>|C|");
}

/* A rewritten text: `ab` replaces bytes 10 to 16, one byte for three. */
TEST(tokens_have_positions_in_the_original_text)
{
    static const struct alignment parts[] = {{0, 10, 1, 3}, {2, 16, 1, 1}};
    static const struct added_token items[] = {
        {.bytes = "b", .size = 1, .id = 1, .normalized = true},
        {.bytes = "bxa", .size = 3, .id = 2, .normalized = true}};
    const struct aligned_text text = {.bytes = "abxab", .size = 5, .parts = parts, .part_count = 2};
    struct buf line;
    walk(&line, items, 2, &text, (struct way){.normalized = true});
    ck_assert_str_eq(line.bytes, "|a|<2 13-18><1 18-19>");
    buf_release(&line);
}

TEST(a_single_word_token_is_not_next_to_a_letter)
{
    static const struct added_token items[] = {
        {.bytes = "foo", .size = 3, .id = 1, .single_word = true},
        {.bytes = "oof", .size = 3, .id = 2, .normalized = true},
        {.bytes = "!x", .size = 2, .id = 3, .normalized = true, .single_word = true}};
    static const struct way second = {.normalized = true};
    expect_walk(items, 1, "foo foo.", "<1 0-3>| |<1 4-7>|.|");
    expect_walk(items, 1, "foos afoo foo_ 9foo", "|foos afoo foo_ 9foo|");
    expect_walk(items, 1, "爱foo foo\xCC\x81 -foo", "|爱foo foo\xCC\x81 -|<1 14-17>");
    expect_walk(items, 2, "xfoof", "|xfoof|");
    expect_way(items, 2, second, "xfoof", "|xf|<2 2-5>"); /* the second pass has the whole text */
    expect_way(items, 3, second, "!x !xy", "<3 0-2>| !xy|");
}

TEST(tokens_may_include_white_space_around_them)
{
    static const struct added_token items[] = {
        {.bytes = "<l>", .size = 3, .id = 1, .left_strip = true},
        {.bytes = "<r>", .size = 3, .id = 2, .right_strip = true},
        {.bytes = "<b>", .size = 3, .id = 3, .left_strip = true, .right_strip = true}};
    expect_walk(items, 3, "a \n<l> b", "|a|<1 1-6>| b|");
    expect_walk(items, 3, "a <r>\xE3\x80\x80 b", "|a |<2 2-9>|b|");
    expect_walk(items, 3, " <b> ", "<3 0-5>");
    expect_walk(items, 3, "<r> <l>", "<2 0-4><1 4-7>");
    expect_walk(items, 3, "a\xC2\x85<l>", "|a|<1 1-6>");
}

TEST(tokens_are_found_by_their_ids)
{
    static const struct added_token items[] = {{.bytes = "<s>", .size = 3, .id = 9},
                                               {.bytes = "<a>", .size = 3, .id = 12},
                                               {.bytes = "<t>", .size = 3, .id = 3}};
    struct arena arena = {0};
    struct added_tokens tokens;
    ck_assert_int_eq(added_tokens_init(&tokens, items, 3, &arena, NULL), 0);
    ck_assert_mem_eq(added_tokens_of_id(&tokens, 9)->bytes, "<s>", 3);
    ck_assert_mem_eq(added_tokens_of_id(&tokens, 12)->bytes, "<a>", 3);
    ck_assert_mem_eq(added_tokens_of_id(&tokens, 3)->bytes, "<t>", 3);
    ck_assert_ptr_null(added_tokens_of_id(&tokens, 4));
    ck_assert_int_eq(added_tokens_init(&tokens, NULL, 0, &arena, NULL), 0);
    ck_assert_ptr_null(added_tokens_of_id(&tokens, 3));
    arena_release(&arena);
}
