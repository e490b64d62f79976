#include "model/layer.h"
#include "model/points.h"
#include "model/site.h"

#include <stdint.h>
#include <string.h>

#include "../unit.h"
#include "model/config.h"

/* Names of sites in the order of the pass. */
/* clang-format off */
static const char *const names[] = {
    "embedding", "source_embedding",
    "enc.resid_pre", "enc.ln_1", "enc.q", "enc.k", "enc.v", "enc.scores", "enc.masked",
    "enc.weights", "enc.context", "enc.attn_out", "enc.resid_mid", "enc.ln_2", "enc.mlp_gate",
    "enc.mlp_up", "enc.mlp_act", "enc.mlp_out", "enc.resid_post", "enc.ln_f",
    "predicted", "resid_pre", "ln_1",
    "mix_q_pre", "mix_k_pre", "mix_v_pre", "mix_conv", "mix_q", "mix_k",
    "mix_v", "mix_step", "mix_decay", "mix_map",
    "mix_map_norm", "mix_state", "mix_states", "mix_context", "mix_gate",
    "mix_gated", "mix_out",
    "q_pre", "k_pre", "q", "k", "v", "scores", "softmax", "masked", "weights",
    "difference", "sink", "context", "gate", "gated", "attn_out", "ln_1_post", "laurel_act",
    "laurel_out", "laurel_post", "resid_mid",
    "ln_cross", "cross_q", "cross_k",
    "cross_v", "cross_scores", "cross_masked", "cross_weights", "cross_context", "cross_out",
    "resid_cross",
    "ln_2", "ln_experts", "router", "expert_weights", "shared_out", "mlp_gate", "mlp_up",
    "mlp_act", "mlp_out", "ln_2_post", "resid_mlp", "corrected", "per_layer_gate",
    "per_layer_input", "per_layer_act", "per_layer_out", "per_layer_post", "streams", "merged",
    "resid_post", "ln_f",
    "transform", "pooled", "discriminator", "logits",
    "value_weighted", "norm_weighted", "value_zeroing", "rollout", "entropy",
    "entropy_share", "attention_gradient", "enc.entropy", "enc.entropy_share",
    "enc.attention_gradient", "cross_entropy", "cross_entropy_share", "cross_attention_gradient",
    "mask", "visible",
};
/* clang-format on */

TEST(sites_are_listed_in_the_order_of_the_pass)
{
    size_t count = 0;
    for (enum site site = 0; site != SITE_END; site = site_next(site)) {
        enum site found = SITE_END;
        if (!site_about(site))
            continue;
        ck_assert_uint_lt(count, COUNT(names));
        ck_assert_str_eq(site_name(site), names[count]);
        ck_assert(site_find(names[count], strlen(names[count]), &found));
        ck_assert_uint_eq(found, site);
        count++;
    }
    ck_assert_uint_eq(count, COUNT(names));
}

TEST(sites_that_no_model_has_are_not_found)
{
    static const char *const reserved[] = {"enc.q_pre", "cross_mlp_act", "enc.logits", "enc.router",
                                           ""};
    enum site site;
    for (size_t i = 0; i < COUNT(reserved); i++)
        ck_assert_msg(!site_find(reserved[i], strlen(reserved[i]), &site), "%s", reserved[i]);
}

TEST(a_set_holds_the_sites_of_all_parts)
{
    struct site_set set = SITE_SET(SITE_Q, SITE_OF(BRANCH_CROSS, SITE_K));
    ck_assert(site_set_is_empty((struct site_set){0}) && !site_set_is_empty(set));
    site_set_add(&set, SITE_OF(BRANCH_SOURCE, SITE_LN_F));
    ck_assert(!site_set_has_effective(set));
    site_set_join(&set, SITE_SET(SITE_ROLLOUT));
    ck_assert(site_set_has_effective(set));
    for (int site = 0; site < SITE_COUNT; site++)
        ck_assert_int_eq(site_set_has(set, (enum site)site),
                         site == SITE_Q || site == (int)SITE_OF(BRANCH_CROSS, SITE_K) ||
                             site == (int)SITE_OF(BRANCH_SOURCE, SITE_LN_F) ||
                             site == SITE_ROLLOUT);
}

TEST(the_sites_of_a_set_come_in_the_order_of_lists)
{
    const enum site sites[] = {SITE_EMBEDDING, SITE_Q, SITE_OF(BRANCH_CROSS, SITE_K), SITE_LN_2,
                               SITE_ROLLOUT};
    const struct site_set set = site_set_of(sites, COUNT(sites)), none = {{0}};
    size_t count = 0;
    for (enum site site = site_first(set); site != SITE_END; site = site_after(set, site))
        ck_assert_int_eq(site, sites[count++]);
    ck_assert_uint_eq(count, COUNT(sites));
    ck_assert_int_eq(site_first(none), SITE_END);
    const struct site_set both = site_set_both(set, SITE_SET(SITE_K, SITE_LN_2));
    ck_assert_int_eq(site_first(both), SITE_LN_2);
    ck_assert_int_eq(site_after(both, SITE_LN_2), SITE_END);
}

TEST(names_of_tensors_have_their_layer)
{
    char name[SITE_NAME_BYTES];
    ck_assert_str_eq(site_tensor_name(name, SITE_WEIGHTS, 0), "h.0.weights");
    ck_assert_str_eq(site_tensor_name(name, SITE_RESID_POST, 16383), "h.16383.resid_post");
    ck_assert_str_eq(site_tensor_name(name, SITE_OF(BRANCH_SOURCE, SITE_WEIGHTS), 0),
                     "enc.0.weights");
    ck_assert_str_eq(site_tensor_name(name, SITE_OF(BRANCH_SOURCE, SITE_RESID_POST), 16383),
                     "enc.16383.resid_post");
    ck_assert_str_eq(site_tensor_name(name, SITE_OF(BRANCH_CROSS, SITE_WEIGHTS), 3),
                     "h.3.cross_weights");
    ck_assert_str_eq(site_tensor_name(name, SITE_OF(BRANCH_CROSS, SITE_CONTEXT), 16383),
                     "h.16383.cross_context");
    ck_assert_str_eq(site_tensor_name(name, SITE_EMBEDDING, -1), "embedding");
    ck_assert_str_eq(site_tensor_name(name, SITE_OF(BRANCH_SOURCE, SITE_LN_F), -1), "enc.ln_f");
    ck_assert_str_eq(site_tensor_name(name, SITE_LOGITS, -1), "logits");
}

TEST(a_size_that_overflows_is_refused)
{
    struct config config = {.n_layer = 1, .n_head = 4, .n_kv_head = 4};
    size_t count = 0;
    ck_assert(!config_describe(&config, NULL));
    ck_assert(!site_size(&count, &config, SITE_WEIGHTS, 4, SIZE_MAX / 8, SIZE_MAX / 8));
    config_release(&config);
}
