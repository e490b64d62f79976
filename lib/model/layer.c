#include "model/layer.h"

#include <math.h>

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
