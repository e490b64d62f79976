#include "train/trainer.h"

#include <string.h>

#include "../unit.h"

TEST(the_rate_rises_evenly_and_falls_as_a_cosine)
{
    const struct trainer_settings settings = {.steps = 110, .warmup = 10, .rate = 2};
    const struct {
        long long step;
        double rate;
    } rates[] = {{1, 0.2}, {5, 1}, {10, 2}, {60, 1.1}, {110, 0.2}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        ck_assert_double_eq_tol(trainer_rate(&settings, rates[i].step), rates[i].rate, 1e-12);
}

/* Six lines of words 0 1 2 3, as a model without a tokenizer's folder would read them. */
static void read_texts(struct dataset *texts, const char *text)
{
    static const char words[] = "[\"a\", \"b\", \"c\", \"d\"]";
    const struct folder_file file = {"vocab.json", words, sizeof words - 1};
    const struct folder folder = {"words", &file, 1};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    *texts = (struct dataset){0};
    int failed = tokenizer_open(&tokenizer, &folder, &err) ||
                 dataset_add(texts, tokenizer, text, strlen(text), &err);
    ck_assert_msg(!failed, "%s", err.text);
    tokenizer_free(tokenizer);
}

TEST(batches_begin_with_lines_and_know_what_follows)
{
    enum { COUNT = 50 };
    uint32_t ids[3 * COUNT];
    uint32_t targets[3 * COUNT];
    struct dataset texts;
    read_texts(&texts, "a b c d\na b\n\nc d a b\na b c d\na b c d\n");
    ck_assert_uint_eq(texts.count, 18);
    ck_assert_uint_eq(texts.start_count, 5);
    ck_assert_int_eq(dataset_finish(&texts, 3, 0.2, NULL), 0);
    dataset_draw(&texts, &texts.training, 7, ids, targets, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert(ids[3 * i] == 0 || ids[3 * i] == 2);
        ck_assert_mem_eq(ids + 3 * i + 1, targets + 3 * i, 2 * sizeof *ids);
    }
    dataset_release(&texts);
}

TEST(what_is_held_out_is_never_learnt)
{
    struct dataset texts;
    read_texts(&texts, "a b c\na b c\na b c\na b c\na b c\na b c\na b c\na b c\na b c\na b c\n");
    ck_assert_int_eq(dataset_finish(&texts, 5, 0.3, NULL), 0);
    ck_assert_uint_eq(texts.held_out.count, 2);
    uint32_t last = texts.training.items[texts.training.count - 1];
    ck_assert_uint_le(last + 5 + 1, texts.held_out.items[0]);
    dataset_release(&texts);
}

TEST(drills_come_again)
{
    enum { TEXTS = 400, TOKENS = 20 };
    static uint32_t ids[TEXTS * TOKENS], targets[TEXTS * TOKENS];
    const struct drills drills = {TEXTS, TOKENS, 50, 0.25};
    size_t drilled = 0;
    for (size_t i = 0; i < TEXTS * TOKENS; i++)
        ids[i] = targets[i] = 50; /* no drill has it */
    dataset_drill(ids, targets, &drills, 9);
    for (size_t text = 0; text < TEXTS; text++) {
        const uint32_t *from = ids + text * TOKENS;
        size_t period = 1;
        if (from[0] == 50)
            continue;
        drilled++;
        ck_assert_mem_eq(from + 1, targets + text * TOKENS, (TOKENS - 1) * sizeof *ids);
        while (memcmp(from, from + period, (TOKENS - period) * sizeof *ids) != 0)
            period++;
        ck_assert_uint_le(period, TOKENS / 2);
    }
    ck_assert_uint_gt(drilled, 70);
    ck_assert_uint_lt(drilled, 130);
}
