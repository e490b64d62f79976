#include "base/file.h"
#include "lens/tokenized.h"

#include <stdio.h>

#include "../unit.h"

/* Open a vocabulary of the words, which tildes separate. */
static void open_words(struct tokenizer **tokenizer, const char *words)
{
    char json[1024] = "[\"";
    size_t size = 2;
    for (const char *at = words; *at && size < sizeof json - 8; at++) {
        if (*at == '~')
            size += (size_t)sprintf(json + size, "\",\"");
        else
            json[size++] = *at;
    }
    size += (size_t)sprintf(json + size, "\"]");
    struct folder_file file = {"vocab.json", json, size};
    struct folder folder = {"test", &file, 1};
    struct err err = {0};
    ck_assert_msg(tokenizer_open(tokenizer, &folder, &err) == 0, "%s", err.text);
}

/* Decode all words in order. */
static void expect_text(const char *words, const char *expected)
{
    struct tokenizer *tokenizer = NULL;
    struct buf text = {0};
    open_words(&tokenizer, words);
    for (uint32_t id = 0; id < tokenizer_size(tokenizer); id++) {
        size_t size = 0;
        const char *bytes = tokenizer_token(tokenizer, id, &size);
        size_t start = wording_add(&text, tokenizer, id);
        ck_assert_uint_eq(text.size - start, size);
        ck_assert_mem_eq(text.bytes + start, bytes, size);
    }
    ck_assert_str_eq(text.bytes, expected);
    buf_release(&text);
    tokenizer_free(tokenizer);
}

TEST(words_are_separated_by_blanks_as_in_writing)
{
    static const char *const cases[][2] = {
        {"Life~is~short~,~eat~dessert~first~.", "Life is short, eat dessert first."},
        {"why~?~!~(~so~said~[~she~]~)~:~50~%", "why?! (so said [she]): 50%"},
        {"she~said~“~no~”~,~‘~yes~’~and~«~oui~»", "she said “no”, ‘yes’ and «oui»"},
        {"don~'~t~say~we~'s", "don't say we's"},
        {"¿~qué~?~well~-~known", "¿qué? well - known"},
        {"我~爱~自然~语言~处理~，~AI~也~。", "我爱自然语言处理，AI 也。"},
        {"すし~を~食べる~안녕~하세요", "すしを食べる 안녕 하세요"},
        {"ภาษา~ไทย", "ภาษาไทย"},
        {"a~ b~c ~d~\\n~e", "a b c d\ne"},
        {"one", "one"},
        {".~a~(~b", ". a (b"},
        {"<unk>~word~🍰~cake", "<unk> word 🍰 cake"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_text(cases[i][0], cases[i][1]);
}

TEST(invalid_bytes_are_kept)
{
    struct tokenizer *tokenizer = NULL;
    struct buf text = {0};
    open_words(&tokenizer, "Life");
    buf_bytes(&text, "\xff\x80\x80\x80\x80", 5);
    wording_add(&text, tokenizer, 0);
    ck_assert_mem_eq(text.bytes, "\xff\x80\x80\x80\x80 Life", 10);
    buf_release(&text);
    tokenizer_free(tokenizer);
}
