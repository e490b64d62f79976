#include "model/layer.h"

#include <math.h>

#include "base/buf.h"
#include "math/precision.h"

bool style_norms_first(enum block_style style)
{
    return style != STYLE_BARE && style != STYLE_AFTER && !style_norms_sums(style);
}

bool style_norms_sums(enum block_style style)
{
    return style == STYLE_POST || style == STYLE_POST_STREAM;
}

bool style_norms_outputs(enum block_style style)
{
    return style == STYLE_AFTER || style == STYLE_SANDWICH;
}

bool style_is_parallel(enum block_style style)
{
    return style == STYLE_PARALLEL || style == STYLE_ONE_NORM;
}

static struct head_rule make_head(const struct config *c, enum site_part part, size_t layer)
{
    return (struct head_rule){
        .by = c->latent_kv     ? HEADS_LATENT
              : c->projections ? HEADS_PROJECTED
                               : HEADS_AS_IS,
        .heads = c->n_head,
        .kv_heads = c->n_kv_head,
        .d_k = c->d_k,
        .d_v = c->d_v,
        .latent_q = c->latent_q,
        .latent_kv = c->latent_kv,
        .norm = c->head_norm,
        .clip = c->clip,
        .rotary = part == PART_SENTENCE ? config_rotary(c, layer) : NULL,
        .no_out = !c->out_proj,
    };
}

struct score_rule score_rule_make(const struct config *c, enum site_part part, size_t layer)
{
    const struct mechanism *m = &c->mechanism;
    bool masked = part == PART_SENTENCE && c->causal;
    size_t window = part == PART_SENTENCE ? config_window(c, layer) : 0;
    float own = c->scale_by_layer ? c->scale / (float)(layer + 1) : c->scale;
    struct score_rule rule = {
        .base_scale = m->scale_method == SCALE_SQRT     ? 1.0f / sqrtf((float)c->d_k)
                      : m->scale_method == SCALE_NUMBER ? m->scale
                                                        : own,
        .cap = c->score_cap,
        .bias = mechanism_lacks(m, PART_POSITIONS) || part == PART_CROSS ? NO_BIAS : c->score_bias,
        .bias_layer = c->bias_by_layer ? (short)layer : -1,
        .buckets = c->bias_buckets,
        .reach = c->bias_reach,
        .heads = c->n_head,
        .back = window ? window - 1 : SIZE_MAX,
        .ahead = masked   ? 0
                 : window ? window - 1
                          : SIZE_MAX,
        .sink = c->sinks,
        .mask_after = m->renormalise && masked,
        .kind = m->kind,
    };
    rule.scale = rule.base_scale;
    if (rule.kind == ATTENTION_SPARSE && part == PART_CROSS)
        rule.kind = ATTENTION_DENSE; /* patterns are of self-attention */
    if (rule.kind == ATTENTION_SPARSE)
        rule.pattern = &m->pattern;
    if (score_bends(&rule))
        rule.temperature = m->temperature;
    else if (m->temperature > 0)
        rule.scale /= m->temperature;
    return rule;
}

/* The norms of a sublayer and the sites around it; `sum` is what the stream is called after it. */
static struct sublayer make_sublayer(const struct config *c, enum sublayer_kind kind,
                                     enum site_part part, size_t layer)
{
    const enum block_style style = c->style;
    bool mlp = kind == SUBLAYER_MLP;
    enum site norm = mlp ? SITE_LN_2 : SITE_LN_1;
    enum site sum = mlp ? SITE_RESID_POST : SITE_RESID_MID;
    struct sublayer s = {
        .kind = kind,
        .part = part,
        .norm = mlp ? SLOT_NORM_2 : SLOT_NORM_1,
        .norm_before = style_norms_first(style),
        .norm_out = style_norms_outputs(style),
        .norm_after = style_norms_sums(style),
        .adds_to_normed = style == STYLE_TO_NORMED,
        .replaces = style == STYLE_BARE || mechanism_lacks(&c->mechanism, PART_RESIDUAL),
        .factor = c->residual_scale == 0 ? 1.0f : c->residual_scale,
        .at_out = mlp ? SITE_MLP_OUT : SITE_ATTN_OUT,
    };
    if (style_is_parallel(style) && mlp)
        s.reads = style == STYLE_PARALLEL ? READS_BLOCK_INPUT : READS_LAST_INPUT;
    if (s.reads == READS_LAST_INPUT ||
        (!mlp && part == PART_SENTENCE && config_layer_flags(c, layer) & LAYER_FIRST_PLAIN))
        s.norm_before = false;
    if (s.norm_before)
        s.at_input = norm;
    if (s.norm_out)
        s.at_out_norm = mlp ? SITE_LN_2_POST : SITE_LN_1_POST;
    if (style == STYLE_POST_STREAM && mlp)
        s.at_after[0] = sum, s.at_after[1] = norm;
    else if (style != STYLE_BARE && (mlp || !style_is_parallel(style)))
        s.at_sum[0] = sum, s.at_after[0] = s.norm_after ? norm : SITE_EMBEDDING;
    return s;
}

size_t layer_make(struct sublayer list[SUBLAYERS_MAX], const struct config *config,
                  enum site_part stack, size_t layer)
{
    struct config own;
    size_t count = 0;
    bool looks_back = stack == PART_SENTENCE && config->n_encoder_layer;
    config = config_of_stack(config, stack == PART_SOURCE, &own);
    enum sublayer_kind kind = config_is_cross(config) ? SUBLAYER_ATTEND_SOURCE : SUBLAYER_ATTEND;
    list[count++] = make_sublayer(config, kind, stack, layer);
    if (looks_back)
        list[count++] = make_sublayer(config, SUBLAYER_ATTEND_SOURCE, PART_CROSS, layer);
    for (struct sublayer *s = list; s < list + count; s++) {
        s->head = make_head(config, s->part, layer);
        s->score = score_rule_make(config, s->part, layer);
    }
    if (config->style == STYLE_BARE)
        return count;
    if (mechanism_lacks(&config->mechanism, PART_MLP)) {
        struct sublayer *last = &list[count - 1];
        enum site *end = last->norm_after ? last->at_after : last->at_sum;
        end[end[0] != SITE_EMBEDDING] = SITE_RESID_POST;
        return count;
    }
    list[count] = make_sublayer(config, SUBLAYER_MLP, stack, layer);
    size_t chosen = stack == PART_SENTENCE ? config_chosen(config, layer) : 0;
    list[count].mlp = (struct mlp_rule){.activation = config->activation,
                                        .gated = config->gated,
                                        .xielu = config->xielu,
                                        .clamp = config->clamp,
                                        .up_offset = config->up_offset,
                                        .gate_slope = config->gate_slope,
                                        .inner = chosen ? config->mixture.inner : config->n_inner,
                                        .mixture = chosen ? &config->mixture : NULL,
                                        .chosen = chosen};
    return count + 1;
}

const struct sublayer *layer_mlp(const struct sublayer *list, size_t count)
{
    return list[count - 1].kind == SUBLAYER_MLP ? &list[count - 1] : NULL;
}

enum site sublayer_end(const struct sublayer *s)
{
    enum site end = SITE_EMBEDDING;
    for (size_t i = 0; i < 3; i++)
        end = s->at_sum[i] ? s->at_sum[i] : end;
    for (size_t i = 0; i < 3; i++)
        end = s->at_after[i] ? s->at_after[i] : end;
    return end;
}

static struct unembed_rule make_end(const struct config *c)
{
    struct unembed_rule rule = {
        .norm = c->final_norm,
        .project = c->n_word && !c->projects_last,
        .bias = c->biases & BIAS_LOGITS,
        .divisor = c->logit_divisor,
        .cap = c->logit_cap,
        .at_result = c->end <= END_MASKED ? SITE_LOGITS : SITE_EMBEDDING,
    };
    if (c->end == END_MASKED) {
        rule.dense = SLOT_TRANSFORM;
        rule.dense_norm = true;
        rule.activation = c->end_activation;
        rule.at_dense = SITE_TRANSFORM;
    } else if (c->end == END_DISCRIMINATOR) {
        rule.dense = SLOT_DISCRIMINATOR;
        rule.activation = c->activation;
        rule.at_result = SITE_DISCRIMINATOR;
    } else if (c->end == END_POOLED) {
        rule.dense = SLOT_POOLER;
        rule.activation = ACTIVATION_TANH;
        rule.first_only = true;
        rule.at_dense = SITE_POOLED;
    }
    return rule;
}

struct stack stack_make(const struct config *c, enum site_part part)
{
    struct config own;
    bool of_text = part == PART_SENTENCE;
    c = config_of_stack(c, part == PART_SOURCE, &own);
    bool positions = c->style != STYLE_BARE && config_adds_positions(c);
    struct stack stack = {
        .part = part,
        .width = c->n_embd,
        .layers = of_text ? c->n_layer : c->n_encoder_layer,
        .embed = {.width = config_word_width(c),
                  .rows = c->vocab_size,
                  .scale = c->embedding_scale,
                  .positions = !positions     ? POSITIONS_NONE
                               : c->sinusoids ? POSITIONS_SINES + c->sines
                                              : POSITIONS_TABLE,
                  .first = c->position_offset,
                  .counted = c->counted,
                  .padding = c->padding_id,
                  .segments = of_text ? c->n_segments : 0,
                  .norm = c->embedding_norm,
                  .project = !c->n_word         ? PROJECT_NEVER
                             : c->projects_last ? PROJECT_LAST
                                                : PROJECT_TOKENS},
        .unembed = {.norm = c->final_norm && (of_text || c->n_encoder_layer)},
    };
    if (of_text && c->style != STYLE_BARE)
        stack.unembed = make_end(c);
    return stack;
}

/* --- in words --------------------------------------------------------------------------------- */

/* " in layers 0-4, 6": those that have a flag (0: experts); nothing where all have it. */
static void write_layers(struct buf *out, const struct config *c, unsigned flag)
{
    size_t count = 0;
    bool has[CONFIG_FLAGS_MAX + 1] = {false};
    for (size_t i = 0; i < c->n_layer && i < CONFIG_FLAGS_MAX; i++)
        count += has[i] = flag ? c->layer_flags[i] & flag : c->mixture.chosen[i] > 0;
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
    const struct head_norm *heads = &c->head_norm;
    if (c->kind == MODEL_ATTENTION)
        return;
    buf_format(out, "%s%s, %s", c->rms ? "RMS" : "layer norm", c->norm_offset ? " (1 + w)" : "",
               style_norms_sums(c->style)   ? "of sums"
               : c->style == STYLE_AFTER    ? "of sublayer outputs"
               : c->style == STYLE_SANDWICH ? "before and after sublayers"
                                            : "before sublayers");
    buf_text(out, c->norm_plain ? ", without scales" : "");
    if (heads->q || heads->k)
        buf_format(out, ", also of %s%s%s",
                   heads->q && heads->k ? "queries and keys"
                   : heads->q           ? "queries"
                                        : "keys",
                   heads->whole ? ""
                   : heads->own ? ", per head with its own scales"
                                : ", per head",
                   heads->after_rotary ? ", after the rotary embedding" : "");
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
                      : config_adds_positions(c) ? "learned"
                                                 : "");
        bool both = c->score_bias == BIAS_BUCKETS && config_adds_positions(c);
        if (c->score_bias == BIAS_BUCKETS)
            buf_format(out, "%sbiases of scores by distance, in %d buckets up to %d%s",
                       both ? ", and " : "", c->bias_buckets, c->bias_reach,
                       c->bias_by_layer ? ", for each layer" : "");
        else if (c->score_bias)
            buf_text(out, "ALiBi");
        return;
    }
    buf_format(out, "rotary, base %.9g", r->theta);
    write_scaling(out, r);
    buf_format(out, ", %s%zu of %zu channels, %s", r->first ? "the last " : "", r->components,
               c->d_k, r->neighbours ? "neighbours" : "halves");
    if (config_flags(c) & LAYER_UNROTATED) {
        buf_text(out, "; none");
        write_layers(out, c, LAYER_UNROTATED);
    }
    if (c->rotary_local.components) {
        buf_format(out, "; base %.9g", c->rotary_local.theta);
        write_layers(out, c, LAYER_ROTARY_LOCAL);
    }
}

static void write_window(struct buf *out, const struct config *c)
{
    if (!(config_flags(c) & LAYER_WINDOW) || !c->window)
        return;
    size_t layer = 0;
    while (!config_window(c, layer))
        layer++;
    size_t ahead = score_rule_make(c, PART_SENTENCE, layer).ahead;
    buf_format(out, ahead ? "%zu keys and %zu later ones" : "%zu keys", c->window, ahead);
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
    if (c->clip > 0)
        buf_format(out, "; queries, keys and values within ±%g", (double)c->clip);
    buf_text(out, c->sinks ? "; a sink for each head in the softmax" : "");
}

static void write_embedding(struct buf *out, const struct config *c)
{
    float scale = c->embedding_scale;
    if (c->n_word)
        buf_format(out, "%zu channels, projected", c->n_word);
    if (c->n_segments)
        buf_format(out, "%s%zu segments", c->n_word ? ", " : "", c->n_segments);
    if (scale == 1)
        return;
    buf_format(out, "%stimes %g", c->n_word || c->n_segments ? ", " : "", (double)scale);
    if (scale == sqrtf((float)c->n_embd) && c->norm_offset) /* Gemma */
        buf_format(out, ", √%zu (Hugging Face rounds it in bf16: %g)", c->n_embd,
                   (double)bf16_value(bf16_round(scale)));
}

/* "2 of 8 for each token, 14336 channels each, in layers 3-61; a shared one of 2048 channels". */
static void write_experts(struct buf *out, const struct config *c)
{
    const struct mixture *m = &c->mixture;
    size_t fewest = SIZE_MAX, most = 0;
    for (size_t i = 0; i < c->n_layer; i++) {
        size_t chosen = config_chosen(c, i);
        fewest = chosen && chosen < fewest ? chosen : fewest;
        most = chosen > most ? chosen : most;
    }
    if (!most)
        return;
    buf_format(out, fewest < most ? "%zu to " : "", fewest);
    buf_format(out, "%zu of %zu for each token, %zu channels each", most, m->experts, m->inner);
    write_layers(out, c, 0);
    if (m->shared_inner)
        buf_format(out, "; a shared one of %zu channels", m->shared_inner);
    if (c->clamp > 0)
        buf_format(out, "; gate at most %g, up within ±%g and plus %g", (double)c->clamp,
                   (double)c->clamp, (double)c->up_offset);
}

/* "x + attention(ln_1(x)), then x + mlp(ln_2(x))": the sublayers of layer 0. */
static void write_layer(struct buf *out, const struct config *c)
{
    static const char *const norms[] = {"ln_1", "ln_cross", "ln_2"};
    static const char *const functions[] = {"attention", "cross_attention", "mlp"};
    struct sublayer list[SUBLAYERS_MAX];
    size_t count = layer_make(list, c, PART_SENTENCE, 0);
    const char *input = NULL; /* the norm whose result the sublayer reads; NULL: the stream */
    for (const struct sublayer *s = list; s < list + count; s++) {
        int which = s->kind == SUBLAYER_MLP ? 2 : s->part == PART_CROSS;
        if (s->reads != READS_LAST_INPUT)
            input = s->norm_before ? norms[which] : NULL;
        if (s->reads == READS_STREAM) {
            buf_text(out, s == list ? "" : ", then ");
            buf_format(out, s->norm_after ? "%s(" : "", norms[which]);
            if (!s->replaces)
                buf_format(out, s->adds_to_normed ? "%s(x) + " : "x + ", input);
        } else {
            buf_text(out, " + ");
        }
        buf_format(out, s->factor == 1 ? "" : "%g · ", (double)s->factor);
        buf_format(out, s->norm_out ? "%s_post(" : "", norms[which]);
        buf_format(out, input ? "%s(%s(x))" : "%s(x)", functions[which], input);
        buf_format(out, "%s%s", s->norm_out ? ")" : "", s->norm_after ? ")" : "");
    }
    if (c->n_group)
        buf_format(out, "; parameters for %zu layers, which the others share",
                   config_own_layers(c, c->n_layer));
}

static void write_logits(struct buf *out, const struct config *c)
{
    const struct unembed_rule end = stack_make(c, PART_SENTENCE).unembed;
    if (c->kind == MODEL_ATTENTION)
        return;
    if (end.dense)
        buf_format(out, "a dense layer%s with %s%s", end.first_only ? " of the first token" : "",
                   activation_name(end.activation), end.dense_norm ? " and a norm, then " : "");
    if (end.at_result != SITE_LOGITS) {
        buf_text(out, end.at_result ? ", then one logit of each token" : end.dense ? "" : "none");
        return;
    }
    buf_text(out, config_ties(c) ? "tied to the token embedding" : "from a separate matrix");
    buf_text(out, c->biases & BIAS_LOGITS ? ", with a bias" : "");
    if (c->logit_divisor > 0)
        buf_format(out, ", divided by %g", (double)c->logit_divisor);
    if (c->logit_cap > 0)
        buf_format(out, ", capped at %g", (double)c->logit_cap);
}

static void write_ignored(struct buf *out, const struct config *c)
{
    if (c->extra_layers)
        buf_format(out, "layers from %zu on, which predict further tokens", c->n_layer);
}

const struct architecture_row architecture_rows[] = {
    {"norms", write_norms},     {"positions", write_positions}, {"window", write_window},
    {"scores", write_scores},   {"embedding", write_embedding}, {"sublayers", write_layer},
    {"experts", write_experts}, {"logits", write_logits},       {"ignored", write_ignored},
};

const size_t architecture_row_count = sizeof architecture_rows / sizeof *architecture_rows;
