/* family_names.c: the names of each family's tensors, and how slots lie in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/family/family.h"

#define NAMES(prefix, layers, base, ...)         \
    {                                            \
        prefix, layers, NULL, NULL, base, false, \
        {                                        \
            __VA_ARGS__                          \
        }                                        \
    }

/* Names of our own: the prefix is of files by others. Matrices are [in, out], as in GPT-2. */
#define OWN_NAMES(base, ...)                          \
    {                                                 \
        "", "h.", "enc.", "transformer.", base, true, \
        {                                             \
            __VA_ARGS__                               \
        }                                             \
    }
#define MATRIX(name, id)               \
    {                                  \
        name, {id}, .transposed = true \
    }
#define CROSS_MATRIX(name, id)                             \
    {                                                      \
        name, {id}, .transposed = true, .part = PART_CROSS \
    }

const struct family_names transformer_names = OWN_NAMES(
    NULL, {"wte", {SLOT_TOKENS}}, {"wpe", {SLOT_POSITIONS}}, {"ln_f", {SLOT_FINAL_NORM}},
    {"enc.ln_f", {SLOT_FINAL_NORM}, .part = PART_SOURCE}, {"lm_head", {SLOT_HEAD}},
    {"ln_1", {SLOT_NORM_1}}, MATRIX("attn.q_proj", SLOT_Q), MATRIX("attn.k_proj", SLOT_K),
    MATRIX("attn.v_proj", SLOT_V), MATRIX("attn.out_proj", SLOT_O),
    {"ln_cross", {SLOT_NORM_1}, .part = PART_CROSS}, CROSS_MATRIX("cross_attn.q_proj", SLOT_Q),
    CROSS_MATRIX("cross_attn.k_proj", SLOT_K), CROSS_MATRIX("cross_attn.v_proj", SLOT_V),
    CROSS_MATRIX("cross_attn.out_proj", SLOT_O), {"ln_2", {SLOT_NORM_2}},
    MATRIX("mlp.c_fc", SLOT_UP), MATRIX("mlp.c_proj", SLOT_DOWN));

const struct family_names gpt2_names =
    OWN_NAMES(&transformer_names, {"attn.c_attn", {SLOT_Q, SLOT_K, SLOT_V}, .transposed = true},
              MATRIX("attn.c_proj", SLOT_O));

const struct family_names llama_names = NAMES(
    "model.", "layers.", NULL, {"embed_tokens", {SLOT_TOKENS}}, {"norm", {SLOT_FINAL_NORM}},
    {"lm_head", {SLOT_HEAD}}, {"input_layernorm", {SLOT_NORM_1}}, {"self_attn.q_proj", {SLOT_Q}},
    {"self_attn.k_proj", {SLOT_K}}, {"self_attn.v_proj", {SLOT_V}}, {"self_attn.o_proj", {SLOT_O}},
    {"self_attn.q_norm", {SLOT_Q_NORM}}, {"self_attn.k_norm", {SLOT_K_NORM}},
    {"post_attention_layernorm", {SLOT_NORM_2}}, {"mlp.gate_proj", {SLOT_GATE}},
    {"mlp.up_proj", {SLOT_UP}}, {"mlp.down_proj", {SLOT_DOWN}});

const struct family_names olmo2_names =
    NAMES("model.", "layers.", &llama_names, {"post_attention_layernorm", {SLOT_NORM_1_POST}},
          {"post_feedforward_layernorm", {SLOT_NORM_2_POST}});

const struct family_names gemma_names =
    NAMES("model.", "layers.", &olmo2_names, {"pre_feedforward_layernorm", {SLOT_NORM_2}});

const struct family_names phi3_names =
    NAMES("model.", "layers.", &llama_names, {"self_attn.qkv_proj", {SLOT_Q, SLOT_K, SLOT_V}},
          {"mlp.gate_up_proj", {SLOT_GATE, SLOT_UP}});

const struct family_names phi_names =
    NAMES("model.", "layers.", &llama_names, {"final_layernorm", {SLOT_FINAL_NORM}},
          {"self_attn.dense", {SLOT_O}}, {"mlp.fc1", {SLOT_UP}}, {"mlp.fc2", {SLOT_DOWN}});

const struct family_names starcoder2_names =
    NAMES("model.", "layers.", &llama_names, {"mlp.c_fc", {SLOT_UP}}, {"mlp.c_proj", {SLOT_DOWN}});

const struct family_names opt_names =
    NAMES("model.decoder.", "layers.", &llama_names, {"embed_positions", {SLOT_POSITIONS}},
          {"project_in", {SLOT_EMBED_PROJECT}}, {"project_out", {SLOT_PROJECT_OUT}},
          {"final_layer_norm", {SLOT_FINAL_NORM}}, {"self_attn_layer_norm", {SLOT_NORM_1}},
          {"final_layer_norm", {SLOT_NORM_2}}, {"self_attn.out_proj", {SLOT_O}}, {"fc1", {SLOT_UP}},
          {"fc2", {SLOT_DOWN}});

const struct family_names neox_names =
    NAMES("gpt_neox.", "layers.", &llama_names, {"embed_in", {SLOT_TOKENS}},
          {"final_layer_norm", {SLOT_FINAL_NORM}}, {"embed_out", {SLOT_HEAD}},
          {"attention.query_key_value", {SLOT_Q, SLOT_K, SLOT_V}, .groups = GROUPS_KV_HEAD},
          {"attention.dense", {SLOT_O}}, {"mlp.dense_h_to_4h", {SLOT_UP}},
          {"mlp.dense_4h_to_h", {SLOT_DOWN}});

const struct family_names bloom_names =
    NAMES("transformer.", "h.", &neox_names, {"word_embeddings", {SLOT_TOKENS}},
          {"word_embeddings_layernorm", {SLOT_EMBED_NORM}}, {"ln_f", {SLOT_FINAL_NORM}},
          {"lm_head", {SLOT_HEAD}},
          {"self_attention.query_key_value", {SLOT_Q, SLOT_K, SLOT_V}, .groups = GROUPS_KV_HEAD},
          {"self_attention.dense", {SLOT_O}});

/* Two norms of the same stream; with one or none in parallel, bloom's names. */
const struct family_names falcon_names = NAMES(
    "transformer.", "h.", &bloom_names, {"ln_attn", {SLOT_NORM_1}}, {"ln_mlp", {SLOT_NORM_2}});

const struct family_names gpt_neo_names = NAMES(
    "transformer.", "h.", NULL, {"wte", {SLOT_TOKENS}}, {"wpe", {SLOT_POSITIONS}},
    {"ln_f", {SLOT_FINAL_NORM}}, {"lm_head", {SLOT_HEAD}}, {"ln_1", {SLOT_NORM_1}},
    {"ln_2", {SLOT_NORM_2}}, {"attn.attention.q_proj", {SLOT_Q}},
    {"attn.attention.k_proj", {SLOT_K}}, {"attn.attention.v_proj", {SLOT_V}},
    {"attn.attention.out_proj", {SLOT_O}}, {"mlp.c_fc", {SLOT_UP}}, {"mlp.c_proj", {SLOT_DOWN}});

const struct family_names gptj_names =
    NAMES("transformer.", "h.", &gpt_neo_names, {"attn.q_proj", {SLOT_Q}},
          {"attn.k_proj", {SLOT_K}}, {"attn.v_proj", {SLOT_V}}, {"attn.out_proj", {SLOT_O}},
          {"mlp.fc_in", {SLOT_UP}}, {"mlp.fc_out", {SLOT_DOWN}});

/* --- tensors ---------------------------------------------------------------------------------- */

static bool row_has(const struct family_row *row, struct slot slot)
{
    size_t i = 0;
    while (i < FAMILY_MEMBERS_MAX && row->members[i] != (slot.id & ~1))
        i++;
    return i < FAMILY_MEMBERS_MAX && row->part == slot.part;
}

const struct family_row *family_row(const struct family *family, struct slot slot)
{
    for (const struct family_names *names = family->names; names; names = names->base)
        for (const struct family_row *row = names->rows; row->name; row++)
            if (row_has(row, slot))
                return row;
    if (slot.part != PART_SOURCE)
        return NULL;
    slot.part = PART_SENTENCE; /* an encoder's names are those of the text, in its layers */
    return family_row(family, slot);
}

const char *family_tensor_name(char name[PARAMETER_NAME_BYTES], const struct family *family,
                               struct slot slot)
{
    const struct family_names *names = family->names;
    const struct family_row *row = family_row(family, slot);
    const char *ending = slot.id & 1 ? "bias" : "weight";
    const char *prefix = (slot.id & ~1) == SLOT_HEAD ? "" : names->prefix;
    const char *text = row ? row->name : "?";
    if (slot.layer < 0)
        snprintf(name, PARAMETER_NAME_BYTES, "%s%s.%s", prefix, text, ending);
    else
        snprintf(name, PARAMETER_NAME_BYTES, "%s%s%d.%s.%s", prefix,
                 slot.part == PART_SOURCE ? names->source_layers : names->layers, slot.layer, text,
                 ending);
    return name;
}

long family_layer_of(const char *prefix, const char *layers, const char *name)
{
    while (*prefix && strncmp(name, prefix, strlen(prefix)) != 0)
        prefix = strchr(prefix, '.') + 1;
    name += strlen(prefix);
    if (strncmp(name, layers, strlen(layers)) != 0)
        return -1;
    name += strlen(layers);
    return *name >= '0' && *name <= '9' ? strtol(name, NULL, 10) : -1;
}

void family_place(struct family_place *place, struct slot slot, const struct config *config)
{
    static const struct family_row unnamed;
    const struct family_row *row = family_row(config->family, slot);
    size_t shape[SLOT_RANK_MAX] = {0};
    size_t all = 0;
    row = row ? row : &unnamed;
    *place = (struct family_place){.view = {0, SIZE_MAX, 0}, .first = slot};
    place->rank = slot_shape(place->shape, slot, config);
    place->out = place->shape[0];
    place->in = place->shape[1];
    bool is_bias = slot.id & 1;
    bool is_grouped = row->groups == GROUPS_KV_HEAD;
    size_t groups = is_grouped ? config->n_kv_head : 1;
    for (size_t i = 0; i < FAMILY_MEMBERS_MAX && row->members[i]; i++) {
        struct slot member = slot;
        member.id = (unsigned char)(row->members[i] + is_bias);
        slot_shape(shape, member, config);
        if (i == 0)
            place->first = member;
        if (member.id == slot.id)
            place->view =
                (struct row_view){all / groups, is_grouped ? shape[0] / groups : SIZE_MAX, 0};
        all += shape[0];
    }
    if (is_grouped)
        place->view.stride = all / groups;
    if (row->name)
        place->shape[0] = all;
    place->transposed = row->transposed && place->rank == 2;
    if (place->transposed) {
        place->shape[0] = place->shape[1];
        place->shape[1] = all;
    }
}
