#include "base/buf.h"
#include "train/vocabulary.h"

#include <string.h>

#include "../unit.h"
#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizer.h"

static struct word_list list;
static struct buf json;
static struct err err;

static void make(const char *text)
{
    err_clear(&err);
    ck_assert_msg(!word_list_add(&list, text, strlen(text), &err), "%s", err.text);
    word_list_sort(&list);
    word_list_json(&json, &list);
    ck_assert_int_eq(buf_check(&json, NULL), 0);
}

static void release(void)
{
    word_list_release(&list);
    buf_release(&json);
}

static const struct {
    const char *text, *json;
} cases[] = {
    {"Life is short, eat dessert first",
     "{\"Life\": 0, \"dessert\": 1, \"eat\": 2, \"first\": 3, \"is\": 4, \"short\": 5}\n"},
    {"b a b a B", "{\"B\": 0, \"a\": 1, \"b\": 2}\n"},
    {"ab a abc", "{\"a\": 0, \"ab\": 1, \"abc\": 2}\n"},
    {"", "{}\n"},
    {" ,.!\n\t'-' -- ", "{}\n"},
    {"one\ntwo\tthree  four", "{\"four\": 0, \"one\": 1, \"three\": 2, \"two\": 3}\n"},
    {"short,eat(dessert)first...", "{\"dessert\": 0, \"eat\": 1, \"first\": 2, \"short\": 3}\n"},
    {"don't", "{\"don't\": 0}\n"},
    {"it’s a well-known - 'fact' rock'n'roll", "{\"a\": 0, \"fact\": 1, \"it’s\": 2, "
                                               "\"rock'n'roll\": 3, \"well-known\": 4}\n"},
    {"a--b c-'d' e-", "{\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 3, \"e\": 4}\n"},
    {"3.14 x_1 4th", "{\"1\": 0, \"14\": 1, \"3\": 2, \"4th\": 3, \"x\": 4}\n"},
    {"我爱自然语言处理", "{\"处\": 0, \"我\": 1, \"然\": 2, \"爱\": 3, \"理\": 4, \"自\": 5, "
                         "\"言\": 6, \"语\": 7}\n"},
    {"我 爱 自然 语言 处理", "{\"处理\": 0, \"我\": 1, \"爱\": 2, \"自然\": 3, \"语言\": 4}\n"},
    {"自然　语言\n处理", "{\"处\": 0, \"理\": 1, \"自然\": 2, \"语言\": 3}\n"},
    {"我爱C++, C语言. 自然!", "{\"C\": 0, \"我\": 1, \"然\": 2, \"爱\": 3, \"自\": 4, \"言\": 5, "
                              "\"语\": 6}\n"},
    {"don't爱 it's", "{\"don\": 0, \"it's\": 1, \"t\": 2, \"爱\": 3}\n"},
    {"二〇二五年 2025年", "{\"2025\": 0, \"〇\": 1, \"二\": 2, \"五\": 3, \"年\": 4}\n"},
    {"スーパー がが", "{\"がが\": 0, \"スーパー\": 1}\n"},
    {"スーパー、がか\xe3\x82\x99",
     "{\"か\xe3\x82\x99\": 0, \"が\": 1, \"ス\": 2, \"パ\": 3, \"ー\": 4}\n"},
    {"ฉันรักน้ำ", "{\"ก\": 0, \"ฉั\": 1, \"น\": 2, \"น้ำ\": 3, \"รั\": 4}\n"},
    {"우리는 자연어를", "{\"우리는\": 0, \"자연어를\": 1}\n"},
    {"Übung über 爱 naïve", "{\"naïve\": 0, \"Übung\": 1, \"über\": 2, \"爱\": 3}\n"},
};

TEST_LOOP(words_are_sorted_and_unique, COUNT(cases))
{
    make(cases[_i].text);
    ck_assert_str_eq(json.bytes, cases[_i].json);
    release();
}

TEST(several_texts_make_one_list)
{
    static const char first[] = "short is Life";
    static const char second[] = "Life is long";
    ck_assert_int_eq(word_list_add(&list, first, strlen(first), NULL), 0);
    make(second);
    ck_assert_str_eq(json.bytes, "{\"Life\": 0, \"is\": 1, \"long\": 2, \"short\": 3}\n");
    release();
}

/* The tokenizer made of the words of a text encodes each word as one token. */
static const struct {
    const char *text;
    size_t words, tokens;
} own_words[] = {
    {"It’s well-known: don't eat 3 desserts, it's 'rock'n'roll'!", 8, 8},
    {"我爱自然语言处理", 8, 8},
    {"我 爱 自然 语言 处理\n我爱自然语言处理", 8 + 3, 5 + 5},
    {"爱don't爱人 C语言, don't", 8, 9},
    {"ฉันรักน้ำ", 5, 5},
};

TEST_LOOP(a_text_is_encoded_with_its_own_words, COUNT(own_words))
{
    const char *text = own_words[_i].text;
    make(text);
    struct folder_file file = {"vocab.json", json.bytes, json.size};
    struct folder folder = {"words", &file, 1};
    struct tokenizer *tokenizer = NULL;
    struct arena arena = {0};
    struct tokens tokens;
    int failed = tokenizer_open(&tokenizer, &folder, &err) ||
                 tokenizer_encode(tokenizer, &tokens, text, strlen(text), &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    ck_assert_uint_eq(tokenizer_size(tokenizer), own_words[_i].words);
    ck_assert_uint_eq(tokens.count, own_words[_i].tokens);
    tokenizer_free(tokenizer);
    arena_release(&arena);
    release();
}

/* A single character between blanks is not reported. */
TEST(words_that_were_split_into_characters_are_reported)
{
    static const char *const texts[] = {"我 爱 自然", "Life 爱 short", "it is 我爱你, 爱我", NULL};
    for (size_t i = 0; texts[i]; i++) {
        ck_assert_int_eq(word_list_add(&list, texts[i], strlen(texts[i]), NULL), 0);
        if (texts[i + 1])
            continue;
        ck_assert_uint_eq(list.unspaced.size, strlen("我爱你"));
        ck_assert_ptr_eq(list.unspaced.bytes, texts[i] + strlen("it is "));
    }
    release();
}

TEST(many_words_fit)
{
    static char text[20000];
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = i % 2 ? ' ' : (char)('a' + i / 2 % 26);
    make(text);
    ck_assert_uint_eq(list.count, 26);
    release();
}

TEST(invalid_utf8_is_refused)
{
    err_clear(&err);
    ck_assert_int_eq(word_list_add(&list, "ab\xFFz", 4, &err), -1);
    ck_assert_str_eq(err.text, "expected a text in UTF-8, found the byte 0xff at byte 2");
    ck_assert_int_eq(err.kind, ERR_INPUT);
    release();
}

TEST(a_failed_allocation_is_an_error)
{
    err_clear(&err);
    heap_fail_at(1, 0);
    ck_assert_int_eq(word_list_add(&list, "Life", 4, &err), -1);
    heap_fail_at(0, 0);
    ck_assert_msg(strstr(err.text, "out of memory") != NULL, "%s", err.text);
    release();
}
