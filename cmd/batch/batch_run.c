/* batch_run.c: the jobs of a batch in rounds: some are read, those alike share ragged passes, and
 * their results are handed on in the order of the input.
 */
#include <stdio.h>
#include <string.h>

#include "batch_work.h"
#include "../command.h"
#include "../instrument.h"

enum {
    TOKENS_OF_TEXT = 4, /* if texts are shorter than that, a pass has fewer tokens */
    ROUND_PASSES = 8,   /* at most: what they give is kept until it is written */
};

enum { NOTE_BYTES = 32 };

struct entry {
    struct job job;
    struct prepared prepared;
    struct report report;
    struct item_fault fault;
    bool done;
};

struct round {
    struct batch_work *work;
    struct entry *entries;
    size_t room, count;
    size_t next;        /* the number of the first job that was not read yet */
    size_t broken;      /* jobs that could not be prepared */
    size_t pass_tokens; /* about so many share a pass … */
    size_t pass_texts;  /* … of at most so many texts */
    struct arena arena;
    struct err err; /* of one job at a time */
};

struct pass_group {
    struct entry **entries;
    size_t count;
    size_t first; /* the number of the first one, for messages */
};

/* --- reading ---------------------------------------------------------------------------------- */

static int fail_entry(struct round *round, struct entry *entry, struct err *err)
{
    const char *text = round->err.text;
    entry->fault.kind = round->err.kind ? round->err.kind : ERR_INPUT;
    entry->fault.retry = round->err.out_of_memory;
    entry->fault.message = arena_text(&round->arena, text, strlen(text), err);
    entry->done = true;
    err_clear(&round->err);
    return entry->fault.message ? 0 : -1;
}

/* Read the next job; what is wrong with it is in `round->err`. */
static int next_job(struct round *round, struct job *job, struct err *err)
{
    struct jobs *jobs = &round->work->jobs;
    round->next++;
    if (jobs_next(jobs, job, &round->arena, &round->err))
        return 0;
    return err_set(err, "'%s' became shorter while it was being read",
                   inputs_shown_path(jobs->items.path));
}

static int read_round(struct round *round, struct err *err)
{
    struct batch_work *work = round->work;
    size_t turns = work->jobs.of_item / work->jobs.repeats; /* of an item, whose passes differ */
    size_t passes = turns < ROUND_PASSES ? turns : ROUND_PASSES;
    size_t tokens = 0;
    arena_clear(&round->arena);
    round->count = 0;
    round->room = passes * round->pass_texts;
    round->entries = arena_alloc(&round->arena, round->room, sizeof *round->entries, err);
    if (!round->entries)
        return -1;
    while (round->next < work->survey.end && round->count < round->room &&
           tokens < passes * round->pass_tokens) {
        struct entry *entry = &round->entries[round->count++];
        if (next_job(round, &entry->job, err))
            return -1;
        bool sound =
            !batch_prepare(work, &entry->job, &entry->prepared, &round->arena, &round->err);
        round->broken += !sound;
        if (!sound && (round->err.out_of_memory ? err_adopt(err, &round->err)
                                                : fail_entry(round, entry, err)))
            return -1;
        tokens += entry->prepared.pair.sentence.count;
    }
    return 0;
}

/* Pass the jobs of other shards, and those that are done. */
static int skip_jobs(struct round *round, size_t count, struct err *err)
{
    struct job job;
    while (round->next < count) {
        arena_clear(&round->arena);
        if (next_job(round, &job, err))
            return -1;
        if (round->err.out_of_memory)
            return err_adopt(err, &round->err);
        err_clear(&round->err);
    }
    return 0;
}

/* --- one pass --------------------------------------------------------------------------------- */

static int show_group(struct round *round, const struct pass_group *group, struct look *look,
                      struct err *err)
{
    look->reports = arena_alloc(&round->arena, group->count, sizeof *look->reports, err);
    look->selection = &group->entries[0]->prepared.request.selection;
    if (!look->reports ||
        viewer_look(&group->entries[0]->prepared.model->viewer, look, &round->arena, err))
        return -1;
    for (size_t i = 0; i < group->count; i++) {
        struct prepared *prepared = &group->entries[i]->prepared;
        if (derive(&look->reports[i], &prepared->request.derivation,
                   prepared->model->viewer.tokenizer, &round->arena, err))
            return -1;
        group->entries[i]->report = look->reports[i];
    }
    return 0;
}

static int ask_group(struct round *round, const struct pass_group *group, struct look *look,
                     struct err *err)
{
    const struct entry *first = group->entries[0];
    const struct format *format = first->prepared.format;
    const struct instrument *instrument = round->work->plan.instrument;
    struct arena *arena = &round->arena;
    struct question *question = arena_alloc(arena, 1, sizeof *question, err);
    struct finding *findings = arena_alloc(arena, group->count, sizeof *findings, err);
    if (!question || !findings)
        return -1;
    question->options = &first->job.item.options;
    question->viewer = &first->prepared.model->viewer;
    if (instrument->ask(question, format, arena, err) ||
        instrument->find(findings, question, look, arena, err))
        return -1;
    for (size_t i = 0; i < group->count; i++) {
        struct entry *entry = group->entries[i];
        entry->report = findings[i].report;
    }
    return 0;
}

static int run_group(struct round *round, const struct pass_group *group, struct err *err)
{
    struct text_pair *pairs = arena_alloc(&round->arena, group->count, sizeof *pairs, err);
    struct look look = {.pairs = pairs, .count = group->count, .first = group->first};
    const struct prepared *alike = &group->entries[0]->prepared;
    if (!pairs || open_model_set(alike->model, &group->entries[0]->job.item.options,
                                 &alike->request.mechanism, err))
        return -1;
    for (size_t i = 0; i < group->count; i++)
        pairs[i] = group->entries[i]->prepared.pair;
    if (round->work->plan.instrument)
        return ask_group(round, group, &look, err);
    return show_group(round, group, &look, err);
}

/* A pass that failed says nothing of the texts that were in it: each is run again, alone. */
static int run_each(struct round *round, const struct pass_group *group, struct err *err)
{
    const char *path = inputs_shown_path(round->work->jobs.items.path);
    for (size_t i = 0; i < group->count; i++) {
        struct entry *entry = group->entries[i];
        struct pass_group alone = {&entry, 1, group->first + i};
        err_clear(&round->err);
        if (run_group(round, &alone, &round->err)) {
            err_prefix(&round->err, "'%s' line %zu", path, entry->job.item.line);
            if (fail_entry(round, entry, err))
                return -1;
        }
        entry->done = true;
    }
    return 0;
}

static int run_pass(struct round *round, const struct pass_group *group, struct err *err)
{
    if (run_group(round, group, &round->err))
        return run_each(round, group, err);
    for (size_t i = 0; i < group->count; i++)
        group->entries[i]->done = true;
    return 0;
}

/* --- one round -------------------------------------------------------------------------------- */

static bool belongs(const struct entry *entry, const struct entry *first)
{
    return !entry->done && entry->prepared.model == first->prepared.model &&
           settings_agree(&entry->job.item.options, &first->job.item.options);
}

/* Run the jobs that are like the one at `first` and fit into a pass with it. */
static int run_alike(struct round *round, size_t first, struct err *err)
{
    struct pass_group group = {.first = round->next - round->count + first};
    size_t tokens = 0;
    group.entries = arena_alloc(&round->arena, round->pass_texts, sizeof *group.entries, err);
    if (!group.entries)
        return -1;
    for (size_t i = first; i < round->count && group.count < round->pass_texts; i++) {
        struct entry *entry = &round->entries[i];
        size_t more = entry->prepared.pair.sentence.count;
        if (!belongs(entry, &round->entries[first]))
            continue;
        if (group.count && tokens + more > round->pass_tokens + round->pass_tokens / 4)
            break;
        group.entries[group.count++] = entry;
        tokens += more;
    }
    return run_pass(round, &group, err);
}

static int store_entry(struct batch_work *work, const struct entry *entry, struct err *err)
{
    struct place page = store_page(&entry->job.item.options);
    page.show_tokens = entry->prepared.request.selection.tokens;
    page.style = &entry->prepared.style;
    const struct outcome outcome = {
        .job = &entry->job,
        .fault = entry->fault.kind ? &entry->fault : NULL,
        .pair = &entry->prepared.pair,
        .report = &entry->report,
        .page = &page,
    };
    return store_add(&work->store, &outcome, err);
}

static void show_progress(struct batch_work *work)
{
    char failed[NOTE_BYTES];
    size_t count = work->survey.end - work->survey.first;
    snprintf(failed, sizeof failed, "%zu failed", work->store.failed);
    progress_show(&work->progress, work->store.done, count, work->store.failed ? failed : NULL);
}

static int store_round(struct round *round, struct err *err)
{
    struct batch_work *work = round->work;
    for (size_t i = 0; i < round->count; i++) {
        const struct entry *entry = &round->entries[i];
        const struct item_fault *fault = &entry->fault;
        if (fault->kind && work->options->batch.fail_fast) {
            if (store_settle(&work->store, err))
                return -1;
            err_set(err, "%s", fault->message);
            err->kind = fault->kind;
            return -1;
        }
        if (fault->kind && work->plan.kind != STORE_LINES) /* it is said at once */
            print_failure(fault->message);
        if (store_entry(work, entry, err))
            return -1;
        show_progress(work);
    }
    return store_settle(&work->store, err);
}

static int run_round(struct round *round, struct err *err)
{
    if (read_round(round, err))
        return -1;
    for (size_t i = 0; i < round->count; i++) {
        if (!round->entries[i].done && run_alike(round, i, err))
            return -1;
        show_progress(round->work);
    }
    return store_round(round, err);
}

int batch_run(struct batch_work *work, struct err *err)
{
    struct round round = {.work = work};
    const struct survey *survey = &work->survey;
    int failed = skip_jobs(&round, survey->first + work->store.done, err);
    for (struct open_model *model = work->models.first; model; model = model->next) {
        viewer_expect(&model->viewer, model->tokens);
        if (work->plan.instrument) /* of logits */
            viewer_expect_steps(&model->viewer, model->tokens);
    }
    round.pass_tokens = open_models_pass_tokens(&work->models);
    round.pass_texts = round.pass_tokens / TOKENS_OF_TEXT;
    if (work->plan.kind == STORE_LINES) /* which are printed all the while */
        progress_begin_beside(&work->progress, work->options->output.path, "items");
    else
        progress_begin(&work->progress, "items");
    work->progress.before = work->store.done;
    while (round.next < survey->end && !failed)
        failed = run_round(&round, err);
    if (!failed && !work->store.resumed && round.broken < survey->broken_here)
        failed = batch_recovered(survey, err);
    if (!failed)
        failed = items_check_unchanged(&work->jobs.items, err);
    progress_end(&work->progress);
    arena_release(&round.arena);
    return failed ? -1 : 0;
}
