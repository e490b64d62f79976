#include "train/vocabulary.h"

#include <string.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizer.h"

static void learn(struct bpe_learner *learner, const char *text, size_t size)
{
    struct err err = {0};
    *learner = (struct bpe_learner){0};
    ck_assert_msg(bpe_learner_add(learner, text, strlen(text), &err) == 0, "%s", err.text);
    ck_assert_msg(bpe_learner_run(learner, size, &err) == 0, "%s", err.text);
}

static void expect_merges(const char *text, size_t size, const char *expected)
{
    struct bpe_learner learner;
    struct buf merges = {0};
    learn(&learner, text, size);
    bpe_learner_merges(&learner, &merges);
    ck_assert_str_eq(merges.bytes, expected);
    buf_release(&merges);
    bpe_learner_release(&learner);
}

TEST(the_most_frequent_pair_comes_first)
{
    expect_merges("low low low lower newest newest", 260, "#version: 0.2\nl o\nlo w\nĠ low\ne s\n");
}

/* Words without common letters, so that each merge makes new pairs and their table grows. */
TEST(every_allocation_may_fail)
{
    struct buf text = {0};
    struct starve starve = {.least = 10};
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 2; k++)
            buf_format(&text, "%c%c%c%c%c ", 'a' + i % 26, 'A' + i % 23, 'a' + i % 19, 'A' + i % 17,
                       'a' + i % 13);
    while (starve_next(&starve)) {
        struct bpe_learner learner = {0};
        struct err err = {0};
        int failed = bpe_learner_add(&learner, text.bytes, text.size, &err) ||
                     bpe_learner_run(&learner, 400, &err);
        starve_check(&starve, failed, &err);
        bpe_learner_release(&learner);
    }
    buf_release(&text);
}

TEST(the_older_tokens_of_equal_pairs_come_first)
{
    expect_merges("ab ab cd cd", 258, "#version: 0.2\na b\nc d\n");
}

TEST(overlapping_pairs_are_merged_from_the_left)
{
    expect_merges("aaa\naaa\naaa", 258, "#version: 0.2\na a\naa a\n");
}

TEST(learning_ends_if_no_pair_occurs_twice)
{
    struct bpe_learner learner;
    learn(&learner, "abc", 1000);
    ck_assert_uint_eq(learner.token_count, 256);
    bpe_learner_release(&learner);
    learn(&learner, "", 1000);
    ck_assert_uint_eq(learner.token_count, 256);
    bpe_learner_release(&learner);
}

TEST(counts_of_texts_are_added)
{
    struct bpe_learner learner = {0};
    ck_assert_int_eq(bpe_learner_add(&learner, "xy", 2, NULL), 0);
    ck_assert_int_eq(bpe_learner_add(&learner, "xy", 2, NULL), 0);
    ck_assert_int_eq(bpe_learner_run(&learner, 300, NULL), 0);
    ck_assert_uint_eq(learner.token_count, 257);
    bpe_learner_release(&learner);
}

TEST(the_files_are_a_tokenizer_with_all_bytes)
{
    static const char text[] = "Life is short, eat dessert first. Life is é 爱!\n\"\\";
    struct bpe_learner learner;
    struct buf vocab = {0};
    struct buf merges = {0};
    struct err err = {0};
    struct arena arena = {0};
    struct tokenizer *tokenizer = NULL;
    struct tokens tokens;
    learn(&learner, text, 280);
    bpe_learner_vocab(&learner, &vocab);
    bpe_learner_merges(&learner, &merges);
    struct folder_file files[] = {{"vocab.json", vocab.bytes, vocab.size},
                                  {"merges.txt", merges.bytes, merges.size}};
    struct folder folder = {"learnt", files, 2};
    ck_assert_msg(tokenizer_open(&tokenizer, &folder, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(tokenizer_size(tokenizer), learner.token_count);
    ck_assert_msg(tokenizer_encode(tokenizer, &tokens, text, sizeof text - 1, &arena, &err) == 0,
                  "%s", err.text);
    ck_assert_uint_lt(tokens.count, sizeof text - 1);
    arena_release(&arena);
    tokenizer_free(tokenizer);
    buf_release(&vocab);
    buf_release(&merges);
    bpe_learner_release(&learner);
}

TEST(invalid_utf8_is_refused)
{
    struct bpe_learner learner = {0};
    struct err err = {0};
    ck_assert_int_eq(bpe_learner_add(&learner, "ab\xff", 3, &err), -1);
    ck_assert_str_eq(err.text, "expected a text in UTF-8, found the byte 0xff at byte 2");
    bpe_learner_release(&learner);
}
