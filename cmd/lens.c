/* lens.c: `attn-cli lens`: what a model would say at each of its layers. */
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "measure/logit_lens.h"
#include "measure/token_scores.h"
#include "output.h"
#include "progress.h"
#include "session.h"

struct job {
    const struct options *options;
    struct session session;
    struct model_list models;
    struct selection selection; /* its layers */
    struct lens_plan plan;
    struct text_origin origin;
    unsigned numbers; /* 1 << LENS_… that are shown */
    struct style style;
    struct output output;
    struct place place;
    struct buf columns; /* the first text's tokens in the first of several models */
    struct arena kept;  /* what is not a model's own */
    struct arena one;   /* one text's: memory does not grow with their number */
};

static bool is_format(const struct job *job, const char *name)
{
    return strcmp(job->output.format->name, name) == 0;
}

/* --- what is asked for ------------------------------------------------------------------------ */

/* People see tokens in colours, programs get every number. */
static int read_numbers(struct job *job, struct err *err)
{
    const char *list = job->options->select.show;
    bool is_data =
        !is_format(job, "text") && !is_format(job, "html") && !job->output.format->is_picture;
    job->numbers = is_data ? (1u << LENS_NUMBERS) - 1 : 1u << LENS_BEST;
    if (!list)
        return 0;
    for (job->numbers = 0;; list++) {
        size_t index = 0;
        size_t size = strcspn(list, ",");
        char *name = arena_text(&job->session.arena, list, size, err);
        if (!name || names_choose(&index, NAMES(lens_numbers, LENS_NUMBERS), "--show", name, err))
            return -1;
        job->numbers |= 1u << index;
        list += size;
        if (!*list)
            return 0;
    }
}

static int read_target(struct job *job, struct err *err)
{
    const char *text = job->options->lens.target;
    job->plan.target = -1;
    return text ? inputs_read_token(&job->session, &job->plan.target, "--target", text,
                                    strlen(text), err)
                : 0;
}

static int check_output(struct job *job, struct err *err)
{
    size_t count = job->session.inputs.count;
    size_t models = job->models.hashes ? job->models.names.count : 1;
    const struct output *output = &job->output;
    if (output_check_made(output, err) || output_check_count(output, count, err))
        return -1;
    if (output->format->one_sentence && !output->to_folder && models > 1)
        return err_usage(err,
                         "--format %s: one file holds one model, found %zu: give a folder "
                         "(-o DIR/), or csv or tidy",
                         output->format->name, models);
    job->place = page_place(&job->options->looks, &job->style);
    job->place.count = count * models;
    job->place.sentences = count;
    return 0;
}

/* Models share the columns of a table. */
static int check_columns(struct job *job, const struct tokenized *sentence, struct err *err)
{
    struct buf columns = {0};
    if (!job->models.hashes || !is_format(job, "csv") || job->output.to_folder)
        return 0;
    for (size_t i = 0; i < sentence->count; i++)
        buf_format(&columns, "%s,", sentence->labels[i].exact);
    int failed = buf_check(&columns, err);
    if (!failed && !job->columns.size) {
        job->columns = columns;
        return 0;
    }
    if (!failed && strcmp(columns.bytes, job->columns.bytes) != 0)
        failed = err_usage(err,
                           "--format csv: expected the tokens of '%s', found others: give "
                           "--format tidy",
                           job->models.names.names[0]);
    buf_release(&columns);
    return failed;
}

/* What is asked for, before there is a model. */
static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    if (session_read_options(&job->session, err) ||
        output_choose(&job->output, &options->output, err) ||
        looks_read(&job->style, options, err) ||
        model_list_read(&job->models, options, &job->kept, err) ||
        inputs_open(&job->session.inputs, &options->input, INPUTS_SOME, err))
        return -1;
    looks_note(&options->looks, job->output.format);
    return check_output(job, err);
}

static int open_model(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct viewer *viewer = &session->viewer;
    const struct config *config = &viewer->model.config;
    struct scoring scoring = {.viewer = viewer};
    job->plan.viewer = viewer;
    job->origin.viewer = viewer;
    job->plan.best_count = (size_t)options->lens.best;
    if (session_open(session, err) || read_target(job, err) ||
        viewer_set_mechanism(viewer, &session->mechanism, err) || session_edit(session, err) ||
        inputs_check_source(&options->input, &viewer->model, err) ||
        text_origin_attends(&job->origin, &session->arena, err) || scoring_check(&scoring, err) ||
        lens_find_site(&job->plan.site, options->lens.site, config, err) || read_numbers(job, err))
        return -1;
    job->selection.sites = site_bit(job->plan.site);
    if (selection_layers(&job->selection, options->select.layer, config, &session->arena, err))
        return -1;
    job->plan.layers = job->selection.layers;
    job->place.model = job->models.hashes ? viewer->model.name : NULL;
    job->origin.hash = job->models.hashes ? job->models.hashes[job->models.open] : NULL;
    return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* All texts must be sound before the first is looked at: no output stops half-way. */
static int read_texts(void *context, struct err *err)
{
    struct job *job = context;
    size_t tokens = 0;
    if (open_model(job, err))
        return -1;
    for (size_t i = 0; i < job->session.inputs.count; i++) {
        struct text_pair pair;
        arena_clear(&job->one);
        if (session_read(&job->session, &pair, i, &job->one, err) ||
            check_columns(job, &pair.sentence, err))
            return -1;
        session_count_dropped(&job->session, &pair, i);
        tokens += pair.sentence.count;
    }
    viewer_expect(&job->session.viewer, tokens);
    viewer_expect_steps(&job->session.viewer, tokens * job->plan.layers.count);
    session_note_dropped(&job->session);
    return 0;
}

static int write_lens(struct job *job, const struct logit_lens *lens,
                      const struct tokenized *sentence, struct err *err)
{
    bool lines = is_format(job, "jsonl");
    struct report report;
    if (output_open(&job->output, err))
        return -1;
    if (lines || is_format(job, "json")) {
        lens_json_write(&job->output.stream, lens, &job->origin, sentence, &job->place, lines);
        return 0;
    }
    return lens_report(&report, lens, job->numbers, &job->origin, sentence, &job->one, err) ||
                   output_write_made(&job->output, &report, &job->place, err)
               ? -1
               : 0;
}

static int look_at(void *context, size_t *done, struct err *err)
{
    struct job *job = context;
    size_t index = (*done)++;
    struct text_pair pair;
    struct logit_lens lens;
    arena_clear(&job->one);
    if (session_read(&job->session, &pair, index, &job->one, err) ||
        lens_look(&lens, &job->plan, &pair, &job->one, err))
        return -1;
    job->place.index = job->models.open * job->session.inputs.count + index;
    job->origin.source = &pair.source;
    return write_lens(job, &lens, &pair.sentence, err);
}

static int look(void *context, struct err *err)
{
    struct job *job = context;
    return progress_over_texts(job->session.inputs.count, job->options->output.path, look_at, job,
                               err);
}

int lens_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    const struct model_turn turn = {&job.session, read_texts, look, &job};
    int failed = prepare(&job, err) || model_list_each(&job.models, &turn, err) ||
                 output_commit(&job.output, err);
    output_discard(&job.output);
    session_release(&job.session);
    buf_release(&job.columns);
    arena_release(&job.kept);
    arena_release(&job.one);
    return failed ? -1 : 0;
}
