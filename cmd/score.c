/* score.c: `attn-cli score`: how likely texts are, token by token; or what they go on with. */
#include <math.h>

#include "base/num.h"
#include "command.h"
#include "instrument.h"
#include "score_job.h"

enum {
    GROUP_TOKENS = 1024, /* of the texts that are scored together */
    GROUP_TEXTS = 256,
};

/* --- what is asked for ------------------------------------------------------------------------ */

/* Sums over all texts stand in one table. */
static int check_inputs(struct score_job *job, struct err *err)
{
    size_t count = job->session.inputs.count;
    job->place = page_place(&job->options->looks, &job->style);
    job->place.count = job->view->whole ? 1 : count;
    if (output_check_count(&job->output, job->place.count, err))
        return -1;
    if (job->models.hashes && !score_is_beside(job))
        job->place.count *= job->models.names.count;
    if (!job->view->whole)
        return 0;
    job->sums = arena_alloc(&job->session.arena, count + 1, sizeof *job->sums, err);
    return job->sums ? 0 : -1;
}

/* What is asked for, before there is a model. */
static int prepare(struct score_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct model_list *models = &job->models;
    if (session_read_options(session, err) || output_choose(&job->output, &options->output, err))
        return -1;
    if (score_continues(job) && options->input.ids)
        return err_usage(err, "--continue: expected a text beside it, found --ids");
    if (score_check_options(options, err) || output_check_made(&job->output, err) ||
        looks_read(&job->style, options, err) ||
        model_list_read(models, options, &job->kept, err) ||
        inputs_open(&session->inputs, &options->input, INPUTS_SOME, err))
        return -1;
    looks_note_pictures(&options->looks, job->output.format);
    if (!score_is_beside(job))
        return 0;
    size_t count = models->names.count;
    job->of_models = arena_alloc(&job->kept, count, sizeof *job->of_models, err);
    return job->of_models ? side_by_side_init(&job->beside, models->names.names, count,
                                              session->inputs.count, &job->kept, err)
                          : -1;
}

static int open_model(struct score_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct viewer *viewer = &session->viewer;
    *job->question = (struct question){.options = options, .viewer = viewer};
    if (session_open(session, err) || viewer_set_mechanism(viewer, &session->mechanism, err) ||
        session_edit(session, err) || inputs_check_source(&options->input, &viewer->model, err) ||
        score_instrument.ask(job->question, job->output.format, &session->arena, err))
        return -1;
    if (score_is_beside(job)) /* a table of several has no room for the best */
        job->question->scoring.best_count = 0;
    return check_inputs(job, err);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* A text, or one with each of its continuations. */
static int read_text(struct score_job *job, size_t index, struct text_pair *pairs, struct err *err)
{
    struct text_pair alone;
    bool continues = score_continues(job);
    if (session_read(&job->session, continues ? &alone : pairs, index, &job->group, err))
        return -1;
    if (continues)
        return score_read_continued(pairs, job->question, &alone, &job->group, err)
                   ? inputs_blame(&job->session.inputs, index, err)
                   : 0;
    return score_instrument.check(job->question, pairs, &job->group, err);
}

/* All texts must be sound before the first is scored: no output stops half-way. */
static int read_texts(void *context, struct err *err)
{
    struct score_job *job = context;
    size_t each = num_max(job->options->score.continuations.count, 1);
    size_t tokens = 0;
    if (open_model(job, err))
        return -1;
    for (size_t i = 0; i < job->session.inputs.count; i++) {
        arena_clear(&job->group);
        struct text_pair *pairs = arena_alloc(&job->group, each, sizeof *pairs, err);
        if (!pairs || read_text(job, i, pairs, err))
            return -1;
        session_count_dropped(&job->session, pairs, i);
        tokens += pairs->sentence.count;
    }
    viewer_expect(&job->session.viewer, tokens);
    viewer_expect_steps(&job->session.viewer, tokens); /* of logits, some at a time */
    session_note_dropped(&job->session);
    return 0;
}

static int read_group(struct score_job *job, struct score_group *group, struct err *err)
{
    const struct inputs *inputs = &job->session.inputs;
    size_t left = inputs->count - group->first;
    size_t tokens = 0;
    size_t most = left < GROUP_TEXTS ? left : GROUP_TEXTS;
    struct arena *arena = &job->group;
    group->each = num_max(job->options->score.continuations.count, 1);
    arena_clear(arena);
    group->pairs = arena_alloc(arena, most, group->each * sizeof *group->pairs, err);
    group->scored = arena_alloc(arena, most, group->each * sizeof *group->scored, err);
    if (!group->pairs || !group->scored)
        return -1;
    for (group->count = 0; group->count < most && tokens < GROUP_TOKENS; group->count++) {
        size_t pair = group->count * group->each;
        if (read_text(job, group->first + group->count, group->pairs + pair, err))
            return -1;
        tokens += group->each * group->pairs[pair].sentence.count;
    }
    return 0;
}

static int run_group(void *context, size_t *done, struct err *err)
{
    struct score_job *job = context;
    struct score_group group = {.first = *done};
    if (read_group(job, &group, err))
        return -1;
    struct look look = {
        .pairs = group.pairs, .count = group.count * group.each, .first = group.first};
    job->view->origin.source = &group.pairs->source;
    if (scoring_run(group.scored, &job->question->scoring, &look, &job->group, err) ||
        output_open(&job->output, err) || score_write_group(job, &group, err))
        return -1;
    *done += group.count;
    return 0;
}

/* The perplexity of whole fables is below 40, that of parts of them may reach 200. */
static void note_fables(const struct score_job *job)
{
    const double unknown = 300;
    const struct score_sum *all = &job->all;
    double perplexity = all->tokens ? exp(-all->logprob / (double)all->tokens) : 0;
    if (perplexity > unknown && model_is_of_fables(&job->session.viewer.model))
        print_note("'%s' knows only the short fables it was trained on, and these texts are unlike "
                   "them (perplexity %.0f): its scores mean little",
                   bundled_default, perplexity);
}

static int score(void *context, struct err *err)
{
    struct score_job *job = context;
    size_t count = job->session.inputs.count;
    job->place.index = score_is_beside(job) ? 0 : job->models.open * count;
    job->view->origin.hash = job->models.hashes ? job->models.hashes[job->models.open] : NULL;
    job->all = (struct score_sum){.tokens = 0};
    if (progress_over_texts(count, job->options->output.path, run_group, job, err))
        return -1;
    note_fables(job);
    return score_write_end(job, err);
}

int score_command(const struct options *options, struct err *err)
{
    struct question question;
    struct score_job job = {.options = options,
                            .session.options = options,
                            .question = &question,
                            .view = &question.view};
    const struct model_turn turn = {&job.session, read_texts, score, &job};
    int failed = prepare(&job, err) || model_list_each(&job.models, &turn, err) ||
                 output_commit(&job.output, err);
    if (failed && (err->about == ERR_ABOUT_LENGTH || err->about == ERR_ABOUT_CONTEXT)) {
        err_append(err, ": give --stride, and it is read by windows");
        err->about = ERR_ABOUT_ANYTHING;
    }
    output_discard(&job.output);
    session_release(&job.session);
    arena_release(&job.group);
    arena_release(&job.kept);
    return failed ? -1 : 0;
}
