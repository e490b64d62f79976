/* dictionary_formats.c: the readers of dictionary.h. A format is known by its files; its function
 * fills the description from the config and the tensors. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "format/json.h"
#include "format/json_writer.h"
#include "format/pytorch.h"
#include "lens/dictionary.h"
#include "math/rows.h"
#include "model/layer.h"
#include "model/model.h"

struct dictionary_reader {
    struct dictionary *dictionary;
    const struct dictionary_request *request;
    const struct dictionary_model *model;
    const struct json *config; /* NULL: there is none */
    struct folder folder;
    const char *path; /* of the folder, absolute: its names may say the site */
    const char *file; /* of the tensors */
};

/* --- tensors ---------------------------------------------------------------------------------- */

static const struct dumped *find(const struct dictionary_reader *reader, struct dumped *room,
                                 const char *name)
{
    const struct dump *files = &reader->dictionary->files;
    const struct safetensors_entry *entry = safetensors_find(&files->tensors, name);
    for (size_t i = 0; !entry && i < files->count; i++)
        if (strcmp(files->items[i].entry.name, name) == 0)
            return &files->items[i];
    *room = (struct dumped){.entry = entry ? *entry : (struct safetensors_entry){0}};
    return entry ? room : NULL;
}

static bool has(const struct dictionary_reader *reader, const char *name)
{
    struct dumped room;
    return find(reader, &room, name);
}

static int refuse_tensor(const struct dictionary_reader *reader, const char *name,
                         const char *expected, const struct dumped *found, struct err *err)
{
    err_set(err, "'%s/%s': tensor '%s': expected %s, found ", reader->folder.path, reader->file,
            name, expected);
    if (!found)
        return err_append(err, "none");
    err_append(err, "%s [", dtype_name(found->entry.dtype));
    for (size_t i = 0; i < found->entry.rank; i++)
        err_append(err, "%s%zu", i ? ", " : "", found->entry.shape[i]);
    return err_append(err, "]");
}

/* Refuse a tensor that is missing, of another type or rank, or has numbers that are not finite. */
static const struct dumped *expect(const struct dictionary_reader *reader, struct dumped *room,
                                   const char *name, size_t rank, struct err *err)
{
    const struct dumped *found = find(reader, room, name);
    const char *expected = rank == 2 ? "a matrix of floats" : "a vector of floats";
    const struct safetensors_entry *entry = found ? &found->entry : NULL;
    if (!entry || !dtype_is_weight(entry->dtype) || dtype_is_quantised(entry->dtype) ||
        (entry->rank != rank && entry->count != 1) || (rank == 2 && entry->count == 0)) {
        refuse_tensor(reader, name, expected, found, err);
        return NULL;
    }
    float numbers[DTYPE_BLOCK_MAX];
    const char *at = entry->data;
    for (size_t i = 0; i < entry->count; i += DTYPE_BLOCK_MAX) {
        size_t count = num_min(DTYPE_BLOCK_MAX, entry->count - i);
        dtype_to_float(numbers, at + i * dtype_size_bytes(entry->dtype), entry->dtype, count);
        size_t bad = first_nonfinite(numbers, count);
        if (bad < count) {
            err_set(err,
                    "'%s/%s': tensor '%s': expected finite numbers, found infinity or nan at %zu",
                    reader->folder.path, reader->file, name, i + bad);
            return NULL;
        }
    }
    return found;
}

/* How a file stores a matrix [rows, columns]; how it is kept. */
enum stored { AS_IT_IS, TRANSPOSED };

/* Read a matrix [in, out]: kept as rows of `in` numbers, for products, if `by_output`, else as rows
 * of `out`; in place if the file has it so. */
static int take_matrix(const struct dictionary_reader *reader, struct weight *w, const char *name,
                       enum stored stored, bool by_output, struct err *err)
{
    struct dumped room;
    const struct dumped *found = expect(reader, &room, name, 2, err);
    if (!found)
        return -1;
    const struct safetensors_entry *entry = &found->entry;
    if (entry->rank != 2)
        return refuse_tensor(reader, name, "a matrix of floats", found, err);
    const size_t rows = entry->shape[0], columns = entry->shape[1];
    const size_t in = stored == AS_IT_IS ? rows : columns,
                 out = stored == AS_IT_IS ? columns : rows;
    const bool turns = (stored == AS_IT_IS) == by_output;
    const void *data = entry->data;
    enum dtype dtype = entry->dtype;
    if (turns || found->is_fortran || (dtype != DTYPE_BF16 && !safetensors_floats(entry))) {
        struct arena *arena = &reader->dictionary->arena;
        struct arena scratch = {0};
        float *floats = arena_room(turns ? &scratch : arena, entry->count, sizeof *floats, err);
        float *turned = turns ? arena_room(arena, entry->count, sizeof *turned, err) : floats;
        int failed = !floats || !turned || dump_floats(floats, found, err);
        if (!failed && turns)
            transpose((struct matrix){turned, columns, rows, rows},
                      (struct matrix){floats, rows, columns, columns});
        arena_release(&scratch);
        if (failed)
            return -1;
        data = turned;
        dtype = DTYPE_F32;
    }
    *w = (struct weight){.in = in, .out = out, .stride = out};
    if (by_output)
        w->rows = (struct weight_rows){data, dtype, {0, out, out}, 0};
    else if (dtype == DTYPE_BF16)
        w->halves = data;
    else
        w->data = data;
    return 0;
}

/* Read a vector of `count` numbers; a single one is that of all. */
static int take_vector(const struct dictionary_reader *reader, const float **vector,
                       const char *name, size_t count, struct err *err)
{
    struct dumped room;
    char expected[64];
    const struct dumped *found = expect(reader, &room, name, 1, err);
    if (!found)
        return -1;
    snprintf(expected, sizeof expected, "%zu floats", count);
    if (found->entry.count != count && found->entry.rank)
        return refuse_tensor(reader, name, expected, found, err);
    float *numbers =
        arena_room(&reader->dictionary->arena, num_max(count, 1), sizeof *numbers, err);
    if (!numbers || dump_floats(numbers, found, err))
        return -1;
    for (size_t i = found->entry.count; i < count; i++)
        numbers[i] = numbers[0];
    *vector = numbers;
    return 0;
}

/* A row of vectors to read; `of_out`: as long as the output, else a number for each feature. */
static int take_if_there(const struct dictionary_reader *reader, const float **vector,
                         const char *name, size_t count, struct err *err)
{
    return has(reader, name) ? take_vector(reader, vector, name, count, err) : 0;
}

/* [count] a number for all features; the lengths of the decoder's rows times a factor. */
static float *fill(const struct dictionary_reader *reader, double number, struct err *err)
{
    struct dictionary *d = reader->dictionary;
    float *numbers = arena_room(&d->arena, d->count, sizeof *numbers, err);
    for (size_t i = 0; numbers && i < d->count; i++)
        numbers[i] = (float)number;
    return numbers;
}

static int rank_by_length(const struct dictionary_reader *reader, double factor, struct err *err)
{
    struct dictionary *d = reader->dictionary;
    float *lengths = fill(reader, 0, err);
    float *scratch = arena_room(&d->arena, d->out, sizeof *scratch, err);
    if (!lengths || !scratch)
        return -1;
    for (size_t i = 0; i < d->count; i++) {
        const float *row = weight_row(&d->decoder, i, 0, d->out, scratch);
        lengths[i] = (float)(sqrt(dot_rows(row, row, d->out)) * factor);
    }
    d->rank = lengths;
    return 0;
}

/* Read the two matrices, and from them the sizes; the names of a format, and how it stores them. */
static int take_coder(const struct dictionary_reader *reader, const char *encoder,
                      enum stored encoder_stored, const char *decoder, enum stored decoder_stored,
                      struct err *err)
{
    struct dictionary *d = reader->dictionary;
    if (take_matrix(reader, &d->encoder, encoder, encoder_stored, true, err) ||
        take_matrix(reader, &d->decoder, decoder, decoder_stored, false, err))
        return -1;
    d->in = d->encoder.in;
    d->count = d->encoder.out;
    d->out = d->decoder.out;
    if (d->decoder.in != d->count || d->count > UINT32_MAX)
        return err_set(err,
                       "'%s/%s': shapes: expected a row of '%s' for each of the %zu features of "
                       "'%s', found %zu",
                       reader->folder.path, reader->file, decoder, d->count, encoder,
                       d->decoder.in);
    return 0;
}

/* --- configs ---------------------------------------------------------------------------------- */

static int refuse(const char *field, const struct json *value, const char *expected,
                  struct err *err)
{
    json_refuse(field, value, expected, err);
    err->kind = ERR_UNSUPPORTED;
    return -1;
}

static bool is_true(const struct json *object, const char *name)
{
    bool value = false;
    const struct json *member = json_given(object, name);
    return member && json_get_bool(member, &value) && value;
}

/* Refuse settings that only mean something else if they are true or given. */
static int refuse_settings(const struct json *object, const char *const *names, size_t count,
                           struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct json *member = json_given(object, names[i]);
        bool value = true;
        if (member && (!json_get_bool(member, &value) || value))
            return refuse(names[i], member, "false, or none", err);
    }
    return 0;
}

static int take_k(const struct dictionary_reader *reader, const struct json *object,
                  const char *name, struct err *err)
{
    struct dictionary *d = reader->dictionary;
    long long k = 0;
    if (json_integer(object, name, 1, (long long)d->count, &k, err))
        return -1;
    if (!k)
        return json_refuse(name, NULL, "the number of active features", err);
    d->k = (size_t)k;
    return 0;
}

/* Choose by a text of the config; `missing` if there is none. */
static int choose_text(size_t *index, const struct json *object, const char *name,
                       struct names names, const char *missing, struct err *err)
{
    const char *text = missing;
    const struct json *member = json_given(object, name);
    if (member && !json_get_text(member, &text))
        return refuse(name, member, "a name", err);
    if (text && names_find(index, names, text, strlen(text)))
        return 0;
    char expected[512];
    size_t used = 0;
    for (size_t i = 0; i < names.count && used < sizeof expected; i++)
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s",
                                 i ? ", " : "one of ", names_at(names, i));
    return refuse(name, member, expected, err);
}

/* --- hooks ------------------------------------------------------------------------------------ */

struct hook_row {
    const char *name;
    enum site site, with_post_norms;
};

/* TransformerLens' hooks of a layer, and modules of transformers with their input or output. */
static const struct hook_row block_hooks[] = {
    {"hook_resid_pre", SITE_RESID_PRE, SITE_RESID_PRE},
    {"hook_resid_mid", SITE_RESID_MID, SITE_RESID_MID},
    {"hook_resid_post", SITE_RESID_POST, SITE_RESID_POST},
    {"attn.hook_q", SITE_Q_PRE, SITE_Q_PRE},
    {"attn.hook_k", SITE_K_PRE, SITE_K_PRE},
    {"attn.hook_v", SITE_V, SITE_V},
    {"attn.hook_z", SITE_CONTEXT, SITE_CONTEXT},
    {"hook_attn_out", SITE_ATTN_OUT, SITE_LN_1_POST},
    {"hook_mlp_in", SITE_RESID_MID, SITE_RESID_MID},
    {"mlp.hook_in", SITE_LN_2, SITE_LN_2},
    {"mlp.hook_post", SITE_MLP_ACT, SITE_MLP_ACT},
    {"mlp.hook_out", SITE_MLP_OUT, SITE_MLP_OUT},
    {"hook_mlp_out", SITE_MLP_OUT, SITE_LN_2_POST},
};

static const struct hook_row module_hooks[] = {
    {"input", SITE_RESID_PRE, SITE_RESID_PRE},
    {"output", SITE_RESID_POST, SITE_RESID_POST},
    {"self_attn.o_proj.input", SITE_CONTEXT, SITE_CONTEXT},
    {"self_attn.output", SITE_ATTN_OUT, SITE_ATTN_OUT},
    {"attention.output", SITE_ATTN_OUT, SITE_ATTN_OUT},
    {"attn.output", SITE_ATTN_OUT, SITE_ATTN_OUT},
    {"pre_feedforward_layernorm.output", SITE_LN_2, SITE_LN_2},
    {"post_feedforward_layernorm.output", SITE_LN_2_POST, SITE_LN_2_POST},
    {"mlp.input", SITE_LN_2, SITE_LN_2},
    {"mlp.act.output", SITE_MLP_ACT, SITE_MLP_ACT},
    {"mlp.output", SITE_MLP_OUT, SITE_MLP_OUT},
};

struct hook {
    enum site site;
    size_t layer;
    bool of_direction;
};

static bool find_row(struct hook *hook, const struct hook_row *rows, size_t count, const char *name,
                     const struct dictionary_model *model)
{
    size_t index;
    if (!names_find(&index, NAMES(rows, count), name, strlen(name)))
        return false;
    hook->site = model->post_norms ? rows[index].with_post_norms : rows[index].site;
    return true;
}

/* Skip a layer's number after one of the prefixes; NULL: there is none. */
static const char *skip_layer(struct hook *hook, const char *at)
{
    const size_t digits = strspn(at, "0123456789");
    long long layer = 0;
    if (!num_parse_part(at, digits, 0, INT32_MAX, &layer))
        return NULL;
    hook->layer = (size_t)layer;
    return at + digits + (at[digits] == '.');
}

static bool find_module(struct hook *hook, const char *name, const struct dictionary_model *model)
{
    static const char *const stacks[] = {"gpt_neox.", "model.", "transformer.", "language_model."};
    char module[64];
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks;)
        if (strncmp(name, stacks[i], strlen(stacks[i])) == 0) {
            name += strlen(stacks[i]);
            i = 0;
        } else
            i++;
    size_t stem = strncmp(name, "layers", 6) == 0 ? 6 : *name == 'h';
    if (!stem || (name[stem] != '.' && name[stem] != '_'))
        return false;
    name = skip_layer(hook, name + stem + 1);
    if (!name)
        return false;
    const bool has_end = name_ends_in(name, "input") || name_ends_in(name, "output");
    snprintf(module, sizeof module, "%s%s", name, has_end ? "" : *name ? ".output" : "output");
    return find_row(hook, module_hooks, sizeof module_hooks / sizeof *module_hooks, module, model);
}

static int find_hook(struct hook *hook, const struct dictionary_reader *reader, const char *name,
                     struct err *err)
{
    const struct dictionary_model *model = reader->model;
    const char *rest =
        strncmp(name, "blocks.", 7) == 0 ? skip_layer(hook, name + strlen("blocks.")) : NULL;
    *hook = (struct hook){.layer = rest ? hook->layer : 0};
    if (rest && find_row(hook, block_hooks, sizeof block_hooks / sizeof *block_hooks, rest, model))
        return 0;
    if (rest &&
        (strcmp(rest, "ln1.hook_normalized") == 0 || strcmp(rest, "ln2.hook_normalized") == 0)) {
        hook->site = rest[2] == '1' ? SITE_RESID_PRE : SITE_RESID_MID;
        hook->of_direction = true;
        return model->rms ? 0
                          : err_unsupported(err,
                                            "%s: before or after the scale and shift of the norm, "
                                            "by the version of TransformerLens: say "
                                            ",site=ln_%c or ,site=normalized_%c after the folder",
                                            name, rest[2], rest[2]);
    }
    if (strcmp(name, "hook_embed") == 0 || strcmp(name, "embed_tokens") == 0) {
        hook->site = SITE_EMBEDDING;
        return 0;
    }
    return find_module(hook, name, model)
               ? 0
               : err_unsupported(err,
                                 "expected a hook that is a site, found '%s': say :LAYER,site=SITE "
                                 "after the folder",
                                 name);
}

/* Read a site of a request. */
static int parse_site(struct hook *hook, const char *name, size_t size, struct err *err)
{
    static const char normalized[] = "normalized_";
    const size_t stem = sizeof normalized - 1;
    if (size == stem + 1 && memcmp(name, normalized, stem) == 0 &&
        (name[stem] == '1' || name[stem] == '2')) {
        hook->site = name[stem] == '1' ? SITE_RESID_PRE : SITE_RESID_MID;
        hook->of_direction = true;
        return 0;
    }
    return site_find(name, size, &hook->site)
               ? 0
               : err_usage(err,
                           "site: expected a site (info --sites), normalized_1 or "
                           "normalized_2, found '%.*s'",
                           (int)size, name);
}

/* Set the sites and the layer, by the hooks of the input and the output (NULL: the input's; both
 * NULL: unknown), or as requested. */
static int take_sites(const struct dictionary_reader *reader, const char *input, const char *output,
                      struct err *err)
{
    struct dictionary *d = reader->dictionary;
    const struct dictionary_request *request = reader->request;
    struct hook in = {0}, out = {0};
    const char *site = request->site, *colon = site ? strchr(site, ':') : NULL;
    if (site && parse_site(&in, site, colon ? (size_t)(colon - site) : strlen(site), err))
        return -1;
    if (!site && !input)
        return err_unsupported(err, "expected the name of a hook, found none: say "
                                    ":LAYER,site=SITE after the folder");
    if (!site && find_hook(&in, reader, input, err))
        return -1;
    if (site && input && request->layer < 0) { /* the hook may be unknown, but not its layer */
        struct hook own = {0};
        struct err ignored = {0};
        find_hook(&own, reader, input, &ignored);
        in.layer = own.layer;
    }
    out = in;
    if (colon ? parse_site(&out, colon + 1, strlen(colon + 1), err)
              : output && find_hook(&out, reader, output, err))
        return -1;
    d->site = in.site;
    d->of_direction = in.of_direction;
    d->site_out = out.site;
    d->layer = request->layer >= 0 ? (size_t)request->layer : in.layer;
    return 0;
}

/* --- SAELens ---------------------------------------------------------------------------------- */

static const struct json *either(const struct json *config, const char *name, const char *former)
{
    const struct json *metadata = json_given(config, "metadata");
    const struct json *found = metadata ? json_given(metadata, name) : NULL;
    found = found ? found : json_given(config, name);
    return found || !former ? found : either(config, former, NULL);
}

static const char *text_of(const struct json *value)
{
    const char *text = NULL;
    return value && json_get_text(value, &text) ? text : NULL;
}

/* The version as major · 1000 + minor; 0: none is written, so it is old. */
static int saelens_version(const struct json *config)
{
    int major = 0, minor = 0;
    const char *text = text_of(either(config, "sae_lens_version", NULL));
    return text && sscanf(text, "%3d.%3d", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

static int read_scaler(void *context, const struct json *root, struct err *err)
{
    return json_double(root, "scaling_factor", 0, 1e30, context, err);
}

static int saelens_norm(const struct dictionary_reader *reader, bool is_transcoder, struct err *err)
{
    static const char *const norms[] = {"none", "constant_norm_rescale", "layer_norm",
                                        "expected_average_only_in"};
    enum { AVERAGE = 3 };
    struct dictionary *d = reader->dictionary;
    const struct json *given = json_given(reader->config, "normalize_activations");
    size_t norm = 0;
    bool average = false;
    double scale = reader->request->scale;
    if (given && json_get_bool(given, &average))
        norm = average ? AVERAGE : 0;
    else if (choose_text(&norm, reader->config, "normalize_activations", NAMES_LIST(norms), "none",
                         err))
        return -1;
    if (norm < AVERAGE) {
        d->norm = (enum dictionary_norm)norm;
        d->restores = norm && !is_transcoder;
        return 0;
    }
    if (!(scale > 0) && folder_has(&reader->folder, "activation_scaler.json") &&
        json_read_file(&reader->folder, "activation_scaler.json", read_scaler, &scale, err))
        return -1;
    if (!(scale > 0))
        return err_unsupported(err, "normalize_activations expected_average_only_in: expected its "
                                    "factor in activation_scaler.json, found none: say ,scale="
                                    "S after the folder, √d_in / (mean norm of the activations)");
    d->scale_in = d->scale_out = scale;
    return 0;
}

/* What TransformerLens had folded into the weights when the dictionary was trained. */
static int saelens_folds(const struct dictionary_reader *reader, const char *hook, struct err *err)
{
    static const char *const refused[] = {"fold_value_biases", "refactor_factored_attn_matrices"};
    struct dictionary *d = reader->dictionary;
    const struct json *kwargs = either(reader->config, "model_from_pretrained_kwargs", NULL);
    for (size_t i = 0; i < 2; i++)
        if (is_true(kwargs, refused[i]))
            return refuse(refused[i], json_given(kwargs, refused[i]),
                          "false: these rows have another basis", err);
    if (is_true(kwargs, "fold_ln") && hook && strstr(hook, "hook_normalized"))
        return refuse("fold_ln", json_given(kwargs, "fold_ln"), "false for hook_normalized", err);
    d->centers = is_true(kwargs, "center_writing_weights") && !reader->model->rms;
    d->may_center = !kwargs && !reader->model->rms && saelens_version(reader->config) < 3020;
    return 0;
}

/* A factor of each feature, learned after the training of all else. */
static int saelens_finetune(const struct dictionary_reader *reader, struct err *err)
{
    struct dictionary *d = reader->dictionary;
    const bool used = is_true(reader->config, "finetuning_scaling_factor");
    const float *factors = NULL;
    bool ones = true;
    if (take_if_there(reader, &factors, "scaling_factor", d->count, err) ||
        (used && take_if_there(reader, &d->finetune, "finetuning_scaling_factor", d->count, err)))
        return -1;
    for (size_t i = 0; factors && i < d->count; i++)
        ones = ones && fabsf(factors[i] - 1) < 1e-5f;
    if (!ones && !used)
        return err_unsupported(err, "scaling_factor: expected ones, as finetuning_scaling_factor "
                                    "is false, found others");
    d->finetune = ones ? d->finetune : factors;
    return 0;
}

static const struct saelens_kind {
    const char *name;
    enum active active;
    bool is_transcoder, skips;
} saelens_kinds[] = {
    {"standard", ACTIVE_RELU, false, false},
    {"gated", ACTIVE_GATED, false, false},
    {"topk", ACTIVE_TOPK, false, false},
    {"abstopk", ACTIVE_ABSTOPK, false, false},
    {"jumprelu", ACTIVE_JUMPRELU, false, false},
    {"transcoder", ACTIVE_RELU, true, false},
    {"skip_transcoder", ACTIVE_RELU, true, true},
    {"jumprelu_transcoder", ACTIVE_JUMPRELU, true, false},
    {"jumprelu_skip_transcoder", ACTIVE_JUMPRELU, true, true},
};

/* Find the architecture and, of one with k, the object that has it. */
static int saelens_architecture(const struct saelens_kind **kind, const struct json **of_k,
                                const struct json *config, struct err *err)
{
    static const char *const functions[] = {"relu", "topk"};
    enum { SAELENS_TOPK = 2 };
    const bool old = saelens_version(config) < 6000;
    const char *name = json_given(config, "activation_fn") ? "activation_fn" : "activation_fn_str";
    size_t index = 0, function = 0;
    *of_k = config;
    if (choose_text(&index, config, "architecture",
                    NAMES(saelens_kinds, sizeof saelens_kinds / sizeof *saelens_kinds), "standard",
                    err) ||
        (old && choose_text(&function, config, name, NAMES_LIST(functions), "relu", err)))
        return -1;
    if (function) {
        index = SAELENS_TOPK;
        *of_k = json_given(config, "activation_fn_kwargs");
    }
    *kind = &saelens_kinds[index];
    return 0;
}

static int read_saelens(const struct dictionary_reader *reader, struct err *err)
{
    struct dictionary *d = reader->dictionary;
    const struct json *config = reader->config, *of_k = NULL;
    const struct saelens_kind *kind = NULL;
    const struct json *head = either(config, "hook_head_index", "hook_point_head_index");
    if (saelens_architecture(&kind, &of_k, config, err) ||
        (head && refuse("hook_head_index", head, "all heads", err)) ||
        saelens_norm(reader, kind->is_transcoder, err) ||
        take_coder(reader, "W_enc", AS_IT_IS, "W_dec", AS_IT_IS, err) ||
        saelens_finetune(reader, err))
        return -1;
    const char *hook = text_of(either(config, "hf_hook_name", NULL));
    hook = hook ? hook : text_of(either(config, "hook_name", "hook_point"));
    const char *out = text_of(either(config, "hf_hook_name_out", "hook_name_out"));
    bool subtracts = !kind->is_transcoder;
    if (saelens_folds(reader, hook, err) ||
        take_sites(reader, hook, kind->is_transcoder ? out : NULL, err) ||
        json_bool(config, "apply_b_dec_to_input", &subtracts, err))
        return -1;
    if (subtracts && kind->is_transcoder)
        return refuse("apply_b_dec_to_input", json_given(config, "apply_b_dec_to_input"),
                      "false for a transcoder", err);
    d->active = kind->active;
    if (take_vector(reader, &d->b_out, "b_dec", d->out, err) ||
        take_if_there(reader, &d->b_enc, "b_enc", d->count, err))
        return -1;
    if (subtracts)
        d->b_in = d->b_out;
    if (kind->active == ACTIVE_TOPK || kind->active == ACTIVE_ABSTOPK) {
        d->ranked = is_true(config, "rescale_acts_by_decoder_norm");
        if (take_k(reader, of_k, "k", err) || (d->ranked && rank_by_length(reader, 1, err)))
            return -1;
    }
    if (kind->active == ACTIVE_GATED)
        return err_if(take_vector(reader, &d->b_gate, "b_gate", d->count, err) ||
                      take_vector(reader, &d->r_mag, "r_mag", d->count, err) ||
                      take_vector(reader, &d->b_mag, "b_mag", d->count, err));
    return err_if((kind->active == ACTIVE_JUMPRELU &&
                   take_vector(reader, &d->threshold, "threshold", d->count, err)) ||
                  (kind->skips && take_matrix(reader, &d->skip, "W_skip", TRANSPOSED, true, err)));
}

/* --- sparsify --------------------------------------------------------------------------------- */

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int read_sparsify(const struct dictionary_reader *reader, struct err *err)
{
    static const char *const refused[] = {"embed_skip", "gram_lookup", "signed"};
    static const char *const kinds[] = {"topk", "groupmax"};
    struct dictionary *d = reader->dictionary;
    const bool is_transcoder = is_true(reader->config, "transcode");
    const bool own_decoder = has(reader, "W_dec");
    const char *name = last_name(reader->path);
    const char *in = arena_format(&d->arena, err, "%s%s", name, is_transcoder ? ".input" : "");
    size_t kind = 0;
    if (!in || refuse_settings(reader->config, refused, 3, err) ||
        choose_text(&kind, reader->config, "activation", NAMES_LIST(kinds), "topk", err) ||
        take_coder(reader, "encoder.weight", TRANSPOSED, own_decoder ? "W_dec" : "decoder.weight",
                   own_decoder ? AS_IT_IS : TRANSPOSED, err) ||
        take_k(reader, reader->config, "k", err) || take_sites(reader, in, name, err) ||
        take_if_there(reader, &d->b_enc, "encoder.bias", d->count, err) ||
        take_vector(reader, &d->b_out, "b_dec", d->out, err) ||
        (has(reader, "W_skip") && take_matrix(reader, &d->skip, "W_skip", TRANSPOSED, true, err)))
        return -1;
    d->active = kind ? ACTIVE_GROUPMAX : ACTIVE_TOPK;
    if (!is_transcoder)
        d->b_in = d->b_out;
    return 0;
}

/* --- Gemma Scope ------------------------------------------------------------------------------ */

/* The hook of a folder's layer: layer_20 in its path, and a word of it. */
struct folder_hook {
    const char *word, *input, *output;
};

static int take_sites_of_path(const struct dictionary_reader *reader,
                              const struct folder_hook *hooks, size_t count, struct err *err)
{
    struct arena *arena = &reader->dictionary->arena;
    const char *at = strstr(reader->path, "layer_");
    const long layer = at ? strtol(at + strlen("layer_"), NULL, 10) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!strstr(reader->path, hooks[i].word))
            continue;
        const char *in = arena_format(arena, err, hooks[i].input, layer);
        const char *out = arena_format(arena, err, hooks[i].output, layer);
        return err_if(!in || !out || take_sites(reader, in, out, err));
    }
    if (reader->request->site) {
        const char *in = arena_format(arena, err, "blocks.%ld", layer);
        return err_if(!in || take_sites(reader, in, NULL, err));
    }
    return err_unsupported(err,
                           "'%s/%s': expected the site in the names of its folders, such as "
                           "gemma-scope-2b-pt-res/layer_20/width_16k/average_l0_71, found none: "
                           "say ,site=SITE after the folder",
                           reader->folder.path, reader->file);
}

static int read_gemma_scope(const struct dictionary_reader *reader, struct err *err)
{
    static const struct folder_hook hooks[] = {
        {"transcoders", "blocks.%ld.ln2.hook_normalized", "blocks.%ld.hook_mlp_out"},
        {"/embedding", "hook_embed", "hook_embed"},
        {"-res/", "blocks.%ld.hook_resid_post", "blocks.%ld.hook_resid_post"},
        {"-mlp/", "blocks.%ld.hook_mlp_out", "blocks.%ld.hook_mlp_out"},
        {"-att/", "blocks.%ld.attn.hook_z", "blocks.%ld.attn.hook_z"},
    };
    struct dictionary *d = reader->dictionary;
    const bool small = has(reader, "w_enc");
    d->active = ACTIVE_JUMPRELU;
    if (take_coder(reader, small ? "w_enc" : "W_enc", AS_IT_IS, small ? "w_dec" : "W_dec", AS_IT_IS,
                   err) ||
        take_sites_of_path(reader, hooks, sizeof hooks / sizeof *hooks, err) ||
        take_vector(reader, &d->b_enc, "b_enc", d->count, err) ||
        take_vector(reader, &d->b_out, "b_dec", d->out, err) ||
        take_vector(reader, &d->threshold, "threshold", d->count, err))
        return -1;
    if (d->site == SITE_EMBEDDING) /* trained on rows before the factor √C of Gemma */
        d->scale_in = d->scale_out = 1 / sqrt((double)d->in);
    return 0;
}

static int read_gemma_scope_2(const struct dictionary_reader *reader, struct err *err)
{
    static const struct folder_hook hooks[] = {
        {"transcoder", "model.layers.%ld.pre_feedforward_layernorm.output",
         "model.layers.%ld.post_feedforward_layernorm.output"},
        {"resid_post", "model.layers.%ld.output", "model.layers.%ld.output"},
        {"attn_out", "model.layers.%ld.self_attn.o_proj.input",
         "model.layers.%ld.self_attn.o_proj.input"},
        {"mlp_out", "model.layers.%ld.post_feedforward_layernorm.output",
         "model.layers.%ld.post_feedforward_layernorm.output"},
    };
    static const char *const kinds[] = {"jump_relu"};
    struct dictionary *d = reader->dictionary;
    size_t kind = 0;
    struct dumped room;
    const struct dumped *decoder = find(reader, &room, "w_dec");
    const char *in = text_of(json_given(reader->config, "hf_hook_point_in"));
    const char *out = text_of(json_given(reader->config, "hf_hook_point_out"));
    if (decoder && decoder->entry.rank == 3)
        return err_unsupported(err, "tensor 'w_dec': expected two axes, found three, a cross-layer "
                                    "transcoder");
    d->active = ACTIVE_JUMPRELU;
    if (choose_text(&kind, reader->config, "architecture", NAMES_LIST(kinds), *kinds, err) ||
        take_coder(reader, "w_enc", AS_IT_IS, "w_dec", AS_IT_IS, err))
        return -1;
    return err_if((in ? take_sites(reader, in, out, err)
                      : take_sites_of_path(reader, hooks, sizeof hooks / sizeof *hooks, err)) ||
                  take_vector(reader, &d->b_enc, "b_enc", d->count, err) ||
                  take_vector(reader, &d->b_out, "b_dec", d->out, err) ||
                  take_vector(reader, &d->threshold, "threshold", d->count, err) ||
                  (has(reader, "affine_skip_connection") &&
                   take_matrix(reader, &d->skip, "affine_skip_connection", AS_IT_IS, true, err)));
}

/* --- Llama Scope and OpenMOSS ----------------------------------------------------------------- */

/* The factors √d / (average norm), or 1, of the input and the output. */
static int take_scales(const struct dictionary_reader *reader, const double norms[2],
                       struct err *err)
{
    static const char *const ways[] = {"dataset-wise", "inference"};
    struct dictionary *d = reader->dictionary;
    size_t way = 0;
    if (choose_text(&way, reader->config, "norm_activation", NAMES_LIST(ways), NULL, err))
        return -1;
    if (way)
        return 0;
    if (!(norms[0] > 0 && norms[1] > 0))
        return json_refuse("dataset_average_activation_norm", NULL, "two numbers above 0", err);
    d->scale_in = sqrt((double)d->in) / norms[0];
    d->scale_out = sqrt((double)d->in) / norms[1];
    return 0;
}

static int take_linear_layers(const struct dictionary_reader *reader, struct err *err)
{
    static const char *const refused[] = {"use_glu_encoder"}, *const types[] = {"sae"};
    struct dictionary *d = reader->dictionary;
    const struct json *config = reader->config;
    size_t type = 0;
    const char *in = text_of(json_given(config, "hook_point_in"));
    const char *out = text_of(json_given(config, "hook_point_out"));
    return err_if(
        choose_text(&type, config, "sae_type", NAMES_LIST(types), "sae", err) ||
        refuse_settings(config, refused, 1, err) ||
        take_coder(reader, "encoder.weight", TRANSPOSED, "decoder.weight", TRANSPOSED, err) ||
        take_sites(reader, in, out, err) ||
        take_vector(reader, &d->b_enc, "encoder.bias", d->count, err) ||
        take_if_there(reader, &d->b_out, "decoder.bias", d->out, err));
}

/* The threshold is in units of the model's stream and of a decoder whose rows have the length 1. */
static int read_llama_scope(const struct dictionary_reader *reader, struct err *err)
{
    static const struct {
        const char *name;
        enum active active;
    } kinds[] = {{"jumprelu", ACTIVE_JUMPRELU}, {"JumpReLU", ACTIVE_JUMPRELU},
                 {"topk", ACTIVE_TOPK},         {"TopK", ACTIVE_TOPK},
                 {"relu", ACTIVE_RELU},         {"ReLU", ACTIVE_RELU}};
    struct dictionary *d = reader->dictionary;
    const struct json *config = reader->config;
    const struct json *averages = json_given(config, "dataset_average_activation_norm");
    double norms[2] = {0}, threshold = 0;
    size_t kind = 0;
    if (take_linear_layers(reader, err) || json_double(averages, "in", 0, 1e30, &norms[0], err) ||
        json_double(averages, "out", 0, 1e30, &norms[1], err) || take_scales(reader, norms, err) ||
        choose_text(&kind, config, "act_fn", NAMES(kinds, sizeof kinds / sizeof *kinds), NULL,
                    err) ||
        json_double(config, "jump_relu_threshold", -1e30, 1e30, &threshold, err))
        return -1;
    d->active =
        kinds[kind].active == ACTIVE_TOPK && threshold > 0 ? ACTIVE_JUMPRELU : kinds[kind].active;
    if (is_true(config, "apply_decoder_bias_to_pre_encoder") &&
        (!json_given(config, "use_decoder_bias") || is_true(config, "use_decoder_bias")))
        d->b_in = d->b_out;
    if (d->active == ACTIVE_RELU)
        return 0;
    d->ranked = true;
    if (is_true(config, "sparsity_include_decoder_norm")
            ? rank_by_length(reader, 1 / d->scale_out, err)
            : !(d->rank = fill(reader, 1 / d->scale_in, err)))
        return -1;
    if (d->active == ACTIVE_TOPK)
        return take_k(reader, config, "top_k", err);
    d->threshold = fill(reader, threshold, err);
    return d->threshold ? 0 : -1;
}

static int take_average(const struct dictionary_reader *reader, double *norm, const char *hook,
                        struct err *err)
{
    const float *number = NULL;
    const char *name = arena_format(&reader->dictionary->arena, err,
                                    "dataset_average_activation_norm.%s", hook ? hook : "");
    if (!name || take_if_there(reader, &number, name, 1, err))
        return -1;
    *norm = number ? (double)*number : 0;
    return 0;
}

static int read_openmoss(const struct dictionary_reader *reader, struct err *err)
{
    static const char *const kinds[] = {"jumprelu", "JumpReLU"};
    struct dictionary *d = reader->dictionary;
    const struct json *config = reader->config;
    double norms[2];
    size_t kind = 0;
    d->active = ACTIVE_JUMPRELU;
    if (take_linear_layers(reader, err) ||
        take_average(reader, &norms[0], text_of(json_given(config, "hook_point_in")), err) ||
        take_average(reader, &norms[1], text_of(json_given(config, "hook_point_out")), err) ||
        take_scales(reader, norms, err) ||
        choose_text(&kind, config, "act_fn", NAMES_LIST(kinds), NULL, err) ||
        take_vector(reader, &d->threshold, "log_jumprelu_threshold", d->count, err) ||
        (is_true(config, "sparsity_include_decoder_norm") && rank_by_length(reader, 1, err)))
        return -1;
    float *threshold = (float *)d->threshold; /* it decides, and does not scale */
    for (size_t i = 0; i < d->count; i++)
        threshold[i] = expf(threshold[i]);
    return 0;
}

/* --- circuit-tracer --------------------------------------------------------------------------- */

static int read_circuit_tracer(const struct dictionary_reader *reader, struct err *err)
{
    static const char *const sets[] = {"transcoder_set"};
    static const struct {
        const char *name;
        enum active active;
    } kinds[] = {{"relu", ACTIVE_RELU}, {"jumprelu", ACTIVE_JUMPRELU}, {"topk", ACTIVE_TOPK}};
    static const char threshold[] = "activation_function.threshold";
    struct dictionary *d = reader->dictionary;
    const struct json *config = reader->config;
    struct arena *arena = &d->arena;
    const int layer = reader->request->layer;
    const char *input = text_of(json_given(config, "feature_input_hook"));
    const char *output = text_of(json_given(config, "feature_output_hook"));
    const char *in = input ? arena_format(arena, err, "blocks.%d.%s", layer, input) : NULL;
    const char *out = output ? arena_format(arena, err, "blocks.%d.%s", layer, output) : NULL;
    size_t set = 0, kind = 0;
    struct dumped room;
    const struct dumped *bias = find(reader, &room, "b_dec");
    const size_t width = bias ? bias->entry.count : 0;
    const struct dumped *decoder = find(reader, &room, "W_dec");
    /* files of 2025, whose config has no model_kind, are [channels, features] */
    const bool turned = decoder && decoder->entry.rank == 2 && decoder->entry.shape[0] == width &&
                        (decoder->entry.shape[1] != width || !json_given(config, "model_kind"));
    if (has(reader, "log_thresholds"))
        return err_unsupported(err, "'%s/%s': expected no tensor 'log_thresholds', found one",
                               reader->folder.path, reader->file);
    if (choose_text(&set, config, "model_kind", NAMES_LIST(sets), *sets, err) ||
        choose_text(&kind, config, "activation", NAMES(kinds, sizeof kinds / sizeof *kinds),
                    has(reader, threshold) ? "jumprelu" : "relu", err) ||
        take_coder(reader, "W_enc", TRANSPOSED, "W_dec", turned ? TRANSPOSED : AS_IT_IS, err) ||
        take_sites(reader, in, out, err) ||
        take_vector(reader, &d->b_enc, "b_enc", d->count, err) ||
        take_vector(reader, &d->b_out, "b_dec", d->out, err) ||
        (has(reader, "W_skip") && take_matrix(reader, &d->skip, "W_skip", TRANSPOSED, true, err)))
        return -1;
    d->active = kinds[kind].active;
    d->keeps_negative = d->active == ACTIVE_TOPK;
    return err_if((d->active == ACTIVE_TOPK && take_k(reader, config, "k", err)) ||
                  (d->active == ACTIVE_JUMPRELU &&
                   take_vector(reader, &d->threshold, threshold, d->count, err)));
}

/* --- dictionary_learning ---------------------------------------------------------------------- */

enum { DICT_PLAIN, DICT_GATED, DICT_JUMP };

static const struct dict_class {
    const char *name;
    enum active active;
    int layout;
    bool subtracts;
} dict_classes[] = {
    {"AutoEncoder", ACTIVE_RELU, DICT_PLAIN, true},
    {"AutoEncoderNew", ACTIVE_RELU, DICT_PLAIN, false},
    {"AutoEncoderTopK", ACTIVE_TOPK, DICT_PLAIN, true},
    {"BatchTopKSAE", ACTIVE_JUMPRELU, DICT_PLAIN, true},
    {"MatryoshkaBatchTopKSAE", ACTIVE_JUMPRELU, DICT_PLAIN, true},
    {"GatedAutoEncoder", ACTIVE_GATED, DICT_GATED, true},
    {"JumpReluAutoEncoder", ACTIVE_JUMPRELU, DICT_JUMP, false},
};

static int read_dictionary_learning(const struct dictionary_reader *reader, struct err *err)
{
    static const char *const biases[] = {"bias", "b_dec", "decoder_bias", "decoder.bias"};
    struct dictionary *d = reader->dictionary;
    const struct json *trainer = json_given(reader->config, "trainer");
    const char *name = text_of(json_given(trainer, "submodule_name")), *bias = *biases;
    const bool plain = has(reader, "W_enc"); /* [in, features], [features, in] */
    size_t index = 0;
    long long layer = 0;
    if (choose_text(&index, trainer, "dict_class",
                    NAMES(dict_classes, sizeof dict_classes / sizeof *dict_classes), NULL, err) ||
        json_integer(trainer, "layer", 0, INT32_MAX, &layer, err))
        return -1;
    if (name && strncmp(name, "resid_post", 10) != 0 && !reader->request->site)
        return refuse("submodule_name", json_given(trainer, "submodule_name"),
                      "resid_post_layer_L (or say ,site=SITE after the folder)", err);
    const struct dict_class *class = &dict_classes[index];
    const char *hook = arena_format(&d->arena, err, "blocks.%lld.hook_resid_post", layer);
    for (size_t i = 0; i < 4 && !has(reader, bias); i++)
        bias = biases[i];
    d->active = class->active;
    if (!hook ||
        take_coder(reader, plain ? "W_enc" : "encoder.weight", plain ? AS_IT_IS : TRANSPOSED,
                   plain ? "W_dec" : "decoder.weight", plain ? AS_IT_IS : TRANSPOSED, err) ||
        take_sites(reader, hook, NULL, err) || take_vector(reader, &d->b_out, bias, d->out, err))
        return -1;
    d->b_in = class->subtracts ? d->b_out : NULL;
    d->ranked = class->layout != DICT_PLAIN;
    if (d->ranked && rank_by_length(reader, 1, err))
        return -1;
    if (class->layout == DICT_GATED)
        return err_if(take_vector(reader, &d->b_gate, "gate_bias", d->count, err) ||
                      take_vector(reader, &d->r_mag, "r_mag", d->count, err) ||
                      take_vector(reader, &d->b_mag, "mag_bias", d->count, err));
    if (take_vector(reader, &d->b_enc, plain ? "b_enc" : "encoder.bias", d->count, err) ||
        (d->active == ACTIVE_TOPK && take_k(reader, trainer, "k", err)) ||
        (d->active == ACTIVE_JUMPRELU &&
         take_vector(reader, &d->threshold, "threshold", d->count, err)))
        return -1;
    float *threshold = (float *)d->threshold; /* compared before the length is multiplied in */
    for (size_t i = 0; class->layout == DICT_JUMP && i < d->count; i++)
        threshold[i] *= d->rank[i];
    return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

/* As JSON, a YAML file of lines `key: value`; lists, and what is nested, are left out. */
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
        const char *comment = memmem(line, (size_t)(stop - line), " #", 2);
        stop = comment ? comment : stop;
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

/* The files by which a format is known, in this order; the config may be missing if `optional`. */
static const struct dictionary_format {
    const char *name, *config, *tensors;
    bool optional;
    int (*read)(const struct dictionary_reader *reader, struct err *err);
} dictionary_formats[] = {
    {"SAELens", "cfg.json", "sae_weights.safetensors", false, read_saelens},
    {"sparsify", "cfg.json", "sae.safetensors", false, read_sparsify},
    {"Gemma Scope", "config.json", "params.npz", true, read_gemma_scope},
    {"Gemma Scope 2", "config.json", "params.safetensors", true, read_gemma_scope_2},
    {"Llama Scope", "hyperparams.json", "checkpoints/final.safetensors", false, read_llama_scope},
    {"Llama Scope", "hyperparams.json", "final.safetensors", false, read_llama_scope},
    {"OpenMOSS", "config.json", "sae_weights.safetensors", false, read_openmoss},
    {"circuit-tracer", "config.yaml", NULL, false, read_circuit_tracer},
    {"dictionary_learning", "config.json", "ae.pt", false, read_dictionary_learning},
};

/* The format of a folder's files; NULL: none is known. */
static const struct dictionary_format *format_of(const struct folder *folder)
{
    for (size_t i = 0; i < sizeof dictionary_formats / sizeof *dictionary_formats; i++) {
        const struct dictionary_format *format = &dictionary_formats[i];
        if ((format->optional || folder_has(folder, format->config)) &&
            (!format->tensors || folder_has(folder, format->tensors)))
            return format;
    }
    return NULL;
}

int dictionary_files(const char *text, int (*use)(void *context, const char *path, struct err *err),
                     void *context, struct arena *arena, struct err *err)
{
    struct dictionary_request request;
    if (dictionary_request_read(&request, text, arena, err))
        return -1;
    const struct folder folder = {.path = request.path};
    const struct dictionary_format *format =
        bundled_find_dictionary(request.path) ? NULL : format_of(&folder);
    if (!format)
        return 0;
    const char *tensors = format->tensors
                              ? format->tensors
                              : arena_format(arena, err, "layer_%d.safetensors", request.layer);
    const char *const names[] = {format->config, tensors};
    for (size_t i = 0; i < 2; i++) {
        const char *path =
            tensors ? arena_format(arena, err, "%s/%s", request.path, names[i]) : NULL;
        if (!path || (folder_has(&folder, names[i]) && use(context, path, err)))
            return -1;
    }
    return 0;
}

/* The reader while a config is open, with the row of the format. */
struct dictionary_opening {
    struct dictionary_reader reader;
    const struct dictionary_format *format;
};

static int read_with(void *context, const struct json *config, struct err *err)
{
    struct dictionary_opening *opening = context;
    opening->reader.config = config;
    if (config && !json_is_object(config))
        return err_set(err, "expected an object, found something else");
    return opening->format->read(&opening->reader, err);
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

static int open_tensors(const struct dictionary_reader *reader, struct err *err)
{
    struct dump *files = &reader->dictionary->files;
    if (name_ends_in(reader->file, ".safetensors"))
        return safetensors_open(&files->tensors, &reader->folder, reader->file, err);
    if (name_ends_in(reader->file, ".pt"))
        return pytorch_open_nested(&files->tensors, &reader->folder, reader->file, err);
    const char *path =
        arena_format(&reader->dictionary->arena, err, "%s/%s", reader->folder.path, reader->file);
    return path ? dump_open(files, path, err) : -1;
}

static int read_format(struct dictionary_opening *opening, struct err *err)
{
    struct dictionary_reader *reader = &opening->reader;
    const struct dictionary_format *format = opening->format;
    reader->dictionary->format = format->name;
    reader->file = format->tensors;
    if (!reader->file) {
        if (reader->request->layer < 0)
            return err_usage(err,
                             "'%s': expected a layer, as the folder has a file for each: add "
                             ":LAYER to --sae, found none",
                             reader->folder.path);
        reader->file = arena_format(&reader->dictionary->arena, err, "layer_%d.safetensors",
                                    reader->request->layer);
    }
    if (!reader->file || open_tensors(reader, err))
        return -1;
    if (name_ends_in(format->config, ".yaml"))
        return folder_read(&reader->folder, format->config, read_yaml, opening, err);
    if (folder_has(&reader->folder, format->config))
        return json_read_file(&reader->folder, format->config, read_with, opening, err);
    return read_with(opening, NULL, err);
}

/* Limits that hold in all formats. */
static int check(struct dictionary *d, const struct dictionary_reader *reader, struct err *err)
{
    static const enum site centered[] = {SITE_RESID_PRE, SITE_RESID_MID, SITE_RESID_POST,
                                         SITE_ATTN_OUT,  SITE_MLP_OUT,   SITE_EMBEDDING};
    bool can_center = false;
    for (size_t i = 0; i < sizeof centered / sizeof *centered; i++)
        can_center = can_center || d->site == centered[i];
    if (reader->request->center)
        d->centers = reader->request->center == CENTER_ON;
    d->centers = d->centers && can_center;
    d->restores = d->restores || (d->centers && d->site == d->site_out);
    d->may_center = d->may_center && can_center && !reader->request->center;
    d->epsilon = reader->model->epsilon;
    if (d->active == ACTIVE_GROUPMAX && d->count % d->k)
        return err_set(err, "k: expected a divisor of %zu, the number of features, found %zu",
                       d->count, d->k);
    if (weight_exists(&d->skip) && (d->skip.in != d->in || d->skip.out != d->out))
        return err_set(err, "skip matrix: expected [%zu, %zu], found [%zu, %zu]", d->out, d->in,
                       d->skip.out, d->skip.in);
    if ((d->b_in || d->restores) && d->in != d->out)
        return err_set(err,
                       "expected as many channels in the output as in the input, found %zu and "
                       "%zu",
                       d->out, d->in);
    d->encoder.bias = d->b_enc;
    return 0;
}

int dictionary_read(struct dictionary *dictionary, const struct dictionary_request *request,
                    const struct dictionary_model *model, struct err *err)
{
    *dictionary = (struct dictionary){.scale_in = 1, .scale_out = 1};
    struct dictionary_opening opening = {
        .reader = {dictionary, request, model, .folder = {.path = request->path}}};
    char real[PATH_MAX];
    const struct folder *bundled = bundled_find_dictionary(request->path);
    int failed = 0;
    if (bundled)
        opening.reader.folder = *bundled;
    opening.reader.path = realpath(request->path, real)
                              ? arena_text(&dictionary->arena, real, strlen(real), err)
                              : arena_path(&dictionary->arena, request->path, err);
    opening.format = format_of(&opening.reader.folder);
    if (!opening.format)
        failed = err_set(err, "expected the files of a sparse autoencoder or transcoder, such as "
                              "cfg.json and sae_weights.safetensors, found none of a known format");
    failed = failed || !opening.reader.path || read_format(&opening, err) ||
             check(dictionary, &opening.reader, err);
    if (!failed)
        return 0;
    dictionary_release(dictionary);
    return err->about || strncmp(err->text, "'", 1) == 0 ? -1
                                                         : err_prefix(err, "'%s'", request->path);
}

int dictionary_open(struct dictionary *dictionary, const struct dictionary_request *request,
                    const struct config *config, struct err *err)
{
    struct dictionary_model model = {.rms = config->rms, .epsilon = config->epsilon};
    const struct layer *first = config->n_layer ? layer_of(config, PART_SENTENCE, 0) : NULL;
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
        const size_t layer = site_row(site)->in_layer ? dictionary->layer : 0;
        if (layer >= site_layers(config, site) || !site_is_in_layer(config, site, layer))
            failed = err_set(err, "expected a layer with '%s' from 0 to %zu, found %zu",
                             site_name(site), site_layers(config, site) - 1, layer);
        else if (site_heads(config, site, layer) * site_columns(config, site, layer) != widths[i])
            failed =
                err_set(err, "expected %zu channels, as the model's '%s' in layer %zu, found %zu",
                        site_heads(config, site, layer) * site_columns(config, site, layer),
                        site_name(site), layer, widths[i]);
    }
    if (!failed)
        return 0;
    dictionary_release(dictionary);
    return err_prefix(err, "'%s'", request->path);
}
