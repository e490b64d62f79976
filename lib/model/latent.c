/* latent.c: queries, keys and values of latent attention (DeepSeek-V2, 2024). Keys and values are
 * products of a narrow vector of each token, and queries may be. The rotated channels of keys are a
 * product of the layer's input, the same for all heads. */
#include "math/rows.h"
#include "model/pass.h"

static const float EPSILON = 1e-6f; /* of the norms of narrow vectors, whatever config.json says */

/* y = norm(x · W) */
static enum pass_state narrow(struct pass *pass, int down, int scales, size_t layer,
                              struct matrix y, struct matrix x)
{
    struct norm norm;
    PASS_TRY(pass_product(pass, down, layer, y, x, ACTIVATION_NONE));
    if (weights_norm(pass->weights, slot_of((int)pass->part, scales, layer), &norm, pass->err))
        return PASS_FAILED;
    norm.epsilon = EPSILON;
    pass_norm(pass, y, y, &norm);
    return PASS_ON;
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
    PASS_TRY(
        pass_product(pass, rule->latent_q ? SLOT_Q_UP : SLOT_Q, layer, s->q, q, ACTIVATION_NONE));
    PASS_TRY(narrow(pass, SLOT_KV_DOWN, SLOT_KV_DOWN_NORM, layer, kv, x));
    PASS_TRY(pass_product(pass, SLOT_K, layer, s->k_plain, kv, ACTIVATION_NONE));
    PASS_TRY(pass_product(pass, SLOT_V, layer, s->v, kv, ACTIVATION_NONE));
    PASS_TRY(pass_product(pass, SLOT_K_ROTARY, layer, s->k_rotary, x, ACTIVATION_NONE));
    for (size_t head = 0; head < rule->heads; head++) {
        struct matrix k = matrix_columns(s->k, head * rule->d_k, rule->d_k);
        copy_rows(matrix_columns(k, 0, first), matrix_columns(s->k_plain, head * first, first));
        copy_rows(matrix_columns(k, first, s->k_rotary.columns), s->k_rotary);
    }
    return PASS_ON;
}
