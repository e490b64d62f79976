#include "math/gemm.h"
#include "math/rows.h"
#include "model/layer.h"
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
static bool project_together(struct pass *pass, const struct sublayer *rule, size_t layer,
                             struct matrix x, const struct weight *joined)
{
    struct scratch *s = &pass->scratch;
    size_t width = x.columns;
    if (x.rows != 1 || !weight_exists(joined))
        return false;
    for (enum site site = SITE_Q; site <= SITE_V; site++)
        if (!is_needed(pass, site, layer) ||
            pass_heads(pass, site, layer).count != rule->head.heads)
            return false;
    linear(pass->machine, s->joined, x, joined, ACTIVATION_NONE);
    copy_rows(s->q, matrix_columns(s->joined, 0, width));
    copy_rows(s->k, matrix_columns(s->joined, width, width));
    copy_rows(s->v, matrix_columns(s->joined, 2 * width, width));
    return true;
}

/* Compute one of q, k and v, if it is needed: the heads that are, or all if they are normed as one
 * row. (Keys of a source that is in its cache have no rows.) */
static void project(struct pass *pass, const struct head_rule *rule, size_t layer, enum site site,
                    struct matrix y, struct matrix x, const struct weight *w)
{
    size_t width = site == SITE_V ? rule->d_v : rule->d_k;
    enum site before = site == SITE_K ? SITE_K_PRE : SITE_Q_PRE;
    bool whole = rule->norm == HEAD_NORM_WHOLE && site != SITE_V;
    struct span all = {0, site == SITE_Q ? rule->heads : rule->kv_heads};
    bool needed =
        is_needed(pass, site, layer) || (site != SITE_V && pass_watches(pass, before, layer));
    if (weight_exists(w) && y.rows && needed)
        project_heads(pass, whole ? all : pass_heads(pass, site, layer), y, x, w, width);
}

/* Compute q [T, H·dk] from x, and k [S, Hkv·dk] and v [S, Hkv·dv] from the source. */
static enum pass_state project_all(struct pass *pass, const struct sublayer *rule, size_t layer,
                                   struct matrix x, struct matrix source,
                                   const struct attention_weights *w)
{
    struct scratch *s = &pass->scratch;
    if (rule->head.by == HEADS_AS_IS) {
        s->q = x;
        s->k = s->v = source;
    }
    bool done = project_together(pass, rule, layer, x, &w->joined);
    if (!done) {
        project(pass, &rule->head, layer, SITE_Q, s->q, x, &w->q);
        project(pass, &rule->head, layer, SITE_K, s->k, source, &w->k);
    }
    PASS_TRY(pass_place_heads(pass, &rule->head, layer, w));
    if (!done)
        project(pass, &rule->head, layer, SITE_V, s->v, source, &w->v);
    return tap_heads(pass, SITE_V, layer, s->v);
}

/* Compute the context [T, H·dv] of x [T, C], which attends to itself or to the source [S, C]. */
static enum pass_state attend(struct pass *pass, const struct sublayer *rule, size_t layer,
                              struct matrix x, const struct attention_weights *w)
{
    struct matrix source = rule->kind == SUBLAYER_ATTEND_SOURCE ? pass->scratch.source : x;
    if (pass->attended)
        return PASS_ON;
    enum pass_state state = project_all(pass, rule, layer, x, source, w);
    if (pass->batch->cached && pass->scratch.k.rows && state != PASS_FAILED)
        attention_store(pass, layer); /* these may be the last values that are needed */
    return state == PASS_ON ? attention(pass, layer) : state;
}

/* What the sublayer reads: x or its norm [T, C]. */
static struct matrix norm_before(struct pass *pass, const struct sublayer *s,
                                 const struct norm *norm)
{
    const struct scratch *scratch = &pass->scratch;
    if (!s->norm_before)
        return scratch->x;
    pass_norm(pass, scratch->norm, scratch->x, norm);
    return scratch->norm;
}

/* out = from · w, norms it, and adds it to the stream x, or sets x = out. `w` is absent if from is
 * the output. If only the stream needs the product, it is added without being stored. */
static enum pass_state write_out(struct pass *pass, const struct sublayer *s, size_t layer,
                                 struct matrix from, const struct weight *w,
                                 const struct norm *norm)
{
    struct scratch *scratch = &pass->scratch;
    struct matrix x = scratch->x, out = scratch->out; /* [T, C] */
    bool watched = pass_watches(pass, s->at_out, layer);
    if (!s->norm_out && !s->replaces && s->factor == 1 && !pass_edits(pass, s->at_out, layer)) {
        if (!watched)
            out.data = NULL;
        linear_add(pass->machine, x, out, from, w);
        return tap_rows(pass, s->at_out, layer, out);
    }
    if (weight_exists(w))
        linear(pass->machine, out, from, w, ACTIVATION_NONE);
    else
        out = from;
    PASS_TRY(tap_rows(pass, s->at_out, layer, out));
    if (s->norm_out) {
        pass_norm(pass, out, out, norm);
        PASS_TRY(tap_rows(pass, s->at_out_norm, layer, out));
    }
    if (s->replaces && x.columns != out.columns) {
        scratch->x = out; /* of a last layer, which may have another width */
        return PASS_ON;
    }
    for (size_t row = 0; row < x.rows; row++) {
        float *sum = x.data + row * x.stride;
        const float *added = out.data + row * out.stride;
        if (s->replaces)
            scale_row(sum, added, x.columns, s->factor);
        else
            add_scaled_row(sum, added, x.columns, s->factor, out.data);
    }
    return PASS_ON;
}

/* Compute the hidden channels [T, I] of y [T, C]: act(gate) · up, or act(up). */
static enum pass_state mlp(struct pass *pass, const struct mlp_rule *rule, size_t layer,
                           struct matrix y, const struct mlp_weights *w)
{
    struct scratch *s = &pass->scratch;
    enum activation activation = rule->activation;
    bool watched =
        pass_watches(pass, SITE_MLP_GATE, layer) || pass_edits(pass, SITE_MLP_GATE, layer);
    if (!rule->gated) {
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

static enum pass_state tap_each(struct pass *pass, struct pass *part, const enum site *sites,
                                size_t count, size_t layer)
{
    for (size_t i = 0; i < count && sites[i];
         i++) /* the block's end is the text's, not its part's */
        PASS_TRY(
            tap_rows(sites[i] == SITE_RESID_POST ? pass : part, sites[i], layer, pass->scratch.x));
    return PASS_ON;
}

/* Run one sublayer on the stream x [T, C]; `y` is what the last one read, and then what this one
 * did; `next` is the one after it, or NULL. */
static enum pass_state run_sublayer(struct pass *pass, const struct sublayer *s,
                                    const struct sublayer *next, size_t layer,
                                    const struct block_weights *w, struct matrix *y)
{
    struct pass *part = s->part == PART_CROSS ? pass->cross : pass;
    const struct attention_weights *heads = s->part == PART_CROSS ? &w->cross : &w->self;
    bool is_mlp = s->kind == SUBLAYER_MLP;
    const struct norm *norm = is_mlp ? &w->mlp.norm : &heads->norm;
    if (s->reads == READS_STREAM)
        *y = norm_before(part, s, norm);
    if (s->at_input)
        PASS_TRY(tap_rows(part, s->at_input, layer, *y));
    if (s->adds_to_normed)
        copy_rows(part->scratch.x, *y);
    PASS_TRY(is_mlp ? mlp(part, &s->mlp, layer, *y, &w->mlp) : attend(part, s, layer, *y, heads));
    if (next && next->reads == READS_BLOCK_INPUT && pass_goes_to(part, next->at_input, layer))
        *y = norm_before(part, next, &w->mlp.norm); /* before x changes */
    PASS_TRY(is_mlp ? write_out(part, s, layer, part->scratch.hidden, &w->mlp.proj, &w->mlp.post)
                    : write_out(part, s, layer, part->scratch.context, &heads->out, &heads->post));
    PASS_TRY(tap_each(pass, part, s->at_sum, 2, layer));
    if (s->norm_after)
        pass_norm(part, part->scratch.x, part->scratch.x, norm);
    return tap_each(pass, part, s->at_after, 3, layer);
}

enum pass_state block(struct pass *pass, size_t layer)
{
    struct sublayer list[SUBLAYERS_MAX];
    struct block_weights w;
    struct matrix y = {0};
    size_t count = layer_read(list, pass->config, pass->part, layer);
    if (weights_block(pass->weights, pass->first_layer + layer, pass_last_site(pass, layer), &w,
                      pass->err))
        return PASS_FAILED;
    if (!pass->attended) /* otherwise the caller has announced and edited it */
        PASS_TRY(tap_rows(pass, SITE_RESID_PRE, layer, pass->scratch.x));
    for (size_t i = 0; i < count; i++)
        PASS_TRY(run_sublayer(pass, &list[i], i + 1 < count ? &list[i + 1] : NULL, layer, &w, &y));
    return pass_check_rows(pass, list[0].at_sum[0] || count > 1 ? SITE_RESID_POST : SITE_ATTN_OUT,
                           layer, pass->scratch.x);
}
