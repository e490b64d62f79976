/* dictionary_formats.c: the readers of dictionary.h. A format is recognised by the names of its
 * files. Tables say how each format names and stores its tensors, which activation a word of its
 * config means, where it keeps hooks, and which settings are refused; code does the rest: scales,
 * ranks and folded weights. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "base/num.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "format/pytorch.h"
#include "lens/dictionary.h"
#include "math/rows.h"
#include "model/layer.h"
#include "model/model.h"
#include "model/points.h"

#define COUNT_OF(rows) (sizeof(rows) / sizeof *(rows))

/* --- the formats ------------------------------------------------------------------------------ */

enum format_bit {
    SAELENS = 1 << 0,
    SPARSIFY = 1 << 1,
    GEMMA = 1 << 2,
    GEMMA_2 = 1 << 3,
    LLAMA = 1 << 4,
    OPENMOSS = 1 << 5,
    TRACER = 1 << 6,   /* circuit-tracer */
    LEARNING = 1 << 7, /* dictionary_learning */
    QWEN = 1 << 8,
    GOODFIRE = 1 << 9,
};

enum kind_flags {
    TRANSCODES = 1, /* reads one site and writes another */
    SKIPS = 2,      /* has a skip matrix from x to y */
    SUBTRACTS = 4,  /* b_out is subtracted from x, unless the dictionary is a transcoder */
};

/* A kind of dictionary, by its name in a format's config; case is ignored. */
struct dictionary_kind {
    const char *name;
    enum active active;
    unsigned flags;
};

static const struct dictionary_kind saelens_kinds[] = {
    {"standard", ACTIVE_RELU, SUBTRACTS},
    {"gated", ACTIVE_GATED, SUBTRACTS},
    {"topk", ACTIVE_TOPK, SUBTRACTS},
    {"abstopk", ACTIVE_ABSTOPK, SUBTRACTS},
    {"jumprelu", ACTIVE_JUMPRELU, SUBTRACTS},
    {"transcoder", ACTIVE_RELU, TRANSCODES},
    {"skip_transcoder", ACTIVE_RELU, TRANSCODES | SKIPS},
    {"jumprelu_transcoder", ACTIVE_JUMPRELU, TRANSCODES},
    {"jumprelu_skip_transcoder", ACTIVE_JUMPRELU, TRANSCODES | SKIPS},
};

static const struct dictionary_kind sparsify_kinds[] = {
    {"topk", ACTIVE_TOPK, SUBTRACTS},
    {"groupmax", ACTIVE_GROUPMAX, SUBTRACTS},
};

static const struct dictionary_kind gemma_kinds[] = {{"jump_relu", ACTIVE_JUMPRELU, 0}};

enum { JUMPRELU, TOPK, RELU };
static const struct dictionary_kind plain_kinds[] = {
    {"jumprelu", ACTIVE_JUMPRELU, 0}, {"topk", ACTIVE_TOPK, 0}, {"relu", ACTIVE_RELU, 0}};

/* The classes of dictionary_learning, as the package has defined them since 2025. Some versions of
 * 2024 multiply the activations of GatedAutoEncoder and JumpReluAutoEncoder by the lengths of their
 * decoder rows, and files do not say which version wrote them. */
static const struct dictionary_kind learning_kinds[] = {
    {"AutoEncoder", ACTIVE_RELU, SUBTRACTS},
    {"AutoEncoderNew", ACTIVE_RELU, 0},
    {"AutoEncoderTopK", ACTIVE_TOPK, SUBTRACTS},
    {"BatchTopKSAE", ACTIVE_JUMPRELU, SUBTRACTS},
    {"MatryoshkaBatchTopKSAE", ACTIVE_JUMPRELU, SUBTRACTS},
    {"GatedAutoEncoder", ACTIVE_GATED, SUBTRACTS},
    {"JumpReluAutoEncoder", ACTIVE_JUMPRELU, 0},
};

/* The formats, in the order in which find_format tries them. */
static const struct dictionary_format {
    enum format_bit bit;
    const char *name, *config;
    const char *tensors; /* name of the file of tensors, in which %d is the layer */
    const char *field;   /* config setting that names the kind; NULL: the kind is kinds[0] */
    const struct dictionary_kind *kinds;
    size_t kind_count;
    const char *usual; /* the kind if the config names none; NULL: this is an error */
    bool may_lack_config;
} dictionary_formats[] = {
#define KINDS(rows) (rows), COUNT_OF(rows)
    {SAELENS, "SAELens", "cfg.json", "sae_weights.safetensors", "architecture",
     KINDS(saelens_kinds), "standard"},
    {SPARSIFY, "sparsify", "cfg.json", "sae.safetensors", "activation", KINDS(sparsify_kinds),
     "topk"},
    {GEMMA, "Gemma Scope", "config.json", "params.npz", NULL, KINDS(gemma_kinds), NULL, true},
    {GEMMA_2, "Gemma Scope 2", "config.json", "params.safetensors", "architecture",
     KINDS(gemma_kinds), "jump_relu", true},
    {LLAMA, "Llama Scope", "hyperparams.json", "checkpoints/final.safetensors", "act_fn",
     KINDS(plain_kinds), NULL},
    {LLAMA, "Llama Scope", "hyperparams.json", "final.safetensors", "act_fn", KINDS(plain_kinds),
     NULL},
    {OPENMOSS, "OpenMOSS", "config.json", "sae_weights.safetensors", "act_fn", plain_kinds, 1,
     NULL},
    {TRACER, "circuit-tracer", "config.yaml", "layer_%d.safetensors", "activation",
     KINDS(plain_kinds), "relu"},
    {LEARNING, "dictionary_learning", "config.json", "ae.pt", "dict_class", KINDS(learning_kinds),
     NULL},
    {QWEN, "Qwen Scope", "config.json", "layer%d.sae.pt", NULL, &plain_kinds[TOPK], 1, NULL, true},
    {GOODFIRE, "Goodfire", "config.json", "Llama-3.1-8B-Instruct-SAE-l%d.pth", NULL,
     &plain_kinds[RELU], 1, NULL, true},
    {GOODFIRE, "Goodfire", "config.json", "Llama-3.3-70B-Instruct-SAE-l%d.pt", NULL,
     &plain_kinds[RELU], 1, NULL, true},
#undef KINDS
};

enum tensor_role { ENCODER, DECODER, SKIP, B_ENC, B_OUT, THRESHOLD, B_GATE, R_MAG, B_MAG };

/* How a file stores a matrix. AS_IT_IS: an encoder as [in, features], a decoder as [features, out],
 * a skip matrix as [in, out]; TRANSPOSED: with its axes exchanged. */
enum stored { AS_IT_IS, TRANSPOSED };

/* The names of a format's tensors. If a role has several names, the first that the file has is
 * used. A skip matrix that is not optional is read only for a kind with SKIPS. */
static const struct tensor_row {
    unsigned formats;
    enum tensor_role role;
    const char *name;
    enum stored stored;
    bool optional;
} tensor_rows[] = {
    {SAELENS | GEMMA | LEARNING, ENCODER, "W_enc", AS_IT_IS},
    {GEMMA | GEMMA_2, ENCODER, "w_enc", AS_IT_IS},
    {TRACER | QWEN, ENCODER, "W_enc", TRANSPOSED},
    {GOODFIRE, ENCODER, "encoder_linear.weight", TRANSPOSED},
    {SPARSIFY | LLAMA | OPENMOSS | LEARNING, ENCODER, "encoder.weight", TRANSPOSED},
    {SAELENS | SPARSIFY | GEMMA | TRACER | LEARNING, DECODER, "W_dec", AS_IT_IS},
    {GEMMA | GEMMA_2, DECODER, "w_dec", AS_IT_IS},
    {QWEN, DECODER, "W_dec", TRANSPOSED},
    {GOODFIRE, DECODER, "decoder_linear.weight", TRANSPOSED},
    {SPARSIFY | LLAMA | OPENMOSS | LEARNING, DECODER, "decoder.weight", TRANSPOSED},
    {SAELENS, SKIP, "W_skip", TRANSPOSED},
    {SPARSIFY | TRACER, SKIP, "W_skip", TRANSPOSED, true},
    {GEMMA_2, SKIP, "affine_skip_connection", AS_IT_IS, true},
    {SAELENS, B_ENC, "b_enc", .optional = true},
    {GEMMA | GEMMA_2 | TRACER | LEARNING | QWEN, B_ENC, "b_enc"},
    {GOODFIRE, B_ENC, "encoder_linear.bias"},
    {SPARSIFY, B_ENC, "encoder.bias", .optional = true},
    {LLAMA | OPENMOSS | LEARNING, B_ENC, "encoder.bias"},
    {SAELENS | SPARSIFY | GEMMA | GEMMA_2 | TRACER | LEARNING | QWEN, B_OUT, "b_dec"},
    {GOODFIRE, B_OUT, "decoder_linear.bias"},
    {LEARNING, B_OUT, "bias"},
    {LEARNING, B_OUT, "decoder_bias"},
    {LEARNING, B_OUT, "decoder.bias"},
    {LLAMA | OPENMOSS, B_OUT, "decoder.bias", .optional = true},
    {SAELENS | GEMMA | GEMMA_2 | LEARNING, THRESHOLD, "threshold"},
    {TRACER, THRESHOLD, "activation_function.threshold"},
    {OPENMOSS, THRESHOLD, "log_jumprelu_threshold"},
    {SAELENS, B_GATE, "b_gate"},
    {LEARNING, B_GATE, "gate_bias"},
    {SAELENS | LEARNING, R_MAG, "r_mag"},
    {SAELENS, B_MAG, "b_mag"},
    {LEARNING, B_MAG, "mag_bias"},
};

/* Settings that must be absent, false or equal to the expected text. */
static const struct setting_row {
    unsigned formats;
    const char *name, *expected;
} setting_rows[] = {
    {SAELENS, "hook_head_index", "all heads"},
    {SAELENS, "hook_point_head_index", "all heads"},
    {SAELENS, "fold_value_biases", "false: these rows have another basis"},
    {SAELENS, "refactor_factored_attn_matrices", "false: these rows have another basis"},
    {SPARSIFY, "embed_skip", "false, or none"},
    {SPARSIFY, "gram_lookup", "false, or none"},
    {SPARSIFY, "signed", "false, or none"},
    {LLAMA | OPENMOSS, "use_glu_encoder", "false, or none"},
    {LLAMA | OPENMOSS, "sae_type", "sae"},
    {TRACER, "model_kind", "transcoder_set"},
};

/* The hooks that a word of the folder's path stands for, if the config does not name them. `output`
 * NULL: the output has the hook of the input. */
static const struct path_row {
    enum format_bit format;
    const char *word, *input, *output;
} path_rows[] = {
    {GEMMA, "transcoders", "blocks.%ld.ln2.hook_normalized", "blocks.%ld.hook_mlp_out"},
    {GEMMA, "/embedding", "hook_embed"},
    {GEMMA, "-res/", "blocks.%ld.hook_resid_post"},
    {GEMMA, "-mlp/", "blocks.%ld.hook_mlp_out"},
    {GEMMA, "-att/", "blocks.%ld.attn.hook_z"},
    {GEMMA_2, "transcoder", "blocks.%ld.mlp.hook_in", "blocks.%ld.hook_mlp_out"},
    {GEMMA_2, "resid_post", "blocks.%ld.hook_resid_post"},
    {GEMMA_2, "attn_out", "blocks.%ld.attn.hook_z"},
    {GEMMA_2, "mlp_out", "blocks.%ld.hook_mlp_out"},
};

/* The sites of the known hooks of TransformerLens, and of inputs and outputs of modules in Hugging
 * Face's transformers. */
static const struct hook_row {
    const char *name;
    enum site site, with_post_norms; /* `with_post_norms`: the site in models that normalise the
                                      * outputs of sublayers; 0: the same site */
    bool of_direction;
} hook_rows[] = {
    {"hook_resid_pre", SITE_RESID_PRE},
    {"hook_resid_mid", SITE_RESID_MID},
    {"hook_resid_post", SITE_RESID_POST},
    {"ln1.hook_normalized", SITE_RESID_PRE, .of_direction = true},
    {"ln2.hook_normalized", SITE_RESID_MID, .of_direction = true},
    /* normalized_1 and normalized_2 are names that only requests use */
    {"normalized_1", SITE_RESID_PRE, .of_direction = true},
    {"normalized_2", SITE_RESID_MID, .of_direction = true},
    {"attn.hook_q", SITE_Q_PRE},
    {"attn.hook_k", SITE_K_PRE},
    {"attn.hook_v", SITE_V},
    {"attn.hook_z", SITE_CONTEXT},
    {"hook_attn_out", SITE_ATTN_OUT, SITE_LN_1_POST},
    {"hook_mlp_in", SITE_RESID_MID},
    {"mlp.hook_in", SITE_LN_2},
    {"mlp.hook_post", SITE_MLP_ACT},
    {"mlp.hook_out", SITE_MLP_OUT},
    {"hook_mlp_out", SITE_MLP_OUT, SITE_LN_2_POST},
    {"hook_embed", SITE_EMBEDDING},
    {"embed_tokens", SITE_EMBEDDING},
    {"input", SITE_RESID_PRE},
    {"output", SITE_RESID_POST},
    {"self_attn.o_proj.input", SITE_CONTEXT},
    {"self_attn.output", SITE_ATTN_OUT},
    {"attention.output", SITE_ATTN_OUT},
    {"attn.output", SITE_ATTN_OUT},
    {"pre_feedforward_layernorm.output", SITE_LN_2},
    {"post_feedforward_layernorm.output", SITE_LN_2_POST},
    {"mlp.input", SITE_LN_2},
    {"mlp.act.output", SITE_MLP_ACT},
    {"mlp.output", SITE_MLP_OUT},
};

struct sae_reader {
    struct dictionary *d;
    const struct dictionary_request *request;
    const struct dictionary_model *model;
    const struct dictionary_format *format;
    unsigned of;               /* bit of the format (enum format_bit) */
    const struct json *config; /* the folder's config; NULL: it has none */
    const struct dictionary_kind *kind;
    bool transcodes;
    int layer; /* the requested layer; -1: none is requested */
    struct folder folder;
    const char *path;  /* absolute path of the folder: folder names in it may tell the site */
    const char *file;  /* name of the file with the tensors */
    const char *where; /* path of the file with the tensors */
    struct err *err;
};

/* --- settings --------------------------------------------------------------------------------- */

/* Return the object that has a setting: the config, its metadata, or an object in one of these two;
 * NULL if the setting is missing. */
static const struct json *holder(const struct sae_reader *r, const char *name)
{
    static const char *const inside[] = {NULL, "model_from_pretrained_kwargs",
                                         "activation_fn_kwargs", "trainer",
                                         "dataset_average_activation_norm"};
    const struct json *const bases[] = {json_given(r->config, "metadata"), r->config};
    for (size_t i = 0; i < COUNT_OF(bases) * COUNT_OF(inside); i++) {
        const struct json *object = bases[i / COUNT_OF(inside)];
        const char *member = inside[i % COUNT_OF(inside)];
        object = member ? json_given(object, member) : object;
        if (json_given(object, name))
            return object;
    }
    return NULL;
}

static const struct json *setting(const struct sae_reader *r, const char *name)
{
    return json_given(holder(r, name), name);
}

static const char *text_setting(const struct sae_reader *r, const char *name)
{
    const char *text = NULL;
    return json_get_text(setting(r, name), &text) ? text : NULL;
}

static bool is_true(const struct sae_reader *r, const char *name)
{
    bool value = false;
    return json_get_bool(setting(r, name), &value) && value;
}

static int refuse(const struct sae_reader *r, const char *name, const char *expected)
{
    json_refuse(name, setting(r, name), expected, r->err);
    r->err->kind = ERR_UNSUPPORTED;
    return -1;
}

static int refuse_settings(const struct sae_reader *r)
{
    for (size_t i = 0; i < COUNT_OF(setting_rows); i++) {
        const struct setting_row *row = &setting_rows[i];
        const struct json *given = (r->of & row->formats) ? setting(r, row->name) : NULL;
        bool value = true;
        const char *text = given ? text_setting(r, row->name) : NULL;
        if (given && (!json_get_bool(given, &value) || value) &&
            !(text && strcmp(text, row->expected) == 0))
            return refuse(r, row->name, row->expected);
    }
    return 0;
}

/* Set `*index` to the index in `names` of a setting's text, ignoring case. If the config lacks the
 * setting, its text is `usual`. */
static int choose(size_t *index, const struct sae_reader *r, const char *name, struct names names,
                  const char *usual)
{
    const char *text = setting(r, name) ? text_setting(r, name) : usual;
    char expected[512];
    size_t used = 0;
    if (!text && setting(r, name))
        return refuse(r, name, "a name");
    for (size_t i = 0; i < names.count; i++) {
        *index = i;
        if (text && strcasecmp(text, names_at(names, i)) == 0)
            return 0;
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s",
                                 i ? ", " : "one of ", names_at(names, i));
    }
    return refuse(r, name, expected);
}

/* --- tensors ---------------------------------------------------------------------------------- */

static bool find(struct dumped *found, const struct sae_reader *r, const char *name)
{
    const struct dump *files = &r->d->files;
    const struct safetensors_entry *entry = safetensors_find(&files->tensors, name);
    *found = (struct dumped){.entry = entry ? *entry : (struct safetensors_entry){0}};
    for (size_t i = 0; !entry && i < files->count; i++)
        if (strcmp(files->items[i].entry.name, name) == 0) {
            *found = files->items[i];
            entry = &found->entry;
        }
    return entry;
}

/* Return the first row of tensor_rows that has this role, and whose tensor the file has. Without
 * one, return the role's first row that is not optional; NULL: there is none. */
static const struct tensor_row *find_row(const struct sae_reader *r, enum tensor_role role)
{
    const struct tensor_row *missing = NULL;
    struct dumped found;
    for (size_t i = 0; i < COUNT_OF(tensor_rows); i++) {
        const struct tensor_row *row = &tensor_rows[i];
        if (!(r->of & row->formats) || row->role != role)
            continue;
        if (find(&found, r, row->name))
            return row;
        missing = missing || row->optional ? missing : row;
    }
    return missing;
}

static int refuse_tensor(const struct sae_reader *r, const char *name, const char *expected,
                         const struct dumped *found)
{
    const struct safetensors_entry *entry = &found->entry;
    err_set(r->err, "'%s': tensor '%s': expected %s, found %s", r->where, name, expected,
            entry->name ? dtype_name(entry->dtype) : "none");
    for (size_t i = 0; entry->name && i < entry->rank; i++)
        err_append(r->err, "%s%zu", i ? ", " : " [", entry->shape[i]);
    return entry->name ? err_append(r->err, "%s", entry->rank ? "]" : " []") : -1;
}

/* Refuse a tensor that is missing, has an unexpected type or rank, or contains numbers that are not
 * finite. */
static int expect(struct dumped *found, const struct sae_reader *r, const char *name,
                  bool is_matrix)
{
    const struct safetensors_entry *entry = &found->entry;
    float numbers[DTYPE_BLOCK_MAX];
    if (!find(found, r, name) || !dtype_is_weight(entry->dtype) ||
        dtype_is_quantised(entry->dtype) ||
        (is_matrix ? entry->rank != 2 || !entry->count : entry->rank != 1 && entry->count != 1))
        return refuse_tensor(r, name, is_matrix ? "a matrix of floats" : "a vector of floats",
                             found);
    for (size_t i = 0; i < entry->count; i += DTYPE_BLOCK_MAX) {
        const size_t count = num_min(DTYPE_BLOCK_MAX, entry->count - i);
        dtype_to_float(numbers, (const char *)entry->data + i * dtype_size_bytes(entry->dtype),
                       entry->dtype, count);
        const size_t bad = first_nonfinite(numbers, count);
        if (bad < count)
            return err_set(
                r->err, "'%s': tensor '%s': expected finite numbers, found infinity or nan at %zu",
                r->where, name, i + bad);
    }
    return 0;
}

/* Read a matrix [in, out], and store it as rows of `in` numbers, for products, if `by_output`, else
 * as rows of `out` numbers. If the file stores it in this order, as BF16 or F32, its memory is used
 * without a copy. */
static int take_matrix(const struct sae_reader *r, struct weight *w, const char *name,
                       enum stored stored, bool by_output)
{
    struct dumped found;
    if (expect(&found, r, name, true))
        return -1;
    const struct safetensors_entry *entry = &found.entry;
    const size_t rows = entry->shape[0], columns = entry->shape[1];
    const size_t out = stored == AS_IT_IS ? columns : rows;
    const bool turns = (stored == AS_IT_IS) == by_output;
    const void *data = entry->data;
    enum dtype dtype = entry->dtype;
    if (turns || found.is_fortran || (dtype != DTYPE_BF16 && !safetensors_floats(entry))) {
        struct arena *arena = &r->d->arena;
        struct arena scratch = {0};
        float *floats = arena_room(turns ? &scratch : arena, entry->count, sizeof *floats, r->err);
        float *turned = turns ? arena_room(arena, entry->count, sizeof *turned, r->err) : floats;
        int failed = !floats || !turned || dump_floats(floats, &found, r->err);
        if (!failed && turns)
            transpose((struct matrix){turned, columns, rows, rows},
                      (struct matrix){floats, rows, columns, columns});
        arena_release(&scratch);
        if (failed)
            return -1;
        data = turned;
        dtype = DTYPE_F32;
    }
    *w = (struct weight){.in = stored == AS_IT_IS ? rows : columns, .out = out, .stride = out};
    if (by_output)
        w->rows = (struct weight_rows){data, dtype, {0, out, out}, 0};
    else if (dtype == DTYPE_BF16)
        w->halves = data;
    else
        w->data = data;
    return 0;
}

/* Read a vector of `count` numbers; a single number is repeated `count` times. */
static int take_vector(const struct sae_reader *r, const float **vector, const char *name,
                       size_t count)
{
    struct dumped found;
    char expected[64];
    if (expect(&found, r, name, false))
        return -1;
    snprintf(expected, sizeof expected, "%zu floats", count);
    if (found.entry.count != count && found.entry.rank)
        return refuse_tensor(r, name, expected, &found);
    float *numbers = arena_room(&r->d->arena, num_max(count, 1), sizeof *numbers, r->err);
    if (!numbers || dump_floats(numbers, &found, r->err))
        return -1;
    for (size_t i = found.entry.count; i < count; i++)
        numbers[i] = numbers[0];
    *vector = numbers;
    return 0;
}

static int take_if_there(const struct sae_reader *r, const float **vector, const char *name,
                         size_t count)
{
    struct dumped found;
    return find(&found, r, name) ? take_vector(r, vector, name, count) : 0;
}

/* Read the matrices, and set the dictionary's sizes from their shapes. */
static int take_matrices(const struct sae_reader *r)
{
    struct dictionary *d = r->d;
    const struct tensor_row *encoder = find_row(r, ENCODER), *decoder = find_row(r, DECODER),
                            *skip = find_row(r, SKIP);
    struct dumped found, bias;
    enum stored stored = decoder->stored;
    if (find(&found, r, "log_thresholds") && r->of & TRACER)
        return err_unsupported(r->err, "'%s': expected no tensor 'log_thresholds', found one",
                               r->where);
    if (find(&found, r, decoder->name) && found.entry.rank == 3)
        return err_unsupported(r->err,
                               "tensor '%s': expected two axes, found three, a cross-layer "
                               "transcoder",
                               decoder->name);
    if (r->of & TRACER && found.entry.rank == 2 && find(&bias, r, "b_dec")) {
        /* circuit-tracer's files of 2025, whose config lacks model_kind, store the decoder as
         * [channels, features] */
        const size_t *shape = found.entry.shape, width = bias.entry.count;
        if (shape[0] == width && (shape[1] != width || !setting(r, "model_kind")))
            stored = TRANSPOSED;
    }
    if (take_matrix(r, &d->encoder, encoder->name, encoder->stored, true) ||
        take_matrix(r, &d->decoder, decoder->name, stored, false) ||
        (skip && (skip->optional || r->kind->flags & SKIPS) &&
         take_matrix(r, &d->skip, skip->name, skip->stored, true)))
        return -1;
    d->in = d->encoder.in;
    d->count = d->encoder.out;
    d->out = d->decoder.out;
    return d->decoder.in == d->count && d->count <= UINT32_MAX
               ? 0
               : err_set(r->err,
                         "'%s': shapes: expected a row of '%s' for each of the %zu features of "
                         "'%s', found %zu",
                         r->where, decoder->name, d->count, encoder->name, d->decoder.in);
}

static int take_vectors(const struct sae_reader *r)
{
    struct dictionary *d = r->d;
    const bool is_gated = d->active == ACTIVE_GATED;
    const struct {
        enum tensor_role role;
        bool needed;
        const float **vector;
        size_t count;
    } vectors[] = {
        {B_OUT, true, &d->b_out, d->out},
        {B_ENC, !is_gated, &d->b_enc, d->count},
        {THRESHOLD, d->active == ACTIVE_JUMPRELU, &d->threshold, d->count},
        {B_GATE, is_gated, &d->b_gate, d->count},
        {R_MAG, is_gated, &d->r_mag, d->count},
        {B_MAG, is_gated, &d->b_mag, d->count},
    };
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        const struct tensor_row *row = vectors[i].needed ? find_row(r, vectors[i].role) : NULL;
        if (row && take_vector(r, vectors[i].vector, row->name, vectors[i].count))
            return -1;
    }
    return 0;
}

/* --- hooks ------------------------------------------------------------------------------------ */

struct hook {
    enum site site;
    size_t layer;
    bool of_direction;
};

/* Parse the name of a hook: [STACK.]STEM.N[.REST] or [STACK.]STEM_N[.REST], where STEM is blocks,
 * layers or h, or the name of a hook outside the layers. Returns false if the hook is not a site;
 * `hook->layer` may be set even then. */
static bool read_hook(struct hook *hook, const char *name, const struct dictionary_model *model)
{
    static const char *const stacks[] = {"gpt_neox.", "model.", "transformer.", "language_model."};
    static const char *const stems[] = {"blocks", "layers", "h"};
    const struct names names = NAMES(hook_rows, COUNT_OF(hook_rows));
    bool in_layer = false;
    char output[64];
    for (size_t i = 0; i < COUNT_OF(stacks); i++)
        if (strncmp(name, stacks[i], strlen(stacks[i])) == 0) {
            name += strlen(stacks[i]);
            i = (size_t)-1;
        }
    *hook = (struct hook){0};
    for (size_t i = 0; i < COUNT_OF(stems) && !in_layer; i++) {
        const char *at = name + strlen(stems[i]);
        if (strncmp(name, stems[i], strlen(stems[i])) != 0 || (*at != '.' && *at != '_'))
            continue;
        const size_t digits = strspn(++at, "0123456789");
        long long layer = 0;
        in_layer = num_parse_part(at, digits, 0, INT32_MAX, &layer);
        hook->layer = (size_t)layer;
        name = at + digits + (at[digits] == '.');
    }
    size_t index = 0; /* row of `name` in hook_rows; a module's name means its output */
    snprintf(output, sizeof output, "%s%soutput", name, *name ? "." : "");
    if (!names_find(&index, names, name, strlen(name)) &&
        !names_find(&index, names, output, strlen(output)))
        return false;
    const struct hook_row *row = &hook_rows[index];
    hook->site = model->post_norms && row->with_post_norms ? row->with_post_norms : row->site;
    hook->of_direction = row->of_direction;
    return site_row(hook->site)->in_layer == in_layer;
}

static int find_hook(struct hook *hook, const struct sae_reader *r, const char *name)
{
    if (!read_hook(hook, name, r->model))
        return err_unsupported(
            r->err,
            "expected a hook that is a site, found '%s': say :LAYER,site=SITE after the folder",
            name);
    if (!hook->of_direction || r->model->rms)
        return 0;
    const char digit = hook->site == SITE_RESID_PRE ? '1' : '2';
    return err_unsupported(r->err,
                           "%s: before or after the scale and shift of the norm, by the version of "
                           "TransformerLens: say ,site=ln_%c or ,site=normalized_%c after the "
                           "folder",
                           name, digit, digit);
}

/* Parse a site of a request: the name of a site, or normalized_1 or normalized_2. */
static int parse_site(struct hook *hook, const char *name, size_t size, struct err *err)
{
    size_t index = 0;
    const bool is_hook = names_find(&index, NAMES(hook_rows, COUNT_OF(hook_rows)), name, size);
    hook->of_direction = is_hook && hook_rows[index].of_direction;
    hook->site = hook_rows[index].site;
    return hook->of_direction || site_find(name, size, &hook->site)
               ? 0
               : err_usage(err,
                           "site: expected a site (info --sites), normalized_1 or "
                           "normalized_2, found '%.*s'",
                           (int)size, name);
}

/* Find the hooks of input and output by the config, the path or the layer. hooks[0] is NULL if the
 * input's hook is unknown, hooks[1] if the output has the hook of the input. */
static int find_hooks(const struct sae_reader *r, const char *hooks[2])
{
    static const char *const names[][2] = {{"hf_hook_name", "hf_hook_name_out"},
                                           {"hook_name", "hook_name_out"},
                                           {"hook_point", NULL},
                                           {"hf_hook_point_in", "hf_hook_point_out"},
                                           {"hook_point_in", "hook_point_out"},
                                           {"feature_input_hook", "feature_output_hook"}};
    struct arena *arena = &r->d->arena;
    const char *slash = strrchr(r->path, '/'), *at = strstr(r->path, "layer_");
    const long layer = at ? strtol(at + strlen("layer_"), NULL, 10) : 0;
    long long own_layer = 0;
    for (size_t i = 0; i < 2 * COUNT_OF(names); i++)
        if (!hooks[i % 2] && names[i / 2][i % 2])
            hooks[i % 2] = text_setting(r, names[i / 2][i % 2]);
    if (r->of & SAELENS && !r->transcodes)
        hooks[1] = NULL;
    for (size_t i = 0; r->of & TRACER && i < 2; i++)
        if (hooks[i])
            hooks[i] = arena_format(arena, r->err, "blocks.%d.%s", r->layer, hooks[i]);
    if (r->of & (QWEN | GOODFIRE))
        hooks[0] = arena_format(arena, r->err, "blocks.%d.hook_resid_post", r->layer);
    if (r->of & SPARSIFY) { /* sparsify names the folder after the module */
        hooks[1] = slash ? slash + 1 : r->path;
        hooks[0] = r->transcodes ? arena_format(arena, r->err, "%s.input", hooks[1]) : hooks[1];
    }
    if (r->of & LEARNING) {
        const char *module = text_setting(r, "submodule_name");
        if (json_integer(holder(r, "layer"), "layer", 0, INT32_MAX, &own_layer, r->err))
            return -1;
        if (module && strncmp(module, "resid_post", 10) != 0 && !r->request->site)
            return refuse(r, "submodule_name",
                          "resid_post_layer_L (or say ,site=SITE after the folder)");
        hooks[0] = arena_format(arena, r->err, "blocks.%lld.hook_resid_post", own_layer);
    }
    if (r->of & (GEMMA | GEMMA_2) && !hooks[0]) {
        const struct path_row *row = path_rows, *end = path_rows + COUNT_OF(path_rows);
        while (row < end && (!(r->of & row->format) || !strstr(r->path, row->word)))
            row++;
        if (row == end && !r->request->site)
            return err_unsupported(r->err,
                                   "'%s': expected the site in the names of its folders, such "
                                   "as gemma-scope-2b-pt-res/layer_20/width_16k/average_l0_71, "
                                   "found none: say ,site=SITE after the folder",
                                   r->where);
        hooks[0] = arena_format(arena, r->err, row == end ? "blocks.%ld" : row->input, layer);
        hooks[1] =
            row < end && row->output ? arena_format(arena, r->err, row->output, layer) : NULL;
    }
    return err_if(r->err->kind);
}

/* Set the sites and the layer of the dictionary: as requested or, if not requested, by the
 * hooks. */
static int take_sites(const struct sae_reader *r, const char *const hooks[2])
{
    struct dictionary *d = r->d;
    const struct dictionary_request *request = r->request;
    struct hook in = {0}, out;
    const char *site = request->site, *colon = site ? strchr(site, ':') : NULL;
    if (!site && !hooks[0])
        return err_unsupported(r->err, "expected the name of a hook, found none: say "
                                       ":LAYER,site=SITE after the folder");
    if (!site && find_hook(&in, r, hooks[0]))
        return -1;
    if (site && hooks[0])
        read_hook(&in, hooks[0], r->model); /* a hook that is no site may still tell the layer */
    if (site && parse_site(&in, site, colon ? (size_t)(colon - site) : strlen(site), r->err))
        return -1;
    out = in;
    if (colon ? parse_site(&out, colon + 1, strlen(colon + 1), r->err)
              : hooks[1] && find_hook(&out, r, hooks[1]))
        return -1;
    d->site = in.site;
    d->of_direction = in.of_direction;
    d->site_out = out.site;
    d->layer = r->layer >= 0 ? (size_t)r->layer : in.layer;
    return 0;
}

/* --- scales, ranks and what SAELens and TransformerLens fold ---------------------------------- */

/* Return the version of SAELens as major · 1000 + minor; 0: the config has none, so it is old. */
static int saelens_version(const struct sae_reader *r)
{
    int major = 0, minor = 0;
    const char *text = text_setting(r, "sae_lens_version");
    return text && sscanf(text, "%3d.%3d", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

static int take_kind(struct sae_reader *r)
{
    static const char *const functions[] = {"relu", "topk"};
    enum { SAELENS_TOPK = 2 };
    const struct dictionary_format *format = r->format;
    const struct names names = NAMES(format->kinds, format->kind_count);
    const char *usual = format->usual;
    const char *name = setting(r, "activation_fn") ? "activation_fn" : "activation_fn_str";
    struct dumped found;
    size_t index = 0, function = 0;
    if (r->of & TRACER && find(&found, r, find_row(r, THRESHOLD)->name))
        usual = names_at(names, JUMPRELU);
    if ((format->field && choose(&index, r, format->field, names, usual)) ||
        (r->of & SAELENS && saelens_version(r) < 6000 &&
         choose(&function, r, name, NAMES_LIST(functions), "relu")))
        return -1;
    r->kind = &format->kinds[function ? SAELENS_TOPK : index];
    r->transcodes = r->kind->flags & TRANSCODES || is_true(r, "transcode");
    r->d->active = r->kind->active;
    return 0;
}

static int read_scaler(void *context, const struct json *root, struct err *err)
{
    return json_double(root, "scaling_factor", 0, 1e30, context, err);
}

static int take_saelens_norm(const struct sae_reader *r)
{
    static const char *const norms[] = {"none", "constant_norm_rescale", "layer_norm",
                                        "expected_average_only_in"};
    enum { AVERAGE = 3 };
    struct dictionary *d = r->d;
    size_t norm = 0;
    bool average = false;
    double scale = r->request->scale;
    if (json_get_bool(setting(r, "normalize_activations"), &average))
        norm = average ? AVERAGE : 0;
    else if (choose(&norm, r, "normalize_activations", NAMES_LIST(norms), "none"))
        return -1;
    if (norm < AVERAGE) {
        d->norm = (enum dictionary_norm)norm;
        d->restores = norm && !r->transcodes;
        return 0;
    }
    if (!(scale > 0) && folder_has(&r->folder, "activation_scaler.json") &&
        json_read_file(&r->folder, "activation_scaler.json", read_scaler, &scale, r->err))
        return -1;
    if (!(scale > 0))
        return err_unsupported(r->err,
                               "normalize_activations expected_average_only_in: expected its "
                               "factor in activation_scaler.json, found none: say ,scale="
                               "S after the folder, √d_in / (mean norm of the activations)");
    d->scale_in = d->scale_out = scale;
    return 0;
}

/* Read the factor of each feature that SAELens learned in a final fine-tuning. */
static int take_saelens_finetune(const struct sae_reader *r)
{
    struct dictionary *d = r->d;
    const bool used = is_true(r, "finetuning_scaling_factor");
    const float *factors = NULL;
    bool ones = true;
    if (take_if_there(r, &factors, "scaling_factor", d->count) ||
        (used && take_if_there(r, &d->finetune, "finetuning_scaling_factor", d->count)))
        return -1;
    for (size_t i = 0; factors && i < d->count; i++)
        ones = ones && fabsf(factors[i] - 1) < 1e-5f;
    if (!ones && !used)
        return err_unsupported(r->err,
                               "scaling_factor: expected ones, as finetuning_scaling_factor "
                               "is false, found others");
    d->finetune = ones ? d->finetune : factors;
    return 0;
}

static int take_saelens(const struct sae_reader *r, const char *hook)
{
    struct dictionary *d = r->d;
    const bool is_layer_norm = !r->model->rms;
    long long context = 0;
    if (is_true(r, "fold_ln") && hook && strstr(hook, "hook_normalized"))
        return refuse(r, "fold_ln", "false for hook_normalized");
    d->knows_begin = json_get_bool(setting(r, "prepend_bos"), &d->begins);
    d->context =
        json_get_integer(setting(r, "context_size"), 1, INT32_MAX, &context) ? (size_t)context : 0;
    d->centers = is_layer_norm && is_true(r, "center_writing_weights");
    d->may_center =
        is_layer_norm && !setting(r, "model_from_pretrained_kwargs") && saelens_version(r) < 3020;
    return err_if(take_saelens_norm(r) || take_saelens_finetune(r));
}

/* Set scale_in and scale_out for Llama Scope and OpenMOSS: √d / (average norm) or, if
 * norm_activation is "inference", 1. */
static int take_scales(const struct sae_reader *r, const char *const hooks[2])
{
    static const char *const ways[] = {"dataset-wise", "inference"}, *const sides[] = {"in", "out"};
    struct dictionary *d = r->d;
    double *const scales[] = {&d->scale_in, &d->scale_out};
    size_t way = 0;
    if (choose(&way, r, "norm_activation", NAMES_LIST(ways), NULL))
        return -1;
    for (size_t i = 0; i < 2 && way == 0; i++) {
        const float *number = NULL;
        double norm = 0;
        const char *name = arena_format(&d->arena, r->err, "dataset_average_activation_norm.%s",
                                        hooks[i] ? hooks[i] : "");
        if (!name || take_if_there(r, &number, name, 1) ||
            json_double(holder(r, sides[i]), sides[i], 0, 1e30, &norm, r->err))
            return -1;
        norm = number ? (double)*number : norm;
        if (!(norm > 0))
            return json_refuse("dataset_average_activation_norm", NULL, "two numbers above 0",
                               r->err);
        *scales[i] = sqrt((double)d->in) / norm;
    }
    return 0;
}

/* Make an array [count] of `factor` or, with `by_length`, `factor` times each decoder row's
 * length. */
static float *make_ranks(struct dictionary *d, bool by_length, double factor, struct err *err)
{
    float *ranks = arena_room(&d->arena, d->count, sizeof *ranks, err);
    float *scratch = arena_room(&d->arena, d->out, sizeof *scratch, err);
    for (size_t i = 0; ranks && scratch && i < d->count; i++) {
        const float *row = weight_row(&d->decoder, i, 0, d->out, scratch);
        ranks[i] = (float)((by_length ? sqrt(dot_rows(row, row, d->out)) : 1) * factor);
    }
    return scratch ? ranks : NULL;
}

/* Read the number of active features from the request, else from the config, else from a tensor of
 * one integer, else from Qwen Scope's folder name, such as "SAE-Res-Qwen3-8B-Base-W64K-L0_50". */
static int take_k(const struct sae_reader *r)
{
    const char *name = r->of & LLAMA ? "top_k" : "k";
    const char *path = r->of & QWEN ? strstr(r->path, "-L0_") : NULL;
    const long long most = (long long)r->d->count;
    struct dumped found;
    long long k = path ? atoi(path + strlen("-L0_")) : 0;
    if (find(&found, r, "k") && found.entry.count == 1 &&
        (found.entry.dtype == DTYPE_I32 || found.entry.dtype == DTYPE_I64))
        k = (long long)num_of_bytes(found.entry.data, dtype_size_bytes(found.entry.dtype));
    if (json_integer(holder(r, name), name, 1, most, &k, r->err))
        return -1;
    k = r->request->k ? r->request->k : k;
    r->d->k = (size_t)k;
    if (k < 0 || k > most)
        return err_set(r->err, "k: expected a number from 1 to %lld, found %lld", most, k);
    return k ? 0
             : json_refuse(name, NULL,
                           "the number of active features (or say ,k=K after the folder)", r->err);
}

/* Read how features are compared: their ranks, and the thresholds or the number of active
 * features. */
static int take_ranks(const struct sae_reader *r)
{
    struct dictionary *d = r->d;
    const bool is_llama = r->of & LLAMA;
    double threshold = 0;
    if (json_double(holder(r, "jump_relu_threshold"), "jump_relu_threshold", -1e30, 1e30,
                    &threshold, r->err))
        return -1;
    if (is_llama && d->active == ACTIVE_TOPK && threshold > 0)
        d->active = ACTIVE_JUMPRELU;
    const bool is_topk = d->active == ACTIVE_TOPK || d->active == ACTIVE_ABSTOPK;
    const bool by_length = is_true(r, "sparsity_include_decoder_norm") ||
                           (is_topk && is_true(r, "rescale_acts_by_decoder_norm"));
    /* Llama Scope's threshold is in units of the residual stream, for decoder rows of length 1 */
    const double factor = !is_llama ? 1 : 1 / (by_length ? d->scale_out : d->scale_in);
    if ((is_llama ? d->active != ACTIVE_RELU : by_length) &&
        !(d->rank = make_ranks(d, by_length, factor, r->err)))
        return -1;
    d->ranked = d->rank && !(r->of & OPENMOSS);
    float *thresholds = is_llama ? make_ranks(d, false, threshold, r->err) : (float *)d->threshold;
    for (size_t i = 0; thresholds && r->of & OPENMOSS && i < d->count; i++)
        thresholds[i] = expf(thresholds[i]);
    d->threshold = thresholds;
    if (!is_topk && d->active != ACTIVE_GROUPMAX)
        return err_if(is_llama && !thresholds);
    d->keeps_negative = r->of & (TRACER | QWEN) && is_topk;
    return take_k(r);
}

static int read_all(struct sae_reader *r)
{
    struct dictionary *d = r->d;
    const char *hooks[2] = {NULL, NULL};
    if (refuse_settings(r) || take_kind(r) || take_matrices(r) || find_hooks(r, hooks) ||
        take_sites(r, hooks) || take_vectors(r) || (r->of & SAELENS && take_saelens(r, hooks[0])) ||
        (r->of & (LLAMA | OPENMOSS) && take_scales(r, hooks)) || take_ranks(r))
        return -1;
    bool subtracts = r->kind->flags & SUBTRACTS && !r->transcodes;
    static const char apply[] = "apply_b_dec_to_input";
    if (r->of & SAELENS && json_bool(holder(r, apply), apply, &subtracts, r->err))
        return -1;
    if (subtracts && r->transcodes)
        return refuse(r, apply, "false for a transcoder");
    if (r->of & LLAMA)
        subtracts = is_true(r, "apply_decoder_bias_to_pre_encoder") &&
                    (!setting(r, "use_decoder_bias") || is_true(r, "use_decoder_bias"));
    d->b_in = subtracts ? d->b_out : NULL;
    if (r->of & GEMMA && d->site == SITE_EMBEDDING) /* these dictionaries read the embedding before
                                                     * Gemma's factor √C */
        d->scale_in = d->scale_out = 1 / sqrt((double)d->in);
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Convert a YAML file of lines `key: value` to JSON; lists and nested values are left out. */
static void json_of_yaml(struct buf *out, const struct file *file)
{
    const char *end = file->bytes + file->size;
    struct json_writer json = {.buf = out};
    json_put_open(&json, NULL, '{');
    for (const char *line = file->bytes, *next; line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        const char *colon = memchr(line, ':', (size_t)(stop - line));
        for (const char *at = line; at + 1 < stop; at++)
            stop = at[0] == ' ' && at[1] == '#' ? at : stop;
        if (!colon || colon > stop || strchr(" \t-#", *line))
            continue;
        const char *value = colon + 1;
        while (value < stop && strchr(" '\"", *value))
            value++;
        while (stop > value && strchr(" '\"\r", stop[-1]))
            stop--;
        long long number = 0;
        json_put_name(&json, line, (size_t)(colon - line));
        if (num_parse_part(value, num_min((size_t)(stop - value), 23), 0, INT32_MAX, &number) &&
            stop - value < 23)
            json_put_integer(&json, NULL, number);
        else
            json_put_bytes(&json, NULL, value, (size_t)(stop - value));
    }
    json_put_close(&json, '}');
}

/* Return the format of a folder's files, and set `*tensors` to the name of its file of tensors.
 * NULL: the files have no known format. */
static const struct dictionary_format *find_format(const char **tensors, int layer,
                                                   const struct folder *folder, struct arena *arena,
                                                   struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(dictionary_formats); i++) {
        const struct dictionary_format *format = &dictionary_formats[i];
        const bool needs_config = !format->may_lack_config;
        *tensors = strchr(format->tensors, '%')
                       ? arena_format(arena, err, format->tensors, layer < 0 ? 0 : layer)
                       : format->tensors;
        if (!*tensors)
            return NULL;
        if ((!needs_config || folder_has(folder, format->config)) &&
            ((needs_config && *tensors != format->tensors) || folder_has(folder, *tensors)))
            return format;
    }
    return NULL;
}

int dictionary_files(const char *text, int (*use)(void *context, const char *path, struct err *err),
                     void *context, struct arena *arena, struct err *err)
{
    struct dictionary_request request;
    const char *names[2] = {NULL, NULL};
    if (dictionary_request_read(&request, text, arena, err))
        return -1;
    const struct folder folder = {.path = request.path};
    const struct dictionary_format *format =
        bundled_find_dictionary(request.path)
            ? NULL
            : find_format(&names[1], request.layer, &folder, arena, err);
    names[0] = format ? format->config : NULL;
    for (size_t i = 0; format && i < 2; i++) {
        const char *path = arena_format(arena, err, "%s/%s", request.path, names[i]);
        if (!path || (folder_has(&folder, names[i]) && use(context, path, err)))
            return -1;
    }
    return err_if(err->kind);
}

static int read_with(void *context, const struct json *config, struct err *err)
{
    struct sae_reader *r = context;
    r->config = config;
    r->err = err;
    return config && !json_is_object(config)
               ? err_set(err, "expected an object, found something else")
               : read_all(r);
}

static int read_yaml(void *context, const struct file *file, struct err *err)
{
    struct buf text = {0};
    struct json *root = NULL;
    json_of_yaml(&text, file);
    int failed = buf_check(&text, err) || json_parse(&root, text.bytes, text.size, err) ||
                 read_with(context, root, err);
    json_free(root);
    buf_release(&text);
    return failed;
}

static int read_files(struct sae_reader *r)
{
    struct dump *files = &r->d->files;
    const struct folder *folder = &r->folder;
    const struct dictionary_format *format = r->format =
        find_format(&r->file, r->layer, folder, &r->d->arena, r->err);
    enum { LAYERS_MOST = 1000 };
    int layer = r->layer;
    while (!format && r->layer < 0 && layer < LAYERS_MOST)
        format = find_format(&r->file, ++layer, folder, &r->d->arena, r->err);
    if (!format)
        return err_set(r->err,
                       "expected the files of a sparse autoencoder or transcoder, such as "
                       "cfg.json and sae_weights.safetensors, found none of a known format%s",
                       r->layer < 0 ? "" : " for this layer");
    if (strchr(format->tensors, '%') && r->layer < 0)
        return err_usage(r->err,
                         "'%s': expected a layer, as the folder has a file for each: add "
                         ":LAYER to --sae, such as :%d, found none",
                         folder->path, layer < 0 ? 0 : layer);
    r->d->format = format->name;
    r->of = format->bit;
    r->where = arena_format(&r->d->arena, r->err, "%s/%s", folder->path, r->file);
    if (!r->where || (name_ends_in(r->file, ".safetensors")
                          ? safetensors_open(&files->tensors, folder, r->file, r->err)
                      : name_ends_in(r->file, ".npz")
                          ? dump_open(files, r->where, r->err)
                          : pytorch_open_nested(&files->tensors, folder, r->file, r->err)))
        return -1;
    if (!folder_has(folder, format->config))
        return read_with(r, NULL, r->err);
    return name_ends_in(format->config, ".yaml")
               ? folder_read(folder, format->config, read_yaml, r, r->err)
               : json_read_file(folder, format->config, read_with, r, r->err);
}

/* Finish a dictionary of any format: apply the requested centering; refuse sizes that do not
 * match. */
static int check(const struct sae_reader *r)
{
    struct dictionary *d = r->d;
    const bool can_center = site_set_has(SITE_SET(SITE_RESID_PRE, SITE_RESID_MID, SITE_RESID_POST,
                                                  SITE_ATTN_OUT, SITE_MLP_OUT, SITE_EMBEDDING),
                                         d->site);
    if (r->request->center)
        d->centers = r->request->center == CENTER_ON;
    d->centers = d->centers && can_center;
    d->restores = d->restores || (d->centers && d->site == d->site_out);
    d->may_center = d->may_center && can_center && !r->request->center;
    d->epsilon = r->model->epsilon;
    d->encoder.bias = d->b_enc;
    if (d->active == ACTIVE_GROUPMAX && d->count % d->k)
        return err_set(r->err, "k: expected a divisor of %zu, the number of features, found %zu",
                       d->count, d->k);
    if (weight_exists(&d->skip) && (d->skip.in != d->in || d->skip.out != d->out))
        return err_set(r->err, "skip matrix: expected [%zu, %zu], found [%zu, %zu]", d->out, d->in,
                       d->skip.out, d->skip.in);
    if ((d->b_in || d->restores) && d->in != d->out)
        return err_set(r->err,
                       "expected as many channels in the output as in the input, found %zu and %zu",
                       d->out, d->in);
    return 0;
}

int dictionary_read(struct dictionary *dictionary, const struct dictionary_request *request,
                    const struct dictionary_model *model, struct err *err)
{
    const struct folder *bundled = bundled_find_dictionary(request->path);
    char real[PATH_MAX];
    struct sae_reader r = {
        .d = dictionary,
        .request = request,
        .model = model,
        .layer = request->layer,
        .err = err,
        .folder = bundled ? *bundled : (struct folder){.path = request->path},
    };
    *dictionary = (struct dictionary){.scale_in = 1, .scale_out = 1};
    r.path = realpath(request->path, real) ? arena_text(&dictionary->arena, real, strlen(real), err)
                                           : arena_path(&dictionary->arena, request->path, err);
    if (r.path && !read_files(&r) && !check(&r))
        return 0;
    dictionary_release(dictionary);
    return err->about || *err->text == '\'' ? -1 : err_prefix(err, "'%s'", request->path);
}

int dictionary_open(struct dictionary *dictionary, const struct dictionary_request *request,
                    const struct config *config, struct err *err)
{
    struct dictionary_model model = {.rms = config->rms, .epsilon = config->epsilon};
    const struct layer *first = config->n_layer ? layer_of(config, BRANCH_TEXT, 0) : NULL;
    for (size_t i = 0; first && i < first->count; i++)
        model.post_norms =
            model.post_norms || (first->sublayers[i].norm_out && !first->sublayers[i].adds_twice);
    if (dictionary_read(dictionary, request, &model, err))
        return -1;
    const enum site sites[] = {dictionary->site, dictionary->site_out};
    const size_t widths[] = {dictionary->in, dictionary->out};
    int failed = 0;
    for (size_t i = 0; i < 2 && !failed; i++) {
        const enum site site = sites[i];
        const size_t layer = site_row(site)->in_layer ? dictionary->layer : 0,
                     layers = site_layers(config, site);
        const bool exists = layer < layers && site_is_in_layer(config, site, layer);
        const size_t width =
            exists ? site_heads(config, site, layer) * site_columns(config, site, layer) : 0;
        if (!exists)
            failed = err_set(err, "expected a layer with '%s' from 0 to %zu, found %zu",
                             site_name(site), layers - 1, layer);
        else if (width != widths[i])
            failed =
                err_set(err, "expected %zu channels, as the model's '%s' in layer %zu, found %zu",
                        width, site_name(site), layer, widths[i]);
    }
    if (!failed)
        return 0;
    dictionary_release(dictionary);
    return err_prefix(err, "'%s'", request->path);
}
