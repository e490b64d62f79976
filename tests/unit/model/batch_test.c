#include "base/memory.h"
#include "model/forward.h"

#include "../unit.h"
#include "model/config.h"

static const struct config gpt2 = {.vocab_size = 10, .n_positions = 4};
static const struct config cross = {.vocab_size = 10, .cross = true};

static const uint32_t ids[] = {0, 1, 9, 3, 4, 5};

TEST(texts_that_the_model_cannot_read_are_refused)
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
         "expected no second text: the model has only self-attention"},
        {&cross,
         {.ids = ids, .count = 1},
         ERR_USAGE,
         "expected a second text (--source): the model has cross-attention"},
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
        struct arena arena = {0};
        struct batch batch;
        struct err err = {0};
        ck_assert_int_eq(batch_init(&batch, cases[i].config, sequences, 2, &arena, &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, cases[i].kind);
        arena_release(&arena);
    }
}
