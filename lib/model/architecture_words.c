#include "model/layer.h"

#include <math.h>

#include "base/buf.h"
#include "base/num.h"
#include "math/precision.h"

/* Write the layers in which a flag is set, such as " in layers 0-4, 6"; write nothing if all layers
 * have it. For flag 0, write the layers that have experts. */
static void write_layers(struct buf *out, const struct config *c, unsigned flag)
{
    size_t count = 0;
    bool has[CONFIG_FLAGS_MAX + 1] = {false};
    for (size_t i = 0; i < c->n_layer && i < CONFIG_FLAGS_MAX; i++)
        count += has[i] = flag ? (c->layer_flags[i] & flag) != 0 : c->mixture.chosen[i] > 0;
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
    const struct sublayer *first = layer_of(c, BRANCH_TEXT, 0)->sublayers;
    const struct head_norm *heads = &c->head_norm;
    if (c->kind == MODEL_ATTENTION)
        return;
    buf_format(out, "%s%s, %s", c->rms ? "RMS" : "layer norm", c->norm_offset ? " (1 + w)" : "",
               first->norm_after                       ? "of sums"
               : first->norm_out && first->norm_before ? "before and after sublayers"
               : first->norm_out                       ? "of sublayer outputs"
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
    buf_text(out, heads->v ? ", of values" : "");
    buf_text(out, c->embedding_norm ? ", of embeddings" : "");
}

static void write_scaling(struct buf *out, const struct rotary *r)
{
    static const char *const names[] = {
        [ROTARY_LINEAR] = "linear", [ROTARY_DYNAMIC] = "dynamic",   [ROTARY_LLAMA3] = "llama3",
        [ROTARY_YARN] = "yarn",     [ROTARY_LONGROPE] = "longrope",
    };
    if (r->scaling == ROTARY_PLAIN || r->scaling == ROTARY_PROPORTIONAL)
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
        else if (c->score_bias == BIAS_DISENTANGLED)
            buf_format(out, "%sdistances from key to query, up to %d, in %d rows",
                       config_adds_positions(c) ? ", and " : "", c->bias_reach,
                       2 * c->bias_buckets);
        else if (c->score_bias)
            buf_format(out, "ALiBi%s",
                       c->score_bias == BIAS_ALIBI_APART ? " in both directions" : "");
        return;
    }
    buf_format(out, "rotary, base %.9g", r->theta);
    write_scaling(out, r);
    bool partial = r->scaling == ROTARY_PROPORTIONAL;
    buf_format(out, ", %s%zu of %zu channels, %s", r->first ? "the last " : "",
               partial ? 2 * r->turning : r->components, partial ? r->components : c->d_k,
               r->neighbours ? "neighbours" : "halves");
    if (r->growth != 0)
        buf_format(out, "; queries · (1 + %g · ln(1 + ⌊position / %g⌋))", r->growth,
                   r->trained_positions);
    if (config_flags(c) & LAYER_UNROTATED) {
        buf_text(out, "; none");
        write_layers(out, c, LAYER_UNROTATED);
    }
    if (c->rotary_local.components) {
        buf_format(out, "; base %.9g", c->rotary_local.theta);
        write_layers(out, c, LAYER_ROTARY_LOCAL);
    }
}

/* Write the sizes of heads in layers with LAYER_WIDE, and which layers read the keys and values of
 * earlier layers. */
static void write_heads(struct buf *out, const struct config *c)
{
    if (config_flags(c) & LAYER_WIDE) {
        buf_format(out, "%zu channels, %zu key/value head%s%s", c->wide.d, c->wide.kv_heads,
                   num_plural(c->wide.kv_heads), c->wide.v_is_k ? " with keys as values," : "");
        write_layers(out, c, LAYER_WIDE);
    }
    if (c->n_borrowing)
        buf_format(out, "%slayers from %zu on read keys and values of earlier ones",
                   out->size ? "; " : "", c->n_layer - c->n_borrowing);
}

/* Write what mixers compute, such as "gated delta rule in layers 0-2: 4 heads, 2 of keys, states of
 * 4 × 3; convolution of 4 tokens; 1.2 KiB for a text of any length". */
static void write_mixers(struct buf *out, const struct config *c)
{
    static const char *const rules[] = {[MIXER_CONVOLVE] = "short convolutions",
                                        [MIXER_ADD] = "sums that decay (Mamba)",
                                        [MIXER_DELTA] = "gated delta rule"};
    const struct mixer *m = &c->mixer;
    char size[NUM_SIZE_BYTES];
    if (!m->heads)
        return;
    buf_text(out, rules[m->update]);
    if (!m->beside)
        write_layers(out, c, LAYER_MIXER);
    if (m->update == MIXER_CONVOLVE)
        buf_format(out, ": %zu channels, %zu tokens", m->heads, m->taps);
    else
        buf_format(out, ": %zu heads, %zu of keys, states of %zu × %zu; convolution of %zu tokens",
                   m->heads, m->key_heads, m->d_k, m->d_v, m->taps);
    buf_format(out, "; %s for a text of any length", num_size(size, layers_mixed_bytes(c)));
}

static void write_window(struct buf *out, const struct config *c)
{
    if (!(config_flags(c) & LAYER_WINDOW) || !c->window)
        return;
    size_t layer = 0;
    while (!config_window(c, layer))
        layer++;
    size_t ahead = attention_of(c, BRANCH_TEXT, layer)->score.ahead;
    buf_format(out, ahead ? "%zu keys and %zu later ones" : "%zu keys", c->window, ahead);
    write_layers(out, c, LAYER_WINDOW);
}

static void write_scores(struct buf *out, const struct config *c)
{
    if (!first_attention(c, BRANCH_TEXT))
        return;
    bool root = c->scale == 1.0f / sqrtf((float)c->d_k);
    if (c->score_bias == BIAS_DISENTANGLED)
        buf_format(out, "(q·k%s%s) · %g", c->bias_terms & TERM_KEYS ? " + q·k_distance" : "",
                   c->bias_terms & TERM_QUERIES ? " + k·q_distance" : "", (double)c->scale);
    else if (root)
        buf_format(out, "q·k / √%zu", c->d_k);
    else
        buf_format(out, "q·k · %g", (double)c->scale);
    buf_text(out, c->scale_by_layer ? ", divided by the layer number" : "");
    if (c->score_cap > 0)
        buf_format(out, ", capped at %g", (double)c->score_cap);
    if (c->clip > 0)
        buf_format(out, "; queries, keys and values within ±%g", (double)c->clip);
    buf_text(out, c->differs ? "; weights of head h less those of head h + H/2 times lambda" : "");
    buf_text(out, c->sinks ? "; a sink for each head in the softmax" : "");
    buf_text(out, c->head_gate ? "; the context is gated" : "");
}

static void write_embedding(struct buf *out, const struct config *c)
{
    float scale = c->embedding_scale;
    if (c->n_word)
        buf_format(out, "%zu channels, projected", c->n_word);
    if (c->n_segments)
        buf_format(out, "%s%zu segments", c->n_word ? ", " : "", c->n_segments);
    if (c->drops_masks)
        buf_format(out, "masks 0, others times %g / (1 - share of masks)", EMBED_KEPT);
    if (scale == 1)
        return;
    buf_format(out, "%stimes %g", c->n_word || c->n_segments ? ", " : "", (double)scale);
    if (scale == sqrtf((float)c->n_embd) && c->norm_offset) /* only Gemma models have both this
                                                             * scale and norm_offset */
        buf_format(out, ", √%zu (Hugging Face rounds it in bf16: %g)", c->n_embd,
                   (double)bf16_value(bf16_round(scale)));
}

/* Write numbers and sizes of experts, such as "2 of 8 for each token, 14336 channels each in layers
 * 3-61; a shared one of 2048 channels". */
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
    if (m->latent)
        buf_format(out, "; in a vector of %zu channels", m->latent);
    if (m->shared_inner)
        buf_format(out,
                   m->beside ? "; beside an MLP of %zu channels" : "; a shared one of %zu channels",
                   m->shared_inner);
    if (c->clamp > 0)
        buf_format(out, "; gate at most %g, up within ±%g and plus %g", (double)c->clamp,
                   (double)c->clamp, (double)c->up_offset);
}

/* Write the sublayers of a layer as a formula, such as "x + attention(ln_1(x)), then x +
 * mlp(ln_2(x))". */
static void write_sublayers(struct buf *out, const struct layer *first)
{
    static const char *const norms[] = {"ln_1", "ln_cross", "ln_2", "per_layer", "ln_1", "laurel"};
    static const char *const functions[] = {"attention", "cross_attention", "mlp",
                                            "per_layer", "mixer",           "laurel"};
    const struct sublayer *list = first->sublayers;
    const char *input = NULL; /* name of the norm through which the sublayer reads the stream; NULL:
                               * it reads the stream itself */
    for (const struct sublayer *s = list; s < list + first->count; s++) {
        int which = s->branch == BRANCH_LAUREL      ? 5
                    : s->branch == BRANCH_MIXER     ? 4
                    : s->branch == BRANCH_PER_LAYER ? 3
                    : s->kind == SUBLAYER_MLP       ? 2
                                                    : s->branch == BRANCH_CROSS;
        if (s->reads != READS_LAST_INPUT)
            input = s->norm_before ? norms[which] : NULL;
        if (s->reads == READS_STREAM) {
            buf_text(out, s == list ? "" : ", then ");
            buf_text(out, s + 1 < list + first->count && s[1].sum_factor != 1 ? "(" : "");
            buf_format(out, s->norm_after ? "%s(" : "", norms[which]);
            if (!s->replaces)
                buf_format(out, s->adds_to_normed ? "%s(x) + " : "x + ", input);
        } else {
            buf_text(out, " + ");
        }
        buf_format(out, s->factor == 1 ? "" : "%g · ", (double)s->factor);
        buf_format(out, s->norm_out ? "%s_post(%s" : "", norms[which], s->adds_twice ? "x + " : "");
        buf_format(out, input ? "%s(%s(x))" : "%s(x)", functions[which], input);
        buf_format(out, "%s%s", s->norm_out ? ")" : "", s->norm_after ? ")" : "");
        buf_format(out, s->adds_input ? " + %s(x)" : "", input);
        buf_format(out, s->sum_factor != 1 ? ") · %g" : "", (double)s->sum_factor);
        buf_text(out, s->corrects ? ", then copies corrected" : "");
        buf_text(out, s->spreads ? ", added to copies from 1 on" : "");
    }
}

/* Whether two layers have sublayers of the same kinds in the same order. */
static bool is_like(const struct layer *layer, const struct layer *other)
{
    bool like = layer->count == other->count;
    for (size_t i = 0; like && i < layer->count; i++)
        like = layer->sublayers[i].kind == other->sublayers[i].kind;
    return like;
}

/* Write the sublayers of layer 0. If layers differ in their kinds of sublayers, also write the
 * sublayers of the first layer of each further kind: "…; layer 3: …". */
static void write_layer(struct buf *out, const struct config *c)
{
    const struct layer *all = layer_of(c, BRANCH_TEXT, 0);
    for (size_t i = 0, kinds = 0; i < c->n_layer; i++) {
        size_t like = 0;
        while (!is_like(&all[like], &all[i]))
            like++;
        if (like < i)
            continue;
        if (kinds++)
            buf_format(out, "; layer %zu: ", i);
        write_sublayers(out, &all[i]);
    }
    buf_text(out, c->layer_scale ? ", times a number of the layer" : "");
    if (c->n_group)
        buf_format(out, "; parameters for %zu layers, which the others share",
                   config_own_layers(c, c->n_layer));
}

/* Write how many copies of the residual stream the model has, and how layers use them: "4 of the
 * stream: layers work on copy 0, predict all and correct them". Write nothing if it has none. */
static void write_copies(struct buf *out, const struct config *c)
{
    if (c->copies.count)
        buf_format(out, "%zu of the stream: layers work on copy %zu, predict all and correct them",
                   c->copies.count, c->copies.active);
}

/* Write the share of gates that become 0 in the MLP of each layer, such as "0.95 in layer 0, 0.95
 * in layer 1 of the gates". */
static void write_sparsity(struct buf *out, const struct config *c)
{
    for (size_t i = 0; i < c->n_layer && i < CONFIG_FLAGS_MAX; i++)
        if (c->sparsity[i] > 0)
            buf_format(out, "%s%.6g in layer %zu", out->size ? ", " : "", (double)c->sparsity[i],
                       i);
    buf_text(out, out->size ? " of the gates" : "");
}

static void write_logits(struct buf *out, const struct config *c)
{
    const struct unembed_rule end = stack_of(c, BRANCH_TEXT)->unembed;
    if (c->kind == MODEL_ATTENTION)
        return;
    if (end.dense)
        buf_format(out, "a dense layer%s with %s%s", end.first_only ? " of the first token" : "",
                   activation_name(end.activation), end.dense_norm ? " and a norm, then " : "");
    if (end.at_result != SITE_LOGITS) {
        buf_text(out, end.at_result ? ", then one logit of each token" : end.dense ? "" : "none");
        return;
    }
    static const char *const answers[] = {"the first token", "the mean of all tokens",
                                          "the last token", "each token"};
    if (c->n_class)
        buf_format(out, "%s%zu classes of %s", end.dense && !end.dense_norm ? ", then " : "",
                   c->n_class, answers[c->answers]);
    else
        buf_text(out, config_ties(c) ? "tied to the token embedding" : "from a separate matrix");
    buf_text(out, c->biases & BIASED_LOGITS ? ", with a bias" : "");
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
    {"norms", write_norms},         {"positions", write_positions}, {"window", write_window},
    {"layer_heads", write_heads},   {"mixers", write_mixers},       {"scores", write_scores},
    {"embedding", write_embedding}, {"copies", write_copies},       {"sparsity", write_sparsity},
    {"sublayers", write_layer},     {"experts", write_experts},     {"logits", write_logits},
    {"ignored", write_ignored},
};

const size_t architecture_row_count = sizeof architecture_rows / sizeof *architecture_rows;
