#include "measure/needle.h"

#include "../unit.h"

static struct arena arena;
static struct err err;

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, leave)

TEST(tokens_that_share_a_byte_with_it_are_marked)
{
    static const char line[] = "{\"text\": \"a bcd e\", \"needle\": \"cd\", \"query\": \" a\"}";
    static const struct token tokens[] = {{1, 0, 1}, {2, 1, 3}, {3, 3, 4}, {4, 4, 5}, {5, 5, 9}};
    struct tokenized text = {.tokens = tokens, .count = COUNT(tokens)};
    struct needle needle;
    bool marked[COUNT(tokens)];
    ck_assert_msg(!needle_read(&needle, line, strlen(line), &arena, &err), "%s", err.text);
    ck_assert_str_eq(needle.text, "a bcd e a");
    ck_assert_uint_eq(needle.size, 9);
    needle_mark(marked, &needle, &text);
    for (size_t i = 0; i < COUNT(tokens); i++)
        ck_assert_msg(marked[i] == (i == 2 || i == 3), "%zu", i);
}

static const struct {
    const char *line, *message;
} broken[] = {
    {"[]", "expected an object with 'text' and 'needle'"},
    {"{\"text\": \"a\"}", "field 'needle': expected a text, found nothing"},
    {"{\"needle\": \"a\"}", "field 'text': expected a text, found nothing"},
    {"{\"text\": \"a\", \"needle\": \"\"}", "field 'needle': expected a text, found \"\""},
    {"{\"text\": \"a\", \"needle\": \"b\"}",
     "field 'needle': expected a part of 'text', found 'b'"},
    {"{\"text\": \"a\", \"needle\": \"b\", \"query\": \"b\"}",
     "field 'needle': expected a part of 'text', found 'b'"},
    {"{\"text\": \"aaa\", \"needle\": \"aa\"}",
     "field 'needle': expected once in 'text', found 'aa' twice"},
};

TEST_LOOP(what_is_no_needle_is_refused, COUNT(broken))
{
    struct needle needle;
    ck_assert(needle_read(&needle, broken[_i].line, strlen(broken[_i].line), &arena, &err));
    ck_assert_str_eq(err.text, broken[_i].message);
}
