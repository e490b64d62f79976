/* batch_survey.c: all jobs of a batch, read once before anything is computed. */
#include <string.h>

#include "base/utf8.h"
#include "batch_work.h"
#include "../output.h"

/* Sums are of the weights as they are. */
static int check_tallied(const struct options *options, struct err *err)
{
    const char *name = options->select.mean         ? "mean"
                       : options->select.words      ? "words"
                       : options->select.hide_first ? "hide-first"
                                                    : NULL;
    if (!name)
        return 0;
    return err_usage(err, "--%s: it is for matrices, and --reduce keeps none", name);
}

/* The selection of a job; of one that is tallied only layers and heads count. */
static int make_request(struct batch_work *work, const struct job *job, struct prepared *prepared,
                        struct arena *arena, struct err *err)
{
    struct options options = job->item.options;
    const struct viewer *viewer = &prepared->model->viewer;
    struct selection *selection = &prepared->request.selection;
    if (store_is_tallied(&work->plan)) {
        options.select.show = "weights";
        if (check_tallied(&options, err))
            return -1;
        return request_make(&prepared->request, &options, NULL, viewer, arena, err);
    }
    const struct format *format = store_format(&work->plan, &options, err);
    if (!format || looks_read(&prepared->style, &options, err) ||
        request_make(&prepared->request, &options, format, viewer, arena, err))
        return -1;
    if (!selection->sites && !format->has_tokens)
        return err_usage(err,
                         "--show tokens: --format %s has no place for them: show a tensor, too",
                         format->name);
    return 0;
}

int batch_prepare(struct batch_work *work, const struct job *job, struct prepared *prepared,
                  struct arena *arena, struct err *err)
{
    *prepared = (struct prepared){0};
    if (job->item.broken)
        return -1;
    bool tallied = store_is_tallied(&work->plan);
    prepared->model = open_models_get(&work->models, &job->item.options, err);
    if (prepared->model && !make_request(work, job, prepared, arena, err) &&
        !open_model_read(prepared->model, job, &prepared->pair, arena, err) &&
        !(tallied && tallies_note(&work->tallies, job, prepared->model, &prepared->pair, err)))
        return 0;
    return err_prefix(err, "'%s' line %zu", inputs_shown_path(work->jobs.items.path),
                      job->item.line);
}

/* --- the survey ------------------------------------------------------------------------------- */

/* The walk over all jobs. */
struct walk {
    struct batch_work *work;
    struct err first; /* what was wrong with the first broken job */
    bool general;     /* … and with every other one, word for word */
    size_t jobs, broken;
    uint64_t weight; /* of those that were passed */
};

/* What a message says behind the place that it is about. */
static const char *behind_place(const struct err *err)
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
    walk->general = walk->general && strcmp(behind_place(err), behind_place(&walk->first)) == 0;
}

/* A job of this shard. */
static void count(struct survey *survey, const struct prepared *prepared)
{
    const struct tokenized *sentence = &prepared->pair.sentence;
    size_t tokens = sentence->count + prepared->pair.source.count;
    survey->tokens += tokens;
    survey->dropped += sentence->dropped_count + prepared->pair.source.dropped_count;
    if (survey->longest < sentence->count)
        survey->longest = sentence->count;
    prepared->model->tokens += tokens;
}

/* One job; `total` is the weight of all, 0 where it is not known yet. What is wrong with it is in
 * `err`; -1 where that is not its fault, and it might count for less than it does another time. */
static int visit(struct walk *walk, const struct job *job, uint64_t total, struct arena *arena,
                 struct err *err)
{
    struct batch_work *work = walk->work;
    struct survey *survey = &work->survey;
    struct prepared prepared;
    bool sound = !batch_prepare(work, job, &prepared, arena, err);
    size_t weight = sound ? prepared.pair.sentence.count + prepared.pair.source.count : 1;
    if (err->out_of_memory)
        return -1;
    if (!sound)
        complain(walk, err);
    size_t columns = utf8_width(job->name, strlen(job->name));
    if (work->plan.name_columns < columns)
        work->plan.name_columns = columns;
    const struct job_shard *shard = &work->plan.shard;
    if (!shard->count || (total && shard_has(shard, walk->weight, weight, total))) {
        if (survey->end == survey->first)
            survey->first = walk->jobs;
        survey->end = walk->jobs + 1;
        if (sound)
            count(survey, &prepared);
    }
    walk->weight += weight;
    walk->jobs++;
    return 0;
}

static int walk_jobs(struct walk *walk, uint64_t total, struct err *err)
{
    struct arena arena = {0};
    struct job job;
    struct err job_err = {0};
    int failed = 0;
    while (!failed && jobs_next(&walk->work->jobs, &job, &arena, &job_err)) {
        if (visit(walk, &job, total, &arena, &job_err))
            failed = err_adopt(err, &job_err);
        arena_clear(&arena);
        err_clear(&job_err);
        if (walk->broken && walk->work->options->batch.fail_fast)
            break;
    }
    arena_release(&arena);
    jobs_rewind(&walk->work->jobs);
    return failed;
}

/* Whatever the job, it is the same that is wrong. */
static int refuse_all(const struct err *first, struct err *err)
{
    err_set(err, "%s", behind_place(first));
    err->kind = first->kind;
    return -1;
}

int batch_survey(struct batch_work *work, struct err *err)
{
    struct walk walk = {.work = work};
    if (walk_jobs(&walk, 0, err))
        return -1;
    work->survey.jobs = walk.jobs;
    work->survey.broken = walk.broken;
    work->survey.weight = walk.weight;
    if (walk.general && walk.broken == walk.jobs && walk.jobs > 1)
        return refuse_all(&walk.first, err);
    if (walk.broken && work->options->batch.fail_fast)
        return err_adopt(err, &walk.first);
    if (work->plan.shard.count) {
        struct walk again = {.work = work};
        if (walk_jobs(&again, walk.weight, err))
            return -1;
    }
    work->plan.first_job = work->survey.first;
    work->plan.jobs = work->survey.jobs;
    return work->plan.kind == STORE_SUMS ? tallies_begin(&work->tallies, err) : 0;
}
