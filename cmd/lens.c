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
    struct selection selection; /* its layers */
    struct lens_plan plan;
    struct text_origin origin;
    unsigned numbers; /* 1 << LENS_… that are shown */
    struct style style;
    struct output output;
    struct place place;
    struct arena one; /* one text's: memory does not grow with their number */
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
    const struct format *format = job->output.format;
    size_t count = job->session.inputs.count;
    if (output_check_made(&job->output, err))
        return -1;
    if (format->one_sentence && !job->output.to_folder && count > 1)
        return err_usage(err, "--format %s: one file holds one text, found %zu", format->name,
                         count);
    job->place = page_place(&job->options->looks, &job->style);
    job->place.count = count;
    return 0;
}

static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct viewer *viewer = &session->viewer;
    const struct config *config = &viewer->model.config;
    struct scoring scoring = {.viewer = viewer};
    job->plan.viewer = viewer;
    job->origin.viewer = viewer;
    job->plan.best_count = (size_t)options->lens.best;
    if (session_read_options(session, err) || output_choose(&job->output, &options->output, err) ||
        looks_read(&job->style, options, err) ||
        inputs_open(&session->inputs, &options->input, INPUTS_SOME, err) ||
        session_open(session, err) || read_target(job, err) ||
        viewer_set_mechanism(viewer, &session->mechanism, err) || session_edit(session, err) ||
        inputs_check_source(&options->input, &viewer->model, err) ||
        text_origin_attends(&job->origin, &session->arena, err) || scoring_check(&scoring, err) ||
        lens_find_site(&job->plan.site, options->lens.site, config, err) || read_numbers(job, err))
        return -1;
    looks_note(&options->looks, job->output.format);
    job->selection.sites = site_bit(job->plan.site);
    if (selection_layers(&job->selection, options->select.layer, config, &session->arena, err))
        return -1;
    job->plan.layers = job->selection.layers;
    return check_output(job, err);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* All texts must be sound before the first is looked at: no output stops half-way. */
static int check_texts(struct job *job, struct err *err)
{
    size_t tokens = 0;
    for (size_t i = 0; i < job->session.inputs.count; i++) {
        struct text_pair pair;
        arena_clear(&job->one);
        if (session_read(&job->session, &pair, i, &job->one, err))
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

static int look_at(struct job *job, size_t index, struct err *err)
{
    struct text_pair pair;
    struct logit_lens lens;
    arena_clear(&job->one);
    if (session_read(&job->session, &pair, index, &job->one, err) ||
        lens_look(&lens, &job->plan, &pair, &job->one, err))
        return -1;
    job->place.index = index;
    job->origin.source = &pair.source;
    return write_lens(job, &lens, &pair.sentence, err);
}

static int look(struct job *job, struct err *err)
{
    struct progress progress;
    size_t count = job->session.inputs.count;
    progress_begin_beside(&progress, job->options->output.path, "texts");
    for (size_t i = 0; i < count; i++) {
        if (look_at(job, i, err))
            return -1;
        progress_show(&progress, i + 1, count, NULL);
    }
    progress_end(&progress);
    return output_commit(&job->output, err);
}

int lens_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    int failed = prepare(&job, err) || check_texts(&job, err) || look(&job, err);
    output_discard(&job.output);
    session_release(&job.session);
    arena_release(&job.one);
    return failed ? -1 : 0;
}
