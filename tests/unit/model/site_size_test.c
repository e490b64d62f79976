#include "model/site.h"

#include <stdint.h>

#include "../unit.h"
#include "model/model.h"

TEST(sites_have_the_sizes_of_their_axes)
{
    static const struct config config = {.kind = MODEL_GPT2,
                                         .vocab_size = 100,
                                         .n_embd = 12,
                                         .n_layer = 2,
                                         .n_head = 6,
                                         .n_kv_head = 2,
                                         .d_k = 2,
                                         .d_v = 3,
                                         .n_inner = 48,
                                         .cross = true,
                                         .out_proj = true};
    static const struct {
        enum site site;
        size_t heads;
        size_t count;
    } cases[] = {
        {SITE_EMBEDDING, 6, 5 * 12},
        {SITE_Q, 6, 6 * 5 * 2},
        {SITE_Q, 1, 5 * 2},
        {SITE_K, 6, 2 * 7 * 2},
        {SITE_K, 1, 7 * 2},
        {SITE_V, 6, 2 * 7 * 3},
        {SITE_WEIGHTS, 6, 6 * 5 * 7},
        {SITE_WEIGHTS, 2, 2 * 5 * 7},
        {SITE_CONTEXT, 6, 6 * 5 * 3},
        {SITE_MLP_ACT, 6, 5 * 48},
        {SITE_ATTN_OUT, 6, 5 * 12},
        {SITE_LOGITS, 6, 5 * 100},
        {SITE_SOURCE_EMBEDDING, 6, 7 * 12},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t count = 0;
        ck_assert(site_size(&count, &config, cases[i].site, cases[i].heads, 5, 7));
        ck_assert_msg(count == cases[i].count, "case %zu: %zu", i, count);
    }
}

TEST(heads_side_by_side_are_as_wide_as_all_of_them)
{
    static const struct config config = {
        .kind = MODEL_ATTENTION, .n_embd = 4, .n_head = 3, .n_kv_head = 3, .d_v = 5};
    size_t count = 0;
    ck_assert(site_size(&count, &config, SITE_ATTN_OUT, 3, 2, 2));
    ck_assert_uint_eq(count, 2 * 15);
}

TEST(what_64_bits_cannot_count_is_refused)
{
    static const struct config config = {.n_head = 4, .n_kv_head = 4};
    size_t count = 0;
    ck_assert(!site_size(&count, &config, SITE_WEIGHTS, 4, SIZE_MAX / 8, SIZE_MAX / 8));
}
