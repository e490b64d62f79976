/* latent.c: queries, keys and values of latent attention (DeepSeek-V2, 2024). Keys and values are
 * products of a narrow vector of each token, and queries may be. The rotated channels of keys are a
 * product of the layer's input, the same for all heads. */
#include "model/pass.h"

/* y = x · W */
static enum pass_state product(struct pass *pass, int id, size_t layer, struct matrix y,
                               struct matrix x)
{
    return pass_product(pass, pass_slot(pass, id, layer), y, x, ACTIVATION_NONE);
}

/* y = norm(x · W) */
static enum pass_state narrow(struct pass *pass, int down, int scales, size_t layer,
                              struct matrix y, struct matrix x)
{
    PASS_TRY(product(pass, down, layer, y, x));
    return pass_norm(pass, pass_slot(pass, scales, layer), y, y);
}

enum pass_state latent_project(struct pass *pass, const struct head_rule *rule, size_t layer,
                               struct matrix x)
{
    struct scratch *s = &pass->scratch;
    struct matrix q = rule->latent_q ? matrix_columns(s->narrow, 0, rule->latent_q) : x;
    struct matrix kv = matrix_columns(s->narrow, 0, rule->latent_kv);
    size_t first = rule->rotary->first;
    if (rule->latent_q)
        PASS_TRY(narrow(pass, SLOT_Q_DOWN, SLOT_Q_DOWN_NORM, layer, q, x));
    PASS_TRY(product(pass, rule->latent_q ? SLOT_Q_UP : SLOT_Q, layer, s->q, q));
    PASS_TRY(narrow(pass, SLOT_KV_DOWN, SLOT_KV_DOWN_NORM, layer, kv, x));
    PASS_TRY(product(pass, SLOT_K, layer, s->k_plain, kv));
    PASS_TRY(product(pass, SLOT_V, layer, s->v, kv));
    PASS_TRY(product(pass, SLOT_K_ROTARY, layer, s->k_rotary, x));
    for (size_t head = 0; head < rule->heads; head++) {
        struct matrix k = matrix_columns(s->k, head * rule->d_k, rule->d_k);
        copy_rows(matrix_columns(k, 0, first), matrix_columns(s->k_plain, head * first, first));
        copy_rows(matrix_columns(k, first, s->k_rotary.columns), s->k_rotary);
    }
    return PASS_ON;
}
