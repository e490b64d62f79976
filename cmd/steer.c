/* steer.c: `attn-cli steer`: computes vectors that --edit adds to a tensor: for each layer, the
 * difference between the tensor's means over two sets of texts; with --feature, the direction of a
 * feature in one layer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "format/npy.h"
#include "format/safetensors.h"
#include "items.h"
#include "model/points.h"
#include "output.h"
#include "say.h"
#include "session.h"

struct own_options {
    const char *positive, *negative, *feature;
};

static const struct option_row own_options[] = {
    STRING("positive", 0, "FILE", OWN(positive), "texts with the property; one per line or a table",
           .heading = "Steering", .flags = OPTION_FIXED),
    STRING("negative", 0, "FILE", OWN(negative), "texts without it", .flags = OPTION_FIXED),
    STRING("file", 'f', "FILE", IN(input.file),
           "table with the columns positive and negative; replaces --positive and --negative",
           .flags = OPTION_FIXED),
    STRING("feature", 0, "N", OWN(feature), "direction of a feature of --sae, without texts",
           .flags = OPTION_FIXED),
    STRING("site", 0, "SITE", IN(lens.site),
           "tensor to average (default: resid_post); it needs a row of channels for each token",
           .heading = "Select"),
    STRING("layer", 0, "LIST", IN(select.layer),
           "layers: 0,3-5, -1 (last), or all (default); vectors added at several layers add up: "
           "try factors from 0.1 to 1 there"),
    STRING(
        "query", 0, "LIST", IN(select.query),
        "tokens to average in each text (default: -1); -1 is the last; all: the mean of the text"),
    STRING("output", 'o', "PATH", IN(output.path),
           ".safetensors, .npy or .gguf; .safetensors: a tensor h.L.SITE for each layer; .npy: one "
           "layer; .gguf: a control vector of llama.cpp, direction.L of resid_post (it has none "
           "for layer 0)",
           .heading = "Output", .flags = OPTION_PROCESS),
    {0},
};

static command_verb steer_command;

const struct command command_steer = {
    .name = "steer",
    .heading = "Text",
    .about = "write a steering vector, for --edit",
    .operands = "",
    .most_used = "--positive good.txt\n"
                 "--negative bad.txt\n"
                 "-f pairs.csv\tcolumns positive and negative\n"
                 "--layer 1\tlayers (default: all)\n"
                 "--query all\ttokens (default: -1, the last)\n"
                 "-m smollm2.gguf\n"
                 "-o mood.safetensors\n",
    .note = "The vector is the mean difference between two sets of texts, or a feature.",
    .examples =
        "attn-cli steer --positive good.txt --negative bad.txt -o mood.safetensors\n"
        "attn-cli steer -f pairs.csv --layer 1 --query all -o mood.npy\n"
        "attn-cli generate \"I think that\" --edit \"h.1.resid_post + 0.5*mood.npy\"\n"
        "attn-cli steer --sae demo --feature 27 -o plural.gguf\n"
        "attn-cli generate \"I think that\" --edit \"h.1.resid_post + 0.5*mood.safetensors\"\n"
        "attn-cli steer --positive good.txt --negative bad.txt -o mood.gguf\n",
    .run = steer_command,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options},
    .without = "sentence ids document words pair source",
};

enum { AT_ONCE = 64, TOKENS_AT_ONCE = 1024 };

struct steer_run {
    struct options options;
    struct session session;
    struct selection selection;
    enum site site;
    size_t width;
    double *sums[2];  /* [layers, width] sums over the texts: [0] positive, [1] negative */
    double *norms;    /* [layers] sum over all texts of the mean norm of a text's tokens */
    size_t counts[2]; /* [0] number of positive texts, [1] of negative texts */
    float *vectors;   /* [layers, width] mean of the positive texts minus mean of the negative
                       * texts; with --feature, the direction of a feature */
    const char *ending;
};

/* --- sums ------------------------------------------------------------------------------------- */

static int choose_site(struct steer_run *run, struct err *err)
{
    const struct config *config = &run->session.viewer.model.config;
    const char *name = run->options.lens.site ? run->options.lens.site : "resid_post";
    struct selection *selection = &run->selection;
    if (selection_of_channels(selection, &run->site, name, run->options.select.layer, config,
                              &run->session.arena, err))
        return -1;
    const enum site site = run->site;
    site_size(&run->width, config, site, 1, 1, 1);
    selection->queries = run->options.select.query;
    const struct layers chosen = selection_layers_of(selection, site);
    const size_t layers = chosen.count;
    if (config_reads_source(config))
        return err_unsupported(err,
                               "'%s': expected a model of one text for steer, found one with "
                               "cross-attention to a source",
                               run->session.viewer.model.name);
    if (strcmp(run->ending, ".npy") == 0 && layers != 1)
        return err_usage(err,
                         "--output: a .npy file has one layer, found %zu: add --layer, or use "
                         ".safetensors",
                         layers);
    if (strcmp(run->ending, ".gguf") == 0 && site != SITE_RESID_POST)
        return err_usage(err, "--output: a control vector (.gguf) has resid_post, not '%s'", name);
    if (strcmp(run->ending, ".gguf") == 0 && layers == 1 && chosen.items[0] == 0)
        return err_usage(err, "--output: a control vector (.gguf) has no direction for layer 0: "
                              "choose another --layer, or a .safetensors file");
    for (size_t side = 0; side < 2; side++)
        run->sums[side] =
            arena_alloc(&run->session.arena, layers * run->width, sizeof(double), err);
    run->norms = arena_alloc(&run->session.arena, layers, sizeof(double), err);
    run->vectors = arena_alloc(&run->session.arena, layers * run->width, sizeof(float), err);
    return err_if(err->kind);
}

/* For each text, add the mean over its selected tokens to the sums of `side` (0: positive, 1:
 * negative), and the mean norm of these tokens to run->norms. */
static int add_texts(struct steer_run *run, size_t side, const struct text_with_source *pairs,
                     size_t count, struct arena *arena, struct err *err)
{
    struct report *reports = arena_alloc(arena, count, sizeof *reports, err);
    const struct capture_request asked = {&run->selection, pairs, count, 0, reports, NULL};
    struct viewer *viewer = &run->session.viewer;
    const struct edits *edits = viewer->edits;
    if (!reports)
        return -1;
    /* these edits hold for all `pairs`: a text with edits of its own runs alone */
    viewer->edits = pairs->edits;
    int failed = viewer_capture(viewer, &asked, arena, err);
    viewer->edits = edits;
    for (size_t i = 0; i < count && !failed; i++)
        for (size_t layer = 0; layer < reports[i].array_count; layer++) {
            const struct array *array = &reports[i].arrays[layer];
            double *sum = run->sums[side] + layer * run->width;
            for (size_t row = 0; row < array->rows.size; row++) {
                double square = 0;
                for (size_t k = 0; k < run->width; k++) {
                    double value = (double)array->data[row * run->width + k];
                    sum[k] += value / (double)array->rows.size;
                    square += value * value;
                }
                run->norms[layer] += sqrt(square) / (double)array->rows.size;
            }
        }
    run->counts[side] += count;
    return failed;
}

/* Read the texts of `side` (0: positive, 1: negative), and add them to its sums in groups that
 * share a pass. */
static int tokenize_side(struct steer_run *run, const struct items *items, size_t side,
                         struct err *err)
{
    bool is_table = items->fields >> ITEM_NEGATIVE & 1; /* each row has a positive and a negative
                                                         * text */
    struct arena arena = {0};
    struct text_with_source pairs[AT_ONCE];
    size_t count = 0, tokens = 0, most = run->session.edits.by_text ? 1 : AT_ONCE;
    int failed = 0;
    for (size_t i = 0; i < items->count && !failed; i++) {
        struct item item;
        failed = items_read(items, &item, i, &arena, err);
        if (failed) /* the error message already names the item */
            break;
        if (is_table && !item.fields[ITEM_NEGATIVE])
            failed = err_set(err, "expected a text in the column 'negative', found none");
        if (side == 1 && is_table)
            item.input = input_of(item.fields[ITEM_NEGATIVE], NULL);
        failed = failed || session_read_item(&run->session, &item, &pairs[count], &arena, err);
        if (failed) {
            items_blame(items, i, err);
            break;
        }
        tokens += pairs[count++].text.count;
        if (count < most && tokens < TOKENS_AT_ONCE && i + 1 < items->count)
            continue;
        failed = add_texts(run, side, pairs, count, &arena, err);
        count = tokens = 0;
        arena_clear(&arena);
    }
    arena_release(&arena);
    return err_if(failed);
}

/* Compute the vectors: the mean of the positive texts minus the mean of the negative texts. */
static void find_means(struct steer_run *run)
{
    const struct layers layers = selection_layers_of(&run->selection, run->site);
    for (size_t i = 0; i < layers.count; i++) {
        double square = 0;
        for (size_t k = i * run->width; k < (i + 1) * run->width; k++) {
            run->vectors[k] = (float)(run->sums[0][k] / (double)run->counts[0] -
                                      run->sums[1][k] / (double)run->counts[1]);
            square += (double)run->vectors[k] * (double)run->vectors[k];
        }
        print_note("%s layer %zu: norm %.4f, of the tokens themselves %.4f", site_name(run->site),
                   layers.items[i], sqrt(square),
                   run->norms[i] / (double)(run->counts[0] + run->counts[1]));
    }
}

static int read_files(struct steer_run *run, struct err *err)
{
    const struct own_options *own = options_own(&run->options);
    const char *file = run->options.input.file;
    for (size_t side = 0; side < 2; side++) {
        struct items items;
        unsigned fields = file ? 1u << ITEM_POSITIVE | 1u << ITEM_NEGATIVE : 0;
        if (!file)
            run->options.input.file = side ? own->negative : own->positive;
        int failed = items_open(&items, &run->options, fields, ITEMS_SOME, err) ||
                     tokenize_side(run, &items, side, err);
        items_release(&items);
        run->options.input.file = file;
        if (failed)
            return file ? -1 : err_prefix(err, side ? "--negative" : "--positive");
    }
    find_means(run);
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static void put_text(struct buf *out, const char *text)
{
    buf_integer(out, strlen(text), 8);
    buf_text(out, text);
}

/* Write the vectors as GGUF: the architecture "controlvector", and direction.L [width] for each
 * layer except layer 0. */
static void put_control_vector(struct buf *out, const struct steer_run *run, struct layers layers)
{
    enum { U32 = 4, TEXT = 8, ALIGNMENT = 32 };
    size_t skipped = layers.count && layers.items[0] == 0;
    size_t bytes = (run->width * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char name[SHEET_NAME_BYTES];
    buf_text(out, "GGUF");
    buf_integer(out, 3, 4);
    buf_integer(out, layers.count - skipped, 8);
    buf_integer(out, 3, 8);
    put_text(out, "general.architecture");
    buf_integer(out, TEXT, 4);
    put_text(out, "controlvector");
    put_text(out, "controlvector.model_hint");
    buf_integer(out, TEXT, 4);
    put_text(out, config_kind_name(&run->session.viewer.model.config));
    put_text(out, "controlvector.layer_count");
    buf_integer(out, U32, 4);
    buf_integer(out, layers.count - skipped, 4);
    for (size_t i = skipped; i < layers.count; i++) {
        snprintf(name, sizeof name, "direction.%zu", layers.items[i]);
        put_text(out, name);
        buf_integer(out, 1, 4); /* number of axes */
        buf_integer(out, run->width, 8);
        buf_integer(out, 0, 4); /* type of the numbers: F32 */
        buf_integer(out, (i - skipped) * bytes, 8);
    }
    for (size_t i = skipped; i < layers.count; i++) {
        while (out->size % ALIGNMENT && !out->out_of_memory)
            buf_char(out, '\0');
        buf_bytes(out, (const char *)(run->vectors + i * run->width), run->width * sizeof(float));
    }
    if (skipped)
        print_note("a control vector has no direction for layer 0: it is left out");
}

/* Use the direction of a feature of --sae, in the layer of its dictionary, as the vector. */
static int find_feature(struct steer_run *run, const char *feature, struct err *err)
{
    const struct session *session = &run->session;
    const struct dictionary *dictionary = session->dictionaries;
    size_t number = 0;
    if (session->dictionary_count != 1)
        return err_usage(err, "--feature: expected one --sae DIR, found %zu",
                         session->dictionary_count);
    if (!selection_index(&number, feature, strlen(feature), dictionary->count))
        return err_usage(err, "--feature: expected a number from 0 to %zu, found '%s'",
                         dictionary->count - 1, feature);
    run->options.lens.site = site_name(dictionary->site_out);
    run->options.select.layer = arena_format(&run->session.arena, err, "%zu", dictionary->layer);
    if (!run->options.select.layer || choose_site(run, err))
        return -1;
    dictionary_direction(dictionary, run->vectors, number, NULL);
    return 0;
}

static int write_vectors(struct steer_run *run, struct err *err)
{
    struct arena *arena = &run->session.arena;
    struct stream out = {0};
    struct buf bytes = {0};
    struct layers layers = selection_layers_of(&run->selection, run->site);
    int failed = output_to(&out, run->options.output.path, err);
    if (!failed && strcmp(run->ending, ".npy") == 0) {
        npy_begin(&out, 1, &run->width);
        buf_bytes(&bytes, (const char *)run->vectors, run->width * sizeof(float));
    } else if (!failed && strcmp(run->ending, ".gguf") == 0)
        put_control_vector(&bytes, run, layers);
    else if (!failed) {
        struct safetensors_tensor *tensors = arena_alloc(arena, layers.count, sizeof *tensors, err);
        for (size_t i = 0; tensors && i < layers.count; i++)
            tensors[i] = (struct safetensors_tensor){
                arena_format(arena, err, "%s.%zu.%s", site_stack(run->site), layers.items[i],
                             site_name_in_layer(run->site)),
                1, &run->width, run->vectors + i * run->width};
        failed = err->kind || safetensors_header(&bytes, tensors, layers.count, NULL, 0, err);
        buf_bytes(&bytes, (const char *)run->vectors, layers.count * run->width * sizeof(float));
    }
    failed = failed || buf_check(&bytes, err);
    if (!failed)
        stream_bytes(&out, bytes.bytes, bytes.size);
    buf_release(&bytes);
    return stream_end(&out, failed, err);
}

static int steer_command(const struct options *options, struct err *err)
{
    static const char *const endings[] = {".safetensors", ".npy", ".gguf"};
    struct steer_run run = {.options = *options};
    const struct own_options *own = options_own(options);
    const char *path = options->output.path;
    if (options->input.operands.count)
        return err_usage(err,
                         "expected --positive FILE and --negative FILE, found the operand '%s'",
                         options->input.operands.items[0]);
    if (options_exclude(options, "feature", "positive negative file site layer query", err))
        return -1;
    const bool has_texts =
        options->input.file ? !own->positive && !own->negative : own->positive && own->negative;
    if (!own->feature && !has_texts)
        return err_usage(err, "expected --positive FILE and --negative FILE, or --file FILE with "
                              "these columns");
    for (size_t i = 0; path && i < sizeof endings / sizeof *endings; i++)
        run.ending = name_ends_in(path, endings[i]) ? endings[i] : run.ending;
    if (!run.ending)
        return err_usage(err, "--output: expected a file .safetensors, .npy or .gguf, found %s%s%s",
                         path ? "'" : "", path ? path : "none", path ? "'" : "");
    if (!run.options.select.query)
        run.options.select.query = "-1";
    run.session.options = &run.options;
    int failed = session_begin(&run.session, err) ||
                 (own->feature ? find_feature(&run, own->feature, err)
                               : choose_site(&run, err) || read_files(&run, err)) ||
                 write_vectors(&run, err);
    session_release(&run.session);
    return err_if(failed);
}
