/* latent.c: queries, keys and values of latent attention (DeepSeek-V2, 2024). Keys and values are
 * products of a narrow vector of each token, and queries may be. The rotated channels of keys are a
 * product of the layer's input, the same for all heads. */
#include "math/gemm.h"
#include "math/rows.h"
#include "model/pass.h"

static const float EPSILON = 1e-6f; /* of the norms of narrow vectors, whatever config.json says */

static int product(struct pass *pass, int id, size_t layer, struct matrix y, struct matrix x)
{
    struct weight w;
    if (weights_matrix(pass->weights, slot_of((int)pass->part, id, layer), &w, pass->err))
        return -1;
    linear(pass->machine, y, x, &w, ACTIVATION_NONE);
    return 0;
}

/* y = norm(x · W) */
static int narrow(struct pass *pass, int down, int scales, size_t layer, struct matrix y,
                  struct matrix x)
{
    struct norm norm;
    if (product(pass, down, layer, y, x) ||
        weights_norm(pass->weights, slot_of((int)pass->part, scales, layer), &norm, pass->err))
        return -1;
    norm.epsilon = EPSILON;
    pass_norm(pass, y, y, &norm);
    return 0;
}

int latent_project(struct pass *pass, const struct head_rule *rule, size_t layer, struct matrix x)
{
    struct scratch *s = &pass->scratch;
    struct matrix q = matrix_columns(s->narrow, 0, rule->latent_q);
    struct matrix kv = matrix_columns(s->narrow, 0, rule->latent_kv);
    size_t first = rule->rotary->first;
    if (rule->latent_q ? narrow(pass, SLOT_Q_DOWN, SLOT_Q_DOWN_NORM, layer, q, x) ||
                             product(pass, SLOT_Q_UP, layer, s->q, q)
                       : product(pass, SLOT_Q, layer, s->q, x))
        return -1;
    if (narrow(pass, SLOT_KV_DOWN, SLOT_KV_DOWN_NORM, layer, kv, x) ||
        product(pass, SLOT_K, layer, s->nopes, kv) || product(pass, SLOT_V, layer, s->v, kv) ||
        product(pass, SLOT_K_ROTARY, layer, s->turning, x))
        return -1;
    for (size_t head = 0; head < rule->heads; head++) {
        struct matrix k = matrix_columns(s->k, head * rule->d_k, rule->d_k);
        copy_rows(matrix_columns(k, 0, first), matrix_columns(s->nopes, head * first, first));
        copy_rows(matrix_columns(k, first, s->turning.columns), s->turning);
    }
    return 0;
}
