#include "math/gemm.h"
#include "math/rows.h"
#include "model/pass.h"

/* The columns of the heads that are of use. */
static void project_heads(struct pass *pass, struct span heads, struct matrix y, struct matrix x,
                          const struct weight *w, size_t width)
{
    struct span columns = {heads.first * width, heads.count * width};
    if (!weight_can_slice(w, columns.first))
        columns = (struct span){0, w->out};
    struct weight part = weight_columns(w, columns.first, columns.count);
    linear(pass->machine, matrix_columns(y, columns.first, part.out), x, &part, ACTIVATION_NONE);
}

static bool is_needed(const struct pass *pass, enum site site, size_t layer)
{
    return pass_needs(pass, site, site == SITE_V ? SITE_CONTEXT : SITE_SCORES, layer);
}

/* One token's q, k and v by one product, where the weights lie side by side: it reads them in the
 * order in which they lie, which is what a single token's time goes into. False: not this time. */
static bool project_together(struct pass *pass, size_t layer, struct matrix x,
                             const struct weight *joined)
{
    struct scratch *s = &pass->scratch;
    size_t width = x.columns;
    if (x.rows != 1 || !weight_exists(joined))
        return false;
    for (enum site site = SITE_Q; site <= SITE_V; site++)
        if (!is_needed(pass, site, layer) ||
            pass_heads(pass, site, layer).count != pass->config->n_head)
            return false;
    linear(pass->machine, s->joined, x, joined, ACTIVATION_NONE);
    copy_rows(s->q, matrix_columns(s->joined, 0, width));
    copy_rows(s->k, matrix_columns(s->joined, width, width));
    copy_rows(s->v, matrix_columns(s->joined, 2 * width, width));
    return true;
}

/* Those that are asked for; all of them, where they are normed as one row. */
static struct span heads_to_project(const struct pass *pass, enum site site, size_t layer)
{
    const struct config *c = pass->config;
    if (c->head_norm == HEAD_NORM_WHOLE && site != SITE_V)
        return (struct span){0, site == SITE_K ? c->n_kv_head : c->n_head};
    return pass_heads(pass, site, layer);
}

/* One of q, k and v: computed only where it is needed and not there. (Keys of a source that is in
 * its cache have no rows.) */
static void project(struct pass *pass, size_t layer, enum site site, struct matrix y,
                    struct matrix x, const struct weight *w)
{
    size_t width = site == SITE_V ? pass->config->d_v : pass->config->d_k;
    enum site before = site == SITE_K ? SITE_K_PRE : SITE_Q_PRE;
    bool needed =
        is_needed(pass, site, layer) || (site != SITE_V && pass_watches(pass, before, layer));
    if (w && weight_exists(w) && y.rows && needed)
        project_heads(pass, heads_to_project(pass, site, layer), y, x, w, width);
}

/* Where there are no projections, q, k and v are the inputs themselves. */
static enum pass_state project_all(struct pass *pass, size_t layer, struct matrix x,
                                   struct matrix source, const struct attention_weights *w)
{
    struct scratch *s = &pass->scratch;
    if (!pass->config->projections) {
        s->q = x;
        s->k = s->v = source;
    }
    bool done = project_together(pass, layer, x, &w->joined);
    project(pass, layer, SITE_Q, s->q, x, done ? NULL : &w->q);
    project(pass, layer, SITE_K, s->k, source, done ? NULL : &w->k);
    PASS_TRY(pass_place_heads(pass, layer, w));
    project(pass, layer, SITE_V, s->v, source, done ? NULL : &w->v);
    return tap_heads(pass, SITE_V, layer, s->v);
}

/* q from x, k and v from the source, and attention over them and what is in caches. */
static enum pass_state attend(struct pass *pass, size_t layer, struct matrix x,
                              struct matrix source, const struct attention_weights *w)
{
    if (pass->attended)
        return PASS_ON;
    enum pass_state state = project_all(pass, layer, x, source, w);
    if (pass->batch->cached && pass->scratch.k.rows && state != PASS_FAILED)
        attention_store(pass, layer); /* the last values may be all that the pass goes on for */
    return state == PASS_ON ? attention(pass, layer) : state;
}

/* out = from · w, and the residual stream x += out; or x = out, where there is no such stream. What
 * only the stream wants is written nowhere else. */
static void write_out(const struct pass *pass, enum site site, size_t layer, struct matrix from,
                      const struct weight *w)
{
    const struct scratch *s = &pass->scratch;
    struct matrix out = s->out;
    if (!mechanism_lacks(&pass->config->mechanism, PART_RESIDUAL)) {
        if (!pass_watches(pass, site, layer))
            out.data = NULL;
        linear_add(pass->machine, s->x, out, from, w);
        return;
    }
    linear(pass->machine, s->out, from, w, ACTIVATION_NONE);
    copy_rows(s->x, s->out);
}

/* What is added to the stream, watched on the way: as it is, normed, or a share of it. */
static enum pass_state add_out(struct pass *pass, enum site site, size_t layer, struct matrix from,
                               const struct weight *w, const struct norm *post)
{
    const struct config *c = pass->config;
    const struct scratch *s = &pass->scratch;
    enum site normed = site == SITE_ATTN_OUT ? SITE_LN_1_POST : SITE_LN_2_POST;
    float share = c->residual_scale == 0 ? 1.0f : c->residual_scale;
    if (!c->norm_out && c->residual_scale == 0 && !pass_edits(pass, site, layer)) {
        write_out(pass, site, layer, from, w);
        return tap_rows(pass, site, layer, s->out);
    }
    linear(pass->machine, s->out, from, w, ACTIVATION_NONE);
    PASS_TRY(tap_rows(pass, site, layer, s->out));
    if (c->norm_out) {
        pass_norm(pass, s->out, s->out, post);
        PASS_TRY(tap_rows(pass, normed, layer, s->out));
    }
    for (size_t row = 0; row < s->x.rows; row++) {
        float *x = s->x.data + row * s->x.stride;
        const float *added = s->out.data + row * s->out.stride;
        if (mechanism_lacks(&c->mechanism, PART_RESIDUAL))
            scale_row(x, added, s->x.columns, share);
        else
            add_scaled_row(x, added, s->x.columns, share, s->out.data);
    }
    return PASS_ON;
}

/* What a sublayer works on: norm(x) where norms come first, else x. */
static enum pass_state norm_before(struct pass *pass, enum site site, size_t layer,
                                   const struct norm *norm, struct matrix *y)
{
    *y = pass->scratch.x;
    if (!pass->config->norm_first || !pass->config->norm_in)
        return PASS_ON;
    *y = pass->scratch.norm;
    pass_norm(pass, *y, pass->scratch.x, norm);
    PASS_TRY(tap_rows(pass, site, layer, *y));
    if (pass->config->residual_normed)
        copy_rows(pass->scratch.x, *y);
    return PASS_ON;
}

/* What becomes of the sum x + f(x) where norms come last. */
static enum pass_state norm_after(struct pass *pass, enum site site, size_t layer,
                                  const struct norm *norm)
{
    struct matrix x = pass->scratch.x;
    if (pass->config->norm_first)
        return PASS_ON;
    pass_norm(pass, x, x, norm);
    return tap_rows(pass, site, layer, x);
}

/* x + attention(norm(x)), or norm(x + attention(x)): to the texts themselves or to the sources. */
static enum pass_state attention_sublayer(struct pass *pass, size_t layer,
                                          const struct attention_weights *w)
{
    struct scratch *s = &pass->scratch;
    struct matrix y;
    PASS_TRY(norm_before(pass, SITE_LN_1, layer, &w->norm, &y));
    PASS_TRY(attend(pass, layer, y, pass->part == PART_CROSS ? s->source : y, w));
    PASS_TRY(add_out(pass, SITE_ATTN_OUT, layer, s->context, &w->out, &w->post));
    PASS_TRY(tap_rows(pass, SITE_RESID_MID, layer, s->x));
    return norm_after(pass, SITE_LN_1, layer, &w->norm);
}

/* act(gate) · up, or act(fc): what the MLP's last matrix is applied to. */
static enum pass_state activate_hidden(struct pass *pass, size_t layer, struct matrix y,
                                       const struct mlp_weights *w)
{
    struct scratch *s = &pass->scratch;
    enum activation activation = pass->config->activation;
    bool watched =
        pass_watches(pass, SITE_MLP_GATE, layer) || pass_edits(pass, SITE_MLP_GATE, layer);
    if (!pass->config->gated) {
        linear(pass->machine, s->hidden, y, &w->fc, activation);
        return tap_rows(pass, SITE_MLP_ACT, layer, s->hidden);
    }
    linear(pass->machine, s->hidden, y, &w->gate, watched ? ACTIVATION_NONE : activation);
    PASS_TRY(tap_rows(pass, SITE_MLP_GATE, layer, s->hidden));
    if (watched)
        activate(s->hidden, s->hidden, NULL, activation);
    linear(pass->machine, s->up, y, &w->fc, ACTIVATION_NONE);
    PASS_TRY(tap_rows(pass, SITE_MLP_UP, layer, s->up));
    multiply_rows(s->hidden, s->up);
    return tap_rows(pass, SITE_MLP_ACT, layer, s->hidden);
}

/* x + mlp(norm(x)), or norm(x + mlp(x)) */
static enum pass_state mlp_sublayer(struct pass *pass, size_t layer, const struct mlp_weights *w)
{
    struct scratch *s = &pass->scratch;
    struct matrix y;
    PASS_TRY(norm_before(pass, SITE_LN_2, layer, &w->norm, &y));
    PASS_TRY(activate_hidden(pass, layer, y, w));
    PASS_TRY(add_out(pass, SITE_MLP_OUT, layer, s->hidden, &w->proj, &w->post));
    if (pass->config->stream_normed) {
        pass_norm(pass, s->x, s->x, &w->norm);
        PASS_TRY(tap_rows(pass, SITE_RESID_POST, layer, s->x));
        return tap_rows(pass, SITE_LN_2, layer, s->x);
    }
    PASS_TRY(tap_rows(pass, SITE_RESID_POST, layer, s->x));
    return norm_after(pass, SITE_LN_2, layer, &w->norm);
}

/* x + attention(norm(x)) + mlp(norm(x)): both read the same stream. */
static enum pass_state parallel_block(struct pass *pass, size_t layer,
                                      const struct block_weights *w)
{
    struct scratch *s = &pass->scratch;
    struct matrix y;
    PASS_TRY(norm_before(pass, SITE_LN_1, layer, &w->self.norm, &y));
    PASS_TRY(attend(pass, layer, y, y, &w->self));
    if (!pass->config->shared_norm && pass_goes_to(pass, SITE_LN_2, layer))
        pass_norm(pass, s->norm, s->x, &w->mlp.norm);
    PASS_TRY(add_out(pass, SITE_ATTN_OUT, layer, s->context, &w->self.out, &w->self.post));
    if (!pass->config->shared_norm)
        PASS_TRY(tap_rows(pass, SITE_LN_2, layer, s->norm));
    if (!mechanism_lacks(&pass->config->mechanism, PART_MLP)) {
        PASS_TRY(activate_hidden(pass, layer, s->norm, &w->mlp));
        PASS_TRY(add_out(pass, SITE_MLP_OUT, layer, s->hidden, &w->mlp.proj, &w->mlp.post));
    }
    return tap_rows(pass, SITE_RESID_POST, layer, s->x);
}

/* The Transformer's block: of an encoder, of a decoder, which looks at the encoder's output as
 * well, or of GPT-2, a decoder without an encoder. */
static enum pass_state transformer_block(struct pass *pass, size_t layer,
                                         const struct block_weights *w)
{
    if (!pass->attended) /* otherwise the caller has announced and edited it */
        PASS_TRY(tap_rows(pass, SITE_RESID_PRE, layer, pass->scratch.x));
    if (pass->config->parallel)
        return parallel_block(pass, layer, w);
    PASS_TRY(attention_sublayer(pass, layer, &w->self));
    if (pass->cross)
        PASS_TRY(attention_sublayer(pass->cross, layer, &w->cross));
    if (mechanism_lacks(&pass->config->mechanism, PART_MLP))
        return tap_rows(pass, SITE_RESID_POST, layer, pass->scratch.x);
    return mlp_sublayer(pass, layer, &w->mlp);
}

/* Bare attention: what it gives is the next layer's input. */
static enum pass_state attention_block(struct pass *pass, size_t layer,
                                       const struct block_weights *w)
{
    struct scratch *s = &pass->scratch;
    struct matrix out = s->context; /* the heads side by side */
    PASS_TRY(attend(pass, layer, s->x, pass->config->cross ? s->source : s->x, &w->self));
    if (pass->config->out_proj) {
        linear(pass->machine, s->out, s->context, &w->self.out, ACTIVATION_NONE);
        out = s->out;
    }
    PASS_TRY(tap_rows(pass, SITE_ATTN_OUT, layer, out));
    if (layer + 1 < pass->config->n_layer) /* else their widths may differ */
        copy_rows(s->x, out);
    return pass_check_rows(pass, SITE_ATTN_OUT, layer, out);
}

enum pass_state block(struct pass *pass, size_t layer)
{
    struct block_weights w;
    size_t place = pass->first_layer + layer;
    bool bare = pass->config->kind == MODEL_ATTENTION;
    if (weights_block(pass->weights, place, pass_last_site(pass, layer), &w, pass->err))
        return PASS_FAILED;
    if (bare)
        return attention_block(pass, layer, &w);
    PASS_TRY(transformer_block(pass, layer, &w));
    return pass_check_rows(pass, SITE_RESID_POST, layer, pass->scratch.x);
}
