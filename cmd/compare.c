/* compare.c: `attn-cli compare`: ways to attend beside each other: how far every head is from dense
 * attention, and what each way costs. */
#include <string.h>

#include "base/stream.h"
#include "measure/comparison.h"
#include "command.h"
#include "output.h"
#include "inputs.h"
#include "request.h"
#include "progress.h"

enum { ROUNDS = 5 };

struct job {
    const struct options *options;
    const struct comparison_format *format;
    struct viewer viewer;
    struct inputs inputs;
    struct text_pair *pairs;
    struct mechanism *ways;
    struct selection selection;
    struct comparison_plan plan;
    struct stream out;
    struct arena arena;
};

/* --- options ---------------------------------------------------------------------------------- */

/* --format, else the ending of -o, else text for people. */
static int choose_format(struct job *job, struct err *err)
{
    const struct format_table table =
        FORMAT_TABLE_OF_TEXT(comparison_formats, comparison_format_count);
    size_t index = 0;
    if (format_choose(&index, &table, job->options->format, job->options->output, err))
        return -1;
    job->format = &comparison_formats[index];
    return 0;
}

static int check_options(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    if (!options->attention)
        return err_usage(err, "--attention: expected a list of what is to be compared with dense, "
                              "as window:8,linear");
    return choose_format(job, err) || mechanism_options_list(&job->ways, &job->plan.way_count,
                                                             options, &job->arena, err)
               ? -1
               : 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

static void note_dropped(const struct job *job, const struct dropped *dropped)
{
    struct buf place = {0};
    inputs_place(&place, &job->inputs, dropped->input);
    dropped_note(dropped, job->options, place.bytes);
    buf_release(&place);
}

static int read_texts(struct job *job, struct err *err)
{
    const char *text = job->options->source;
    struct input source = {.text = text, .size = text ? strlen(text) : 0};
    struct dropped dropped = {0};
    struct dropped in_source = {0};
    job->pairs = arena_alloc(&job->arena, job->inputs.count, sizeof *job->pairs, err);
    if (!job->pairs)
        return -1;
    for (size_t i = 0; i < job->inputs.count; i++) {
        struct text_pair *pair = &job->pairs[i];
        if (viewer_read(&job->viewer, pair, &job->inputs.items[i], text ? &source : NULL,
                        &job->arena, err))
            return inputs_blame(&job->inputs, i, err);
        dropped_add(&dropped, &pair->sentence, i);
        if (i == 0) /* it is the same for all */
            dropped_add(&in_source, &pair->source, i);
    }
    note_dropped(job, &dropped);
    dropped_note(&in_source, job->options, "the source");
    return 0;
}

static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct model *model = &job->viewer.model;
    if (check_options(job, err) || inputs_open(&job->inputs, options, err) ||
        viewer_open(&job->viewer, chosen_model(options), (size_t)options->threads, err) ||
        inputs_set_tokenizer(job->viewer.tokenizer, &model->folder, options, err) ||
        inputs_check_source(options, model, err) ||
        selection_layers(&job->selection, options->layer, &model->config, &job->arena, err) ||
        selection_heads(&job->selection, options->head, &model->config, &job->arena, err))
        return -1;
    print_note_of_tokenizer(options, job->viewer.tokenizer);
    return read_texts(job, err);
}

/* --- the comparison --------------------------------------------------------------------------- */

static int write_comparison(struct job *job, const struct comparison *comparison, struct err *err)
{
    int failed = output_to(&job->out, job->options->output, err) ||
                 job->format->write(&job->out, comparison, err) || stream_commit(&job->out, err);
    return failed ? -1 : 0;
}

static int compare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct comparison comparison;
    struct progress progress;
    job->plan.viewer = &job->viewer;
    job->plan.pairs = job->pairs;
    job->plan.pair_count = job->inputs.count;
    job->plan.ways = job->ways;
    job->plan.selection = &job->selection;
    job->plan.rounds = options->repeat ? (size_t)options->repeat : ROUNDS;
    progress_begin(&progress, options, NULL);
    job->plan.progress = &progress.sink;
    int failed = comparison_make(&comparison, &job->plan, &job->arena, err);
    progress_end(&progress);
    return failed || write_comparison(job, &comparison, err) ? -1 : 0;
}

int compare_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options};
    int failed = prepare(&job, err) || compare(&job, err);
    stream_discard(&job.out);
    inputs_release(&job.inputs);
    viewer_release(&job.viewer);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
