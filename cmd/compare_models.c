/* compare_models.c: `attn-cli compare A B`: two models beside each other, head by head. */
#include <string.h>

#include "command.h"
#include "measure/model_distance.h"
#include "output.h"
#include "session.h"

struct job {
    const struct options *options;
    struct output output;
    struct session sessions[2]; /* the second has the texts of the first */
    struct text_pair *pairs;
    struct selection selection;
};

/* Ways to attend and edits are those of one model. */
static int check_options(struct job *job, struct err *err)
{
    static const char *const others[] = {"attention", "edit",   "ablate", "knockout",
                                         "source",    "repeat", "seed"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (options_are_given(job->options, others[i]))
            return err_usage(err, "--%s: expected one model, found two", others[i]);
    return output_choose_table(&job->output, &job->options->output, err);
}

/* Both must read a text as the same ids. */
static int read_text(struct job *job, size_t index, struct err *err)
{
    struct text_pair other;
    struct text_pair *pair = &job->pairs[index];
    struct session *first = &job->sessions[0];
    if (session_read(first, pair, index, &first->arena, err))
        return model_blame(first->model, err);
    if (session_read(&job->sessions[1], &other, index, &first->arena, err))
        return model_blame(job->sessions[1].model, err);
    session_count_dropped(first, pair, index);
    size_t count = pair->sentence.count;
    if (other.sentence.count == count &&
        memcmp(other.sentence.ids, pair->sentence.ids, count * sizeof *pair->sentence.ids) == 0)
        return 0;
    err_usage(
        err, "'%s': expected the ids of '%s', found others: compare takes models of one vocabulary",
        job->sessions[1].model, first->model);
    return inputs_blame(&first->inputs, index, err);
}

static int prepare(struct job *job, struct err *err)
{
    struct session *first = &job->sessions[0];
    const struct options *options = job->options;
    if (check_options(job, err) || inputs_open(&first->inputs, &options->input, INPUTS_SOME, err) ||
        session_open(first, err))
        return -1;
    const struct config *config = &first->viewer.model.config;
    size_t count = first->inputs.count;
    job->sessions[1].inputs = first->inputs;
    job->pairs = arena_alloc(&first->arena, count, sizeof *job->pairs, err);
    if (!job->pairs || session_open(&job->sessions[1], err) ||
        selection_layers(&job->selection, options->select.layer, config, &first->arena, err) ||
        selection_heads(&job->selection, options->select.head, config, &first->arena, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (read_text(job, i, err))
            return -1;
    session_note_dropped(first);
    return 0;
}

static int compare(struct job *job, struct err *err)
{
    struct model_distance distance;
    struct model_distance_plan plan = {
        .models = {&job->sessions[0].viewer, &job->sessions[1].viewer},
        .pairs = job->pairs,
        .pair_count = job->sessions[0].inputs.count,
        .selection = &job->selection,
    };
    char hashes[2][SHA256_DIGITS + 1];
    struct progress progress;
    struct report report;
    for (size_t i = 0; i < 2; i++)
        weights_hash(&plan.models[i]->model.weights, hashes[i]);
    plan.equal_weights = strcmp(hashes[0], hashes[1]) == 0;
    progress_begin(&progress, "texts");
    plan.progress = &progress.sink;
    int failed = model_distance_make(&distance, &plan, &job->sessions[0].arena, err);
    progress_end(&progress);
    failed = failed || model_distance_report(&report, &distance, &job->sessions[0].arena, err) ||
             output_write_table(&job->output, &report, job->options, err);
    output_discard(&job->output);
    return failed ? -1 : 0;
}

int compare_models(const struct options *options, const char *const names[2], struct err *err)
{
    struct job job = {.options = options};
    for (size_t i = 0; i < 2; i++)
        job.sessions[i] = (struct session){.options = options, .model = names[i]};
    int failed = prepare(&job, err) || compare(&job, err);
    job.sessions[1].inputs = (struct inputs){0};
    session_release(&job.sessions[1]);
    session_release(&job.sessions[0]);
    return failed ? -1 : 0;
}
