/* compare.c: `attn-cli compare`: compares attention patterns and edits with dense attention,
 * several models with the first model, or a model with the tensors of another program. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/memory.h"
#include "command.h"
#include "items.h"
#include "measure/comparison.h"
#include "measure/divergence.h"
#include "measure/weight_costs.h"
#include "model/points.h"
#include "output.h"
#include "session.h"
#include "sweep.h"

struct own_options {
    const char *dump, *names;
    double tolerance;
    bool full, parameters;
};

static const struct option_row own_options[] = {
    STRING("attention", 0, "LIST", IN(mechanism.attention),
           "attention patterns to compare with dense attention; window:8,linear",
           .values = &values_attention, .joints = ",+", .heading = "Settings"),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX,
            "seed of --attention random (default: 0)"),
    STRING("layer", 0, "LIST", IN(select.layer), "layers: 0,3-5, -1 (last), or all; default: all"),
    FLAG("parameters", 0, OWN(parameters),
         "of models: compare weights by tensor; and the cost of each layer's weights in nats",
         .heading = "Models"),
    STRING("dump", 0, "PATH", OWN(dump),
           "where tensors of another program first differ; a file or a folder",
           .heading = "Another program"),
    STRING("names", 0, "FILE", OWN(names),
           "--dump: names in two columns, theirs and ours; attn_{}/q h.{}.q"),
    REAL("tolerance", 0, "X", OWN(tolerance), 0, 1,
         "--dump: largest difference, relative; divided by the largest number; default: by type"),
    FLAG("full", 0, OWN(full),
         "--dump: list all tensors; not only those around the first that differs"),
    {0},
};

static command_verb compare_command;

const struct command command_compare = {
    .name = "compare",
    .heading = "Explain",
    .about = "models, settings, or the tensors of another program",
    .operands = "[MODEL MODEL...] [TEXT]...",
    .operand_values = &values_models,
    .most_used = "-m smollm2.gguf\n"
                 "-s \"Life is short\"\n"
                 "-f texts.txt\n"
                 "--attention window:8\tpatterns, against dense attention\n"
                 "--parameters\tweights of models, by tensor\n"
                 "--dump dump.npz\ttensors of another program\n"
                 "--layer 0,3-5\n"
                 "-o compared.csv\n",
    .examples =
        "attn-cli compare life life-causal -s \"Life is short\"\n"
        "attn-cli compare -s \"Life is short\" --attention window:2,linear\n"
        "attn-cli compare original.gguf quantised.gguf -f texts.txt --parameters\n"
        "attn-cli compare -m ./model --ids 1,5,9 --dump theirs.safetensors\n"
        "attn-cli compare -s \"Life is short, eat dessert first\" --attention window:2,linear\n"
        "attn-cli compare -m life -s \"Life is short\" --attention "
        "dense,window:2+global:1,blocked:2\n"
        "attn-cli compare -s \"Life is short\" --attention random:1,strided:2 --format json\n",
    .run = compare_command,
    .options = own_options,
    .shared = {text_options, model_options, edit_options, select_options, output_options},
    .without = "words precision show query key mean verbose",
    .draws = true,
};

struct compare_run {
    /* the options without --attention and without operands that name models */
    struct options options;
    struct output output;
    struct items items;
    struct session *sessions; /* [count] open models: one, or one for each model that is compared */
    size_t count;
    const struct text_with_source *pairs;
    struct selection selection;
};

/* --- texts ------------------------------------------------------------------------------------ */

/* Open the texts and the first model, and select layers and heads. */
static int open_first(struct compare_run *run, struct err *err)
{
    const struct select_options *select = &run->options.select;
    struct session *first = &run->sessions[0];
    if (items_open(&run->items, &run->options, 0, ITEMS_SOME, err))
        return -1;
    first->begins = session_beginning(&run->items, false);
    if (session_begin(first, err))
        return -1;
    const struct config *config = &first->viewer.model.config;
    for (int branch = 0; branch < ATTENTION_BRANCHES; branch++)
        if (site_exists(config, SITE_OF(branch, SITE_WEIGHTS)))
            site_set_add(&run->selection.sites, SITE_OF(branch, SITE_WEIGHTS));
    const char *layers = select->layer, *heads = select->head;
    return err_if(
        selection_split_heads(&layers, &heads, stack_of(config, BRANCH_TEXT), &first->arena, err) ||
        selection_layers(&run->selection, layers, config, &first->arena, err) ||
        selection_heads(&run->selection, heads, config, &first->arena, err));
}

static bool are_same(const struct tokenized *a, const struct tokenized *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->ids, b->ids, a->count * sizeof *a->ids) == 0);
}

/* Tokenize the texts with all models, which must give the same ids. Only the first model prints
 * notes. */
static int tokenize_all(struct compare_run *run, struct err *err)
{
    bool is_quiet = progress_is_quiet();
    for (size_t k = 0; k < run->count; k++) {
        struct session *session = &run->sessions[k];
        progress_set_quiet(is_quiet || k);
        const struct text_with_source *pairs = session_read_items(session, &run->items, err);
        progress_set_quiet(is_quiet);
        if (!pairs)
            return model_blame(session->model, err);
        run->pairs = k ? run->pairs : pairs;
        for (size_t i = 0; i < run->items.count; i++) {
            if (are_same(&run->pairs[i].text, &pairs[i].text) &&
                are_same(&run->pairs[i].source, &pairs[i].source))
                continue;
            err_usage(err,
                      "'%s': expected the same token ids as '%s', found others: compare needs "
                      "models with the same vocabulary",
                      session->model, run->sessions[0].model);
            return items_blame(&run->items, i, err);
        }
    }
    return 0;
}

/* --- comparisons ------------------------------------------------------------------------------ */

/* Refuse passes that need more memory than is left after the weights of all models. */
static int expect(struct compare_run *run, double bytes, struct err *err)
{
    struct weights_bytes weights = {0, 0};
    size_t longest = 0;
    for (size_t i = 0; i < run->items.count; i++)
        longest = num_max(longest, run->pairs[i].text.count);
    for (size_t i = 0; i < run->count; i++) {
        struct weights_bytes own = weights_bytes(&run->sessions[i].viewer.model.weights);
        weights.heap += own.heap;
        weights.mapped += own.mapped;
    }
    return session_expect(&run->sessions[0], bytes + (double)weights.heap, weights, longest, err);
}

static int compare(struct compare_run *run, struct comparison_run *runs, size_t count,
                   struct err *err)
{
    struct report report;
    struct progress progress;
    struct comparison_plan plan = {
        .runs = runs,
        .run_count = count,
        .pairs = run->pairs,
        .pair_count = run->items.count,
        .selection = &run->selection,
        .progress = &progress.sink,
        .hide_first = run->options.select.hide_first,
        .draws = run->output.format->is_picture,
    };
    double bytes = 0;
    for (size_t i = 0; i < run->items.count; i++) {
        struct memory memory = {0};
        comparison_add_memory(&memory, &plan, &run->pairs[i]);
        bytes = fmax(bytes, memory.held + memory.during);
    }
    if (expect(run, bytes, err))
        return -1;
    /* hashes of all weights: [0] of the first model, [1] of another model */
    char hashes[2][SHA256_DIGITS + 1];
    for (size_t i = 0; i < run->count && run->count > 1; i++) {
        weights_hash(&run->sessions[i].viewer.model.weights, hashes[i > 0]);
        runs[i].equal_weights = i && strcmp(hashes[0], hashes[1]) == 0;
    }
    progress_begin(&progress, "texts");
    int failed = comparison_make(&report, &plan, &run->sessions[0].arena, err);
    progress_end(&progress);
    return failed ? -1 : output_write_table(&run->output, &report, &run->options, NULL, err);
}

/* Compare dense attention without edits with each mechanism of --attention, to which the edits are
 * applied. */
static int compare_settings(struct compare_run *run, const struct options *options, struct err *err)
{
    static const struct mechanism dense;
    struct session *session = &run->sessions[0];
    struct arena *arena = &session->arena;
    struct mechanism_options kinds = options->mechanism;
    struct mechanism *mechanisms = NULL;
    size_t count = 0;
    if (!kinds.attention && !edit_options_are_given(&options->edit))
        return err_usage(err,
                         "--attention: expected patterns to compare with dense attention, such as "
                         "window:8,linear; or --edit, --ablate or --knockout; or a second model");
    if (!kinds.attention)
        kinds.attention = "dense";
    if (mechanism_options_list(&mechanisms, &count, &kinds, arena, err) || open_first(run, err) ||
        !(run->pairs = session_read_items(session, &run->items, err)))
        return -1;
    bool edited = session->viewer.edits != NULL;
    struct comparison_run *runs = arena_alloc(arena, count + 1, sizeof *runs, err);
    if (!runs)
        return -1;
    runs[0] = (struct comparison_run){&session->viewer, "dense", &dense, .edited = false};
    for (size_t i = 0; i < count; i++) {
        const char *name = mechanism_attention_name(&mechanisms[i], arena, err);
        if (name && edited)
            name = arena_format(arena, err, "%s edited", name);
        if (!name)
            return -1;
        runs[i + 1] =
            (struct comparison_run){&session->viewer, name, &mechanisms[i], .edited = edited};
    }
    return compare(run, runs, count + 1, err);
}

/* Compare the weights of each model with the weights of the first: the difference of each tensor,
 * and by how many nats the predictions of the first model change with each layer's weights. */
static int compare_weights(struct compare_run *run, struct err *err)
{
    struct arena *arena = &run->sessions[0].arena;
    struct viewer **viewers = arena_alloc(arena, run->count, sizeof *viewers, err);
    struct report report;
    struct progress progress;
    const struct weight_costs_plan plan = {.viewers = viewers,
                                           .count = run->count,
                                           .pairs = run->pairs,
                                           .pair_count = run->items.count,
                                           .selection = &run->selection,
                                           .progress = &progress.sink,
                                           .draws = run->output.format->is_picture};
    double bytes = 0;
    for (size_t i = 0; viewers && i < run->count; i++) {
        viewers[i] = &run->sessions[i].viewer;
        if (weight_costs_check(&viewers[0]->model, &viewers[i]->model, err))
            return -1;
    }
    for (size_t i = 0; viewers && i < run->items.count; i++) {
        struct memory memory = {0};
        weight_costs_add_memory(&memory, &plan, &run->pairs[i]);
        bytes = fmax(bytes, memory.held + memory.during);
    }
    if (!viewers || expect(run, bytes, err))
        return -1;
    progress_begin(&progress, "passes");
    int failed = weight_costs_make(&report, &plan, arena, err);
    progress_end(&progress);
    return failed ? -1 : output_write_table(&run->output, &report, &run->options, NULL, err);
}

static int compare_models(struct compare_run *run, const struct options *options, struct err *err)
{
    const bool of_weights = options_own(options)->parameters;
    const char *other = options_are_given(options, "attention edit ablate knockout seed");
    const char *of_maps = of_weights ? options_are_given(options, "head hide-first") : NULL;
    const struct model *first = &run->sessions[0].viewer.model;
    if (other)
        return err_usage(err, "--%s: expected one model, found %zu", other, run->count);
    if (of_maps)
        return err_usage(err, "--%s: expected no --parameters, found both", of_maps);
    if (open_first(run, err))
        return -1;
    struct comparison_run *runs =
        arena_alloc(&run->sessions[0].arena, run->count, sizeof *runs, err);
    for (size_t i = 0; runs && i < run->count; i++) {
        struct viewer *viewer = &run->sessions[i].viewer;
        if (i && (session_begin(&run->sessions[i], err) ||
                  comparison_check_models(first, &viewer->model, err)))
            return -1;
        runs[i] = (struct comparison_run){viewer, viewer->model.name, .mechanism = NULL};
    }
    if (!runs || tokenize_all(run, err))
        return -1;
    return of_weights ? compare_weights(run, err) : compare(run, runs, run->count, err);
}

/* --- tensors of another program --------------------------------------------------------------- */

/* Refuse a dump whose tensors, as floats, do not fit into memory together. They may be larger than
 * the file: a log of llama.cpp has only some of the numbers of each tensor. */
static int expect_numbers(const struct dump *dump, const char *path, struct err *err)
{
    double numbers = 0;
    const struct safetensors_entry *largest = NULL;
    for (size_t i = 0; i < dump->count; i++) {
        const struct safetensors_entry *entry = &dump->items[i].entry;
        numbers += (double)entry->count;
        largest = largest && largest->count >= entry->count ? largest : entry;
    }
    const double bytes = sizeof(float) * numbers;
    if (!heap_expect(bytes < (double)SIZE_MAX ? (size_t)bytes : SIZE_MAX, path, err))
        return 0;
    return err_append(err, ": its tensors have %.0f numbers, '%s' alone has %zu", numbers,
                      largest->name, largest->count);
}

static int compare_open_dump(struct compare_run *run, const struct dump *dump, struct err *err)
{
    const struct own_options *own = options_own(&run->options);
    struct session *session = &run->sessions[0];
    struct viewer *viewer = &session->viewer;
    struct weights *weights = &viewer->model.weights;
    struct site_names names;
    struct report report;
    struct progress progress;
    struct memory memory = {0};
    const char *where = NULL;
    if (site_names_make(&names, weights->config, err))
        return -1;
    struct divergence_plan plan = {.viewer = viewer,
                                   .pair = run->pairs,
                                   .dump = dump,
                                   .names = &names,
                                   .tolerance = own->tolerance,
                                   .full = own->full,
                                   .progress = &progress.sink};
    viewer->edits = run->pairs->edits;
    int failed = own->names && site_names_add(&names, own->names, err);
    if (!failed) {
        struct weights_bytes bytes = weights_bytes(weights);
        divergence_add_memory(&memory, &plan);
        failed = session_expect(session, memory.held + memory.during + (double)bytes.heap, bytes,
                                run->pairs->text.count, err);
    }
    progress_begin(&progress, "mistakes");
    failed = failed || divergence_make(&report, &where, &plan, &session->arena, err);
    progress_end(&progress);
    failed = failed || output_write_table(&run->output, &report, &run->options, NULL, err) ||
             (where && err_failed(err, "'%s': first divergence at '%s'", own->dump, where));
    site_names_release(&names);
    return err_if(failed);
}

static int compare_dump(struct compare_run *run, const struct options *options, struct err *err)
{
    struct dump dump = {0};
    const char *other = options_are_given(options, "attention seed layer head hide-first");
    if (other)
        return err_usage(err, "--%s: expected no --dump, found both", other);
    if (items_open(&run->items, &run->options, 0, ITEMS_ONE, err))
        return -1;
    run->sessions[0].begins = session_beginning(&run->items, false);
    if (session_begin(&run->sessions[0], err) ||
        !(run->pairs = session_read_items(&run->sessions[0], &run->items, err)) ||
        dump_open(&dump, options_own(options)->dump, err))
        return -1;
    int failed = expect_numbers(&dump, options_own(options)->dump, err) ||
                 compare_open_dump(run, &dump, err);
    dump_release(&dump);
    return failed;
}

/* --- the command ------------------------------------------------------------------------------ */

/* List the models that --model and operands name. If there are several models, remove the operands
 * that name them. If there are fewer, and no --attention, --dump or edit is given, refuse an
 * operand of one word as a misspelt model. */
static int find_models(struct texts *models, struct options *options, struct arena *arena,
                       struct err *err)
{
    struct texts *operands = &options->input.operands;
    struct texts texts = {0};
    bool of_settings =
        options_are_given(options, "attention dump") || edit_options_are_given(&options->edit);
    struct folder folder;
    if (models_read(models, options, arena, err))
        return -1;
    for (size_t i = 0; i < operands->count; i++) {
        const char *operand = operands->items[i];
        if (texts_add(model_is_there(operand) ? models : &texts, operand, arena, err))
            return -1;
    }
    for (size_t i = 0; i < texts.count && models->count < 2 && !of_settings; i++)
        if (!strpbrk(texts.items[i], " \t\n") && model_find(&folder, texts.items[i], arena, err))
            return -1;
    if (models->count > 1)
        *operands = texts;
    return 0;
}

static int compare_command(const struct options *options, struct err *err)
{
    struct texts models;
    struct arena arena = {0};
    struct compare_run run = {.options = *options};
    run.options.mechanism.attention = NULL;
    int failed = find_models(&models, &run.options, &arena, err) ||
                 output_choose_table(&run.output, &options->output, err);
    bool of_models = !failed && models.count > 1;
    if (of_models)
        /* items_open looks up whether the tokenizers of these models join pairs of texts */
        run.options.model.names = models;
    size_t count = of_models ? models.count : 1;
    failed = failed || !(run.sessions = arena_alloc(&arena, count, sizeof *run.sessions, err));
    for (; !failed && run.count < count; run.count++)
        run.sessions[run.count] = (struct session){
            .options = &run.options, .model = of_models ? models.items[run.count] : NULL};
    if (!failed && !of_models && options_own(options)->parameters)
        failed = err_usage(err, "--parameters: expected two models or more, found one");
    const char *of_dump = options_are_given(options, "names tolerance full");
    if (!failed && of_dump && !options_own(options)->dump)
        failed = err_usage(err, "--%s: expected --dump, found none", of_dump);
    if (!failed && of_models && options_own(options)->dump)
        failed = err_usage(err, "--dump: expected one model, found %zu", count);
    failed = failed || (options_own(options)->dump ? compare_dump
                        : of_models                ? compare_models
                                                   : compare_settings)(&run, options, err);
    output_discard(&run.output);
    while (run.count > 0)
        session_release(&run.sessions[--run.count]);
    items_release(&run.items);
    arena_release(&arena);
    return err_if(failed);
}
