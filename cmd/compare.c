/* compare.c: `attn-cli compare`: ways to attend beside each other: how far every head is from dense
 * attention, and what each way costs; or two models: compare_models.c. */
#include <limits.h>
#include <string.h>

#include "math/pool.h"
#include "measure/comparison.h"
#include "command.h"
#include "output.h"
#include "session.h"

static const struct option_row own_options[] = {
    STRING("attention", 0, "LIST", IN(mechanism.attention),
           "attention patterns to compare with dense attention: window:8,linear",
           .heading = "Comparison", .values = &values_attention, .joints = ",+"),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX, "seed of random keys (default: 0)"),
    INTEGER("repeat", 0, "N", IN(rounds), 1, 1000, "number of timing rounds (default: 5)",
            .preset = 5),
    INTEGER("threads", 't', "N", IN(model.threads), 1, POOL_THREADS_MAX,
            "number of threads (default: one per processor)"),
    STRING("layer", 0, "LIST", IN(select.layer), "layers: 0,3-5, -1 for the last, all (default)",
           .heading = "Select"),
    {0},
};

const struct command command_compare = {
    .name = "compare",
    .group = "Analyse",
    .about = "compare models or settings",
    .operands = "[MODEL MODEL] [TEXT]...",
    .examples =
        "attn-cli compare -s \"Life is short, eat dessert first\" --attention window:2,linear\n"
        "attn-cli compare -m life -s \"Life is short\" --attention "
        "dense,window:2+global:1,blocked:2\n"
        "attn-cli compare -s \"Life is short\" --attention random:1,strided:2 --format json\n"
        "attn-cli compare life life-causal -s \"Life is short\"\n",
    .run = compare_command,
    .options = own_options,
    .shared = {{text_options, "words"},
               {model_options, "precision"},
               {edit_options, NULL},
               {select_options, "show mean hide-first"},
               {table_options, NULL},
               {running_options, "verbose"}},
    .reads_texts = true,
};

struct job {
    const struct options *options;
    struct output output;
    struct session session;
    struct text_pair *pairs;
    struct mechanism *ways;
    struct selection selection;
    struct comparison_plan plan;
};

static int check_options(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct mechanism_options mechanism = options->mechanism;
    if (!mechanism.attention && !edit_options_are_given(&options->edit))
        return err_usage(
            err, "--attention: expected a list of what is to be compared with dense, "
                 "as window:8,linear; or --edit, --ablate or --knockout; or a second model");
    if (!mechanism.attention)
        mechanism.attention = "dense";
    if (output_choose_table(&job->output, &options->output, err))
        return -1;
    return mechanism_options_list(&job->ways, &job->plan.way_count, &mechanism, &job->session.arena,
                                  err);
}

static int read_texts(struct job *job, struct err *err)
{
    struct session *session = &job->session;
    size_t count = session->inputs.count;
    job->pairs = arena_alloc(&session->arena, count, sizeof *job->pairs, err);
    if (!job->pairs)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (session_read(session, &job->pairs[i], i, &session->arena, err))
            return -1;
        session_count_dropped(session, &job->pairs[i], i);
    }
    session_note_dropped(session);
    return 0;
}

static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    const struct model *model = &session->viewer.model;
    if (check_options(job, err) ||
        inputs_open(&session->inputs, &options->input, INPUTS_SOME, err) ||
        session_open(session, err) || session_edit(session, err) ||
        inputs_check_source(&options->input, model, err) ||
        selection_layers(&job->selection, options->select.layer, &model->config, &session->arena,
                         err) ||
        selection_heads(&job->selection, options->select.head, &model->config, &session->arena,
                        err))
        return -1;
    return read_texts(job, err);
}

static int compare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct comparison comparison;
    struct report report;
    struct progress progress;
    job->plan.viewer = &job->session.viewer;
    job->plan.pairs = job->pairs;
    job->plan.pair_count = job->session.inputs.count;
    job->plan.ways = job->ways;
    job->plan.edits = job->session.viewer.edits;
    job->plan.selection = &job->selection;
    job->plan.rounds = (size_t)options->rounds;
    progress_begin(&progress, NULL);
    job->plan.progress = &progress.sink;
    int failed = comparison_make(&comparison, &job->plan, &job->session.arena, err);
    progress_end(&progress);
    failed = failed || comparison_report(&report, &comparison, &job->session.arena, err) ||
             output_write_table(&job->output, &report, options, err);
    output_discard(&job->output);
    return failed ? -1 : 0;
}

/* Without --attention or an edit a second model is expected: an operand of one word that is not a
 * model is a misspelt one. */
static int check_names(const struct options *options, struct arena *arena, struct err *err)
{
    const struct texts *operands = &options->input.operands;
    struct folder folder;
    if (options->mechanism.attention || edit_options_are_given(&options->edit))
        return 0;
    for (size_t i = 0; i < operands->count; i++)
        if (!strpbrk(operands->items[i], " \t\n") &&
            model_find(&folder, operands->items[i], arena, err))
            return -1;
    return 0;
}

/* Operands that name models are no texts; with those of --model there may be two. */
static int find_models(struct model_list *models, struct options *options, struct arena *arena,
                       struct err *err)
{
    struct texts *operands = &options->input.operands;
    struct texts texts = {arena_alloc(arena, operands->count, sizeof *texts.items, err), 0};
    if (!texts.items || model_list_read(models, options, arena, err))
        return -1;
    for (size_t i = 0; i < operands->count; i++) {
        const char *operand = operands->items[i];
        if (!model_is_there(operand))
            texts.items[texts.count++] = operand;
        else if (listing_add(&models->names, operand, arena, err))
            return -1;
    }
    if (models->names.count > 2)
        return err_usage(err, "expected two models, found %zu", models->names.count);
    if (models->names.count < 2)
        return check_names(options, arena, err);
    *operands = texts;
    return 0;
}

static int compare_ways(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    int failed = prepare(&job, err) || compare(&job, err);
    session_release(&job.session);
    return failed ? -1 : 0;
}

int compare_command(const struct options *options, struct err *err)
{
    struct options own = *options;
    struct model_list models;
    struct arena arena = {0};
    int failed = find_models(&models, &own, &arena, err);
    if (!failed && models.names.count == 2)
        failed = compare_models(&own, models.names.names, err);
    else if (!failed)
        failed = compare_ways(options, err);
    arena_release(&arena);
    return failed;
}
