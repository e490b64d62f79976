#include "bench/benchmark.h"

#include "../unit.h"

/* Counted by hand, from the shapes. */

static const struct config gpt2 = {
    .kind = MODEL_GPT2,
    .vocab_size = 50257,
    .n_embd = 768,
    .n_layer = 12,
    .n_head = 12,
    .n_kv_head = 12,
    .d_k = 64,
    .d_v = 64,
    .n_inner = 3072,
    .causal = true,
    .projections = true,
    .out_proj = true,
};

static const double gpt2_weights = 84934656; /* 12 · (4 · 768² + 2 · 768 · 3072) */

TEST(a_text_takes_its_products_and_half_a_square_of_attention)
{
    struct pass_size size = {.texts = 1, .tokens = 64};
    struct work work = bench_work(&gpt2, &size, 4, 4);
    double pairs = 64 * 65 / 2;
    ck_assert_double_eq(work.operations, 2 * 64 * gpt2_weights + 2 * 12 * 12 * pairs * 128);
    ck_assert_double_eq(work.bytes, 4 * gpt2_weights);
}

TEST(sequences_of_a_batch_do_not_see_each_other)
{
    struct pass_size size = {.texts = 100, .tokens = 12};
    struct work work = bench_work(&gpt2, &size, 4, 4);
    double pairs = 100 * 12 * 13 / 2;
    ck_assert_double_eq(work.operations, 2 * 1200 * gpt2_weights + 2 * 12 * 12 * pairs * 128);
    ck_assert_double_eq(work.bytes, 4 * gpt2_weights);
}

TEST(a_token_behind_others_reads_all_weights_and_what_is_cached)
{
    struct pass_size size = {.texts = 1, .tokens = 1, .cached = 64, .logits = true};
    struct work work = bench_work(&gpt2, &size, 4, 4);
    double words = 50257.0 * 768;
    ck_assert_double_eq(work.operations, 2 * gpt2_weights + 2 * words + 2 * 12 * 12 * 65.0 * 128);
    ck_assert_double_eq(work.bytes, 4 * (gpt2_weights + words + 12 * 64 * 1536.0));
}

TEST(the_likeliest_token_takes_a_byte_for_each_weight_of_the_logits)
{
    struct pass_size size = {
        .texts = 1, .tokens = 1, .cached = 64, .logits = true, .largest = true};
    struct work work = bench_work(&gpt2, &size, 4, 4);
    double words = 50257.0 * 768;
    ck_assert_double_eq(work.bytes, 4 * (gpt2_weights + 12 * 64 * 1536.0) + words);
}

TEST(a_gated_mlp_has_a_matrix_more)
{
    struct config gated = gpt2;
    struct pass_size size = {.texts = 1, .tokens = 1};
    gated.kind = MODEL_DECODER;
    gated.gated = true;
    ck_assert_double_eq(bench_work(&gated, &size, 4, 4).bytes,
                        4 * (gpt2_weights + 12 * 768.0 * 3072));
}

TEST(weights_of_a_file_in_bf16_are_read_as_they_lie)
{
    struct pass_size size = {.texts = 1, .tokens = 1, .cached = 64, .logits = true};
    struct work work = bench_work(&gpt2, &size, 2, 4);
    double words = 50257.0 * 768;
    ck_assert_double_eq(work.bytes, 2 * (gpt2_weights + words) + 4 * 12 * 64 * 1536.0);
}

/* What is multiplied stays the same. */
TEST(in_bf16_all_is_half_the_bytes)
{
    struct pass_size size = {.texts = 1, .tokens = 1, .cached = 64, .logits = true};
    struct work fp32 = bench_work(&gpt2, &size, 4, 4);
    struct work bf16 = bench_work(&gpt2, &size, 2, 2);
    double words = 50257.0 * 768;
    ck_assert_double_eq(bf16.operations, fp32.operations);
    ck_assert_double_eq(bf16.bytes, 2 * (gpt2_weights + words + 12 * 64 * 1536.0));
}

/* 2 layers, 4 heads of queries on 2 of keys, 3 and 5 wide, over 8 channels. */
TEST(grouped_heads_and_uneven_widths_count_as_they_are)
{
    struct config config = {.kind = MODEL_ATTENTION,
                            .n_embd = 8,
                            .n_layer = 2,
                            .n_head = 4,
                            .n_kv_head = 2,
                            .d_k = 3,
                            .d_v = 5,
                            .projections = true,
                            .out_proj = true};
    struct pass_size size = {.texts = 1, .tokens = 7};
    double weights = 2 * (8 * (12 + 6 + 10) + 20 * 8);
    struct work work = bench_work(&config, &size, 4, 4);
    ck_assert_double_eq(work.operations, 2 * 7 * weights + 2 * 2 * 4 * 49 * 8);
    ck_assert_double_eq(work.bytes, 4 * weights);
    config.projections = config.out_proj = false;
    work = bench_work(&config, &size, 4, 4);
    ck_assert_double_eq(work.operations, 2 * 2 * 4 * 49 * 8);
    ck_assert_double_eq(work.bytes, 0);
}

/* 3 layers of an encoder and 2 of its decoder, 2 heads of 4 over 8 channels, an MLP of 10. */
TEST(a_decoder_looks_at_the_source_as_well)
{
    static const struct config config = {.kind = MODEL_TRANSFORMER,
                                         .n_embd = 8,
                                         .n_layer = 2,
                                         .n_encoder_layer = 3,
                                         .n_head = 2,
                                         .n_kv_head = 2,
                                         .d_k = 4,
                                         .d_v = 4,
                                         .n_inner = 10,
                                         .causal = true,
                                         .cross = true,
                                         .projections = true,
                                         .out_proj = true};
    struct pass_size size = {.texts = 1, .tokens = 6};
    double weights = (3 + 2 * 2) * 4 * 64 + 5 * 2 * 80;
    double pairs = 3 * 36 + 2 * 36 + 2 * 21;
    struct work work = bench_work(&config, &size, 4, 4);
    ck_assert_double_eq(work.operations, 2 * 6 * weights + 2 * 2 * pairs * 8);
    ck_assert_double_eq(work.bytes, 4 * weights);
}
