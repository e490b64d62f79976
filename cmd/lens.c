/* lens.c: `attn-cli lens`: what a model would say at each of its layers. */
#include <string.h>

#include "command.h"
#include "instrument.h"
#include "output.h"
#include "session.h"

/* --- what is asked of any text ---------------------------------------------------------------- */

/* People see tokens in colours, programs get every number. */
static int read_numbers(struct question *question, const struct format *format, struct arena *arena,
                        struct err *err)
{
    const char *list = question->options->select.show;
    bool is_data = !format_is(format, "text") && !format_is_looked_at(format);
    question->numbers = is_data ? (1u << LENS_NUMBERS) - 1 : 1u << LENS_BEST;
    if (!list)
        return 0;
    for (question->numbers = 0;; list++) {
        size_t index = 0;
        size_t size = strcspn(list, ",");
        char *name = arena_text(arena, list, size, err);
        if (!name || names_choose(&index, NAMES(lens_numbers, LENS_NUMBERS), "--show", name, err))
            return -1;
        question->numbers |= 1u << index;
        list += size;
        if (!*list)
            return 0;
    }
}

static int ask(struct question *question, const struct format *format, struct arena *arena,
               struct err *err)
{
    const struct options *options = question->options;
    struct lens_plan *plan = &question->plan;
    const struct config *config = &question->viewer->model.config;
    const struct scoring scoring = {.viewer = question->viewer};
    const char *target = options->lens.target;
    *plan = (struct lens_plan){
        .viewer = question->viewer, .best_count = (size_t)options->lens.best, .target = -1};
    question->origin.viewer = question->viewer;
    if ((target &&
         inputs_read_token(&plan->target, question->viewer, "--target", target, arena, err)) ||
        text_origin_attends(&question->origin, arena, err) || scoring_check(&scoring, err) ||
        lens_find_site(&plan->site, options->lens.site, config, err) ||
        read_numbers(question, format, arena, err))
        return -1;
    question->selection.sites = site_bit(plan->site);
    if (selection_layers(&question->selection, options->select.layer, config, arena, err))
        return -1;
    plan->layers = question->selection.layers;
    return 0;
}

static int find(struct finding *findings, const struct question *question, const struct look *look,
                struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < look->count; i++) {
        findings[i] = (struct finding){question, &look->pairs[i], .position = 0};
        if (lens_look(&findings[i].lens, &question->plan, &look->pairs[i], arena, err))
            return -1;
    }
    return 0;
}

static struct text_origin origin_of(const struct finding *finding)
{
    struct text_origin origin = finding->question->origin;
    origin.source = &finding->pair->source;
    return origin;
}

static int report(struct report *report, const struct finding *finding, const struct format *format,
                  struct arena *arena, struct err *err)
{
    const struct text_origin origin = origin_of(finding);
    (void)format; /* the numbers are those that it is for */
    return lens_report(report, &finding->lens, finding->question->numbers, &origin,
                       &finding->pair->sentence, arena, err);
}

static void write_json(struct stream *out, const struct finding *finding, const struct place *place,
                       bool lines)
{
    const struct text_origin origin = origin_of(finding);
    lens_json_write(out, &finding->lens, &origin, &finding->pair->sentence, place, lines);
}

static int write_line(struct stream *out, const struct finding *finding, const struct place *place,
                      struct err *err)
{
    (void)err; /* what can fail here sticks to the stream */
    write_json(out, finding, place, true);
    return 0;
}

const struct instrument lens_instrument = {FOR_LENS, JSON_FORMAT("lens"), ask, NULL, find,
                                           report,   write_line};

/* --- the command ------------------------------------------------------------------------------ */

struct job {
    const struct options *options;
    struct session session;
    struct model_list models;
    struct question question; /* of the open one */
    struct style style;
    struct output output;
    struct place place;
    struct buf columns; /* the first text's tokens in the first of several models */
    struct arena kept;  /* what is not a model's own */
    struct arena one;   /* one text's: memory does not grow with their number */
};

/* Models share the columns of a table. */
static int check_columns(struct job *job, const struct tokenized *sentence, struct err *err)
{
    struct buf columns = {0};
    if (!job->models.hashes || !format_is(job->output.format, "csv") || job->output.to_folder)
        return 0;
    for (size_t i = 0; i < sentence->count; i++)
        buf_format(&columns, "%s,", sentence->labels[i].exact);
    int failed = buf_check(&columns, err);
    if (!failed && !job->columns.size) {
        job->columns = columns;
        return 0;
    }
    if (!failed && strcmp(columns.bytes, job->columns.bytes) != 0)
        failed = err_usage(
            err, "--format csv: expected the tokens of '%s', found others: give --format tidy",
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
    size_t count = job->session.inputs.count;
    looks_note_pictures(&options->looks, job->output.format);
    if (output_check_made(&job->output, err) || output_check_count(&job->output, count, err) ||
        model_list_check(&job->models, &job->output, err))
        return -1;
    job->place = page_place(&options->looks, &job->style);
    job->place.count = count * model_list_count(&job->models);
    job->place.sentences = count;
    return 0;
}

static int open_model(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct viewer *viewer = &session->viewer;
    job->question = (struct question){.options = options, .viewer = viewer};
    if (session_open(session, err) || viewer_set_mechanism(viewer, &session->mechanism, err) ||
        session_edit(session, err) || inputs_check_source(&options->input, &viewer->model, err) ||
        ask(&job->question, job->output.format, &session->arena, err))
        return -1;
    job->place.model = job->models.hashes ? viewer->model.name : NULL;
    job->question.origin.hash = job->models.hashes ? job->models.hashes[job->models.open] : NULL;
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
    viewer_expect_steps(&job->session.viewer, tokens * job->question.plan.layers.count);
    session_note_dropped(&job->session);
    return 0;
}

static int write_lens(struct job *job, const struct finding *lens, struct err *err)
{
    bool lines = format_is(job->output.format, "jsonl");
    struct report made;
    if (output_open(&job->output, err))
        return -1;
    if (lines || format_is(job->output.format, "json")) {
        write_json(&job->output.stream, lens, &job->place, lines);
        return 0;
    }
    if (report(&made, lens, job->output.format, &job->one, err))
        return -1;
    return output_write_made(&job->output, &made, &job->place, err);
}

static int look_at(void *context, size_t *done, struct err *err)
{
    struct job *job = context;
    size_t index = (*done)++;
    struct text_pair pair;
    struct finding lens;
    const struct look look = {.pairs = &pair, .count = 1, .first = index};
    arena_clear(&job->one);
    if (session_read(&job->session, &pair, index, &job->one, err) ||
        find(&lens, &job->question, &look, &job->one, err))
        return -1;
    job->place.index = job->models.open * job->session.inputs.count + index;
    return write_lens(job, &lens, err);
}

int lens_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    const struct model_turn turn = {&job.session, read_texts, NULL, &job, look_at};
    int failed = prepare(&job, err) || model_list_each(&job.models, &turn, err) ||
                 output_commit(&job.output, err);
    output_discard(&job.output);
    session_release(&job.session);
    buf_release(&job.columns);
    arena_release(&job.kept);
    arena_release(&job.one);
    return failed ? -1 : 0;
}
