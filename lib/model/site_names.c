#include "model/points.h"
#include "model/site_names.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/names.h"
#include "base/num.h"
#include "model/family/family.h"
#include "model/layer.h"

/* --- llama.cpp -------------------------------------------------------------------------------- */

/* Names of sites in llama.cpp, without the -L of a layer. If a site has several names, `info
 * --sites` prints the first. `other`: a second site that has the name in some models, or
 * SITE_PASS_END. */
static const struct llama_cpp_name {
    const char *name;
    enum site site, other;
} llama_cpp_names[] = {
    {"inp_embd", SITE_EMBEDDING, SITE_PASS_END}, /* the first two rows are only used for models
                                                  * whose embedding is the token's row of the table,
                                                  * unchanged */
    {"embd", SITE_EMBEDDING, SITE_PASS_END},
    {"inpL", SITE_EMBEDDING, SITE_PASS_END},
    {"inp_scaled", SITE_EMBEDDING, SITE_PASS_END},
    {"inp_norm", SITE_EMBEDDING, SITE_PASS_END},
    {"attn_norm", SITE_LN_1, SITE_LN_2}, /* in Falcon, the input of the MLP has this name */
    {"attn_norm_2", SITE_LN_1, SITE_PASS_END},
    {"Qcur", SITE_Q, SITE_Q_PRE},
    {"Kcur", SITE_K, SITE_K_PRE},
    {"Vcur", SITE_V, SITE_PASS_END},
    {"Qcur_normed", SITE_Q_PRE, SITE_PASS_END},
    {"Kcur_normed", SITE_K_PRE, SITE_PASS_END},
    {"kq", SITE_SCORES, SITE_PASS_END},
    {"kq_soft_max", SITE_WEIGHTS, SITE_PASS_END},
    {"kq_soft_max_ext", SITE_WEIGHTS, SITE_PASS_END},
    {"kqv_out", SITE_CONTEXT, SITE_ATTN_OUT},
    {"kqv_merged_cont", SITE_CONTEXT, SITE_PASS_END},
    {"attn_out", SITE_ATTN_OUT, SITE_PASS_END},
    {"attn_post_norm", SITE_LN_1_POST, SITE_PASS_END},
    {"ffn_inp", SITE_RESID_MID, SITE_PASS_END},
    {"ffn_norm", SITE_LN_2, SITE_PASS_END},
    {"ffn_moe_logits", SITE_ROUTER, SITE_PASS_END},
    {"ffn_gate", SITE_MLP_GATE, SITE_PASS_END},
    {"ffn_up", SITE_MLP_UP, SITE_PASS_END},
    {"ffn_gate_par", SITE_MLP_ACT, SITE_PASS_END},
    {"ffn_swiglu", SITE_MLP_ACT, SITE_PASS_END},
    {"ffn_geglu", SITE_MLP_ACT, SITE_PASS_END},
    {"ffn_gelu", SITE_MLP_ACT, SITE_PASS_END},
    {"ffn_out", SITE_MLP_OUT, SITE_PASS_END},
    {"ffn_moe_out", SITE_MLP_OUT, SITE_PASS_END},
    {"ffn_post_norm", SITE_LN_2_POST, SITE_PASS_END},
    {"l_out", SITE_RESID_POST, SITE_PASS_END},
    {"result_norm", SITE_LN_F, SITE_PASS_END},
    {"result_output", SITE_LOGITS, SITE_PASS_END},
};

enum { LLAMA_CPP_NAMES = sizeof llama_cpp_names / sizeof *llama_cpp_names };

const char *site_llama_cpp_name(enum site site)
{
    const enum site named = site == SITE_Q_PRE ? SITE_Q : site == SITE_K_PRE ? SITE_K : site;
    for (size_t i = 0; i < LLAMA_CPP_NAMES; i++)
        if (llama_cpp_names[i].site == named)
            return llama_cpp_names[i].name;
    return NULL;
}

bool site_is_llama_cpp_name(const char *name)
{
    size_t size = strcspn(name, "-"), index;
    return names_find(&index, NAMES(llama_cpp_names, LLAMA_CPP_NAMES), name, size);
}

/* --- the table of a model --------------------------------------------------------------------- */

static bool is_there(const struct config *config, enum site site, size_t layer)
{
    return site_about(site) && (!site_row(site)->in_layer || layer < site_layers(config, site)) &&
           site_is_in_layer(config, site, layer);
}

/* Add a site under a name. If the model lacks item.site, item.other is added in its place; if it
 * lacks both, nothing is added. If `name` is NULL, because there was no memory for it, return
 * -1. */
static int put(struct site_names *names, const char *name, struct named_site item, struct err *err)
{
    uint32_t index = 0;
    bool is_here = is_there(names->config, item.site, item.layer);
    bool has_other = item.other != SITE_PASS_END && is_there(names->config, item.other, item.layer);
    if (!name || (!is_here && !has_other))
        return name ? 0 : -1;
    if (!is_here)
        item.site = item.other;
    if (!is_here || !has_other)
        item.other = SITE_PASS_END;
    struct named_site *added = arena_alloc(&names->arena, 1, sizeof *added, err);
    if (!added)
        return -1;
    *added = item;
    added->name = name;
    added->dialect = names->dialect;
    added->factor = added->factor == 0 ? 1 : added->factor;
    if (hash_table_get(&names->table, name, strlen(name), &index)) {
        struct named_site *last = names->items[index];
        while (last->next)
            last = (struct named_site *)last->next; /* items are in the arena, so the const may be
                                                     * cast away */
        last->next = added->width ? added : NULL;   /* without a width the first site with this name
                                                     * is kept, and `added` is not linked */
        return 0;
    }
    struct named_site **items =
        arena_grow(&names->arena, names->items, names->count, sizeof *items, err);
    if (!items)
        return -1;
    names->items = items;
    items[names->count] = added;
    return hash_table_put(&names->table, name, strlen(name), (uint32_t)names->count++, err);
}

static int put_in(struct site_names *names, const char *name, enum site site, enum site other,
                  size_t layer, struct err *err)
{
    return put(names, name, (struct named_site){.site = site, .other = other, .layer = layer}, err);
}

/* The name of a slot's module: its tensor's name without ".weight" and without the family's prefix;
 * NULL with `err`: there is no memory. */
static const char *module_of(struct site_names *names, struct slot slot, struct err *err)
{
    char name[PARAMETER_NAME_BYTES];
    family_tensor_name(name, names->config, slot);
    const char *prefix = names->config->family->names->prefix;
    size_t size = strlen(name), skip = strncmp(name, prefix, strlen(prefix)) ? 0 : strlen(prefix);
    size -= name_ends_in(name, ".weight") ? strlen(".weight") : 0;
    return arena_text(&names->arena, name + skip, size - skip, err);
}

/* The site that a slot's module outputs; SITE_PASS_END: its output is not a site. */
static enum site site_of_slot(const struct config *c, struct slot slot)
{
    static const struct {
        unsigned char slot;
        enum site site;
    } sites[] = {
        {SLOT_NORM_1, SITE_LN_1},
        {SLOT_Q, SITE_Q},
        {SLOT_Q_UP, SITE_Q},
        {SLOT_K, SITE_K},
        {SLOT_V, SITE_V},
        {SLOT_Q_NORM, SITE_Q},
        {SLOT_K_NORM, SITE_K},
        {SLOT_O, SITE_ATTN_OUT},
        {SLOT_NORM_1_POST, SITE_LN_1_POST},
        {SLOT_NORM_2, SITE_LN_2},
        {SLOT_GATE, SITE_MLP_GATE},
        {SLOT_UP, SITE_MLP_UP},
        {SLOT_DOWN, SITE_MLP_OUT},
        {SLOT_ROUTER, SITE_ROUTER},
        {SLOT_NORM_2_POST, SITE_LN_2_POST},
        {SLOT_FINAL_NORM, SITE_LN_F},
        {SLOT_TRANSFORM_NORM, SITE_TRANSFORM},
        {SLOT_EMBED_NORM, SITE_EMBEDDING},
        {SLOT_TOKENS, SITE_EMBEDDING},
        {SLOT_UNEMBED, SITE_LOGITS},
    };
    const struct embed_rule *embed = &stack_of(c, BRANCH_TEXT)->embed;
    size_t row = 0, rows = sizeof sites / sizeof *sites;
    while (row < rows && sites[row].slot != slot.id)
        row++;
    for (const struct product_factor *f = c->factors.list; f->factor != 0; f++)
        if (f->branch == slot.branch && f->slot == slot.id)
            return SITE_PASS_END;
    if (row == rows || (slot.branch == BRANCH_MIXER && slot.id != SLOT_O) ||
        (slot.id == SLOT_UNEMBED && (c->logit_cap > 0 || c->logit_divisor > 0)) ||
        (slot.id == SLOT_TOKENS && (embed->positions != POSITIONS_NONE || embed->norm ||
                                    embed->segments || embed->project != PROJECT_NEVER)))
        return SITE_PASS_END;
    enum site site = sites[row].site;
    const bool is_q = site == SITE_Q, is_k = site == SITE_K, is_v = site == SITE_V;
    if (slot.layer >= 0 && (is_q || is_k || is_v)) {
        const struct head_rule *head =
            stack_head(c, (enum site_branch)slot.branch, (size_t)slot.layer);
        bool is_norm = slot.id == SLOT_Q_NORM || slot.id == SLOT_K_NORM;
        bool normed = is_q ? head->norm.q : is_k && head->norm.k;
        bool is_half = is_k && head->by == HEADS_LATENT; /* the module's output lacks the rotated
                                                          * channels of keys */
        if (head->by == HEADS_AS_IS || is_half || head->clip > 0 || (is_v && head->norm.v) ||
            (normed && !is_norm && !head->norm.after_rotary))
            return SITE_PASS_END;
        if (!is_v && head->rotary && !(is_norm && head->norm.after_rotary))
            site = is_q ? SITE_Q_PRE : SITE_K_PRE;
    }
    return SITE_OF(slot.branch, site);
}

/* Add the names of modules near `module`, the module of a slot: its parent, which has the output of
 * the attention or MLP; the activation of an MLP; and BERT's attention and attention.self. */
static int put_around(struct site_names *names, struct slot slot, const char *module,
                      struct err *err)
{
    static const char *const acts[] = {
        ".act",       ".act_fn",       ".activation_fn",      ".activation",
        ".gelu_impl", ".intermediate", ".intermediate_act_fn"};
    const struct config *c = names->config;
    const enum site_branch branch = (enum site_branch)slot.branch;
    const struct layer *layer = layer_of(c, branch, (size_t)slot.layer);
    const struct sublayer *mlp = layer_mlp(layer, branch),
                          *attention = layer_attention(layer, branch);
    bool of_mlp = slot.id == SLOT_DOWN || slot.id == SLOT_ROUTER || slot.id == SLOT_UP;
    const struct sublayer *s = of_mlp ? mlp : attention;
    size_t size = strlen(module);
    while (size && module[size - 1] != '.')
        size--;
    const char *parent = arena_text(&names->arena, module, size - (size > 0), err);
    struct slot norm = slot;
    norm.id = of_mlp ? SLOT_NORM_2 : SLOT_NORM_1;
    const char *of_norm = module_of(names, norm, err);
    if (!parent || !of_norm || !s || slot.branch == BRANCH_MIXER)
        return err->kind ? -1 : 0;
    size_t layer_index = (size_t)slot.layer;
    for (size_t i = 0; of_mlp && i < sizeof acts / sizeof *acts; i++)
        if (!s->mlp.gated && !s->mlp.mixture &&
            put_in(names, arena_format(&names->arena, err, "%s%s", parent, acts[i]),
                   SITE_OF(branch, SITE_MLP_ACT), SITE_PASS_END, layer_index, err))
            return -1;
    bool has_norm = strncmp(of_norm, parent, strlen(parent)) == 0 && of_norm[strlen(parent)] == '.';
    enum site out = of_mlp ? SITE_MLP_OUT : SITE_ATTN_OUT;
    enum site sum = of_mlp ? SITE_RESID_POST : SITE_RESID_MID;
    if (s->norm_after && has_norm)
        sum = out = of_mlp ? SITE_LN_2 : SITE_LN_1;
    size_t length = strlen(parent);
    bool is_layer = !length || (parent[length - 1] >= '0' && parent[length - 1] <= '9');
    if (slot.id == SLOT_UP || is_layer) /* the parent is not added for SLOT_UP, since SLOT_DOWN adds
                                         * it, or if it is the layer itself */
        return 0;
    if (put_in(names, parent, SITE_OF(branch, out), SITE_OF(branch, sum), layer_index, err))
        return -1;
    if (of_mlp || !name_ends_in(parent, ".output"))
        return 0;
    size = strlen(parent) - strlen(".output"); /* BERT: attention contains attention.self and
                                                * attention.output */
    const char *both = arena_text(&names->arena, parent, size, err);
    return err_if(!both ||
                  put_in(names, both, SITE_OF(branch, out), SITE_PASS_END, layer_index, err) ||
                  put_in(names, arena_format(&names->arena, err, "%s.self", both),
                         SITE_OF(branch, SITE_CONTEXT), SITE_PASS_END, layer_index, err));
}

static int put_modules(struct site_names *names, struct err *err)
{
    const struct config *c = names->config;
    const size_t count = slot_list(NULL, 0, c);
    struct slot *slots = arena_alloc(&names->arena, count, sizeof *slots, err);
    if (!slots)
        return -1;
    slot_list(slots, sizeof *slots, c);
    static const char scaled_later[] = "granite granitemoe granitemoeshared granitemoehybrid "
                                       "marian falcon_h1"; /* these families scale token embeddings
                                                            * outside of the embedding module, whose
                                                            * output is therefore not scaled */
    for (size_t i = 0; i < count; i++) {
        const struct slot slot = slots[i];
        struct named_site item = {.other = SITE_PASS_END,
                                  .layer = slot.layer < 0 ? 0 : (size_t)slot.layer};
        struct family_layout layout;
        if (slot.id & 1 || slot.expert >= 0)
            continue;
        const char *module = module_of(names, slot, err);
        if (!module || (slot.layer >= 0 &&
                        (slot.id == SLOT_O || slot.id == SLOT_DOWN || slot.id == SLOT_UP ||
                         slot.id == SLOT_ROUTER) &&
                        put_around(names, slot, module, err)))
            return -1;
        item.site = site_of_slot(c, slot);
        if (item.site == SITE_PASS_END)
            continue;
        family_layout(&layout, slot, c);
        size_t width = layout.shape[layout.transposed];
        if (layout.rank == 2 && layout.view.stride + (width != layout.out) && slot.layer >= 0) {
            item.view = layout.view;
            item.width = width;
        }
        if (slot.id == SLOT_TOKENS && name_is_among(scaled_later, c->family->name))
            item.factor = 1 / c->embedding_scale;
        if (put(names, module, item, err))
            return -1;
    }
    for (enum site_branch branch = BRANCH_TEXT; branch <= BRANCH_SOURCE; branch++)
        for (size_t layer = 0; layer < stack_of(c, branch)->layers; layer++) {
            struct slot slot = slot_of((int)branch, SLOT_NORM_1, layer);
            const char *module = module_of(names, slot, err);
            const struct family_names *of = c->family->names;
            const char *before = branch == BRANCH_SOURCE ? of->source_layers : of->layers;
            if (!module)
                return -1;
            size_t size = before ? strlen(before) : 0;
            size += strspn(module + num_min(size, strlen(module)), "0123456789");
            if (before && !strchr(before, '{') &&
                put_in(names, arena_text(&names->arena, module, size, err),
                       SITE_OF(branch, branch == BRANCH_TEXT ? site_of_output(c) : SITE_RESID_POST),
                       SITE_OF(branch, SITE_LN_2), layer, err))
                return -1;
        }
    int failed = put_in(names, module_of(names, slot_of_text(SLOT_UNEMBED), err),
                        site_of_slot(c, slot_of_text(SLOT_UNEMBED)), SITE_PASS_END, 0, err);
    names->module_count = names->count;
    return failed;
}

/* Add the names of the fields that Hugging Face's models return, and of values in TransformerLens
 * and llama.cpp. */
static int put_fields(struct site_names *names, struct err *err)
{
    static const char *const stacks[][3] = {
        {"hidden_states", "attentions", "last_hidden_state"},
        {"encoder_hidden_states", "encoder_attentions", "encoder_last_hidden_state"}};
    const struct config *c = names->config;
    struct arena *arena = &names->arena;
    names->dialect = NAMES_HUGGING_FACE;
    const struct embed_rule *embed = &stack_of(c, BRANCH_TEXT)->embed;
    bool plain = embed->positions == POSITIONS_NONE && !embed->norm && !embed->segments;
    for (enum site_branch branch = BRANCH_TEXT; branch <= BRANCH_SOURCE; branch++) {
        size_t layers = stack_of(c, branch)->layers;
        const char *before = branch == BRANCH_TEXT && has_encoder(c) ? "decoder_" : "";
        enum site end =
            SITE_OF(branch, branch == BRANCH_SOURCE ? SITE_RESID_POST : site_of_output(c));
        end = site_exists(c, SITE_OF(branch, SITE_LN_F)) ? SITE_OF(branch, SITE_LN_F) : end;
        size_t last = site_row(end)->in_layer ? layers - 1 : 0;
        for (size_t i = 0; i <= layers && layers; i++)
            if (put_in(names, arena_format(arena, err, "%s%s.%zu", before, stacks[branch][0], i),
                       i == layers ? end
                       : i         ? SITE_OF(branch, SITE_RESID_PRE)
                                   : SITE_OF(branch, SITE_EMBEDDING),
                       SITE_PASS_END, i == layers ? last : i, err) ||
                (i < layers &&
                 put_in(names, arena_format(arena, err, "%s%s.%zu", before, stacks[branch][1], i),
                        SITE_OF(branch, SITE_WEIGHTS), SITE_PASS_END, i, err)))
                return -1;
        if (layers && put_in(names, stacks[branch][2], end, SITE_PASS_END, last, err))
            return -1;
    }
    names->dialect = NAMES_LLAMA_CPP;
    for (size_t i = 0; i < LLAMA_CPP_NAMES; i++) {
        const struct llama_cpp_name *n = &llama_cpp_names[i];
        bool in_layer = site_row(n->site)->in_layer, is_q = n->site == SITE_Q;
        bool normed = (is_q ? c->head_norm.q : c->head_norm.k) && !c->head_norm.after_rotary &&
                      (is_q || n->site == SITE_K); /* llama.cpp gives this name also to the product
                                                    * before the norm, which is not a site */
        if (i < 2 && (!plain || embed->scale != 1))
            continue;
        for (size_t layer = 0; layer < (in_layer ? c->n_layer : 1); layer++)
            if (put_in(names,
                       in_layer ? arena_format(arena, err, "%s-%zu", n->name, layer) : n->name,
                       n->site, normed ? SITE_PASS_END : n->other, layer, err))
                return -1;
    }
    names->dialect = NAMES_TRANSFORMER_LENS;
    for (size_t layer = 0; layer < c->n_layer; layer++)
        for (enum site site = SITE_Q; site <= SITE_K; site++)
            if (site_is_in_layer(c, site == SITE_Q ? SITE_Q_PRE : SITE_K_PRE, layer) &&
                put_in(
                    names,
                    arena_format(arena, err, "blocks.%zu.attn.hook_rot_%s", layer, site_name(site)),
                    site, SITE_PASS_END, layer, err))
                return -1;
    return err_if((plain && put_in(names, "hook_embed", SITE_EMBEDDING, SITE_PASS_END, 0, err)));
}

/* Add the names of sites in this program and in TransformerLens. */
static int put_sites(struct site_names *names, struct err *err)
{
    static const char lens[] = "blocks.L.";
    char name[SITE_NAME_BYTES];
    const struct site_set sites = model_sites(names->config);
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        const char *alias = site_branch(site) == BRANCH_TEXT ? site_row(site)->alias : NULL;
        for (size_t layer = 0; layer < site_layers(names->config, site); layer++) {
            const char *own = site_tensor_name(name, site, (int)layer);
            own = arena_text(&names->arena, own, strlen(own), err);
            names->dialect = NAMES_OURS;
            if (!own || put_in(names, own, site, SITE_PASS_END, layer, err))
                return -1;
            names->dialect = NAMES_TRANSFORMER_LENS;
            bool in_layer = alias && strncmp(alias, lens, sizeof lens - 1) == 0;
            if (alias && put_in(names,
                                in_layer ? arena_format(&names->arena, err, "blocks.%zu.%s", layer,
                                                        alias + sizeof lens - 1)
                                         : alias,
                                site, SITE_PASS_END, layer, err))
                return -1;
        }
    }
    return 0;
}

int site_names_make(struct site_names *names, const struct config *config, struct err *err)
{
    *names = (struct site_names){.config = config, .dialect = NAMES_HUGGING_FACE};
    if (!put_modules(names, err) && !put_sites(names, err) && !put_fields(names, err))
        return 0;
    site_names_release(names);
    return -1;
}

void site_names_release(struct site_names *names)
{
    hash_table_release(&names->table);
    arena_release(&names->arena);
    *names = (struct site_names){0};
}

/* --- a user's list ---------------------------------------------------------------------------- */

/* Return a pattern with the number of a layer in place of {}; NULL with `err`: there is no
 * memory. */
static const char *with_layer(struct site_names *names, const char *pattern, size_t layer,
                              struct err *err)
{
    const char *at = strstr(pattern, "{}");
    return at ? arena_format(&names->arena, err, "%.*s%zu%s", (int)(at - pattern), pattern, layer,
                             at + 2)
              : pattern;
}

static int add_line(struct site_names *names, const char *theirs, const char *ours, struct err *err)
{
    size_t layers = strstr(theirs, "{}") ? config_layers(names->config) : 1, known = 0;
    for (size_t layer = 0; layer < layers; layer++) {
        const char *name = with_layer(names, theirs, layer, err);
        const char *own = name ? with_layer(names, ours, layer, err) : NULL;
        const struct named_site *site = own ? site_names_find(names, own) : NULL;
        uint32_t index = 0;
        if (!own)
            return -1;
        if (!site)
            continue;
        known++;
        if (hash_table_get(&names->table, name, strlen(name),
                           &index)) { /* a name in the user's file replaces an equal known name */
            *names->items[index] = *site;
            names->items[index]->name = name;
        } else if (put(names, name, *site, err)) {
            return -1;
        }
    }
    return known ? 0
                 : err_set(err,
                           "expected a tensor of the model, such as h.0.q, h.{}.q or logits, found "
                           "'%s' (info --sites lists them)",
                           ours);
}

int site_names_add(struct site_names *names, const char *path, struct err *err)
{
    static const char blanks[] = " \t,\r";
    struct file file = {0};
    size_t number = 0;
    if (file_map(&file, path, err))
        return -1;
    char *text = arena_text(&names->arena, file.bytes, file.size, err), *next = text;
    file_release(&file);
    while (next && !err->kind) {
        char *line = next, *end = strchr(line, '\n');
        next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        number++;
        char *theirs = line + strspn(line, blanks), *after = theirs + strcspn(theirs, blanks);
        char *ours = after + strspn(after, blanks), *rest = ours + strcspn(ours, blanks);
        if (!*theirs || *theirs == '#')
            continue;
        if (!*ours || rest[strspn(rest, blanks)])
            err_set(err, "expected two columns, a name and ours, such as h.0.q, found others");
        *after = *rest = '\0';
        if (err->kind || add_line(names, theirs, ours, err))
            err_prefix(err, "'%s' line %zu", path, number);
    }
    return err_if(err->kind);
}

/* --- finding ---------------------------------------------------------------------------------- */

const struct named_site *site_names_find(const struct site_names *names, const char *name)
{
    uint32_t index = 0;
    for (const char *at = name; at; at = strchr(at, '.'), at = at ? at + 1 : NULL)
        if (hash_table_get(&names->table, at, strlen(at), &index))
            return names->items[index];
    return NULL;
}

/* Refuse the name of a module whose output consists of several sites, such as queries, keys and
 * values; returns false. */
static bool refuse_several(const struct named_site *n, struct err *err)
{
    struct buf ours = {0};
    char own[SITE_NAME_BYTES];
    const char *name = n->name;
    for (const char *between = ""; n; n = n->next, between = n && n->next ? ", " : " or ")
        buf_format(&ours, "%s%s", between, site_tensor_name(own, n->site, (int)n->layer));
    if (!buf_check(&ours, err))
        err_usage(err, "expected %s, found '%s', which is all of them", ours.bytes, name);
    buf_release(&ours);
    return false;
}

/* Return a name with {} in place of the layer's number or L: the first part after a dot or `-` that
 * is a number or L. *layer becomes the number, or -1 for L. NULL: the name has no such part; or,
 * with an error in `err`, there is no memory. */
static const char *name_of_layers(int *layer, struct site_names *names, const char *name,
                                  struct err *err)
{
    for (const char *at = strpbrk(name, ".-"); at; at = strpbrk(at, ".-")) {
        const size_t size = strcspn(++at, ".");
        long long number = -1;
        if (!num_parse_part(at, size, 0, INT_MAX, &number) && !(size == 1 && *at == 'L'))
            continue;
        *layer = (int)number;
        return arena_format(&names->arena, err, "%.*s{}%s", (int)(at - name), name, at + size);
    }
    return NULL;
}

bool site_of_name(enum site *site, int *layer, const char *name, size_t size,
                  const struct config *config, struct err *err)
{
    struct site_names names;
    if (site_names_make(&names, config, err))
        return false;
    int number = -1;
    const char *text = arena_text(&names.arena, name, size, err);
    const char *pattern = text ? name_of_layers(&number, &names, text, err) : NULL;
    const struct named_site *n = text ? site_names_find(&names, text) : NULL;
    if (n && pattern && strlen(n->name) < strlen(strstr(pattern, "{}")) - 1)
        n = NULL; /* the found name matches only the end, without the layer, as for
                   * layers.9.final_layer_norm in a model of 4 layers */
    if (n)
        number = (int)n->layer;
    for (size_t i = 0; pattern && !n && !err->kind && i < config_layers(config); i++) {
        const char *one = with_layer(&names, pattern, i, err);
        n = one ? site_names_find(&names, one) : NULL;
    }
    bool found = n && n->factor == 1 && (!n->width || refuse_several(n, err));
    if (found) {
        *site = n->site;
        *layer = site_row(n->site)->in_layer ? number : -1;
    }
    site_names_release(&names);
    return found;
}

/* The full name of a site. If it is a module that is not part of the head, the family's prefix,
 * such as "model.", is put before the name; other names do not change. `index`: index of the name
 * in names->items. */
static const char *whole_name(const struct site_names *names, size_t index,
                              const struct named_site *n, struct arena *arena, struct err *err)
{
    const enum site id = site_id(n->site);
    const bool outside = index >= names->module_count || id == SITE_LOGITS || id == SITE_TRANSFORM;
    return arena_format(arena, err, "%s%s", outside ? "" : names->config->family->names->prefix,
                        n->name);
}

int site_names_list(const char *const **list, enum site_dialect dialect,
                    const struct config *config, struct arena *arena, struct err *err)
{
    struct site_names names;
    const char **first = arena_alloc(arena, SITE_COUNT * config_layers(config), sizeof *first, err);
    if (!first || site_names_make(&names, config, err))
        return -1;
    for (size_t i = 0; i < names.count; i++)
        for (const struct named_site *n = names.items[i]; n && !err->kind; n = n->next) {
            const char **name = &first[SITE_COUNT * n->layer + n->site];
            const bool is_whole = n->factor == 1 && !n->width && !strchr(n->name, ' ');
            if (n->dialect == dialect && !*name && is_whole)
                *name = whole_name(&names, i, n, arena, err);
        }
    site_names_release(&names);
    *list = first;
    return err_if(err->kind);
}

const char *site_names_module(const struct site_names *names, enum site site, struct arena *arena,
                              struct err *err)
{
    for (size_t i = 0; i < names->module_count; i++)
        for (const struct named_site *n = names->items[i]; n; n = n->next) {
            char number[24];
            if (n->site != site)
                continue;
            const char *name = whole_name(names, i, n, arena, err);
            size_t size = (size_t)snprintf(number, sizeof number, ".%zu", n->layer);
            const char *at = name && site_row(site)->in_layer ? strstr(name, number) : NULL;
            return at ? arena_format(arena, err, "%.*s.L%s", (int)(at - name), name, at + size)
                      : name;
        }
    return NULL;
}
