/* batch_survey.c: all jobs of a batch, read once before anything is computed. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "batch_work.h"
#include "model/site.h"
#include "../instrument.h"
#include "../output.h"

/* The selection of a job. */
static int make_request(struct batch_work *work, const struct job *job, struct prepared *prepared,
                        struct arena *arena, struct err *err)
{
    struct options options = job->item.options;
    const struct viewer *viewer = &prepared->model->viewer;
    struct selection *selection = &prepared->request.selection;
    const struct format *format = store_format(&work->plan, &options, err);
    if (!format || looks_read(&prepared->style, &options, err))
        return -1;
    if (work->plan.instrument) { /* what is shown is its own */
        prepared->format = format;
        options.select = (struct select_options){0};
        return request_make(&prepared->request, &options, NULL, viewer, arena, err);
    }
    if (request_make(&prepared->request, &options, format, viewer, arena, err))
        return -1;
    if (!selection->sites && !format->has_tokens)
        return err_usage(err,
                         "--show tokens: --format %s has no place for them: show a tensor, too",
                         format->name);
    return 0;
}

/* What the tensors of a job take; more than can be counted is the most that can. */
static size_t job_bytes(const struct prepared *prepared)
{
    const struct config *config = &prepared->model->viewer.model.config;
    const struct selection *selection = &prepared->request.selection;
    size_t tokens = prepared->pair.sentence.count;
    size_t source = prepared->pair.source.count;
    size_t total = 0;
    for (int site = 0; site < SITE_ALL; site++) {
        size_t count = 0;
        if (!(selection->sites >> site & 1))
            continue;
        size_t layers = selection_layers_of(selection, (enum site)site).count;
        if (!site_size(&count, config, (enum site)site, selection->head_count, tokens, source) ||
            !num_multiply(&count, count, layers * sizeof(float)) || !num_add(&total, total, count))
            return SIZE_MAX;
    }
    return total;
}

/* See that a job's edits fit its model and text. Texts that share a pass may have sources of their
 * own, but values of other texts are of one. */
static int check_edits(struct open_models *models, const struct prepared *prepared,
                       const struct edit_options *options, struct arena *arena, struct err *err)
{
    const struct text_pair *pair = &prepared->pair;
    struct edit_list list;
    struct config config = prepared->model->viewer.model.config;
    config.mechanism = prepared->request.mechanism;
    if (edit_options_read(&list, options, &config, arena, err) ||
        open_models_note_edits(models, &list, options, err))
        return -1;
    if (config.cross && (options->from || options->reference))
        return err_unsupported(err,
                               "--%s: expected a model of one text in a batch, found one that "
                               "looks at a second text, too",
                               options->from ? "from" : "reference");
    return edits_check_text(&list.edits, &config, pair->sentence.count, pair->source.count, err);
}

static int check_question(const struct batch_work *work, const struct job *job,
                          struct prepared *prepared, struct arena *arena, struct err *err)
{
    const struct instrument *instrument = work->plan.instrument;
    struct viewer *viewer = &prepared->model->viewer;
    struct question question = {.options = &job->item.options, .viewer = viewer};
    if (!instrument)
        return 0;
    viewer->edits = NULL; /* of the pass before */
    return instrument->ask(&question, prepared->format, arena, err) ||
                   (instrument->check && instrument->check(&question, &prepared->pair, arena, err))
               ? -1
               : 0;
}

int batch_prepare(struct batch_work *work, const struct job *job, struct prepared *prepared,
                  struct arena *arena, struct err *err)
{
    *prepared = (struct prepared){0};
    if (job->item.broken)
        return -1;
    prepared->model = open_models_get(&work->models, &job->item.options, err);
    if (prepared->model && !make_request(work, job, prepared, arena, err) &&
        !open_model_read(prepared->model, job, &prepared->pair, arena, err) &&
        !check_edits(&work->models, prepared, &job->item.options.edit, arena, err) &&
        !check_question(work, job, prepared, arena, err)) {
        prepared->bytes = work->plan.instrument ? 0 : job_bytes(prepared);
        return 0;
    }
    if (err->about == ERR_ABOUT_TOKENIZER)
        err_append(err, ": give the tokens as \"ids\", in JSON lines or a table");
    return err_prefix(err, "'%s' line %zu", inputs_shown_path(work->jobs.items.path),
                      job->item.line);
}

/* --- the survey ------------------------------------------------------------------------------- */

struct walk {
    struct batch_work *work;
    struct err first; /* what was wrong with the first broken job */
    bool general;     /* … and with every other one, word for word */
    size_t jobs, broken;
    uint64_t weight; /* of those that were passed … */
    uint64_t total;  /* … and of all; 0: not known yet */
};

/* What a message says after the place that it is about. */
static const char *after_place(const struct err *err)
{
    const char *line = strstr(err->text, " line ");
    const char *colon = line ? strstr(line, ": ") : NULL;
    return colon ? colon + 2 : err->text;
}

static void complain(struct walk *walk, const struct err *err)
{
    if (walk->broken++ == 0) {
        walk->first = *err;
        walk->general = true;
    }
    walk->general = walk->general && strcmp(after_place(err), after_place(&walk->first)) == 0;
}

/* A job of this shard. */
static void count(struct survey *survey, const struct prepared *prepared)
{
    const struct tokenized *sentence = &prepared->pair.sentence;
    size_t tokens = sentence->count + prepared->pair.source.count;
    survey->bytes += prepared->bytes;
    survey->tokens += tokens;
    survey->dropped += sentence->dropped_count + prepared->pair.source.dropped_count;
    if (survey->longest < sentence->count)
        survey->longest = sentence->count;
    prepared->model->tokens += tokens;
}

/* What is wrong with a job is in `job_err`; that is an error where that is not its fault, and it
 * might count for less than it does another time. */
static int visit(void *context, const struct job *job, struct arena *arena, struct err *job_err,
                 struct err *err)
{
    struct walk *walk = context;
    struct batch_work *work = walk->work;
    struct survey *survey = &work->survey;
    const struct job_shard *shard = &work->plan.shard;
    struct prepared prepared;
    bool sound = !batch_prepare(work, job, &prepared, arena, job_err);
    size_t weight = sound ? prepared.pair.sentence.count + prepared.pair.source.count : 1;
    if (job_err->out_of_memory)
        return err_adopt(err, job_err);
    if (!sound)
        complain(walk, job_err);
    if (!shard->count || (walk->total && shard_has(shard, walk->weight, weight, walk->total))) {
        if (survey->end == survey->first)
            survey->first = walk->jobs;
        survey->end = walk->jobs + 1;
        survey->broken_here += !sound;
        if (sound)
            count(survey, &prepared);
    }
    walk->weight += weight;
    walk->jobs++;
    return walk->broken && work->options->batch.fail_fast;
}

int batch_recovered(const struct survey *survey, struct err *err)
{
    return err_set(err, "%s: so it was at first, and then no more: run again", survey->complaint);
}

int batch_survey(struct batch_work *work, struct err *err)
{
    struct walk walk = {.work = work};
    if (jobs_visit(&work->jobs, 0, SIZE_MAX, visit, &walk, err))
        return -1;
    work->survey.jobs = walk.jobs;
    work->survey.broken = walk.broken;
    snprintf(work->survey.complaint, sizeof work->survey.complaint, "%s", walk.first.text);
    work->survey.weight = walk.weight;
    if (walk.general && walk.broken == walk.jobs && walk.jobs > 1) { /* whatever the job */
        err_set(err, "%s", after_place(&walk.first));
        err->kind = walk.first.kind;
        return -1;
    }
    if (walk.broken && work->options->batch.fail_fast)
        return err_adopt(err, &walk.first);
    if (work->plan.shard.count) {
        struct walk again = {.work = work, .total = walk.weight};
        if (jobs_visit(&work->jobs, 0, SIZE_MAX, visit, &again, err))
            return -1;
        if (again.broken < walk.broken)
            return batch_recovered(&work->survey, err);
    }
    return 0;
}
