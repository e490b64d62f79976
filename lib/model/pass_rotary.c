/* pass_rotary.c: queries and keys get their places: they are normed, head by head or as a whole,
 * and turn by their positions. What they turn by is filled in once a pass. */
#include "math/rotary.h"

#include "base/num.h"
#include "math/rows.h"
#include "model/pass.h"

void pass_fill_waves(struct pass *pass)
{
    const struct config *c = pass->config;
    const struct scratch *scratch = &pass->scratch;
    const struct batch *batch = pass->batch;
    for (size_t s = 0; config_rotates(c) && s < batch->count; s++) {
        struct span rows = batch->queries[s];
        size_t past = batch->past[s];
        size_t length = num_max(past + rows.count, batch->texts[s].whole_count);
        rotary_fill(matrix_rows(scratch->waves, rows.first, rows.count), &c->rotary, past, length);
        if (c->rotary_local.components)
            rotary_fill(matrix_rows(scratch->local, rows.first, rows.count), &c->rotary_local, past,
                        length);
    }
}

/* Apply the rotary embedding to queries or keys. */
static void rotate_heads(const struct pass *pass, const struct head_rule *rule, struct matrix heads)
{
    const struct config *c = pass->config;
    bool local = rule->rotary == &c->rotary_local;
    if (!mechanism_lacks(&c->mechanism, PART_POSITIONS))
        rotate(heads, heads, rule->d_k, rule->rotary,
               local ? pass->scratch.local : pass->scratch.waves);
}

/* Norm queries or keys, head by head or as a whole. */
static void norm_heads(const struct pass *pass, const struct head_rule *rule, struct matrix y,
                       const struct norm *norm)
{
    size_t width = rule->norm == HEAD_NORM_WHOLE ? y.columns : rule->d_k;
    if (!norm->scale || mechanism_lacks(&pass->config->mechanism, PART_NORM))
        return; /* nothing needs them */
    for (size_t first = 0; first < y.columns; first += width)
        norm_rows(matrix_columns(y, first, width), matrix_columns(y, first, width), norm);
}

enum pass_state pass_place_heads(struct pass *pass, const struct head_rule *rule, size_t layer,
                                 const struct attention_weights *w)
{
    const struct scratch *s = &pass->scratch;
    norm_heads(pass, rule, s->q, &w->q_norm);
    norm_heads(pass, rule, s->k, &w->k_norm);
    if (rule->rotary) {
        PASS_TRY(tap_heads(pass, SITE_Q_PRE, layer, s->q));
        PASS_TRY(tap_heads(pass, SITE_K_PRE, layer, s->k));
        rotate_heads(pass, rule, s->q);
        rotate_heads(pass, rule, s->k);
    }
    PASS_TRY(tap_heads(pass, SITE_Q, layer, s->q));
    return tap_heads(pass, SITE_K, layer, s->k);
}
