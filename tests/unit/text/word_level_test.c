#include "text/tokenizer_json.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"

static void open_words(struct word_level *level, enum word_level_cut cut)
{
    static const char vocab[] =
        "[\"[UNK]\", \"Life\", \"is\", \"don\", \"'\", \"t\", \"...\", \"don't\", \"Life is\"]";
    static const struct added_token pad = {.bytes = "[PAD]", .size = 5, .id = 9, .special = true};
    struct json_cursor cursor;
    *level = (struct word_level){.cut = cut, .has_unknown = true};
    ck_assert_int_eq(json_cursor_open(&cursor, vocab, strlen(vocab), NULL), 0);
    ck_assert_int_eq(word_table_read(&level->set.words, cursor, WORD_TEXT, strlen(vocab), NULL), 0);
    ck_assert_int_eq(token_set_add(&level->set, &pad, 1, NULL), 0);
}

static int encode(struct buf *out, const struct word_level *level, const char *bytes,
                  struct err *err)
{
    struct token_list list = {0};
    struct token_text text = {bytes, strlen(bytes), false};
    int failed = word_level_encode(level, &list, &text, err);
    buf_text(out, "");
    for (size_t i = 0; i < list.count; i++)
        buf_format(out, "%s%u:%zu-%zu", i ? " " : "", list.items[i].id, list.items[i].start,
                   list.items[i].end);
    token_list_release(&list);
    return failed;
}

TEST(texts_are_cut_as_the_pre_tokenizer_says)
{
    static const struct {
        enum word_level_cut cut;
        const char *text;
        const char *tokens;
    } cases[] = {
        {WORD_LEVEL_WORDS, "", ""},
        {WORD_LEVEL_WORDS, " \n", ""},
        {WORD_LEVEL_WORDS, "Life is", "1:0-4 2:5-7"},
        {WORD_LEVEL_WORDS, "don't...", "3:0-3 4:3-4 5:4-5 6:5-8"},
        {WORD_LEVEL_WORDS, "Life, \xE3\x80\x80is", "1:0-4 0:4-5 2:9-11"},
        {WORD_LEVEL_WORDS, "Life_is", "0:0-7"},
        {WORD_LEVEL_WORDS, "is²", "2:0-2 0:2-4"},
        {WORD_LEVEL_WORDS, "is\xCC\x81", "0:0-4"},
        {WORD_LEVEL_BLANKS, "Life don't, is", "1:0-4 0:5-11 2:12-14"},
        {WORD_LEVEL_BLANKS, " don't\xC2\x85is ", "7:1-6 2:8-10"},
        {WORD_LEVEL_WHOLE, "Life is", "8:0-7"},
        {WORD_LEVEL_WHOLE, "Life  is", "0:0-8"},
        {WORD_LEVEL_WHOLE, "is[PAD]Life is", "2:0-2 9:2-7 8:7-14"},
        {WORD_LEVEL_WORDS, "is[PAD]", "2:0-2 9:2-7"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct word_level level;
        struct buf found = {0};
        open_words(&level, cases[i].cut);
        ck_assert_int_eq(encode(&found, &level, cases[i].text, NULL), 0);
        ck_assert_msg(strcmp(found.bytes, cases[i].tokens) == 0, "'%s' gives %s", cases[i].text,
                      found.bytes);
        buf_release(&found);
        word_level_release(&level);
    }
}

TEST(without_a_word_for_the_unknown_it_is_refused)
{
    struct word_level level;
    struct buf found = {0};
    struct err err = {0};
    open_words(&level, WORD_LEVEL_WORDS);
    level.has_unknown = false;
    ck_assert_int_eq(encode(&found, &level, "Life is short", &err), -1);
    ck_assert_str_eq(err.text, "word 'short' at byte 8 is not in the vocabulary");
    buf_release(&found);
    word_level_release(&level);
}
