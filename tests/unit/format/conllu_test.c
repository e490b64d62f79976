#include "format/conllu.h"

#include <string.h>

#include "../unit.h"

static struct arena arena;
static struct err err;
static struct conllu_reader reader;
static struct conllu_sentence sentence;

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static int read_next(void)
{
    return conllu_read(&reader, &sentence, &arena, &err);
}

static int read_first(const char *text)
{
    reader = (struct conllu_reader){text, text + strlen(text), 1};
    return read_next();
}

TEST(words_are_read_with_their_heads)
{
    ck_assert(!read_first("# sent_id = 1\n"
                          "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n"
                          "1\tde\tde\tADP\t_\t_\t3\tcase\t_\tSpaceAfter=No\n"
                          "2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_\n"
                          "2.1\tnil\t_\t_\t_\t_\t_\t_\t_\t_\n"
                          "3\tchat\tchat\tNOUN\t_\t_\t0\troot\t_\t_\r\n"
                          "\n\n"
                          "1\tOui\toui\tINTJ\t_\t_\t0\troot\t_\t_"));
    ck_assert_uint_eq(sentence.count, 3);
    ck_assert_uint_eq(sentence.line, 3);
    ck_assert_uint_eq(sentence.words[1].head, 3);
    ck_assert_uint_eq(sentence.words[3].head, 0);
    ck_assert_str_eq(sentence.words[2].relation, "det");
    ck_assert_mem_eq(sentence.words[3].form, "chat", sentence.words[3].size);
    ck_assert(!sentence.words[1].space_after && sentence.words[2].space_after);
    ck_assert(!read_next());
    ck_assert_uint_eq(sentence.count, 1);
    ck_assert_uint_eq(sentence.line, 9);
    ck_assert(!read_next());
    ck_assert_uint_eq(sentence.count, 0);
}

TEST(an_empty_line_before_any_word_ends_no_sentence)
{
    ck_assert(!read_first("1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n"
                          "\n"
                          "1\tde\t_\t_\t_\t_\t2\tcase\t_\t_\n"
                          "2\tle\t_\t_\t_\t_\t3\tdet\t_\t_\n"
                          "3\tchat\t_\t_\t_\t_\t0\troot\t_\t_"));
    ck_assert_uint_eq(sentence.count, 3);
    ck_assert_str_eq(sentence.words[1].relation, "case");
    ck_assert_str_eq(sentence.words[2].relation, "det");
    ck_assert_str_eq(sentence.words[3].relation, "root");
}

static const struct {
    const char *text, *message;
} broken[] = {
    {"1\tLife", "line 1: expected 10 fields with tabs between them, found 2"},
    {"# x\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\t_",
     "line 2: expected 10 fields with tabs between them, found 11"},
    {"2\ta\t_\t_\t_\t_\t0\troot\t_\t_", "line 1: ID: expected 1, found '2'"},
    {"1\t\t_\t_\t_\t_\t0\troot\t_\t_", "line 1: FORM: expected a text, found none"},
    {"1\ta\t_\t_\t_\t_\t0\t\t_\t_", "line 1: DEPREL: expected a text, found none"},
    {"1\ta\t_\t_\t_\t_\t_\troot\t_\t_", "line 1: HEAD: expected the number of a word, found '_'"},
    {"1\ta\t_\t_\t_\t_\t2\tdet\t_\t_",
     "sentence of line 1: HEAD of word 1: expected another word from 1 to 1, or 0, found 2"},
    {"1\ta\t_\t_\t_\t_\t1\tdet\t_\t_",
     "sentence of line 1: HEAD of word 1: expected another word from 1 to 1, or 0, found 1"},
};

TEST_LOOP(what_is_broken_is_refused_with_its_line, COUNT(broken))
{
    ck_assert(read_first(broken[_i].text));
    ck_assert_str_eq(err.text, broken[_i].message);
}
