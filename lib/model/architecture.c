#include <math.h>

#include "base/buf.h"
#include "math/precision.h"
#include "model/layer.h"

/* " in layers 0-4, 6": those that have a flag; nothing where all have it. */
static void write_layers(struct buf *out, const struct config *c, enum layer_flag flag)
{
    size_t count = 0;
    bool has[CONFIG_FLAGS_MAX + 1] = {false};
    for (size_t i = 0; i < c->n_layer && i < CONFIG_FLAGS_MAX; i++)
        count += has[i] = c->layer_flags[i] & flag;
    if (count == c->n_layer)
        return;
    const char *mark = count == 1 ? " in layer " : " in layers ";
    for (size_t i = 0; i < CONFIG_FLAGS_MAX; i++) {
        size_t first = i;
        if (!has[i])
            continue;
        while (has[i + 1])
            i++;
        buf_format(out, i > first ? "%s%zu-%zu" : "%s%zu", mark, first, i);
        mark = ", ";
    }
}

static void write_norms(struct buf *out, const struct config *c)
{
    static const char *const heads[] = {[HEAD_NORM_NONE] = "",
                                        [HEAD_NORM_SHARED] = ", also of queries and keys, per head",
                                        [HEAD_NORM_WHOLE] = ", also of queries and keys"};
    if (c->kind == MODEL_ATTENTION)
        return;
    buf_format(out, "%s%s, %s", c->rms ? "RMS" : "layer norm", c->norm_offset ? " (1 + w)" : "",
               style_norms_sums(c->style)   ? "of sums"
               : c->style == STYLE_AFTER    ? "of sublayer outputs"
               : c->style == STYLE_SANDWICH ? "before and after sublayers"
                                            : "before sublayers");
    buf_text(out, heads[c->head_norm]);
    buf_text(out, c->embedding_norm ? ", of embeddings" : "");
}

static void write_scaling(struct buf *out, const struct rotary *r)
{
    static const char *const names[] = {
        [ROTARY_LINEAR] = "linear", [ROTARY_DYNAMIC] = "dynamic",   [ROTARY_LLAMA3] = "llama3",
        [ROTARY_YARN] = "yarn",     [ROTARY_LONGROPE] = "longrope",
    };
    if (r->scaling == ROTARY_PLAIN)
        return;
    buf_format(out, ", %s scaling", names[r->scaling]);
    if (r->scaling != ROTARY_LONGROPE)
        buf_format(out, " by %g", r->factor);
    if (r->trained_positions > 0 && r->scaling != ROTARY_LINEAR)
        buf_format(out, " of %.0f positions", r->trained_positions);
}

static void write_positions(struct buf *out, const struct config *c)
{
    const struct rotary *r = &c->rotary;
    if (!config_rotates(c)) {
        buf_text(out, c->kind == MODEL_ATTENTION ? ""
                      : c->sinusoids             ? "sines and cosines"
                      : c->alibi                 ? "ALiBi"
                                                 : "learned");
        return;
    }
    buf_format(out, "rotary, base %.9g", r->theta);
    write_scaling(out, r);
    buf_format(out, ", %zu of %zu channels, %s", r->components, c->d_k,
               r->neighbours ? "neighbours" : "halves");
    if (config_flags(c) & LAYER_UNROTATED) {
        buf_text(out, "; none");
        write_layers(out, c, LAYER_UNROTATED);
    }
    if (c->rotary_local.components) {
        buf_format(out, "; base %.9g", c->rotary_local.theta);
        write_layers(out, c, LAYER_LOCAL_TURN);
    }
}

static void write_window(struct buf *out, const struct config *c)
{
    if (!(config_flags(c) & LAYER_WINDOW) || !c->window)
        return;
    buf_format(out, "%zu keys", c->window);
    write_layers(out, c, LAYER_WINDOW);
}

static void write_scores(struct buf *out, const struct config *c)
{
    bool root = c->scale == 1.0f / sqrtf((float)c->d_k);
    if (root)
        buf_format(out, "q·k / √%zu", c->d_k);
    else
        buf_format(out, "q·k · %g", (double)c->scale);
    buf_text(out, c->scale_by_layer ? ", divided by the layer number" : "");
    if (c->score_cap > 0)
        buf_format(out, ", capped at %g", (double)c->score_cap);
}

static void write_embedding(struct buf *out, const struct config *c)
{
    float scale = c->embedding_scale;
    if (c->n_word)
        buf_format(out, "%zu channels, projected", c->n_word);
    if (scale == 1)
        return;
    buf_format(out, "times %g", (double)scale);
    if (scale == sqrtf((float)c->n_embd) && c->kind == MODEL_DECODER)
        buf_format(out, ", √%zu (Hugging Face rounds it in bf16: %g)", c->n_embd,
                   (double)bf16_value(bf16_round(scale)));
}

static void write_residual(struct buf *out, const struct config *c)
{
    if (c->kind == MODEL_ATTENTION)
        return;
    buf_text(out,
             style_is_parallel(c->style) ? "attention and MLP in parallel" : "attention, then MLP");
    buf_text(out, c->style == STYLE_ONE_NORM ? ", with a shared norm" : "");
    buf_text(out, c->style == STYLE_TO_NORMED ? ", added to the normed stream" : "");
    if (c->residual_scale != 0)
        buf_format(out, ", sublayer outputs times %g", (double)c->residual_scale);
}

static void write_logits(struct buf *out, const struct config *c)
{
    if (c->kind == MODEL_ATTENTION)
        return;
    buf_text(out, config_ties(c) ? "tied to the token embedding" : "from a separate matrix");
    buf_text(out, c->biases & BIAS_LOGITS ? ", with a bias" : "");
    if (c->logit_divisor > 0)
        buf_format(out, ", divided by %g", (double)c->logit_divisor);
    if (c->logit_cap > 0)
        buf_format(out, ", capped at %g", (double)c->logit_cap);
}

const struct architecture_row architecture_rows[] = {
    {"norms", write_norms},   {"positions", write_positions}, {"window", write_window},
    {"scores", write_scores}, {"embedding", write_embedding}, {"residual", write_residual},
    {"logits", write_logits},
};

const size_t architecture_row_count = sizeof architecture_rows / sizeof *architecture_rows;
