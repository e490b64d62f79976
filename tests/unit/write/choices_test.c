#include "write/choices.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/heap.h"

static const char words[] = "[\"Life\", \"is\", \"a\\tb\", \"\\\"so\\\"\"]";
static const struct folder_file files[] = {{"vocab.json", words, sizeof words - 1}};
static const struct folder folder = {"test", files, 1};

/* ½, ¼, ⅛ and 1/16 twice, of all */
static const float logits[] = {0, -0.6931472f, -1.3862944f, -2.0794415f, -2.7725887f, -2.7725887f};

static const struct choice known[] = {
    {{1, -0.6931472f}, {{1, -0.6931472f}, {0, -1.5f}, {3, -2}}, 3},
    {{2, -12.5f}, {{9, -0.125f}}, 1},
};

static struct tokenizer *opened(void)
{
    struct tokenizer *tokenizer = NULL;
    ck_assert_int_eq(tokenizer_open(&tokenizer, &folder, NULL), 0);
    return tokenizer;
}

static void expect(struct stream *out, const char *expected)
{
    struct file written = memory_stream_take(out);
    ck_assert_msg(written.size == strlen(expected) &&
                      memcmp(written.bytes, expected, written.size) == 0,
                  "expected:\n%s\nfound:\n%.*s", expected, (int)written.size, written.bytes);
    file_release(&written);
}

TEST(a_choice_knows_how_likely_it_was_and_what_was_likelier)
{
    struct choice choice;
    choice_make(&choice, logits, 6, 2);
    ck_assert_uint_eq(choice.chosen.id, 2);
    ck_assert_float_eq_tol(choice.chosen.logprob, logf(0.125f), 1e-6f);
    ck_assert_uint_eq(choice.best_count, CHOICE_BEST);
    for (uint32_t i = 0; i < CHOICE_BEST; i++) {
        ck_assert_uint_eq(choice.best[i].id, i);
        ck_assert_float_eq_tol(choice.best[i].logprob, logits[i] - logf(2), 1e-6f);
    }
    choice_make(&choice, logits, 2, 1);
    ck_assert_uint_eq(choice.best_count, 2);
}

TEST(a_table_has_a_line_for_every_choice)
{
    struct stream out = {0};
    struct tokenizer *tokenizer = opened();
    struct choices choices = {known, 2, 9, tokenizer};
    memory_stream_open(&out);
    ck_assert_int_eq(choices_write_table(&out, &choices, 0, NULL), 0);
    expect(&out, "place  id  token   logprob  most likely\n"
                 "    9   1  is      -0.6931  is -0.69  Life -1.50  \"so\" -2.00\n"
                 "   10   2  a⇥b    -12.5000  9 -0.12\n");
    memory_stream_open(&out);
    ck_assert_int_eq(choices_write_table(&out, &choices, 30, NULL), 0);
    expect(&out, "place  id  token   logprob  m…\n"
                 "    9   1  is      -0.6931  i…\n"
                 "   10   2  a⇥b    -12.5000  9…\n");
    tokenizer_free(tokenizer);
}

TEST(json_has_an_object_for_every_choice)
{
    struct stream out = {0};
    struct tokenizer *tokenizer = opened();
    struct choices choices = {known, 2, 9, tokenizer};
    memory_stream_open(&out);
    choices_write_json(&(struct json_writer){.stream = &out}, NULL, &choices);
    expect(&out, "[\n  {\"id\": 1, \"text\": \"is\", \"logprob\": -0.6931472, \"best\": "
                 "[{\"id\": 1, \"text\": \"is\", \"logprob\": -0.6931472}, "
                 "{\"id\": 0, \"text\": \"Life\", \"logprob\": -1.5}, "
                 "{\"id\": 3, \"text\": \"\\\"so\\\"\", \"logprob\": -2}]},"
                 "\n  {\"id\": 2, \"text\": \"a\\tb\", \"logprob\": -12.5, \"best\": "
                 "[{\"id\": 9, \"text\": \"9\", \"logprob\": -0.125}]}]");
    choices = (struct choices){known, 1, 0, NULL};
    memory_stream_open(&out);
    choices_write_json(&(struct json_writer){.stream = &out}, NULL, &choices);
    expect(&out, "[\n  {\"id\": 1, \"text\": \"1\", \"logprob\": -0.6931472, \"best\": "
                 "[{\"id\": 1, \"text\": \"1\", \"logprob\": -0.6931472}, "
                 "{\"id\": 0, \"text\": \"0\", \"logprob\": -1.5}, "
                 "{\"id\": 3, \"text\": \"3\", \"logprob\": -2}]}]");
    tokenizer_free(tokenizer);
}

TEST(no_choices_are_an_empty_list)
{
    struct stream out = {0};
    struct choices choices = {0};
    memory_stream_open(&out);
    choices_write_json(&(struct json_writer){.stream = &out}, NULL, &choices);
    expect(&out, "[]");
    memory_stream_open(&out);
    ck_assert_int_eq(choices_write_table(&out, &choices, 0, NULL), 0);
    expect(&out, "place  id  token  logprob  most likely\n");
}

TEST(a_table_without_memory_is_an_error)
{
    struct tokenizer *tokenizer = opened();
    struct choices choices = {known, 2, 9, tokenizer};
    size_t failures = 0;
    for (int done = 0; !done; failures += !done) {
        struct stream out = {0};
        struct err err = {0};
        memory_stream_open(&out);
        heap_fail_at(failures + 1, 0);
        done = choices_write_table(&out, &choices, 0, &err) == 0;
        heap_fail_at(0, 0);
        ck_assert(done || strncmp(err.text, "out of memory: ", 15) == 0);
        stream_discard(&out);
    }
    ck_assert_uint_gt(failures, 1);
    tokenizer_free(tokenizer);
}
