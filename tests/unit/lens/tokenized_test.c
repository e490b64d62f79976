#include "base/file.h"
#include "base/folder.h"
#include "model/config.h"
#include "lens/tokenized.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/heap.h"

static const char vocabulary[] = "{\"Life\": 0, \"is\": 1, \"\\u7231\": 2, \" \": 3, \"\\n\": 4}";

static struct tokenizer *tokenizer;
static const struct config config = {.vocab_size = 7}; /* two rows more than there are words */
static struct lexicon lexicon;
static struct arena arena;
static struct err err;

static void open_vocabulary(void)
{
    static const struct folder_file file = {"vocab.json", vocabulary, sizeof vocabulary - 1};
    struct folder folder = {.path = "m", .files = &file, .file_count = 1};
    arena = (struct arena){0};
    err = (struct err){0};
    ck_assert_msg(!tokenizer_open(&tokenizer, &folder, &err), "%s", err.text);
    lexicon = (struct lexicon){tokenizer, &config, NULL};
}

static void close_vocabulary(void)
{
    tokenizer_free(tokenizer);
    arena_release(&arena);
}

FIXTURE(open_vocabulary, close_vocabulary)

static struct input of_text(const char *text)
{
    return (struct input){.text = text, .size = strlen(text)};
}

static void make(struct tokenized *tokenized, struct input input)
{
    err = (struct err){0};
    ck_assert_msg(!tokenized_make(tokenized, &input, &lexicon, &arena, &err), "%s", err.text);
}

static void expect_label(const struct label *label, const char *plain, const char *text,
                         const char *exact)
{
    ck_assert_str_eq(label->plain, plain);
    ck_assert_str_eq(label->text, text);
    ck_assert_str_eq(label->exact, exact);
}

TEST(a_text_is_read_as_tokens_with_their_labels)
{
    struct tokenized tokenized;
    make(&tokenized, of_text("is Life"));
    ck_assert_uint_eq(tokenized.count, 3);
    ck_assert_uint_eq(tokenized.size, 7);
    ck_assert_mem_eq(tokenized.text, "is Life", 7);
    static const struct token tokens[] = {{1, 0, 2}, {3, 2, 3}, {0, 3, 7}};
    for (size_t i = 0; i < COUNT(tokens); i++) {
        ck_assert_uint_eq(tokenized.tokens[i].id, tokens[i].id);
        ck_assert_uint_eq(tokenized.tokens[i].start, tokens[i].start);
        ck_assert_uint_eq(tokenized.tokens[i].end, tokens[i].end);
    }
    expect_label(&tokenized.labels[0], "is", "is", "0:is");
    expect_label(&tokenized.labels[1], " ", "\xE2\x90\xA3", "1:\xE2\x90\xA3");
    expect_label(&tokenized.labels[2], "Life", "Life", "2:Life");
    ck_assert_uint_eq(tokenized.dropped_count, 0);
}

TEST(ids_are_read_without_a_text)
{
    struct tokenized tokenized;
    make(&tokenized, (struct input){.ids = "2,4,6,5"});
    ck_assert_uint_eq(tokenized.count, 4);
    ck_assert_ptr_null(tokenized.text);
    ck_assert_uint_eq(tokenized.size, 0);
    expect_label(&tokenized.labels[0], "\xE7\x88\xB1", "\xE7\x88\xB1", "0:\xE7\x88\xB1");
    expect_label(&tokenized.labels[1], "\n", "\xE2\x86\xB5", "1:\xE2\x86\xB5");
    expect_label(&tokenized.labels[2], "6", "6", "2:6"); /* no word of the vocabulary */
}

TEST(without_a_tokenizer_the_labels_are_the_ids)
{
    struct tokenized tokenized;
    lexicon.tokenizer = NULL;
    make(&tokenized, (struct input){.ids = "0,6"});
    expect_label(&tokenized.labels[0], "0", "0", "0:0");
    expect_label(&tokenized.labels[1], "6", "6", "1:6");
}

TEST(marks_that_are_no_words_are_counted)
{
    struct tokenized tokenized;
    make(&tokenized, of_text("Life!?"));
    ck_assert_uint_eq(tokenized.count, 1);
    ck_assert_uint_eq(tokenized.dropped_count, 2);
    ck_assert_uint_eq(tokenized.dropped_first.start, 4);
    ck_assert_uint_eq(tokenized.dropped_first.end, 5);
}

TEST(what_cannot_be_read_is_refused)
{
    static const struct {
        struct input input;
        bool without;
        const char *message;
    } cases[] = {
        {{.text = "", .size = 0}, false, "the text is empty: expected at least one token"},
        {{.text = "!?.", .size = 3},
         false,
         "the text is empty: none of its characters (3) is in the vocabulary"},
        {{.text = "Life", .size = 4},
         true,
         "the model has no tokenizer (tokenizer.json or vocab.json)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenized tokenized;
        lexicon.tokenizer = cases[i].without ? NULL : tokenizer;
        err = (struct err){0};
        ck_assert_int_eq(tokenized_make(&tokenized, &cases[i].input, &lexicon, &arena, &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, ERR_INPUT);
    }
}

TEST(errors_of_the_tokenizer_come_through)
{
    static const struct input inputs[] = {{.text = "Death", .size = 5},
                                          {.text = "\xff", .size = 1},
                                          {.ids = "7"},
                                          {.ids = "1,x"},
                                          {.ids = ""}};
    for (size_t i = 0; i < COUNT(inputs); i++) {
        struct tokenized tokenized;
        err = (struct err){0};
        ck_assert_int_eq(tokenized_make(&tokenized, &inputs[i], &lexicon, &arena, &err), -1);
        ck_assert_uint_gt(strlen(err.text), 10);
    }
}

TEST(numbers_label_what_has_no_name)
{
    const struct label *labels = labels_of_numbers(12, &arena, &err);
    expect_label(&labels[0], "0", "0", "0");
    expect_label(&labels[11], "11", "11", "11");
    ck_assert_ptr_nonnull(labels_of_numbers(0, &arena, &err));
}

TEST(words_label_the_vocabulary)
{
    const struct label *labels = labels_of_words(tokenizer, 7, &arena, &err);
    expect_label(&labels[0], "Life", "Life", "0:Life");
    expect_label(&labels[4], "\n", "\xE2\x86\xB5", "4:\xE2\x86\xB5");
    expect_label(&labels[5], "5", "5", "5:5");
}

static int read_all(struct arena *own)
{
    struct tokenized tokenized;
    struct input input = of_text("Life is Life!");
    return tokenized_make(&tokenized, &input, &lexicon, own, &err) ||
                   !labels_of_numbers(3000, own, &err) || !labels_of_words(tokenizer, 7, own, &err)
               ? -1
               : 0;
}

TEST(every_allocation_that_fails_is_an_error)
{
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        int failed = -1;
        for (size_t nth = 1; failed; nth++) {
            struct arena own = {0};
            err = (struct err){0};
            heap_fail_at(nth, for_ever);
            failed = read_all(&own);
            heap_fail_at(0, 0);
            if (failed && !strstr(err.text, "out of memory"))
                ck_abort_msg("allocation %zu: '%s'", nth, err.text);
            ck_assert(failed || nth > 10);
            arena_release(&own);
        }
    }
}
