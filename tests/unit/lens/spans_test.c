#include "lens/report.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/file.h"
#include "lens/tokenized.h"
#include "model/model.h"

enum { TOKENS_MAX = 16 };

static struct arena arena;

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, release)

/* A text whose tokens end at the bars: "dess|ert| first". A blank before a token is part of it
 * (`own`), as in byte-level BPE, or belongs to no token, as in a vocabulary of words. */
static struct tokenized read_cut(const char *cut, bool own)
{
    static struct token tokens[TOKENS_MAX];
    static struct label labels[TOKENS_MAX];
    struct buf text = {0};
    size_t count = 0;
    for (const char *part = cut; *part;) {
        size_t size = strcspn(part, "|");
        size_t blank = !own && *part == ' ';
        tokens[count] = (struct token){0, false, text.size + blank, text.size + size};
        labels[count++] = (struct label){"token", "token", "token"};
        buf_bytes(&text, part, size);
        part += size + (part[size] == '|');
    }
    char *kept = arena_text(&arena, text.bytes, text.size, NULL);
    struct tokenized tokenized = {
        .raw = kept, .size = text.size, .tokens = tokens, .labels = labels, .count = count};
    buf_release(&text);
    return tokenized;
}

/* Compare the words, joined with bars. */
static void check_words(struct tokenized tokenized, const struct tokenizer *tokenizer,
                        const char *expected)
{
    struct buf found = {0};
    size_t tokens = 0;
    ck_assert_int_eq(word_spans_find(&tokenized, tokenizer, &arena, NULL), 0);
    for (size_t i = 0; i < tokenized.word_count; i++) {
        ck_assert_uint_eq(tokenized.words[i].first, tokens);
        tokens += tokenized.words[i].count;
        buf_format(&found, i ? "|%s" : "%s", tokenized.word_labels[i].text);
    }
    ck_assert_uint_eq(tokens, tokenized.count);
    ck_assert_str_eq(found.bytes, expected);
    buf_release(&found);
}

TEST(subwords_of_a_word_are_merged)
{
    static const struct {
        const char *cut, *words;
    } cases[] = {
        {"Life| is", "Life|is"},
        {"un|bel|iev|ably| good", "unbelievably|good"},
        {" dess|ert|,| first|.", "dessert,|first."},
        {"don|'t", "don't"},
        {"don|'|t", "don't"},
        {"don\xe2\x80\x99|t| '|so|'", "don’t|'so'"},
        {"a|b|12|3", "ab123"},
        {"3|.|14", "3.14"},
        {"well|-|known|,| (|a|)", "well-known,|(a)"},
        {"我|爱|自然|a|b", "我|爱|自然|ab"},
        {"他|说|，|GP|T|很好|。", "他|说|，|GPT|很好|。"},
        {"我\xe7\x88|\xb1\xe8\x87\xaa|然", "我爱自|然"},
        {"か|\xe3\x82\x99|き", "か\xe3\x82\x99|き"},
        {"ก|ำ|ลัง|ดี", "กำ|ลัง|ดี"},
        {"\xe7|\x88\xb1| \xf0\x9f|\x8d|\xb0", "爱|🍰"},
        {"🏳|️|‍|🌈|!", "🏳️‍🌈!"},
        {"e|\xcc\x81|t", "e\xcc\x81t"},
        {"a|\n|\n\n| b", "a|b"},
        {"x|  |y", "x|y"},
        {"  |x| |\n", "x"},
        {"x |y| z", "x|y|z"},
        {"of the|re| is", "of␣there|is"},
        {"x|\xe3\x80|\x80y|\xe3|\x80\x80|z", "x|y|z"},
        {"一|二 三|四", "一|二␣三|四"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_words(read_cut(cases[i].cut, true), NULL, cases[i].words);
}

/* A normalizer composed ṩ from a letter and two accents: each of its bytes spans all three. */
TEST(tokens_with_the_same_span_are_one_word)
{
    struct tokenized tokenized = read_cut("!|s\xcc\xa3\xcc\x87|?| b", true);
    static const struct token tokens[] = {
        {0, false, 0, 1}, {0, false, 1, 6}, {0, false, 1, 6}, {0, false, 6, 7}, {0, false, 7, 9}};
    static const struct label labels[COUNT(tokens)] = {
        {"!", "!", "!"}, {"", "", ""}, {"", "", ""}, {"?", "?", "?"}, {"b", "b", "b"}};
    tokenized.tokens = tokens;
    tokenized.labels = labels;
    tokenized.count = COUNT(tokens);
    check_words(tokenized, NULL, "!s\xcc\xa3\xcc\x87?|b");
}

/* A normalizer replaced one character by two tokens. */
TEST(tokens_with_the_same_span_in_a_script_without_spaces_are_one_word)
{
    struct tokenized tokenized = read_cut("我|㌀|爱", true);
    static const struct token tokens[] = {
        {0, false, 0, 3}, {0, false, 3, 6}, {0, false, 3, 6}, {0, false, 6, 9}};
    static const struct label labels[COUNT(tokens)] = {
        {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}};
    tokenized.tokens = tokens;
    tokenized.labels = labels;
    tokenized.count = COUNT(tokens);
    check_words(tokenized, NULL, "我|㌀|爱");
}

/* T5's tokenizer replaces the joiner between the two halves with a blank. */
TEST(a_blank_that_replaces_a_joiner_does_not_split_a_character)
{
    struct tokenized tokenized = read_cut("🏳️‍|🌈|!", true);
    static const struct token tokens[] = {
        {0, false, 0, 7}, {0, false, 10, 10}, {0, false, 10, 14}, {0, false, 14, 15}};
    static const struct label labels[COUNT(tokens)] = {
        {"", "", ""}, {"␣", "␣", " "}, {"", "", ""}, {"!", "!", "!"}};
    tokenized.tokens = tokens;
    tokenized.labels = labels;
    tokenized.count = COUNT(tokens);
    check_words(tokenized, NULL, "🏳️‍🌈!");
}

TEST(blanks_outside_of_tokens_separate_words)
{
    check_words(read_cut("dess|ert| first", false), NULL, "dessert|first");
}

TEST(a_token_without_a_span_is_a_word)
{
    struct tokenized tokenized = read_cut("Li|fe", true);
    static struct token tokens[3];
    static const struct label labels[3] = {
        {"<s>", "<s>", "<s>"}, {"Li", "Li", "Li"}, {"fe", "fe", "fe"}};
    tokens[1] = tokenized.tokens[0];
    tokens[2] = tokenized.tokens[1];
    tokenized.tokens = tokens;
    tokenized.labels = labels;
    tokenized.count = 3;
    check_words(tokenized, NULL, "<s>|Life");
}

TEST(ids_are_merged_into_words_of_their_text)
{
    struct tokenizer *tokenizer = NULL;
    struct tokenized tokenized;
    struct err err = {0};
    ck_assert_int_eq(tokenizer_open(&tokenizer, bundled_find("life"), &err), 0);
    struct input input = {.ids = "0,4,5,1"};
    struct config config = {.vocab_size = 6};
    struct token_limits limits = {tokenizer, &config, config.vocab_size, NULL};
    ck_assert_int_eq(tokenized_make(&tokenized, &input, &limits, &arena, &err), 0);
    check_words(tokenized, tokenizer, "Life|is|short|dessert");
    tokenizer_free(tokenizer);
}

/* Check the words of a text or of ids with a tokenizer of tests/texts/tokenizers. */
static void check_read(const char *name, const struct input *input, const char *words)
{
    struct tokenizer *tokenizer = NULL;
    struct tokenized tokenized;
    struct config config = {.vocab_size = 2000};
    struct err err = {0};
    struct buf path = {0};
    buf_format(&path, "tests/texts/tokenizers/%s", name);
    const struct folder folder = {.path = path.bytes};
    ck_assert_msg(!tokenizer_open(&tokenizer, &folder, &err) &&
                      !tokenizer_add_special(tokenizer, &err),
                  "%s", err.text);
    struct token_limits limits = {tokenizer, &config, config.vocab_size, NULL};
    ck_assert_msg(!tokenized_make(&tokenized, input, &limits, &arena, &err), "%s", err.text);
    check_words(tokenized, tokenizer, words);
    tokenizer_free(tokenizer);
    buf_release(&path);
}

static void check_text(const char *name, const char *text, const char *words)
{
    check_read(name, &(struct input){.text = text, .size = strlen(text)}, words);
}

TEST(accents_that_a_tokenizer_drops_do_not_split_words)
{
    check_text("bert-like", "un\xcc\x81li\xcc\x81ke life\xcc\x81's, e \xcc\x81t",
               "[CLS]|un\xcc\x81li\xcc\x81ke|life\xcc\x81's,|e|t|[SEP]");
    check_text("bert-like", "un\xcc\x81 \xcc\x81.li", "[CLS]|un\xcc\x81|.li|[SEP]");
}

TEST(an_inserted_blank_belongs_to_the_word_after_it)
{
    check_text("t5-like", "naïve hello 我", "naïve|hello|我|</s>");
    check_text("t5-like", " ", "</s>");
    check_text("t5-like", "li \xcc\x81!", "li|\xcc\x81!|</s>");
    check_text("llama-2-like", "我爱你", "<s>|我|爱|你");
    check_text("llama-2-like", "我 ", "<s>|我");
}

TEST(a_special_token_in_a_text_is_a_word)
{
    check_text("gpt-neox-like", "a<|endoftext|>c \n<|endoftext|>",
               "a|<|endoftext|>|c|<|endoftext|>");
    check_read("gpt-neox-like", &(struct input){.ids = "305,1456,300"}, "a|<|endoftext|>|c");
}

TEST(words_of_ids_have_no_subword_prefixes)
{
    check_read("bert-like", &(struct input){.ids = "3,52,510,100,279,103,90,18,65,99,298,422,4"},
               "[CLS]|hello|there,|unlike|[SEP]");
    check_read("bert-like", &(struct input){.ids = "510,100,13,63,14,63,100,15,20"},
               "##ello's|(so).");
}
