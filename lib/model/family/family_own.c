/* family_own.c: reads configs of the types that this program defines, "attention" and
 * "transformer", and of "gpt2". Configs of all other types are read by family_keys.c, together with
 * the file that has their family. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model/family/family_rows.h"

enum {
    GPT2 = 1 << MODEL_GPT2,
    ATTENTION = 1 << MODEL_ATTENTION,
    TRANSFORMER = 1 << MODEL_TRANSFORMER,
    ANY = GPT2 | ATTENTION | TRANSFORMER,
};

#define SIZE(field) offsetof(struct config, field)

/* A size: its key, its key in other checkpoints, its maximum, its offset in struct config in bytes,
 * and the kinds of models that have it, as bits. */
static const struct size_row {
    const char *key, *alias; /* `alias` is not read for a "transformer" */
    long long max;
    size_t offset;
    int kinds;
} size_rows[] = {
    {"vocab_size", NULL, DIMENSION_MAX, SIZE(vocab_size), ANY},
    {"n_ctx", NULL, DIMENSION_MAX, SIZE(n_positions), GPT2}, /* an older name of n_positions, which
                                                              * is read later and has precedence */
    {"n_positions", "max_position_embeddings", DIMENSION_MAX, SIZE(n_positions),
     GPT2 | TRANSFORMER},
    {"n_embd", "hidden_size", DIMENSION_MAX, SIZE(n_embd), ANY},
    {"n_encoder_layer", NULL, LAYERS_MAX, SIZE(n_encoder_layer), TRANSFORMER},
    {"n_layer", "num_hidden_layers", LAYERS_MAX, SIZE(n_layer), ANY},
    {"n_head", "num_attention_heads", DIMENSION_MAX, SIZE(n_head), ANY},
    {"n_inner", NULL, DIMENSION_MAX, SIZE(n_inner), GPT2 | TRANSFORMER},
    {"n_kv_head", NULL, DIMENSION_MAX, SIZE(n_kv_head), ATTENTION},
    {"d_k", NULL, DIMENSION_MAX, SIZE(d_k), ATTENTION},
    {"d_v", NULL, DIMENSION_MAX, SIZE(d_v), ATTENTION},
    {"d_out", NULL, DIMENSION_MAX, SIZE(d_out), ATTENTION},
};

static void read_sizes(struct reading *r)
{
    struct config *c = r->config;
    for (size_t i = 0; i < sizeof size_rows / sizeof *size_rows; i++) {
        const struct size_row *row = &size_rows[i];
        size_t *field = (size_t *)(void *)((char *)c + row->offset);
        long long value = (long long)*field;
        if (!(row->kinds & 1 << c->kind))
            continue;
        if (row->alias && c->kind != MODEL_TRANSFORMER)
            value = family_integer(r, row->alias, 1, row->max, value);
        *field = (size_t)family_integer(r, row->key, 1, row->max, value);
    }
    if (!c->vocab_size || !c->n_embd)
        err_set(family_fail(r), "field '%s': expected a number, found nothing",
                c->vocab_size ? "n_embd" : "vocab_size");
}

/* Read a key whose value is one of two words; `first` is the default. Returns whether the value is
 * `first`. */
static bool read_choice(struct reading *r, const char *key, const char *first, const char *second)
{
    const char *name = family_text(r, key, first);
    bool is_first = strcmp(name, first) == 0;
    if (!is_first && strcmp(name, second) != 0)
        err_unsupported(family_fail(r), "field '%s': expected \"%s\" or \"%s\", found \"%s\"", key,
                        first, second, name);
    return is_first;
}

/* Read the id of a token at the beginning or end of texts. null is read as -1, which means that
 * there is no such token. */
static long long read_token(struct reading *r, const char *key, long long otherwise)
{
    return family_integer(r, key, 0, INT32_MAX, family_is_null(r, key) ? -1 : otherwise);
}

static void check_heads(struct reading *r)
{
    const struct config *c = r->config;
    if (!r->failed && c->n_embd % c->n_head)
        err_set(family_fail(r), "field 'n_embd': expected a multiple of n_head = %zu, found %zu",
                c->n_head, c->n_embd);
}

/* Read the keys that "gpt2" and "transformer" share. Each head has an equal part of the channels.
 * `activation`: the default activation. */
static void read_transformer(struct reading *r, const char *activation)
{
    struct config *c = r->config;
    static const char key[] = "activation_function";
    read_sizes(r);
    check_heads(r);
    family_activation(r, key, family_text(r, key, activation));
    c->epsilon = (float)family_number(r, "layer_norm_epsilon", 0, 1, 1e-5);
    c->tied = family_flag(r, "tie_word_embeddings", c->tied);
    c->bos_id = read_token(r, "bos_token_id", c->bos_id);
    c->eos_id = read_token(r, "eos_token_id", c->eos_id);
    if (!c->n_inner)
        c->n_inner = 4 * c->n_embd;
    c->n_kv_head = c->n_head;
    c->d_k = c->d_v = c->n_embd / c->n_head;
    c->scale = 1.0f / sqrtf((float)c->d_k);
}

/* --- "gpt2" ----------------------------------------------------------------------------------- */

static void settle_gpt2(struct reading *r)
{
    struct config *c = r->config;
    read_transformer(r, "gelu_new");
    c->initializer_range = family_number(r, "initializer_range", 0, 1e3, c->initializer_range);
    if (!family_flag(r, "scale_attn_weights", true))
        c->scale = 1;
    c->scale_by_layer = family_flag(r, "scale_attn_by_inverse_layer_idx", false);
    family_expect(r, "add_cross_attention", false, false);
    family_read_causal(r);
}

/* --- "attention" ------------------------------------------------------------------------------ */

static void check_width(struct reading *r, const char *key, size_t size)
{
    size_t width = r->config->n_head * size;
    if (width > DIMENSION_MAX)
        err_set(family_fail(r), "field '%s': expected n_head · %s of at most %d, found %zu", key,
                key, DIMENSION_MAX, width);
}

/* Set the sizes of heads that config.json lacks, and refuse sizes that contradict each other. */
static void settle_heads(struct reading *r)
{
    struct config *c = r->config;
    size_t natural = c->n_embd / c->n_head;
    if (!c->n_kv_head)
        c->n_kv_head = c->n_head;
    if (c->n_head % c->n_kv_head)
        err_set(family_fail(r), "field 'n_head': expected a multiple of n_kv_head = %zu, found %zu",
                c->n_kv_head, c->n_head);
    if (!c->d_k || !c->d_v || !c->projections)
        check_heads(r);
    if (!c->d_k)
        c->d_k = natural;
    if (!c->d_v)
        c->d_v = natural;
    check_width(r, "d_k", c->d_k);
    check_width(r, "d_v", c->d_v);
    if (!c->projections && (c->d_k != natural || c->d_v != natural || c->n_kv_head != c->n_head))
        err_set(family_fail(r),
                "field 'projections': false makes every head %zu wide (n_embd / n_head) with keys "
                "of its own, found d_k = %zu, d_v = %zu, n_kv_head = %zu",
                natural, c->d_k, c->d_v, c->n_kv_head);
}

/* Read "bias": true if all projections have biases, "out" if only the output projection has one;
 * default: false. */
static void read_biases(struct reading *r)
{
    struct config *c = r->config;
    const struct json *member = json_given(r->root, "bias");
    const char *word = "";
    bool all = false;
    if (!member || json_get_bool(member, &all))
        c->biases = all ? BIASED_QKV | BIASED_OUT : 0;
    else if (json_get_text(member, &word) && strcmp(word, "out") == 0 && c->out_proj)
        c->biases = BIASED_OUT;
    else
        json_refuse(json_key(member), member,
                    c->out_proj ? "true, false or \"out\"" : "true or false", family_fail(r));
}

/* Set the width of the output, d_out, if config.json lacks it, and refuse a width that does not fit
 * the input of the next layer. */
static void settle_output(struct reading *r)
{
    struct config *c = r->config;
    if (c->d_out && !c->out_proj)
        err_set(family_fail(r), "field 'd_out': expected out_proj = true, found false");
    if (!c->d_out)
        c->d_out = c->n_embd;
    if (c->n_layer > 1 && c->d_out != c->n_embd)
        err_set(family_fail(r), "field 'd_out': expected n_embd = %zu with n_layer > 1, found %zu",
                c->n_embd, c->d_out);
    size_t width = config_out_width(c);
    if (c->n_layer > 1 && width != c->n_embd)
        err_set(family_fail(r),
                "field 'n_layer': expected 1 where the heads side by side are not n_embd = %zu "
                "wide (n_head · d_v = %zu), found %zu",
                c->n_embd, width, c->n_layer);
}

/* Read "scale": a number, "none", which means 1, or "sqrt", which means 1/√d_k and is the
 * default. */
static void read_scale(struct reading *r)
{
    struct config *c = r->config;
    const struct json *member = json_given(r->root, "scale");
    const char *word = NULL;
    double root = 1.0 / sqrt((double)c->d_k);
    c->scale = (float)root;
    if (!member || !json_get_text(member, &word))
        c->scale = (float)family_number(r, "scale", -1e6, 1e6, root);
    else if (strcmp(word, "none") == 0)
        c->scale = 1;
    else if (strcmp(word, "sqrt") != 0)
        json_refuse(json_key(member), member, "\"none\", \"sqrt\" or a number", family_fail(r));
}

static void settle_attention(struct reading *r)
{
    struct config *c = r->config;
    read_sizes(r);
    c->causal = family_flag(r, "causal", false);
    c->projections = family_flag(r, "projections", true);
    c->out_proj = family_flag(r, "out_proj", false);
    read_biases(r);
    settle_heads(r);
    c->cross = !read_choice(r, "attention", "self", "cross");
    if (c->cross && c->causal)
        err_set(family_fail(r),
                "field 'causal': expected false where attention is \"cross\", found true");
    settle_output(r);
    read_scale(r);
}

/* --- "transformer", with the choices of torch.nn.Transformer ---------------------------------- */

static void settle_transformer(struct reading *r)
{
    struct config *c = r->config;
    read_transformer(r, "relu");
    c->sinusoids = read_choice(r, "positions", "sinusoidal", "learned");
    if (!c->sinusoids && !c->n_positions)
        err_set(family_fail(r), "field 'n_positions': expected a number where positions are "
                                "\"learned\", found nothing");
    bool scaled = family_flag(r, "scale_embedding", true);
    c->embedding_scale = scaled ? sqrtf((float)c->n_embd) : 1.0f;
    c->style = family_flag(r, "norm_first", false) ? STYLE_PRE : STYLE_POST;
    c->final_norm = family_flag(r, "final_norm", true);
    c->biases = family_flag(r, "bias", true) ? BIASED_ALL : BIASED_MLP;
}

/* --- names of tensors, and the rows ----------------------------------------------------------- */

/* Tensor names as in GPT-2, with or without "transformer." before them. The matrices of layers are
 * stored as [in, out]. */
#define OWN_NAMES(base, ...) NAMES_OF("", "h.", "enc.", "transformer.", base, true, __VA_ARGS__)

static const struct family_names transformer_names =
    OWN_NAMES(NULL, {"wte", {SLOT_TOKENS}}, {"wpe", {SLOT_POSITIONS}}, {"ln_f", {SLOT_FINAL_NORM}},
              {"enc.ln_f", {SLOT_FINAL_NORM}, OF_SOURCE}, {"lm_head", {SLOT_UNEMBED}},
              {"ln_1", {SLOT_NORM_1}}, {"attn.q_proj", {SLOT_Q}, TRANSPOSED},
              {"attn.k_proj", {SLOT_K}, TRANSPOSED}, {"attn.v_proj", {SLOT_V}, TRANSPOSED},
              {"attn.out_proj", {SLOT_O}, TRANSPOSED}, {"ln_cross", {SLOT_NORM_1}, OF_CROSS},
              {"cross_attn.q_proj", {SLOT_Q}, TRANSPOSED, OF_CROSS},
              {"cross_attn.k_proj", {SLOT_K}, TRANSPOSED, OF_CROSS},
              {"cross_attn.v_proj", {SLOT_V}, TRANSPOSED, OF_CROSS},
              {"cross_attn.out_proj", {SLOT_O}, TRANSPOSED, OF_CROSS}, {"ln_2", {SLOT_NORM_2}},
              {"mlp.c_fc", {SLOT_UP}, TRANSPOSED}, {"mlp.c_proj", {SLOT_DOWN}, TRANSPOSED});

const struct family_names family_gpt2_names =
    OWN_NAMES(&transformer_names, {"attn.c_attn", {SLOT_Q, SLOT_K, SLOT_V}, TRANSPOSED},
              {"attn.c_proj", {SLOT_O}, TRANSPOSED});

#define OWN                                                                                    \
    .style = STYLE_PRE, .final_norm = true, .tied = true, .causal = true, .projections = true, \
    .out_proj = true, .norm_shift = true

const struct family family_own[] = {
    [MODEL_GPT2] = {"gpt2", &family_gpt2_names, settle_gpt2,
                    WITH(OWN, .kind = MODEL_GPT2, .vocab_size = 50257, .n_positions = 1024,
                         .n_embd = 768, .n_layer = 12, .n_head = 12, .embedding_scale = 1,
                         .biases = BIASED_ALL, .initializer_range = 0.02, .bos_id = 50256,
                         .eos_id = 50256)},
    [MODEL_ATTENTION] = {"attention", &transformer_names, settle_attention,
                         WITH(.kind = MODEL_ATTENTION, .n_layer = 1, .n_head = 1,
                              .embedding_scale = 1, .projections = true, .bos_id = -1,
                              .eos_id = -1)},
    [MODEL_TRANSFORMER] = {"transformer", &transformer_names, settle_transformer,
                           WITH(OWN, .kind = MODEL_TRANSFORMER, .n_layer = 1, .n_encoder_layer = 1,
                                .n_head = 1, .cross = true, .bos_id = -1, .eos_id = -1)},
    {NULL},
};
