#include "model/layer.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "math/portable_math.h"
#include "model/family/family.h"
#include "model/points.h"

/* For each block style: where its sublayers have norms, and whether attention and MLP are parallel,
 * which means that both read the same stream. */
static const struct {
    bool norm_before, norm_out, norm_after, parallel;
} styles[] = {
    [STYLE_BARE] = {false, false, false, false},
    [STYLE_PRE] = {true, false, false, false},
    [STYLE_POST] = {false, false, true, false},
    [STYLE_POST_STREAM] = {false, false, true, false},
    [STYLE_AFTER] = {false, true, false, false},
    [STYLE_SANDWICH] = {true, true, false, false},
    [STYLE_PARALLEL] = {true, false, false, true},
    [STYLE_ONE_NORM] = {true, false, false, true},
    [STYLE_TO_NORMED] = {true, false, false, false},
};

static struct head_rule make_head(const struct config *c, enum site_branch branch, size_t layer)
{
    struct head_rule rule = {
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
        .rotary = branch == BRANCH_TEXT ? config_rotary(c, layer) : NULL,
        .no_out = !c->out_proj,
        .differ = c->differs ? (float)(0.8 - 0.6 * exp_double(-0.3 * (double)layer)) : 0,
        .gate = c->head_gate,
        .kv_layer = (unsigned short)(branch == BRANCH_TEXT ? config_kv_layer(c, layer) : layer),
    };
    rule.borrows = rule.kv_layer != layer;
    if (branch == BRANCH_TEXT && config_layer_flags(c, layer) & LAYER_WIDE) {
        rule.d_k = rule.d_v = c->wide.d;
        rule.kv_heads = c->wide.kv_heads;
        rule.v_is_k = c->wide.v_is_k;
    }
    if (branch == BRANCH_SOURCE && c->n_encoder_head) {
        rule.heads = rule.kv_heads = c->n_encoder_head;
        rule.d_k = rule.d_v = c->n_embd / c->n_encoder_head;
    }
    return rule;
}

/* Make the score rule of a layer's heads. It includes what config->mechanism changes. */
static struct score_rule make_score(const struct config *c, const struct head_rule *head,
                                    enum site_branch branch, size_t layer)
{
    const struct mechanism *m = &c->mechanism;
    bool masked = branch == BRANCH_TEXT && config_is_causal(c);
    size_t window = branch == BRANCH_TEXT ? config_window(c, layer) : 0;
    float root = 1.0f / sqrtf((float)head->d_k);
    float own = branch == BRANCH_SOURCE && head->d_k != c->d_k ? root : c->scale;
    struct score_rule rule = {
        .base_scale = m->scale_method == SCALE_SQRT     ? root
                      : m->scale_method == SCALE_NUMBER ? m->scale
                      : c->scale_by_layer               ? own / (float)(layer + 1)
                                                        : own,
        .cap = c->score_cap,
        .bias =
            mechanism_lacks(m, BLOCK_POSITIONS) || branch == BRANCH_CROSS ? NO_BIAS : c->score_bias,
        .bias_layer = c->bias_by_layer || c->score_bias == BIAS_DISENTANGLED ? (short)layer : -1,
        .buckets = c->bias_buckets,
        .reach = c->bias_reach,
        .terms = c->bias_terms,
        .heads = head->heads,
        .back = window ? window - 1 : SIZE_MAX,
        .ahead = masked   ? 0
                 : window ? window - 1
                          : SIZE_MAX,
        .sink = c->sinks,
        .mask_after = m->renormalise && masked,
        .kind = m->kind,
    };
    rule.scale = rule.base_scale;
    if (rule.kind == ATTENTION_SPARSE && branch == BRANCH_CROSS)
        rule.kind = ATTENTION_DENSE; /* sparse patterns apply only to self-attention */
    if (rule.kind == ATTENTION_SPARSE)
        rule.pattern = &m->pattern;
    if (score_bends(&rule))
        rule.temperature = m->temperature;
    else if (m->temperature > 0)
        rule.scale /= m->temperature;
    return rule;
}

/* Whether a layer has a mixer, in place of attention or parallel to it. */
static bool has_mixer(const struct config *c, size_t layer)
{
    return c->mixer.beside || config_layer_flags(c, layer) & LAYER_MIXER;
}

static bool has_attention(const struct config *c, size_t layer)
{
    return !(config_layer_flags(c, layer) & (LAYER_MIXER | LAYER_MLP_ALONE));
}

static bool has_mlp(const struct config *c, size_t layer)
{
    return c->style != STYLE_BARE && !(config_layer_flags(c, layer) & LAYER_NO_MLP);
}

/* Make a sublayer with its norms and the sites of its input, its output and the stream after it. */
static struct sublayer make_sublayer(const struct config *c, enum sublayer_kind kind,
                                     enum site_branch branch, size_t layer)
{
    const bool mixes = branch == BRANCH_TEXT && config_layer_flags(c, layer) & LAYER_MIXER;
    const enum block_style style = mixes ? c->mixer.style : c->style;
    bool mlp = kind == SUBLAYER_MLP;
    enum site norm = mlp ? SITE_LN_2 : SITE_LN_1;
    enum site sum = mlp ? SITE_RESID_POST : SITE_RESID_MID;
    struct sublayer s = {
        .kind = kind,
        .branch = branch,
        .norm = mlp ? SLOT_NORM_2 : SLOT_NORM_1,
        .norm_before = styles[style].norm_before,
        .norm_out = styles[style].norm_out || (c->adds_twice && !mlp),
        .adds_twice = c->adds_twice && !mlp,
        .norm_after = styles[style].norm_after,
        .adds_to_normed = style == STYLE_TO_NORMED,
        .replaces = style == STYLE_BARE || mechanism_lacks(&c->mechanism, BLOCK_RESIDUAL),
        .factor = c->residual_scale[kind] == 0 ? 1.0f : c->residual_scale[kind],
        .sum_factor = 1,
        .at_out = mlp ? SITE_MLP_OUT : SITE_ATTN_OUT,
    };
    if (styles[style].parallel && mlp)
        s.reads = style == STYLE_PARALLEL ? READS_BLOCK_INPUT : READS_LAST_INPUT;
    if (s.reads == READS_LAST_INPUT ||
        (!mlp && branch == BRANCH_TEXT && config_layer_flags(c, layer) & LAYER_FIRST_PLAIN))
        s.norm_before = false;
    if (s.norm_before)
        s.at_input = norm;
    if (s.norm_out)
        s.at_out_norm = mlp ? SITE_LN_2_POST : SITE_LN_1_POST;
    if (style == STYLE_POST_STREAM && mlp)
        s.at_after[0] = sum, s.at_after[1] = norm;
    else if (style != STYLE_BARE && (mlp || !styles[style].parallel))
        s.at_sum[0] = sum, s.at_after[0] = s.norm_after ? norm : SITE_EMBEDDING;
    return s;
}

/* Make the sublayer of the layer's extra input: it adds norm(W · (gate(x) · extra input)) to x. If
 * the stream has copies, its output replaces x and is added to all copies but the first. */
static struct sublayer make_given(const struct config *c)
{
    return (struct sublayer){
        .kind = SUBLAYER_MLP,
        .branch = BRANCH_PER_LAYER,
        .norm_out = true,
        .replaces = c->copies.count,
        .spreads = c->copies.count,
        .factor = 1,
        .sum_factor = 1,
        .at_out = SITE_MLP_OUT,
        .at_out_norm = SITE_LN_2_POST,
        .at_sum = {c->copies.count ? SITE_EMBEDDING : SITE_RESID_POST},
        .mlp = {.activation = c->activation, .gated = true, .given = true, .inner = c->given},
    };
}

/* Make the sublayer of the low-rank branch, which computes (x + y + norm(y · A · B)) / √2, where y
 * is the input of attention. */
static struct sublayer make_laurel(const struct config *c)
{
    return (struct sublayer){
        .kind = SUBLAYER_MLP,
        .branch = BRANCH_LAUREL,
        .reads = READS_LAST_INPUT,
        .norm_out = true,
        .adds_input = true,
        .factor = 1,
        .sum_factor = sqrtf(0.5f),
        .at_out = SITE_MLP_OUT,
        .at_out_norm = SITE_LN_2_POST,
        .at_sum = {SITE_RESID_MID},
        .mlp = {.activation = ACTIVATION_NONE, .inner = c->laurel},
    };
}

/* The threshold, in standard deviations, below which a share of the standard normal distribution
 * lies, computed by Newton's method. If the share is 0 the result is 0. */
static float normal_quantile(double share)
{
    enum { STEPS = 64 };
    double x = 0;
    for (size_t i = 0; share > 0 && i < STEPS; i++)
        x -= (0.5 * erfc(-x * sqrt(0.5)) - share) * sqrt(2 * acos(-1.0)) * exp(x * x / 2);
    return (float)x;
}

/* The maximum number of sublayers of a layer: attention, a mixer parallel to it, attention to the
 * source, the low-rank branch, the MLP, and the sublayer of the extra input. */
static size_t most_sublayers(const struct config *c)
{
    return 1 + c->mixer.beside + (c->n_encoder_layer > 0) + (c->laurel > 0) +
           (c->style != STYLE_BARE) + (c->given > 0);
}

/* Make the sublayers of a layer that read other tokens: attention or a mixer, then attention to the
 * source. Returns their number. If a layer has both attention and a mixer, they share a norm, and
 * their outputs are added to the same stream. */
static size_t make_readers(const struct config *c, enum site_branch stack, size_t layer,
                           struct sublayer *list)
{
    enum sublayer_kind kind = config_is_cross(c) ? SUBLAYER_ATTEND_SOURCE : SUBLAYER_ATTEND;
    size_t count = 0;
    bool mixes = stack == BRANCH_TEXT && has_mixer(c, layer);
    if (mixes) {
        list[count] = make_sublayer(c, SUBLAYER_MIX, stack, layer);
        list[count].branch = BRANCH_MIXER;
        list[count++].mixer = &c->mixer;
    }
    if (stack == BRANCH_SOURCE || has_attention(c, layer))
        list[count++] = make_sublayer(c, kind, stack, layer);
    if (mixes && count == 2) {
        list[0].at_sum[0] = list[1].at_input = SITE_EMBEDDING;
        list[1].reads = READS_LAST_INPUT;
        list[1].norm_before = false;
    }
    if (stack == BRANCH_TEXT && c->n_encoder_layer)
        list[count++] = make_sublayer(c, SUBLAYER_ATTEND_SOURCE, BRANCH_CROSS, layer);
    for (struct sublayer *s = list; s < list + count; s++) {
        if (s->kind == SUBLAYER_MIX)
            continue;
        s->head = make_head(c, s->branch, layer);
        s->score = make_score(c, &s->head, s->branch, layer);
    }
    return count;
}

/* Make all sublayers of a layer in the array `list`. `stack`: the layer's stack, BRANCH_TEXT or
 * BRANCH_SOURCE. */
static struct layer make_layer(const struct config *c, enum site_branch stack, size_t layer,
                               struct sublayer *list)
{
    struct layer made = {.sublayers = list, .count = make_readers(c, stack, layer, list)};
    if (c->laurel) {
        list->at_sum[0] = SITE_EMBEDDING;
        list[made.count++] = make_laurel(c);
    }
    made.all = made.count;
    if (stack == BRANCH_TEXT && !has_mlp(c, layer)) {
        if (c->style != STYLE_BARE)
            list[made.count - 1].at_sum[0] = SITE_RESID_POST;
        return made;
    }
    if (c->style == STYLE_BARE)
        return made;
    bool of_encoder = stack == BRANCH_SOURCE && c->n_encoder_inner;
    size_t chosen = stack == BRANCH_TEXT ? config_chosen(c, layer) : 0;
    float sparsity = stack == BRANCH_TEXT && layer < CONFIG_FLAGS_MAX ? c->sparsity[layer] : 0;
    list[made.all] = make_sublayer(c, SUBLAYER_MLP, stack, layer);
    list[made.all++].mlp = (struct mlp_rule){.activation = c->activation,
                                             .gated = c->gated,
                                             .xielu = c->xielu,
                                             .clamp = c->clamp,
                                             .up_offset = c->up_offset,
                                             .gate_slope = c->gate_slope,
                                             .sparse = sparsity > 0,
                                             .deviations = normal_quantile(sparsity),
                                             .inner = chosen       ? c->mixture.inner
                                                      : of_encoder ? c->n_encoder_inner
                                                                   : config_inner(c, layer),
                                             .mixture = chosen ? &c->mixture : NULL,
                                             .chosen = chosen};
    if (c->given || c->copies.count)
        list[made.all - 1].at_sum[0] = SITE_RESID_MLP;
    struct sublayer *mlp = &list[made.all - 1];
    if (c->given)
        list[made.all++] = make_given(c);
    struct sublayer *last = &list[made.all - 1];
    /* --without mlp leaves out the MLP and also the sublayer of the extra input after it */
    if (made.count && mechanism_lacks(&c->mechanism, BLOCK_MLP)) {
        last = &list[made.count - 1];
        enum site *end = last->norm_after ? last->at_after : last->at_sum;
        if (!c->copies.count)
            end[end[0] != SITE_EMBEDDING] = SITE_RESID_POST;
        mlp = last;
    } else {
        made.count = made.all;
    }
    mlp->corrects = c->copies.count;
    last->scales = c->layer_scale;
    return made;
}

const struct sublayer *layer_mlp(const struct layer *layer, enum site_branch branch)
{
    for (const struct sublayer *s = layer->sublayers; s < layer->sublayers + layer->count; s++)
        if (s->branch == branch && s->kind == SUBLAYER_MLP)
            return s;
    return NULL;
}

const struct sublayer *layer_attention(const struct layer *layer, enum site_branch branch)
{
    for (const struct sublayer *s = layer->sublayers; s < layer->sublayers + layer->count; s++)
        if (s->branch == branch && s->kind <= SUBLAYER_ATTEND_SOURCE)
            return s;
    return NULL;
}

void context_values(float *values, const float *v, const struct head_rule *rule, size_t keys)
{
    const size_t d = rule->d_v, half = rule->kv_heads / 2;
    for (size_t i = 0; i < half * keys; i++, values += 2 * d) {
        memcpy(values, v + i * d, d * sizeof *values);
        memcpy(values + d, v + (i + half * keys) * d, d * sizeof *values);
    }
}

const struct sublayer *layer_mixer(const struct layer *layer)
{
    return layer->count && layer->sublayers->mixer ? layer->sublayers : NULL;
}

const struct sublayer *first_attention(const struct config *config, enum site_branch branch)
{
    const struct sublayer *found = NULL;
    for (size_t i = 0; !found && i < stack_of(config, branch)->layers; i++)
        found = attention_of(config, branch, i);
    return found;
}

const struct head_rule *stack_head(const struct config *config, enum site_branch branch,
                                   size_t layer)
{
    const struct stack *stack = stack_of(config, branch);
    bool own = stack->layers > 0;
    const struct layer *of = layer_of(config, own ? branch : BRANCH_TEXT, own ? layer : 0);
    for (const struct sublayer *s = of->sublayers; s < of->sublayers + of->count; s++)
        if (s->kind <= SUBLAYER_ATTEND_SOURCE)
            return &s->head;
    return &stack_of(config, own ? branch : BRANCH_TEXT)->head;
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

enum site_branch sublayer_stream_branch(const struct sublayer *s, enum site id)
{
    bool own = s->branch == BRANCH_SOURCE || (s->branch == BRANCH_CROSS && id != SITE_RESID_POST);
    return own ? s->branch : BRANCH_TEXT;
}

static struct unembed_rule make_end(const struct config *c)
{
    struct unembed_rule rule = {
        .norm = c->final_norm,
        .mean = c->answers == ANSWER_OF_MEAN,
        .project = c->n_word && !c->projects_last,
        .bias = c->biases & BIASED_LOGITS,
        .divisor = c->logit_divisor,
        .cap = c->logit_cap,
        .logits = c->end == END_CLASSES ? c->n_class : c->vocab_size,
        .at_result = c->end <= END_CLASSES ? SITE_LOGITS : SITE_EMBEDDING,
    };
    if (c->end == END_MASKED || (c->classifier && c->classifier->rows[1].name)) {
        rule.dense = SLOT_TRANSFORM;
        rule.dense_norm = c->end == END_MASKED || c->classifier->normed;
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

/* Make a stack and its layers. The layers are elements of made->layers, from index `first` on. */
static struct stack make_stack(const struct config *c, enum site_branch branch,
                               struct description *made, size_t first)
{
    bool of_text = branch == BRANCH_TEXT;
    bool positions = c->style != STYLE_BARE && config_adds_positions(c);
    bool own_heads = !of_text && c->n_encoder_head, own_table = !of_text && c->n_encoder_vocab;
    struct stack stack = {
        .branch = branch,
        .width = c->n_embd,
        .layers = of_text ? c->n_layer : c->n_encoder_layer,
        .heads = own_heads ? c->n_encoder_head : c->n_head,
        .layer = made->layers + first,
        .head = make_head(c, branch, 0),
        .copies = of_text ? c->copies : (struct stream_copies){0},
        .embed = {.width = config_word_width(c),
                  .rows = own_table ? c->n_encoder_vocab : c->vocab_size,
                  .own_table = own_table,
                  .scale = c->embedding_scale,
                  .drops_masks = c->drops_masks,
                  .mask = c->mask_id,
                  .positions = !positions     ? POSITIONS_NONE
                               : c->sinusoids ? POSITIONS_SINES + c->sines
                                              : POSITIONS_TABLE,
                  .first = c->position_offset,
                  .counted = c->counted,
                  .padding = c->padding_id,
                  .segments = of_text ? c->n_segments : 0,
                  .given = c->given,
                  .given_rows = c->given_rows,
                  .given_lenient = c->given_lenient,
                  .norm = c->embedding_norm,
                  .project = !c->n_word         ? PROJECT_NEVER
                             : c->projects_last ? PROJECT_LAST
                                                : PROJECT_TOKENS},
        .unembed = {.norm = c->final_norm && (of_text || c->n_encoder_layer)},
    };
    if (of_text && c->style != STYLE_BARE)
        stack.unembed = make_end(c);
    struct sublayer *sublayers = (struct sublayer *)(made->layers + config_layers(c));
    for (size_t layer = 0; layer < stack.layers; layer++)
        made->layers[first + layer] =
            make_layer(c, branch, layer, sublayers + (first + layer) * most_sublayers(c));
    return stack;
}

static void free_description(struct description *made)
{
    heap_free(made->points);
    heap_free(made);
}

int config_describe(struct config *c, struct err *err)
{
    struct description *made = c->description;
    const bool is_new = !made || made->owner != c;
    const size_t layers = config_layers(c), sublayers = layers * most_sublayers(c);
    const size_t bytes = sizeof *made + layers * sizeof *made->layers +
                         sublayers * sizeof(struct sublayer) + layers * sizeof *made->of_layer;
    if (is_new && !(made = heap_alloc(bytes, 1, err)))
        return -1;
    made->owner = c;
    made->text = make_stack(c, BRANCH_TEXT, made, 0);
    made->source = make_stack(c, BRANCH_SOURCE, made, c->n_layer);
    struct sublayer *end = (struct sublayer *)(made->layers + layers) + sublayers;
    made->of_layer = (struct layer_points *)end;
    struct description *before = c->description;
    c->description = made;
    if (!points_make(c, made, err))
        return 0;
    c->description = before;
    if (is_new)
        free_description(made);
    return -1;
}

void config_release(struct config *config)
{
    if (config->description && config->description->owner == config)
        free_description(config->description);
    config->description = NULL;
}

size_t layers_mixed_bytes(const struct config *config)
{
    size_t count = 0;
    for (size_t i = 0; config->mixer.heads && i < config->n_layer; i++)
        count += layer_mixer(layer_of(config, BRANCH_TEXT, i)) != NULL;
    return count * mixer_kept(&config->mixer) * sizeof(float);
}
