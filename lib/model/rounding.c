#include "model/rounding.h"

#include "math/gemm.h"

static bool rounds(const struct pass *pass, enum site site, size_t layer, const struct weight *w)
{
    enum { MANY = 16 };
    return w->pairs && w->in % 2 == 0 && pass->scratch.x.rows >= MANY &&
           input_widens(pass->machine) && !pass_watches(pass, site, layer) &&
           !pass_edits(pass, site, layer);
}

static bool rounds_norm(const struct pass *pass, enum site site, size_t layer,
                        const struct weight *w)
{
    const struct config *c = pass->config;
    return !c->residual_normed && !c->parallel && c->projections && pass->part != PART_CROSS &&
           !mechanism_lacks(&c->mechanism, PART_NORM) && rounds(pass, site, layer, w);
}

bool rounds_attended(const struct pass *pass, size_t layer, const struct attention_weights *w)
{
    return w->k.pairs && w->v.pairs && rounds_norm(pass, SITE_LN_1, layer, &w->q);
}

bool rounds_mlp_input(const struct pass *pass, size_t layer, const struct mlp_weights *w)
{
    return (w->gate.pairs || !pass->config->gated) && rounds_norm(pass, SITE_LN_2, layer, &w->fc);
}

bool rounds_context(const struct pass *pass, size_t layer, const struct attention_weights *w)
{
    return !pass->attended && pass_attention_kind(pass) == ATTENTION_DENSE &&
           pass->config->d_v % 2 == 0 && rounds(pass, SITE_CONTEXT, layer, &w->out);
}

bool rounds_hidden(const struct pass *pass, size_t layer, const struct mlp_weights *w)
{
    return rounds(pass, SITE_MLP_ACT, layer, &w->proj);
}
