#include "measure/token_scores.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "lens/viewer.h"

static const char *const models[] = {"tiny", "tests/references/golden-families/llama",
                                     "tests/references/golden-families/gpt_neox"};

static struct viewer viewer;
static struct arena arena;

static void open_model(const char *model, size_t threads)
{
    struct err err = {0};
    ck_assert_msg(viewer_open(&viewer, model, threads, &err) == 0, "%s", err.text);
}

static void close_model(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

static struct text_with_source read_ids(const char *ids)
{
    struct err err = {0};
    struct text_with_source pair;
    struct input input = {.ids = ids};
    ck_assert_msg(viewer_read(&viewer, &pair, &input, NULL, &arena, &err) == 0, "%s", err.text);
    return pair;
}

static struct scored *score(const struct scoring *scoring, const struct text_with_source *pairs,
                            size_t count)
{
    struct err err = {0};
    struct capture_request asked = {.pairs = pairs, .count = count};
    struct scored *scored = arena_alloc(&arena, count, sizeof *scored, NULL);
    int failed = scoring_check(scoring, &err) || scoring_run(scored, scoring, &asked, &arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    return scored;
}

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

TEST(other_texts_and_threads_do_not_change_a_bit)
{
    enum { TEXTS = 150, TOKENS = 17 };
    static char ids[TEXTS][TOKENS * 5];
    struct text_with_source pairs[TEXTS];
    struct scored *alone[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) {
        size_t size = 0;
        for (size_t t = 0; t < 1 + i % TOKENS; t++)
            size += (size_t)snprintf(ids[i] + size, sizeof ids[i] - size, t ? ",%zu" : "%zu",
                                     (i * 31 + t * t * 7) % 900);
    }
    struct scoring scoring = {.viewer = &viewer, .best_count = 2};
    open_model("tiny", 1);
    for (size_t i = 0; i < TEXTS; i++) {
        pairs[i] = read_ids(ids[i]);
        alone[i] = score(&scoring, &pairs[i], 1);
    }
    viewer_release(&viewer);
    open_model("tiny", 3);
    struct scored *all = score(&scoring, pairs, TEXTS);
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t t = 0; t < all[i].count; t++) {
            ck_assert(same_bits(all[i].tokens[t].logprob, alone[i]->tokens[t].logprob));
            ck_assert(same_bits(all[i].tokens[t].entropy, alone[i]->tokens[t].entropy));
            ck_assert_uint_eq(all[i].tokens[t].rank, alone[i]->tokens[t].rank);
        }
    close_model();
}

/* Windows of 6 tokens: all tokens of the first are scored, only the last ones of the others. */
TEST_LOOP(each_window_scores_its_new_tokens, COUNT(models) * 5)
{
    enum { CONTEXT = 6 };
    static const char ids[] = "5,8,1,2,4,11,9,0,7,3,6,10,1,2,3";
    size_t stride = (size_t)_i % 5 + 1;
    open_model(models[_i / 5], 1);
    viewer.model.config.n_positions = CONTEXT;
    viewer.reads_any_length = true;
    struct text_with_source pair = read_ids(ids);
    struct scoring scoring = {.viewer = &viewer, .context = CONTEXT, .stride = stride};
    struct scored *scored = score(&scoring, &pair, 1);
    ck_assert_uint_eq(scored->count, 15);
    size_t begin = 0;
    for (size_t token = 1; token < scored->count; token++) {
        if (token == begin + CONTEXT)
            begin += stride;
        size_t end = begin + CONTEXT < scored->count ? begin + CONTEXT : scored->count;
        struct text_with_source window = {
            .text = {.ids = pair.text.ids + begin, .count = end - begin}};
        struct scored *part = score(&(struct scoring){.viewer = &viewer}, &window, 1);
        ck_assert(same_bits(scored->tokens[token].logprob, part->tokens[token - begin].logprob));
        ck_assert(stride > 1 || token < CONTEXT || token - begin == CONTEXT - 1);
    }
    struct err err = {0};
    scoring.stride = CONTEXT;
    ck_assert_int_eq(scoring_check(&scoring, &err), -1);
    ck_assert_str_eq(err.text, "--stride: expected a number below the window's 6 tokens, found 6");
    close_model();
}

/* The last window also predicts the token after the text, where its last word may end. */
TEST(the_last_window_predicts_the_end_of_a_word)
{
    enum { CONTEXT = 6, WORDS = 64 };
    static bool begins[WORDS] = {[1] = true, [4] = true, [9] = true};
    open_model(models[1], 1);
    ck_assert_uint_le(viewer.model.config.vocab_size, WORDS);
    viewer.model.config.n_positions = CONTEXT;
    viewer.reads_any_length = true;
    struct text_with_source pair = read_ids("5,8,1,2,4,11,9,0,7,3");
    struct text_with_source last = {.text = {.ids = pair.text.ids + 4, .count = CONTEXT}};
    struct scoring scoring = {.viewer = &viewer, .begins = begins};
    struct scored *alone = score(&scoring, &last, 1);
    scoring.context = CONTEXT;
    scoring.stride = 4;
    struct scored *scored = score(&scoring, &pair, 1);
    ck_assert_uint_eq(scored->count, 10);
    ck_assert(alone->tokens[CONTEXT].begin < 0);
    ck_assert(same_bits(scored->tokens[10].begin, alone->tokens[CONTEXT].begin));
    for (size_t token = 6; token < 10; token++)
        ck_assert(same_bits(scored->tokens[token].logprob, alone->tokens[token - 4].logprob));
    close_model();
}
