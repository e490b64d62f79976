#include "base/arena.h"
#include "model/batch.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"
#include "model/config.h"

static const struct config gpt2 = {.vocab_size = 10, .n_positions = 4};
static const struct config cross = {.vocab_size = 10, .cross = true};
static const struct config encoded = {
    .vocab_size = 10, .cross = true, .causal = true, .n_encoder_layer = 1};

static const uint32_t ids[] = {0, 1, 9, 3, 4, 5};

static struct arena arena;
static struct batch batch;
static struct err err;

static void empty(void)
{
    arena = (struct arena){0};
    err = (struct err){0};
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(empty, release)

TEST(sequences_stand_one_behind_the_other)
{
    struct text sequences[] = {
        {.ids = ids, .count = 3}, {.ids = ids, .count = 1}, {.ids = ids, .count = 4}};
    ck_assert_int_eq(batch_init(&batch, &gpt2, sequences, 3, &arena, &err), 0);
    ck_assert_uint_eq(batch.count, 3);
    ck_assert_uint_eq(batch.tokens, 8);
    ck_assert_uint_eq(batch.source_tokens, 0);
    ck_assert_uint_eq(batch.longest_keys, 4);
    ck_assert_ptr_eq(batch.texts, sequences);
    static const struct span spans[] = {{0, 3}, {3, 1}, {4, 4}};
    ck_assert_mem_eq(batch.queries, spans, sizeof spans);
    ck_assert_mem_eq(batch.keys, spans, sizeof spans);
}

TEST(sources_have_rows_of_their_own)
{
    struct text sequences[] = {
        {.ids = ids, .count = 3, .source_ids = ids, .source_count = 6},
        {.ids = ids, .count = 5, .source_ids = ids, .source_count = 2},
    };
    ck_assert_int_eq(batch_init(&batch, &cross, sequences, 2, &arena, &err), 0);
    ck_assert_uint_eq(batch.tokens, 8);
    ck_assert_uint_eq(batch.source_tokens, 8);
    ck_assert_uint_eq(batch.longest_keys, 6);
    ck_assert_mem_eq(batch.queries, ((struct span[]){{0, 3}, {3, 5}}), 2 * sizeof(struct span));
    ck_assert_mem_eq(batch.keys, ((struct span[]){{0, 6}, {6, 2}}), 2 * sizeof(struct span));
}

/* A sentence looks at itself; then at its source; and the source, as a text, at itself. */
TEST(an_encoder_makes_three_batches_of_one)
{
    static const struct span texts[] = {{0, 3}, {3, 5}};
    static const struct span others[] = {{0, 6}, {6, 2}};
    struct batch sources;
    struct text sequences[] = {
        {.ids = ids, .count = 3, .source_ids = ids, .source_count = 6},
        {.ids = ids, .count = 5, .source_ids = ids + 1, .source_count = 2},
    };
    ck_assert_int_eq(batch_init(&batch, &encoded, sequences, 2, &arena, &err), 0);
    ck_assert_mem_eq(batch.queries, texts, sizeof texts);
    ck_assert_mem_eq(batch.keys, texts, sizeof texts);
    ck_assert_uint_eq(batch.key_tokens, 8);
    ck_assert_uint_eq(batch.longest_keys, 5);
    ck_assert(batch.causal);

    struct batch look = batch_at_sources(&batch);
    ck_assert_mem_eq(look.queries, texts, sizeof texts);
    ck_assert_mem_eq(look.keys, others, sizeof others);
    ck_assert_uint_eq(look.longest_keys, 6);
    ck_assert_uint_eq(look.longest_queries, 5);
    ck_assert(!look.causal);

    batch.first = 7;
    ck_assert_int_eq(batch_of_sources(&sources, &batch, &arena, &err), 0);
    ck_assert_ptr_eq(sources.texts[1].ids, ids + 1);
    ck_assert_uint_eq(sources.texts[1].count, 2);
    ck_assert_mem_eq(sources.queries, others, sizeof others);
    ck_assert_mem_eq(sources.keys, others, sizeof others);
    ck_assert_uint_eq(sources.first, 7);
    ck_assert(!sources.causal && !sources.cached);
}

TEST(what_the_model_cannot_read_is_refused)
{
    static const uint32_t strange[] = {1, 2, 10};
    static const uint32_t wild[] = {4294967295u};
    const struct {
        const struct config *config;
        struct text sequence;
        enum err_kind kind;
        const char *message;
    } cases[] = {
        {&gpt2, {.ids = ids}, ERR_INPUT, "the text is empty: expected at least one token"},
        {&gpt2,
         {.ids = ids, .count = 5},
         ERR_INPUT,
         "the text is too long: expected at most 4 tokens (n_positions), found 5"},
        {&gpt2,
         {.ids = strange, .count = 3},
         ERR_INPUT,
         "token 2: expected an id below vocab_size = 10, found 10"},
        {&gpt2,
         {.ids = wild, .count = 1},
         ERR_INPUT,
         "token 0: expected an id below vocab_size = 10, found 4294967295"},
        {&gpt2,
         {.ids = ids, .count = 1, .source_ids = ids, .source_count = 1},
         ERR_USAGE,
         "expected no source: the model attends to its own sentence"},
        {&cross,
         {.ids = ids, .count = 1},
         ERR_USAGE,
         "expected a source: the model attends from a sentence to a second text (--source)"},
        {&cross,
         {.ids = ids, .count = 1, .source_ids = ids},
         ERR_INPUT,
         "source: the text is empty: expected at least one token"},
        {&cross,
         {.ids = ids, .count = 1, .source_ids = strange, .source_count = 3},
         ERR_INPUT,
         "source: token 2: expected an id below vocab_size = 10, found 10"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text sequences[] = {{.ids = ids, .count = 1}, cases[i].sequence};
        if (cases[i].config->cross)
            sequences[0] =
                (struct text){.ids = ids, .count = 1, .source_ids = ids, .source_count = 1};
        err = (struct err){0};
        ck_assert_int_eq(batch_init(&batch, cases[i].config, sequences, 2, &arena, &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, cases[i].kind);
    }
}

TEST(as_many_tokens_as_positions_are_welcome)
{
    ck_assert_int_eq(batch_check_length(&gpt2, 1, &err), 0);
    ck_assert_int_eq(batch_check_length(&gpt2, 4, &err), 0);
    ck_assert_int_eq(batch_check_length(&gpt2, 5, &err), -1);
}

TEST(a_model_without_positions_reads_texts_of_any_length)
{
    ck_assert_int_eq(batch_check_length(&cross, 1000000000, &err), 0);
    ck_assert_int_eq(batch_check_length(&cross, 0, &err), -1);
}

TEST(without_memory_there_is_no_batch)
{
    struct text sequence = {.ids = ids, .count = 3};
    heap_fail_at(1, 0);
    ck_assert_int_eq(batch_init(&batch, &gpt2, &sequence, 1, &arena, &err), -1);
    heap_fail_at(0, 0);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
}
