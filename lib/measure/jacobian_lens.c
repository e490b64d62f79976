#include "measure/jacobian_lens.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/stream.h"
#include "format/pytorch.h"
#include "math/rows.h"
#include "pass/back.h"
#include "model/layer.h"
#include "model/points.h"
#include "pass/tap.h"

/* --- a file ----------------------------------------------------------------------------------- */

static int64_t number_of(const struct safetensors *tensors, const char *name, int64_t missing)
{
    const struct safetensors_entry *entry = safetensors_find(tensors, name);
    if (entry && entry->dtype == DTYPE_I64 && entry->count == 1)
        memcpy(&missing, entry->data, sizeof missing);
    return missing;
}

/* Read the matrix of a layer, `J.14`, or a sum over texts, `jacobian_sum.14`. */
static int read_matrix(struct jacobian_lens *lens, const struct safetensors_entry *entry,
                       const struct config *config, const struct layers *layers,
                       struct arena *arena, struct err *err)
{
    const size_t C = config->n_embd;
    const char *number = strchr(entry->name, '.') + 1;
    const bool is_sum = *entry->name == 'j';
    long long layer = 0;
    if (!num_parse_integer(number, 0, (long long)config->n_layer - 1, &layer))
        return err_set(err, "tensor '%s': expected a layer from 0 to %zu, found '%s'", entry->name,
                       config->n_layer - 1, number);
    if (entry->rank != 2 || entry->shape[0] != C || entry->shape[1] != C ||
        !dtype_is_weight(entry->dtype))
        return err_set(err,
                       "tensor '%s': expected floats [%zu, %zu], as wide as the model, found %s of "
                       "%zu axes, the first of %zu",
                       entry->name, C, C, dtype_name(entry->dtype), entry->rank, *entry->shape);
    if (is_sum && !lens->prompts)
        return err_set(err, "expected 'n_done', the number of prompts of the sums, found none");
    bool is_asked = false;
    for (size_t i = 0; i < layers->count; i++)
        is_asked = is_asked || layers->items[i] == (size_t)layer;
    if (!is_asked)
        return 0;
    float *J = arena_room(arena, C * C, sizeof *J, err);
    if (!J)
        return -1;
    dtype_to_float(J, entry->data, entry->dtype, C * C);
    for (size_t i = 0; is_sum && i < C * C; i++)
        J[i] /= (float)lens->prompts;
    lens->weights[layer] = (struct weight){
        .in = C, .out = C, .rows = {.data = (const char *)J, DTYPE_F32, {0, C, C}, 0}};
    return 0;
}

/* Refuse a model with copies of the stream: a layer then leaves several streams, and no single one
 * determines the stream that leaves the last layer. */
static int expect_one_stream(const struct config *c, struct err *err)
{
    return config_copies(c) ? err_unsupported(err,
                                              "Jacobian lens: expected one residual stream, found "
                                              "%zu copies of it: use the logit lens",
                                              config_copies(c))
                            : 0;
}

static int read_lens(struct jacobian_lens *lens, const struct safetensors *tensors,
                     const struct config *config, const struct layers *layers, struct arena *arena,
                     struct err *err)
{
    static const char *const targets[] = {"target_layer", "metadata.target_layer"};
    const int64_t last = (int64_t)config->n_layer - 1;
    bool any = false;
    lens->weights = arena_alloc(arena, config->n_layer, sizeof *lens->weights, err);
    if (!lens->weights)
        return -1;
    lens->prompts = (size_t)number_of(tensors, "n_prompts", number_of(tensors, "n_done", 0));
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (number_of(tensors, targets[i], last) != last)
            return err_set(err, "%s: expected the last layer, %" PRId64 ", found %" PRId64,
                           targets[i], last, number_of(tensors, targets[i], last));
    for (size_t i = 0; i < tensors->count; i++) {
        const struct safetensors_entry *entry = &tensors->entries[i];
        if (strncmp(entry->name, "J.", 2) != 0 && strncmp(entry->name, "jacobian_sum.", 13) != 0)
            continue;
        any = true;
        if (read_matrix(lens, entry, config, layers, arena, err))
            return -1;
    }
    return any ? 0
               : err_set(err, "expected matrices of layers in 'J' or 'jacobian_sum', found none");
}

int jacobian_lens_open(struct jacobian_lens *lens, const char *path, const struct config *config,
                       const struct layers *layers, struct arena *arena, struct err *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const struct folder folder = {
        .path = slash ? arena_text(arena, path, num_max((size_t)(slash - path), 1), err) : "."};
    struct safetensors tensors;
    if (!folder.path || expect_one_stream(config, err) ||
        (name_ends_in(name, ".safetensors") ? safetensors_open(&tensors, &folder, name, err)
                                            : pytorch_open_nested(&tensors, &folder, name, err)))
        return -1;
    int failed = read_lens(lens, &tensors, config, layers, arena, err);
    safetensors_release(&tensors);
    return failed ? err_prefix(err, "'%s'", path) : 0;
}

/* --- a fit ------------------------------------------------------------------------------------ */

enum {
    FIRST = JACOBIAN_TOKENS_MIN - 2, /* first token of V: see jacobian_lens.h */
    ROWS = 512,          /* maximum number of tokens of all copies of a text in a walk back, unless
                          * one copy has more; larger batches would hardly be faster */
    FILE_MAX_MIB = 4000, /* largest size of all matrices in MiB */
};

int jacobian_fit_begin(struct jacobian_fit *fit, struct arena *arena, struct err *err)
{
    const size_t C = fit->viewer->model.config.n_embd;
    const double bytes = (double)fit->layers.count * (double)(C * C) * sizeof(uint16_t);
    if (expect_one_stream(&fit->viewer->model.config, err))
        return -1;
    if (bytes > FILE_MAX_MIB * 1048576.0)
        return err_unsupported(err,
                               "Jacobian lens: expected at most %d MiB, found %.0f: fit fewer "
                               "layers at once",
                               FILE_MAX_MIB, bytes / 1048576);
    fit->sums = arena_alloc(arena, fit->layers.count * C, C * sizeof *fit->sums, err);
    return fit->sums ? 0 : -1;
}

/* The channels of a walk back: the text is copied, and each copy computes one channel. */
struct channels {
    const struct jacobian_fit *fit;
    size_t first, end, tokens;
};

/* Add the means, over the tokens of V (see jacobian_lens.h), of the gradients at the outputs of the
 * layers. */
static int add_means(void *context, const struct announcement *announced, struct err *err)
{
    const struct channels *channels = context;
    const struct jacobian_fit *fit = channels->fit;
    const size_t C = fit->viewer->model.config.n_embd, end = channels->tokens - 1;
    const size_t channel = channels->first + announced->text;
    const float *gradient = announced->values.data;
    (void)err;
    for (size_t i = 0; announced->site == SITE_RESID_PRE && i < fit->layers.count; i++)
        for (size_t t = FIRST; fit->layers.items[i] + 1 == (size_t)announced->layer && t < end; t++)
            if (channel < channels->end)
                add_scaled_row(fit->sums + (i * C + channel) * C, gradient + t * C, C,
                               1 / (float)(end - FIRST), gradient);
    return 0;
}

int jacobian_fit_add(struct jacobian_fit *fit, const struct text_with_source *pair, struct err *err)
{
    struct viewer *viewer = fit->viewer;
    const struct config *c = &viewer->model.config;
    const size_t C = c->n_embd, tokens = pair->text.count;
    const size_t copies = num_min(num_max(ROWS / num_max(tokens, 1), 1), C);
    struct arena arena = {0}, own = {0};
    fit->done++;
    if (tokens < JACOBIAN_TOKENS_MIN)
        return 0;
    struct text *texts = arena_alloc(&arena, copies, sizeof *texts, err);
    float *seed = arena_room(&arena, copies * tokens, C * sizeof *seed, err);
    struct batch batch;
    struct tape tape = {.arena = &arena, .lean = true, .from = *fit->layers.items + 1};
    const struct run run = {.machine = &viewer->machine,
                            .config = c,
                            .weights = &viewer->model.weights,
                            .batch = &batch};
    struct channels channels = {fit, 0, 0, tokens};
    const struct back_seed seeds = {site_of_output(c), (int)c->n_layer - 1, seed};
    struct back back = {.run = &run,
                        .tape = &tape,
                        .seeds = &seeds,
                        .seed_count = 1,
                        .sink = add_means,
                        .context = &channels};
    for (size_t i = 0; texts && i < copies; i++)
        texts[i] = viewer_text(pair);
    int failed = !texts || !seed || batch_init(&batch, c, texts, copies, &arena, err) ||
                 tape_run(&tape, &run, err);
    tape.arena = &own;
    for (; channels.first < C && !failed; channels.first = channels.end) {
        channels.end = num_min(channels.first + copies, C);
        memset(seed, 0, copies * tokens * C * sizeof *seed);
        for (size_t i = channels.first; i < channels.end; i++)
            for (size_t t = FIRST; t + 1 < tokens; t++)
                seed[((i - channels.first) * tokens + t) * C + i] = 1;
        failed = back_run(&back, err);
        arena_clear(&own);
        progress_tell(fit->progress, (fit->done - 1) * C + channels.end, fit->texts * C);
    }
    fit->prompts++;
    arena_release(&own);
    arena_release(&tape.scratch);
    arena_release(&arena);
    return err_if(failed);
}

/* --- a file to write: a pickle, and the numbers of each layer --------------------------------- */

/* Append the pickle opcodes of a form, in which `#` stands for an unsigned number and `$` for a
 * text. */
static void put(struct buf *out, const char *form, ...)
{
    va_list values;
    va_start(values, form);
    for (; *form; form++) {
        const char *text = *form == '$' ? va_arg(values, const char *) : "";
        const unsigned number = *form == '#' ? va_arg(values, unsigned) : (unsigned)strlen(text);
        buf_char(out, *form == '$' ? 'X' : *form == '#' ? 'J' : *form);
        if (*form == '$' || *form == '#')
            buf_integer(out, number, 4);
        buf_text(out, text);
    }
    va_end(values);
}

static void put_lens(struct buf *out, const struct jacobian_fit *fit)
{
    const unsigned C = (unsigned)fit->viewer->model.config.n_embd;
    char storage[NUM_COUNT_BYTES + 1];
    put(out, "\x80\2}($}(", "J");
    for (size_t i = 0; i < fit->layers.count; i++) {
        storage[num_count(storage, i)] = '\0';
        put(out, "#ctorch._utils\n_rebuild_tensor_v2\n(($ctorch\nHalfStorage\n$$#tQ",
            (unsigned)fit->layers.items[i], "storage", storage, "cpu", C * C);
        put(out, "###\206##\206\211ccollections\nOrderedDict\n)RtR", 0u, C, C, C, 1u);
    }
    put(out, "u$#$](", "n_prompts", (unsigned)fit->prompts, "source_layers");
    for (size_t i = 0; i < fit->layers.count; i++)
        put(out, "#", (unsigned)fit->layers.items[i]);
    put(out, "e$#u.", "d_model", C);
}

int jacobian_fit_write(const struct jacobian_fit *fit, struct stream *out, struct err *err)
{
    const size_t C = fit->viewer->model.config.n_embd;
    struct zip_writer zip = {.out = out};
    struct arena arena = {0};
    struct buf pickle = {0};
    uint16_t *halves = arena_room(&arena, C * C, sizeof *halves, err);
    put_lens(&pickle, fit);
    int failed = !halves || buf_check(&pickle, err);
    if (!failed) {
        zip_add(&zip, "archive/data.pkl", pickle.bytes, pickle.size);
        zip_add(&zip, "archive/byteorder", "little", 6);
    }
    for (size_t i = 0; i < fit->layers.count && !failed; i++) {
        const float *sums = fit->sums + i * C * C;
        bool fits = true;
        for (size_t k = 0; k < C * C; k++) {
            halves[k] = half_of_float(sums[k] / (float)fit->prompts);
            fits = fits && isfinite(float_of_half(halves[k]));
        }
        if (!fits)
            failed = err_unsupported(err,
                                     "Jacobian lens: expected numbers that fit in float16, "
                                     "found larger ones in layer %zu",
                                     fit->layers.items[i]);
        const char *name = arena_format(&arena, err, "archive/data/%zu", i);
        failed = failed || !name;
        if (!failed)
            zip_add(&zip, name, halves, C * C * sizeof *halves);
    }
    if (!failed)
        zip_add(&zip, "archive/version", "3\n", 2);
    failed = zip_end(&zip, err) || failed;
    buf_release(&pickle);
    arena_release(&arena);
    return err_if(failed);
}
