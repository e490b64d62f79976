#include "text/builder.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/words_fixture.h"
#include "base/buf.h"

#define ZWJ "\xE2\x80\x8D"
#define ZWNJ "\xE2\x80\x8C"
#define VARIATION "\xEF\xB8\x8F"
#define ACUTE "\xCC\x81"

/* Each token has the id of its text, or of the unknown word; tokens are in order. */
static void expect_ids(const struct tokenizer *vocabulary, const struct tokens *tokens,
                       const char *text)
{
    uint32_t unknown = UINT32_MAX;
    size_t end = 0;
    words_find(vocabulary, "<unk>", 5, &unknown);
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->items[i];
        uint32_t id = unknown;
        words_find(vocabulary, text + token->start, token->end - token->start, &id);
        ck_assert_uint_eq(token->id, id);
        ck_assert_uint_ge(token->start, end);
        end = token->end;
    }
}

struct cutting {
    const char *words;
    const char *text;
    const char *tokens;
    size_t dropped;
};

TEST(tokens_have_ids_and_positions)
{
    static const char text[] = "Life is short, eat dessert first";
    static const struct token expected[] = {{0, false, 0, 4},   {4, false, 5, 7},
                                            {5, false, 8, 13},  {2, false, 15, 18},
                                            {1, false, 19, 26}, {3, false, 27, 32}};
    struct tokenizer vocabulary = {0};
    struct arena arena = {0};
    struct tokens tokens = {0};
    words_open(&vocabulary, "Life~dessert~eat~first~is~short");
    ck_assert_int_eq(words_keep(&vocabulary, &tokens, text, strlen(text), &arena, NULL), 0);
    ck_assert_uint_eq(tokens.count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        ck_assert_uint_eq(tokens.items[i].id, expected[i].id);
        ck_assert_uint_eq(tokens.items[i].start, expected[i].start);
        ck_assert_uint_eq(tokens.items[i].end, expected[i].end);
    }
    ck_assert_uint_eq(tokens.dropped_count, 1);
    ck_assert_uint_eq(tokens.dropped_first->start, 13);
    ck_assert_uint_eq(tokens.dropped_first->end, 14);
    arena_release(&arena);
    tokenizer_release(&vocabulary);
}

static const struct cutting cuttings[] = {
    /* white space separates words; punctuation is a token */
    {"a", "", "", 0},
    {"a", " \t\r\n\xC2\xA0\xE3\x80\x80", "", 0},
    {"Life~is~short", "  Life\tis\nshort ", "Life~is~short", 0},
    {"Life~is~short", "Life\xE3\x80\x80is\xC2\xA0short", "Life~is~short", 0},
    {"Life~is~,", "Life,is , is", "Life~,~is~,~is", 0},
    {"yes~no~!", "yes!!no?", "yes~!~!~no", 1},
    {"yes", "\"(yes)\" -- yes...", "yes~yes", 9},
    {"爱~我", "我，爱。", "我~爱", 2},
    {"a", "...", "", 3},
    {"w1~w10", "w10 w1 w10", "w10~w1~w10", 0},
    /* the longest word that ends at a boundary matches */
    {"don't~don~t~'", "don't", "don't", 0},
    {"don~t~'", "don't", "don~'~t", 0},
    {"don~t", "don't", "don~t", 1},
    {"it~'s", "it's", "it~'s", 0},
    {"e-mail~e~mail", "e-mail", "e-mail", 0},
    {"e-mail~e~mails", "e-mails", "e~mails", 1},
    {"e~-~mail~e-m", "e-mail", "e~-~mail", 0},
    {"...~.", "....", "...~.", 0},
    {"<unk>~unk", "<unk><unk>", "<unk>~<unk>", 0},
    {"<unk>~unk~a", "<unk >a", "unk~a", 2},
    {"<|endoftext|>~a", "a<|endoftext|>a", "a~<|endoftext|>~a", 0},
    {"short,~short~eat", "short, eat short", "short,~eat~short", 0},
    {"New York~New~York", "New York New", "New York~New", 0},
    {"New York~New~Yorker", "New Yorker", "New~Yorker", 0},
    {" ~\n~a~b", "a b\n", "a~ ~b~\n", 0},
    {"3.14~3~.~1", "3.14 3.1", "3.14~3~.~1", 0},
    /* an unknown run is split completely or not at all */
    {"我~爱~自然~语言~处理", "我爱自然语言处理", "我~爱~自然~语言~处理", 0},
    {"我~爱~自然~自然语言~语言~处理", "我爱自然语言处理", "我~爱~自然语言~处理", 0},
    {"th~is~this", "this th", "this~th", 0},
    {"th~is", "this", "th~is", 0},
    {"a~b~c", "cab", "c~a~b", 0},
    {"abc~ab~cde~d~e", "abcde", "abc~d~e", 0}, /* the longest first, not the fewest */
    {"ab~abc~cd", "abcd", "ab~cd", 0},         /* abc would leave d */
    {"<unk>~th~is", "thing this", "thing~th~is", 0},
    {"我~爱~编程~C++", "我爱C++编程", "我~爱~C++~编程", 0},
    {"我~爱~编程~C++~C", "我爱C++编程C", "我~爱~C++~编程~C", 0},
    {"<unk>~a~bc-d~def", "abc-def", "abc~def", 1},
    {"<unk>~cafe", "cafe" ACUTE, "cafe" ACUTE, 0},
    {"e~" ACUTE, "e" ACUTE "e", "e~" ACUTE "~e", 0},
    /* controls and emoji are punctuation */
    {"a", "a 🍰!", "a", 2},
    {"a", "👨" ZWJ "👩" ZWJ "👧 a", "a", 1},
    {"a", "👍🏽❤" VARIATION " 🇩🇪a", "a", 3},
    {"a~🍰", "a🍰a", "a~🍰~a", 0},
    {"❤" VARIATION "~❤", "❤" VARIATION, "❤" VARIATION, 0},
    {"a~❤", "❤" VARIATION "a", "❤~a", 1},
    {"👍~🏽", "👍🏽", "👍~🏽", 0},
    {"👨~👩", "👨" ZWJ "👩", "👨~👩", 1},
    {"a", "a\x01\x1B a\x7F", "a~a", 3},
    {"a",
     "\xEF\xBB\xBF"
     "a",
     "a", 1},
    {"12",
     "\xD8\x80"
     "12",
     "12", 1}, /* U+0600 precedes its digits */
    {"می~خواهم", "می" ZWNJ "خواهم", "می~خواهم", 1},
    {"می~می" ZWNJ "خواهم", "می" ZWNJ "خواهم", "می" ZWNJ "خواهم", 0},
    {"<unk>~a", "a " ACUTE, "a~" ACUTE, 0},
    {"<unk>~is", "IS is", "IS~is", 0},
};

TEST_LOOP(texts_are_cut_into_words, COUNT(cuttings))
{
    const struct cutting *cutting = &cuttings[_i];
    const char *text = cutting->text;
    struct tokenizer vocabulary = {0};
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct err err = {0};
    struct buf found = {0};
    words_open(&vocabulary, cutting->words);
    ck_assert_msg(!words_keep(&vocabulary, &tokens, text, strlen(text), &arena, &err), "'%s': %s",
                  text, err.text);
    words_describe(&found, &tokens, text);
    ck_assert_msg(strcmp(found.bytes, cutting->tokens) == 0, "'%s' gives '%s'", text, found.bytes);
    ck_assert_msg(tokens.dropped_count == cutting->dropped, "'%s': %zu dropped", text,
                  tokens.dropped_count);
    ck_assert_int_eq(tokens.dropped_first != NULL, cutting->dropped > 0);
    expect_ids(&vocabulary, &tokens, text);
    buf_release(&found);
    arena_release(&arena);
    tokenizer_release(&vocabulary);
}

TEST(a_byte_0_is_a_control)
{
    struct tokenizer vocabulary = {0};
    struct arena arena = {0};
    struct tokens tokens = {0};
    words_open(&vocabulary, "a");
    ck_assert_int_eq(words_keep(&vocabulary, &tokens, "a\0a", 3, &arena, NULL), 0);
    ck_assert_uint_eq(tokens.count, 2);
    ck_assert_uint_eq(tokens.dropped_first->start, 1);
    arena_release(&arena);
    tokenizer_release(&vocabulary);
}

TEST(every_word_is_encoded_as_itself)
{
    struct tokenizer vocabulary = {0};
    struct arena arena = {0};
    words_open(&vocabulary, "don't~don~<unk>~[UNK]~...~.~ ~  ~a b~a~b~C++~C~e" ACUTE "~" ACUTE
                            "~🍰~'s~-~--~-a~a-~_x_~3.14~❤" VARIATION "~" VARIATION "~" ZWJ
                            "~自然~自~\n~\xC2\xA0~<|endoftext|>");
    for (uint32_t id = 0; id < vocabulary.set.words.size; id++) {
        struct word word = {0};
        struct tokens tokens = {0};
        struct err err = {0};
        word.bytes = word_table_word(&vocabulary.set.words, id, &word.size);
        words_keep(&vocabulary, &tokens, word.bytes, word.size, &arena, &err);
        ck_assert_msg(tokens.count == 1 && tokens.items[0].id == id, "'%.*s' %s", (int)word.size,
                      word.bytes, err.text);
    }
    arena_release(&arena);
    tokenizer_release(&vocabulary);
}

TEST(an_unknown_word_becomes_the_unknown_token)
{
    static const char *const words[] = {"a~<unk>", "a~[UNK]", "a~<|unk|>", "[UNK]~<unk>~<|unk|>"};
    for (size_t i = 0; i < COUNT(words); i++) {
        struct tokenizer vocabulary = {0};
        struct arena arena = {0};
        struct tokens tokens = {0};
        words_open(&vocabulary, words[i]);
        ck_assert_int_eq(words_keep(&vocabulary, &tokens, "Lfe, x", 6, &arena, NULL), 0);
        ck_assert_uint_eq(tokens.count, 2);
        ck_assert_uint_eq(tokens.items[0].id, 1);
        ck_assert_uint_eq(tokens.items[0].end, 3);
        ck_assert_uint_eq(tokens.items[1].id, 1);
        ck_assert_uint_eq(tokens.dropped_count, 1);
        arena_release(&arena);
        tokenizer_release(&vocabulary);
    }
}
