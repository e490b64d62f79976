#include "model/site.h"

#include <stdio.h>
#include <string.h>

const struct site_row site_rows[SITE_COUNT] = {
    [SITE_EMBEDDING] = {"embedding", AXES_TOKEN_CHANNEL, false, false, "token + position embedding",
                        "hook_embed + hook_pos_embed"},
    [SITE_SOURCE_EMBEDDING] = {"source_embedding", AXES_TOKEN_CHANNEL, false, false,
                               "the same of the source, in cross-attention", NULL, PART_SOURCE,
                               SITE_EMBEDDING},
    [SITE_RESID_PRE] = {"resid_pre", AXES_TOKEN_CHANNEL, true, false,
                        "residual stream into the block", "blocks.L.hook_resid_pre"},
    [SITE_LN_1] = {"ln_1", AXES_TOKEN_CHANNEL, true, false, "first layer norm",
                   "blocks.L.ln1.hook_normalized"},
    [SITE_Q] = {"q", AXES_HEAD_TOKEN_DIM, true, false, "queries", "blocks.L.attn.hook_q"},
    [SITE_K] = {"k", AXES_GROUP_TOKEN_DIM, true, false, "keys", "blocks.L.attn.hook_k"},
    [SITE_V] = {"v", AXES_GROUP_TOKEN_DIM, true, false, "values", "blocks.L.attn.hook_v"},
    [SITE_SCORES] = {"scores", AXES_HEAD_QUERY_KEY, true, false, "raw q·k, before scale and mask",
                     NULL},
    [SITE_SOFTMAX] = {"softmax", AXES_HEAD_QUERY_KEY, true, false,
                      "with --mask-method renormalise: softmax of scores scaled, over all keys",
                      NULL},
    [SITE_MASKED] = {"masked", AXES_HEAD_QUERY_KEY, true, true,
                     "scores scaled, the future at -inf; or that softmax, the future at 0",
                     "blocks.L.attn.hook_attn_scores"},
    [SITE_WEIGHTS] = {"weights", AXES_HEAD_QUERY_KEY, true, true,
                      "softmax of masked: the attention, rows sum to 1",
                      "blocks.L.attn.hook_pattern"},
    [SITE_CONTEXT] = {"context", AXES_HEAD_TOKEN_DIM, true, false,
                      "weights · v, before the output projection", "blocks.L.attn.hook_z"},
    [SITE_ATTN_OUT] = {"attn_out", AXES_TOKEN_CHANNEL, true, false,
                       "attention's output, heads joined", "blocks.L.hook_attn_out"},
    [SITE_RESID_MID] = {"resid_mid", AXES_TOKEN_CHANNEL, true, false,
                        "residual stream after attention", "blocks.L.hook_resid_mid"},
    [SITE_LN_2] = {"ln_2", AXES_TOKEN_CHANNEL, true, false, "second layer norm",
                   "blocks.L.ln2.hook_normalized"},
    [SITE_MLP_ACT] = {"mlp_act", AXES_TOKEN_CHANNEL, true, false,
                      "the MLP's hidden channels, activated", "blocks.L.mlp.hook_post"},
    [SITE_MLP_OUT] = {"mlp_out", AXES_TOKEN_CHANNEL, true, false, "the MLP's output",
                      "blocks.L.hook_mlp_out"},
    [SITE_RESID_POST] = {"resid_post", AXES_TOKEN_CHANNEL, true, false,
                         "residual stream out of the block", "blocks.L.hook_resid_post"},
    [SITE_LN_F] = {"ln_f", AXES_TOKEN_CHANNEL, false, false, "final layer norm",
                   "ln_final.hook_normalized"},
    [SITE_LOGITS] = {"logits", AXES_TOKEN_WORD, false, false, "scores of the next token",
                     "unembed"},
};

bool site_has_heads(enum site site)
{
    enum site_axes axes = site_rows[site].axes;
    return axes != AXES_TOKEN_CHANNEL && axes != AXES_TOKEN_WORD;
}

enum site site_of(enum site_part part, enum site site)
{
    for (int i = 0; part != PART_SENTENCE && i < SITE_COUNT; i++)
        if (site_rows[i].part == part && site_rows[i].like == site)
            return (enum site)i;
    return site;
}

bool site_find(const char *name, size_t size, enum site *site)
{
    for (int i = 0; i < SITE_COUNT; i++) {
        if (strlen(site_rows[i].name) == size && memcmp(site_rows[i].name, name, size) == 0) {
            *site = (enum site)i;
            return true;
        }
    }
    return false;
}

const char *site_tensor_name(char name[SITE_NAME_BYTES], enum site site, int layer)
{
    if (site_rows[site].in_layer)
        snprintf(name, SITE_NAME_BYTES, "h.%d.%s", layer, site_rows[site].name);
    else
        snprintf(name, SITE_NAME_BYTES, "%s", site_rows[site].name);
    return name;
}
