#include "train/grammar.h"

#include <stdbool.h>
#include <string.h>

#include "../unit.h"
#include "math/rng.h"

static void open(struct grammar *grammar, const char *text)
{
    struct err err = {0};
    ck_assert_msg(grammar_read(grammar, text, strlen(text), &err) == 0, "%s", err.text);
}

/* Texts 0 … 99 of a grammar each must be among those that are expected, and all of these come. */
static void expect(const char *text, const char *const *expected, size_t count)
{
    struct grammar grammar;
    struct err err = {0};
    bool seen[16] = {false};
    open(&grammar, text);
    for (uint64_t number = 0; number < 100; number++) {
        struct buf out = {0};
        size_t i = 0;
        ck_assert_msg(grammar_write(&grammar, &out, 0, rng_fold_in(1, number), &err) == 0, "%s",
                      err.text);
        while (i < count && strcmp(expected[i], out.bytes) != 0)
            i++;
        ck_assert_msg(i < count, "found '%s'", out.bytes);
        seen[i] = true;
        buf_release(&out);
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(seen[i], "never '%s'", expected[i]);
    grammar_release(&grammar);
}

static const struct {
    const char *grammar;
    const char *texts[6];
} grammars[] = {
    {"a = one text", {"one text"}},
    {"a = one | two \n # no comment: the line goes on",
     {"one", "two # no comment: the line goes on"}},
    {"# a comment\n\na = one\n#between\n  | two\n", {"one", "two"}},
    {"a = <b>, <b>!\nb = x | y", {"x, x!", "x, y!", "y, x!", "y, y!"}},
    {"a = <n:b> and <n>\nb = x | y", {"x and x", "y and y"}},
    {"a = <n:b> <b!n>\nb = x | y | z", {"x y", "x z", "y x", "y z", "z x", "z y"}},
    {"a = <n:b> <v/n>\nb = key #one | keys #many\nv = is #one | are #many", {"key is", "keys are"}},
    {"a = <n:b> <v!n>\nb = key #one | keys #many\nv = is #one | are #many", {"key are", "keys is"}},
    {"a = <s><s>\ns = ka | mo", {"kaka", "kamo", "moka", "momo"}},
    {"a = \\<b\\> \\| \\\\ \\*3", {"<b> | \\ *3"}},
    {"a = *3 x | *2   y\r\n", {"x", "y"}},
    {"a = C#major", {"C#major"}},
};

TEST_LOOP(texts_are_what_the_rules_say, COUNT(grammars))
{
    size_t count = 0;
    while (count < COUNT(grammars[_i].texts) && grammars[_i].texts[count])
        count++;
    expect(grammars[_i].grammar, grammars[_i].texts, count);
}

TEST(weights_count)
{
    struct grammar grammar;
    size_t seen = 0;
    open(&grammar, "a = *9 x | y");
    for (uint64_t number = 0; number < 2000; number++) {
        struct buf out = {0};
        ck_assert_int_eq(grammar_write(&grammar, &out, 0, rng_fold_in(2, number), NULL), 0);
        seen += out.bytes[0] == 'x';
        buf_release(&out);
    }
    ck_assert_uint_gt(seen, 1740);
    ck_assert_uint_lt(seen, 1860);
    grammar_release(&grammar);
}

static const struct {
    const char *grammar, *message;
} broken[] = {
    {"", "expected a rule, found none"},
    {"# nothing\n", "expected a rule, found none"},
    {"a\n", "line 1: expected a rule, 'name = …', or a comment"},
    {"a = x\n= y\n", "line 2: expected a rule, 'name = …', or a comment"},
    {"a = x\na = y\n", "line 2: rule 'a' is there already"},
    {"a = <b", "line 1: rule 'a': expected '>', found the end"},
    {"a = <> x", "line 1: rule 'a': expected a name, found '> x'"},
    {"a = <n:c>", "line 1: rule 'a': expected the name of a rule, found 'c>'"},
    {"a = <a!>", "line 1: rule 'a': expected a name, found '>'"},
    {"a = *0 x", "line 1: rule 'a': expected a weight from 1 to 1000000 after '*', found ' x'"},
    {"a = *3x", "line 1: rule 'a': expected a weight from 1 to 1000000 after '*', found 'x'"},
    {"a = \xff", "expected a text in UTF-8, found the byte 0xff at byte 4"},
};

TEST_LOOP(broken_grammars_are_refused, COUNT(broken))
{
    struct grammar grammar;
    struct err err = {0};
    ck_assert_int_eq(grammar_read(&grammar, broken[_i].grammar, strlen(broken[_i].grammar), &err),
                     -1);
    ck_assert_str_eq(err.text, broken[_i].message);
    ck_assert_int_eq(err.kind, ERR_INPUT);
}

static const struct {
    const char *grammar, *message;
} endless[] = {
    {"a = x <a>", "line 1: rule 'a': rules within rules are more than 64 deep"},
    {"a = <n>", "line 1: rule 'a': a name stands for nothing yet"},
    {"a = <b/n>\nb = x", "line 1: rule 'a': a name stands for nothing yet"},
    {"a = <n:b> <c/n>\nb = x\nc = y",
     "line 1: rule 'a': no alternative has the tag that is asked for"},
};

TEST_LOOP(rules_that_cannot_be_followed_are_refused, COUNT(endless))
{
    struct grammar grammar;
    struct buf out = {0};
    struct err err = {0};
    open(&grammar, endless[_i].grammar);
    ck_assert_int_eq(grammar_write(&grammar, &out, 0, 1, &err), -1);
    ck_assert_str_eq(err.text, endless[_i].message);
    buf_release(&out);
    grammar_release(&grammar);
}

/* Each rule ten times the next, without going deep. */
#define TEN_TIMES                                                          \
    "a=<b><b><b><b><b><b><b><b><b><b>\nb=<c><c><c><c><c><c><c><c><c><c>\n" \
    "c=<d><d><d><d><d><d><d><d><d><d>\nd=<e><e><e><e><e><e><e><e><e><e>\n" \
    "e=<f><f><f><f><f><f><f><f><f><f>\n"

static const struct {
    const char *grammar, *message;
} large[] = {
    {TEN_TIMES "f=0123456789 123456789", "the text is longer than a megabyte"},
    {TEN_TIMES "f=<g><g><g><g><g><g><g><g><g><g>\ng=<h><h><h><h><h><h><h><h><h><h>\nh=",
     "the text has more than four million parts"},
    {TEN_TIMES "f=<n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n>"
               "<n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n><n>\n"
               "start=<n:h><a>\nh=",
     "the text has more than four million parts"},
};

TEST_LOOP(a_text_has_an_end, COUNT(large))
{
    struct grammar grammar;
    struct buf out = {0};
    struct err err = {0};
    open(&grammar, large[_i].grammar);
    size_t rule = grammar_find(&grammar, "start", 5);
    ck_assert_int_eq(grammar_write(&grammar, &out, rule == GRAMMAR_NONE ? 0 : rule, 1, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, large[_i].message));
    buf_release(&out);
    grammar_release(&grammar);
}

/* The plain way: one after another. */
static const struct grammar_choice *walk(const struct grammar_rule *rule,
                                         const struct grammar_draw_among *among, uint64_t key,
                                         uint64_t number)
{
    uint64_t total = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t drawn = pass ? rng_below(key, number, total) : 0;
        for (size_t i = 0; i < rule->choice_count; i++) {
            const struct grammar_choice *choice = &rule->choices[i];
            bool same = choice->tag == among->tag;
            uint64_t weight = among->any || same != among->other ? choice->weight : 0;
            if (pass && drawn < weight)
                return choice;
            if (pass)
                drawn -= weight;
            else
                total += weight;
        }
        if (!total)
            return NULL;
    }
    return NULL;
}

TEST(what_is_drawn_is_what_a_walk_finds)
{
    struct grammar grammar;
    open(&grammar, "a = *3 a #x | b #y | *1000000 c #x | d | *7 e #z | f #y | *2 g #z");
    const struct grammar_rule *rule = &grammar.rules[0];
    for (uint64_t i = 0; i < 20000; i++) {
        struct grammar_draw_among among = {i % 7 == 0, i % 2 == 0, i % 8};
        uint64_t drawn = i;
        const struct grammar_choice *found = grammar_draw(rule, &among, 5, &drawn);
        ck_assert_ptr_eq(found, walk(rule, &among, 5, i));
        ck_assert_uint_eq(drawn, found ? i + 1 : i);
    }
    grammar_release(&grammar);
}
