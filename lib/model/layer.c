#include "model/layer.h"

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

static struct head_rule read_head(const struct config *c, enum site_part part, size_t layer)
{
    return (struct head_rule){
        .by = c->projections ? HEADS_PROJECTED : HEADS_AS_IS,
        .heads = c->n_head,
        .kv_heads = c->n_kv_head,
        .d_k = c->d_k,
        .d_v = c->d_v,
        .norm = c->head_norm,
        .rotary = part == PART_SENTENCE ? config_rotary(c, layer) : NULL,
        .no_out = !c->out_proj,
    };
}

static struct score_rule read_score(const struct config *c, enum site_part part, size_t layer)
{
    bool own = part == PART_SENTENCE && !config_is_cross(c);
    size_t window = own ? config_window(c, layer) : 0;
    return (struct score_rule){
        .scale = config_scale(c, layer),
        .cap = c->score_cap,
        .bias = c->alibi == ALIBI_BLOOM    ? BIAS_ALIBI
                : c->alibi == ALIBI_FALCON ? BIAS_ALIBI_ROUNDED
                                           : NO_BIAS,
        .back = window ? window - 1 : SIZE_MAX,
        .ahead = own && c->causal ? 0 : SIZE_MAX,
    };
}

/* The norms of a sublayer and the sites around it; `sum` is what the stream is called after it. */
static struct sublayer read_sublayer(const struct config *c, enum sublayer_kind kind,
                                     enum site_part part)
{
    const enum block_style style = c->style;
    bool mlp = kind == SUBLAYER_MLP;
    enum site norm = mlp ? SITE_LN_2 : SITE_LN_1;
    enum site sum = mlp ? SITE_RESID_POST : SITE_RESID_MID;
    struct sublayer s = {
        .kind = kind,
        .part = part,
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
    s.norm_before = s.norm_before && s.reads != READS_LAST_INPUT;
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

size_t layer_read(struct sublayer list[SUBLAYERS_MAX], const struct config *config,
                  enum site_part stack, size_t layer)
{
    size_t count = 0;
    bool looks_back = stack == PART_SENTENCE && config->n_encoder_layer;
    enum sublayer_kind kind = config_is_cross(config) ? SUBLAYER_ATTEND_SOURCE : SUBLAYER_ATTEND;
    list[count++] = read_sublayer(config, kind, stack);
    if (looks_back)
        list[count++] = read_sublayer(config, SUBLAYER_ATTEND_SOURCE, PART_CROSS);
    for (struct sublayer *s = list; s < list + count; s++) {
        s->head = read_head(config, s->part, layer);
        s->score = read_score(config, s->part, layer);
    }
    if (config->style == STYLE_BARE)
        return count;
    if (mechanism_lacks(&config->mechanism, PART_MLP)) {
        struct sublayer *last = &list[count - 1];
        enum site *end = last->norm_after ? last->at_after : last->at_sum;
        end[end[0] != SITE_EMBEDDING] = SITE_RESID_POST;
        return count;
    }
    list[count] = read_sublayer(config, SUBLAYER_MLP, stack);
    list[count].mlp = (struct mlp_rule){
        .activation = config->activation, .gated = config->gated, .inner = config->n_inner};
    return count + 1;
}

const struct sublayer *layer_mlp(const struct sublayer *list, size_t count)
{
    return list[count - 1].kind == SUBLAYER_MLP ? &list[count - 1] : NULL;
}

struct stack stack_read(const struct config *c, enum site_part part)
{
    bool of_text = part == PART_SENTENCE;
    bool positions = c->style != STYLE_BARE && !config_rotates(c) && !c->alibi;
    struct stack stack = {
        .part = part,
        .width = c->n_embd,
        .layers = of_text ? c->n_layer : c->n_encoder_layer,
        .embed = {.width = config_word_width(c),
                  .rows = c->vocab_size,
                  .scale = c->embedding_scale,
                  .positions = !positions     ? POSITIONS_NONE
                               : c->sinusoids ? POSITIONS_SINES
                                              : POSITIONS_TABLE,
                  .first = c->position_offset,
                  .norm = c->embedding_norm,
                  .project = c->n_word ? PROJECT_TOKENS : PROJECT_NEVER},
        .unembed = {.norm = c->final_norm && (of_text || c->n_encoder_layer)},
    };
    if (of_text && c->style != STYLE_BARE)
        stack.unembed = (struct unembed_rule){
            .norm = c->final_norm,
            .project = c->n_word,
            .head = true,
            .tied = config_ties(c),
            .bias = c->biases & BIAS_LOGITS,
            .rows = c->vocab_size,
            .input_factor = 1,
            .divisor = c->logit_divisor,
            .cap = c->logit_cap,
        };
    return stack;
}
