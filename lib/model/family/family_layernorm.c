/* family_layernorm.c: what a table cannot say of families whose norms have a mean. */
#include <string.h>

#include "model/family/family.h"

int family_settle_phi(struct reading *reading)
{
    return family_expect(reading, "qk_layernorm", false, false);
}

int family_settle_neox(struct reading *reading)
{
    bool parallel = true;
    if (family_flag(reading, "use_parallel_residual", &parallel))
        return -1;
    reading->config->style = parallel ? STYLE_PARALLEL : STYLE_PRE;
    return family_add_bias(reading, "attention_bias", BIAS_QKV | BIAS_OUT);
}

int family_settle_stablelm(struct reading *reading)
{
    bool parallel = false;
    if (family_expect(reading, "qk_layernorm", false, false) ||
        family_flag(reading, "use_parallel_residual", &parallel) ||
        family_add_bias(reading, "use_qkv_bias", BIAS_QKV))
        return -1;
    reading->config->style = parallel ? STYLE_ONE_NORM : STYLE_PRE;
    return 0;
}

int family_settle_starcoder2(struct reading *reading)
{
    reading->config->biases = BIAS_ALL;
    return family_add_bias(reading, "use_bias", BIAS_ALL) || family_settle_window(reading) ? -1 : 0;
}

int family_settle_bloom(struct reading *reading)
{
    bool normed = false;
    reading->config->n_inner = 4 * reading->config->n_embd;
    if (family_flag(reading, "apply_residual_connection_post_layernorm", &normed))
        return -1;
    reading->config->style = normed ? STYLE_TO_NORMED : STYLE_PRE;
    return 0;
}

int family_settle_falcon(struct reading *reading)
{
    struct config *c = reading->config;
    bool grouped = false;
    bool multi_query = true;
    bool parallel = true;
    bool alibi = false;
    size_t norms = 2;
    if (family_flag(reading, "new_decoder_architecture", &grouped) ||
        family_flag(reading, "multi_query", &multi_query) ||
        family_flag(reading, "parallel_attn", &parallel) || family_flag(reading, "alibi", &alibi) ||
        family_add_bias(reading, "bias", BIAS_ALL) ||
        family_size(reading, "num_ln_in_parallel_attn", &norms))
        return -1;
    if (norms != 1 && norms != 2)
        return err_unsupported(
            reading->err, "field 'num_ln_in_parallel_attn': expected 1 or 2, found %zu", norms);
    if (!grouped)
        c->n_kv_head = multi_query ? 1 : c->n_head;
    if (parallel || grouped)
        c->style = grouped && norms == 2 ? STYLE_PARALLEL : STYLE_ONE_NORM;
    if (grouped && norms == 2)
        c->family = family_find("falcon with two norms");
    if (alibi)
        c->alibi = ALIBI_FALCON;
    return alibi ? 0 : family_read_rotary(reading, 1, 1e4);
}

static int refuse_local_layers(const struct reading *reading)
{
    return err_set(reading->err,
                   "field 'attention_types': expected global or local for each of %zu layers",
                   reading->config->n_layer);
}

/* "attention_layers", or "attention_types", whose patterns repeat: which layers are local. */
static int read_local_layers(struct reading *reading, const struct json *list, size_t *layer,
                             size_t times)
{
    struct config *c = reading->config;
    for (; times; times--) {
        for (const struct json *item = json_first(list); item; item = json_next(item), ++*layer) {
            const char *text = "";
            json_get_text(item, &text);
            bool local = strcmp(text, "local") == 0;
            if ((!local && strcmp(text, "global") != 0) || *layer >= c->n_layer)
                return refuse_local_layers(reading);
            if (local)
                c->layer_flags[*layer] |= LAYER_WINDOW;
        }
    }
    return 0;
}

int family_settle_gpt_neo(struct reading *reading)
{
    struct config *c = reading->config;
    const struct json *types = NULL;
    const struct json *layers = NULL;
    size_t layer = 0;
    if (family_window(reading, "window_size") || family_list(reading, "attention_types", &types) ||
        family_list(reading, "attention_layers", &layers))
        return -1;
    if (layers && read_local_layers(reading, layers, &layer, 1))
        return -1;
    const struct json *item = !layer && types ? json_first(types) : NULL;
    for (; item; item = json_next(item)) {
        const struct json *list = json_is_array(item) ? json_first(item) : NULL;
        const struct json *count = list ? json_next(list) : NULL;
        long long times = 0;
        if (!count || !json_get_integer(count, 1, (long long)c->n_layer, &times) ||
            read_local_layers(reading, list, &layer, (size_t)times))
            return err_set(reading->err,
                           "field 'attention_types': expected lists of a pattern and how often");
    }
    if (layer && layer < c->n_layer)
        return refuse_local_layers(reading);
    for (; layer < c->n_layer; layer++)
        if (layer % 2)
            c->layer_flags[layer] |= LAYER_WINDOW;
    return 0;
}

int family_settle_opt(struct reading *reading)
{
    struct config *c = reading->config;
    bool removed = false;
    bool first = true;
    c->epsilon = 1e-5f;
    if (family_flag(reading, "do_layer_norm_before", &first) ||
        family_flag(reading, "_remove_final_layer_norm", &removed) ||
        family_size(reading, "word_embed_proj_dim", &c->n_word) ||
        family_add_bias(reading, "enable_bias", BIAS_ALL) ||
        family_expect(reading, "layer_norm_elementwise_affine", true, true))
        return -1;
    c->final_norm = first && !removed;
    c->style = first ? STYLE_PRE : STYLE_POST_STREAM;
    if (c->n_word == c->n_embd)
        c->n_word = 0;
    return 0;
}
