#include "base/folder.h"
#include "text/tokenizer_json.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/heap.h"

/* h e l o blank a, then what merges make of them; <|endoftext|> is the last. */
static const char vocab[] = "{\"h\": 0, \"e\": 1, \"l\": 2, \"o\": 3, \"\\u0120\": 4, \"a\": 5, "
                            "\"he\": 6, \"ll\": 7, \"hell\": 8, \"hello\": 9, \"Ġa\": 10, "
                            "\"Ġhello\": 11, \"ð\": 12, \"Ł\": 13, \"į\": 14, \"°\": 15, "
                            "\"ðŁ\": 16, \"<|endoftext|>\": 17}";
static const char merges[] = "#version: 0.2\nh e\nl l\nhe ll\nhell o\nĠ a\nĠ hello\nð Ł\n";

static int open_files(struct byte_level *level, const char *name, const char *text, struct err *err)
{
    const struct folder_file files[] = {
        {"vocab.json", vocab, strlen(vocab)},
        {"merges.txt", merges, strlen(merges)},
        {name, text, text ? strlen(text) : 0},
    };
    const struct folder folder = {"gpt2", files, text ? 3 : 2};
    return byte_level_open(level, &folder, err);
}

static void open_level(struct byte_level *level)
{
    struct err err = {0};
    ck_assert_msg(!open_files(level, NULL, NULL, &err), "%s", err.text);
}

/* Tokens as id:start-end, with blanks between them. */
static void describe(struct buf *out, const struct token_list *list)
{
    buf_text(out, "");
    for (size_t i = 0; i < list->count; i++)
        buf_format(out, "%s%u:%zu-%zu", i ? " " : "", list->items[i].id, list->items[i].start,
                   list->items[i].end);
}

static void expect_tokens(const struct byte_level *level, const char *bytes, bool plain,
                          const char *expected)
{
    struct token_list list = {0};
    struct token_text text = {bytes, strlen(bytes), plain};
    struct buf found = {0};
    struct err err = {0};
    ck_assert_msg(!byte_level_encode(level, &list, &text, &err), "%s", err.text);
    describe(&found, &list);
    ck_assert_msg(strcmp(found.bytes, expected) == 0, "'%s' gives %s", bytes, found.bytes);
    buf_release(&found);
    token_list_release(&list);
}

TEST(pieces_are_merged_and_their_tokens_have_places)
{
    struct byte_level level;
    open_level(&level);
    expect_tokens(&level, "", false, "");
    expect_tokens(&level, "hello", false, "9:0-5");
    expect_tokens(&level, "hello hello", false, "9:0-5 11:5-11");
    expect_tokens(&level, "hell a", false, "8:0-4 10:4-6");
    expect_tokens(&level, "hell  o", false, "8:0-4 4:4-5 4:5-6 3:6-7");
    expect_tokens(&level, "🍰", false, "16:0-2 14:2-3 15:3-4");
    byte_level_release(&level);
}

TEST(special_tokens_are_one_id_unless_they_are_text)
{
    struct byte_level level;
    open_level(&level);
    expect_tokens(&level, "hello <|endoftext|>", false, "9:0-5 4:5-6 17:6-19");
    expect_tokens(&level, "<|endoftext|>hello", false, "17:0-13 9:13-18");
    struct token_list list = {0};
    struct token_text text = {"a<|endoftext|>", 14, true};
    struct err err = {0};
    ck_assert_int_eq(byte_level_encode(&level, &list, &text, &err), -1);
    ck_assert_str_eq(err.text, "the byte 0x3c at byte 1 has no token in the vocabulary");
    token_list_release(&list);
    byte_level_release(&level);
}

TEST(a_blank_before_the_text_has_no_place_in_it)
{
    struct byte_level level;
    open_level(&level);
    level.prefix_space = true;
    expect_tokens(&level, "hello", false, "11:0-5");
    expect_tokens(&level, " hello", false, "11:0-6");
    expect_tokens(&level, "ee", false, "4:0-0 1:0-1 1:1-2");
    expect_tokens(&level, "a hello<|endoftext|>hello", false, "10:0-1 11:1-7 17:7-20 11:20-25");
    expect_tokens(&level, "", false, "");
    byte_level_release(&level);
}

TEST(a_long_text_is_what_its_pieces_are_alone)
{
    struct byte_level level;
    struct buf text = {0};
    struct token_list list = {0};
    open_level(&level);
    for (int i = 0; i < 3000; i++) /* the cache comes into play */
        buf_text(&text, i % 3 ? " hello" : i % 2 ? " hoe" : " 🍰a");
    struct token_text whole = {text.bytes, text.size, false};
    ck_assert_int_eq(byte_level_encode(&level, &list, &whole, NULL), 0);
    size_t end = 0;
    for (size_t i = 0; i < list.count; i++) {
        size_t size = 0;
        const char *bytes = token_set_word(&level.set, list.items[i].id, &size);
        ck_assert_uint_eq(list.items[i].start, end);
        end = list.items[i].end;
        ck_assert_uint_eq(size, end - list.items[i].start);
        ck_assert_mem_eq(bytes, text.bytes + list.items[i].start, size);
    }
    ck_assert_uint_eq(end, text.size);
    ck_assert_uint_eq(list.count, 2000 + 500 * 4 + 500 * 5);
    token_list_release(&list);
    buf_release(&text);
    byte_level_release(&level);
}

TEST(added_tokens_come_from_files_beside_the_vocabulary)
{
    static const struct {
        const char *name;
        const char *json;
        const char *text;
        const char *tokens;
    } cases[] = {
        {"added_tokens.json", "{\"<pad>\": 20}", "a<pad><|endoftext|>", "5:0-1 20:1-6 17:6-19"},
        {"added_tokens.json", "{\"<|endoftext|>\": 17, \"a h\": 18}", "a h<|endoftext|>",
         "18:0-3 17:3-16"},
        {"added_tokens.json", "{}", "<|endoftext|>", "17:0-13"},
        {"tokenizer_config.json", "{\"model_max_length\": 1024}", "<|endoftext|>", "17:0-13"},
        {"tokenizer_config.json",
         "{\"added_tokens_decoder\": {\"17\": {\"content\": \"<|endoftext|>\", \"special\": true}, "
         "\"21\": {\"content\": \"<m>\", \"lstrip\": true}}}",
         "a <m><|endoftext|>", "5:0-1 21:1-5 17:5-18"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct byte_level level;
        struct err err = {0};
        int failed = open_files(&level, cases[i].name, cases[i].json, &err);
        ck_assert_msg(!failed, "%s", err.text);
        expect_tokens(&level, cases[i].text, false, cases[i].tokens);
        byte_level_release(&level);
    }
}

/* Long enough for the list of tokens to grow between known pieces, and between added tokens. */
TEST(a_list_that_cannot_grow_is_an_error)
{
    static const char *const units[] = {" hella", "<|endoftext|>"};
    struct byte_level level;
    open_level(&level);
    for (size_t i = 0; i < COUNT(units); i++) {
        struct buf text = {0};
        bool came = true;
        for (int k = 0; k < 2000; k++) /* pieces of shorter texts are not remembered */
            buf_text(&text, units[i]);
        for (size_t nth = 1; came; nth++) {
            struct token_list list = {0};
            struct err err = {0};
            struct token_text whole = {text.bytes, text.size, false};
            heap_fail_at(nth, 0);
            int failed = byte_level_encode(&level, &list, &whole, &err);
            came = heap_has_failed();
            heap_fail_at(0, 0);
            ck_assert_int_eq(err.out_of_memory, failed != 0);
            ck_assert(failed || list.count >= 2000);
            token_list_release(&list);
        }
        buf_release(&text);
    }
    byte_level_release(&level);
}

TEST(all_ids_have_their_bytes)
{
    struct byte_level level;
    size_t size = 0;
    ck_assert_int_eq(open_files(&level, "added_tokens.json", "{\"é\": 20, \"Ġa\": 10}", NULL), 0);
    ck_assert_uint_eq(token_set_size(&level.set), 21);
    ck_assert_mem_eq(token_set_word(&level.set, 11, &size), " hello", 6);
    ck_assert_uint_eq(size, 6);
    ck_assert_mem_eq(token_set_word(&level.set, 20, &size), "é", 2);
    ck_assert_uint_eq(size, 2);
    ck_assert_mem_eq(token_set_word(&level.set, 10, &size), "Ġa", 3); /* as it was added */
    ck_assert_mem_eq(token_set_word(&level.set, 16, &size), "\xF0\x9F", 2);
    ck_assert_ptr_null(token_set_word(&level.set, 18, &size));
    ck_assert_ptr_null(token_set_word(&level.set, 21, &size));
    byte_level_release(&level);
}

TEST(files_that_contradict_each_other_are_refused)
{
    static const struct {
        const char *name;
        const char *json;
        const char *text;
    } cases[] = {
        {"added_tokens.json", "{\"<pad>\": 3}",
         "'gpt2/added_tokens.json': added token '<pad>': its id 3 belongs to another word"},
        {"added_tokens.json", "{\"hello\": 30}",
         "'gpt2/added_tokens.json': added token 'hello': expected its id in the vocabulary, 9, "
         "found 30"},
        {"added_tokens.json", "{\"<pad>\": \"x\"}",
         "'gpt2/added_tokens.json': added token '<pad>': expected an id from 0 to 10000000, found "
         "\"x\""},
        {"added_tokens.json", "[]", "'gpt2/added_tokens.json': expected an object"},
        {"added_tokens.json", "{",
         "'gpt2/added_tokens.json': byte 1: expected a name in quotes, found the end"},
        {"tokenizer_config.json", "{\"added_tokens_decoder\": {\"x\": {}}}",
         "'gpt2/tokenizer_config.json': 'x': expected an object with an id from 0 to 10000000 for "
         "its name"},
        {"tokenizer_config.json", "{\"added_tokens_decoder\": {\"17\": {}}}",
         "'gpt2/tokenizer_config.json': '17': expected a field 'content'"},
        {"tokenizer_config.json", "{\"added_tokens_decoder\": {\"17\": {\"content\": \"<b>\"}}}",
         "'gpt2/tokenizer_config.json': added token '<b>': its id 17 belongs to another word"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct byte_level level;
        struct err err = {0};
        ck_assert_int_eq(open_files(&level, cases[i].name, cases[i].json, &err), -1);
        ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_int_eq(err.kind, ERR_INPUT);
    }
}

TEST(broken_files_are_named)
{
    static const struct {
        const char *vocab;
        const char *merges;
        const char *text;
    } cases[] = {
        {"{\"a\": 01}", "",
         "'x/vocab.json': byte 7: expected no digit after a leading 0, found "
         "'1'"},
        {"{\"a\": -1}", "",
         "'x/vocab.json': word 'a': expected an id from 0 to 10000000, found -1"},
        {"{\"a\": 1}", "#version: 0.2\na b c\n",
         "'x/merges.txt': line 2: expected two tokens with a blank between them, found 'a␣b␣c'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct folder_file files[] = {
            {"vocab.json", cases[i].vocab, strlen(cases[i].vocab)},
            {"merges.txt", cases[i].merges, strlen(cases[i].merges)},
        };
        const struct folder folder = {"x", files, 2};
        struct byte_level level;
        struct err err = {0};
        ck_assert_int_eq(byte_level_open(&level, &folder, &err), -1);
        ck_assert_str_eq(err.text, cases[i].text);
    }
    const struct folder empty = {.path = "/nowhere"};
    struct byte_level level;
    struct err err = {0};
    ck_assert_int_eq(byte_level_open(&level, &empty, &err), -1);
    ck_assert_str_eq(err.text, "cannot open '/nowhere/vocab.json': No such file or directory");
}

TEST(an_allocation_that_fails_is_an_error)
{
    size_t nth = 1;
    for (;; nth++) {
        struct byte_level level = {0};
        struct token_list list = {0};
        struct token_text text = {"hello <pad>", 11, false};
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = open_files(&level, "added_tokens.json", "{\"<pad>\": 20}", &err);
        if (!failed) {
            level.prefix_space = true;
            failed = byte_level_encode(&level, &list, &text, &err);
        }
        heap_fail_at(0, 0);
        token_list_release(&list);
        byte_level_release(&level);
        if (!failed)
            break;
        ck_assert_ptr_nonnull(strstr(err.text, "out of memory: "));
    }
    ck_assert_uint_gt(nth, 10);
}
