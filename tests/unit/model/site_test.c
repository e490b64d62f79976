#include "model/site.h"

#include <string.h>

#include "../unit.h"

/* The names users type, in the order of the pass. */
/* clang-format off */
static const char *const names[] = {
    "embedding", "source_embedding",
    "enc.resid_pre", "enc.ln_1", "enc.q", "enc.k", "enc.v", "enc.scores", "enc.masked",
    "enc.weights", "enc.context", "enc.attn_out", "enc.resid_mid", "enc.ln_2", "enc.mlp_act",
    "enc.mlp_out", "enc.resid_post", "enc.ln_f",
    "resid_pre", "ln_1", "q_pre", "k_pre", "q", "k", "v", "scores", "softmax", "masked", "weights",
    "context", "attn_out", "ln_1_post", "resid_mid", "ln_cross", "cross_q", "cross_k", "cross_v",
    "cross_scores", "cross_masked", "cross_weights", "cross_context", "cross_out", "resid_cross",
    "ln_2", "mlp_gate", "mlp_up", "mlp_act", "mlp_out", "ln_2_post", "resid_post", "ln_f", "logits",
    "value_weighted", "norm_weighted", "value_zeroing", "rollout",
};
/* clang-format on */

TEST(sites_are_these_in_the_order_of_the_pass)
{
    ck_assert_uint_eq(COUNT(names), SITE_ALL);
    for (size_t i = 0; i < COUNT(names); i++) {
        enum site site = SITE_COUNT;
        ck_assert_str_eq(site_rows[i].name, names[i]);
        ck_assert(site_find(names[i], strlen(names[i]), &site));
        ck_assert_uint_eq(site, i);
    }
}

TEST(only_whole_names_find_a_site)
{
    static const char *const wrong[] = {"", "Q", "weight", "weightss", "h.0.weights", "tokens"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        enum site site = SITE_LN_F;
        ck_assert_msg(!site_find(wrong[i], strlen(wrong[i]), &site), "'%s'", wrong[i]);
        ck_assert_int_eq(site, SITE_LN_F);
    }
}

TEST(a_name_ends_where_it_is_said_to)
{
    enum site site = SITE_COUNT;
    ck_assert(site_find("q,k,v", 1, &site));
    ck_assert_int_eq(site, SITE_Q);
    ck_assert(site_find("ln_1,", 4, &site));
    ck_assert_int_eq(site, SITE_LN_1);
    ck_assert(!site_find("weights", 6, &site));
}

TEST(tensors_carry_their_layer)
{
    char name[SITE_NAME_BYTES];
    ck_assert_str_eq(site_tensor_name(name, SITE_WEIGHTS, 0), "h.0.weights");
    ck_assert_str_eq(site_tensor_name(name, SITE_RESID_POST, 16383), "h.16383.resid_post");
    ck_assert_str_eq(site_tensor_name(name, SITE_ENC_WEIGHTS, 0), "enc.0.weights");
    ck_assert_str_eq(site_tensor_name(name, SITE_ENC_RESID_POST, 16383), "enc.16383.resid_post");
    ck_assert_str_eq(site_tensor_name(name, SITE_CROSS_WEIGHTS, 3), "h.3.cross_weights");
    ck_assert_str_eq(site_tensor_name(name, SITE_CROSS_CONTEXT, 16383), "h.16383.cross_context");
    ck_assert_str_eq(site_tensor_name(name, SITE_EMBEDDING, -1), "embedding");
    ck_assert_str_eq(site_tensor_name(name, SITE_ENC_LN_F, -1), "enc.ln_f");
    ck_assert_str_eq(site_tensor_name(name, SITE_LOGITS, -1), "logits");
}

TEST(every_row_is_whole)
{
    for (int site = 0; site < SITE_COUNT; site++) {
        const struct site_row *row = &site_rows[site];
        bool of_model = site <= SITE_SOURCE_EMBEDDING || site >= SITE_LN_F || site == SITE_ENC_LN_F;
        bool square = row->axes == AXES_HEAD_QUERY_KEY;
        bool of_sentence = row->part == PART_SENTENCE;
        ck_assert(row->about && *row->about);
        ck_assert_int_eq(row->in_layer, !of_model);
        bool whole = site == SITE_SCORES || site == SITE_SOFTMAX; /* before any mask */
        ck_assert_int_eq(row->masked, of_sentence && square && !whole);
        ck_assert_int_eq(row->alias == NULL, whole || !of_sentence);
        if (row->alias)
            ck_assert_int_eq(strncmp(row->alias, "blocks.L.", 9) == 0, row->in_layer);
    }
}

/* What is like another site has its axes, and is found by it. */
TEST(the_same_of_another_part_is_found)
{
    for (int site = 0; site < SITE_COUNT; site++) {
        const struct site_row *row = &site_rows[site];
        ck_assert_int_eq(site_of(PART_SENTENCE, (enum site)site), site);
        if (row->part == PART_SENTENCE)
            continue;
        enum site like = site_like((enum site)site);
        ck_assert_int_eq(site_of(row->part, like), site);
        ck_assert_int_eq(site_rows[like].part, PART_SENTENCE);
        ck_assert_int_eq(site_rows[like].axes, row->axes);
        ck_assert_int_eq(site_rows[like].in_layer, row->in_layer);
    }
    ck_assert_int_eq(site_of(PART_SOURCE, SITE_EMBEDDING), SITE_SOURCE_EMBEDDING);
    ck_assert_int_eq(site_of(PART_SOURCE, SITE_WEIGHTS), SITE_ENC_WEIGHTS);
    ck_assert_int_eq(site_of(PART_CROSS, SITE_WEIGHTS), SITE_CROSS_WEIGHTS);
    ck_assert_int_eq(site_of(PART_CROSS, SITE_RESID_MID), SITE_RESID_CROSS);
}
