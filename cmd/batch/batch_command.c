/* batch_command.c: `attn-cli batch`: many sentences or experiments, models opened once, results
 * streamed.
 *
 * Options, items, a survey of all of them; then rounds, and in the end the results get their names.
 */
#include <string.h>

#include "base/heap.h"
#include "batch_work.h"
#include "../command.h"
#include "../output.h"

static int prepare(struct batch_work *work, struct err *err)
{
    const struct options *options = work->options;
    const struct store_plan *plan = &work->plan;
    work->models.threads = (size_t)options->model.threads;
    if (store_choose(&work->plan, options, err) || jobs_open(&work->jobs, options, err))
        return -1;
    (plan->instrument ? looks_note_pictures : looks_note)(&options->looks, plan->format);
    if (batch_survey(work, err))
        return -1;
    for (const struct open_model *model = work->models.first; model; model = model->next) {
        print_note_of_tokenizer(model->readings[0]);
        print_note_of_model(&model->viewer.model);
    }
    edit_options_note(work->models.weights_edit);
    return 0;
}

static int see_name(void *context, const struct job *job, struct arena *arena, struct err *job_err,
                    struct err *err)
{
    const struct seer *seer = context;
    struct buf name = {0};
    if (job_err->kind) /* it has no folder */
        return 0;
    result_names_folder(&name, job->name);
    const char *kept = buf_keep(&name, arena, err);
    return kept && !seer->see(seer->context, kept, err) ? 0 : -1;
}

/* The folders of this shard's items, in the order of the input. */
static int each_name(void *context, const struct seer *seer, struct err *err)
{
    struct batch_work *work = context;
    struct seer asks = *seer;
    return jobs_visit(&work->jobs, work->survey.first, work->survey.end, see_name, &asks, err);
}

static int open_store(struct batch_work *work, struct err *err)
{
    struct manifest manifest = {0};
    const struct store_plan *plan = &work->plan;
    work->plan.items = (struct result_list){each_name, work};
    if (!plan->to_stdout &&
        manifest_open(&manifest, &work->jobs.items, &work->models, &plan->shard, err))
        return -1;
    int failed = store_open(&work->store, plan, &manifest.head, err);
    manifest_release(&manifest);
    return failed;
}

/* The batch went on without the failed items. Where the output has no errors, each was printed. */
static int fail(const struct batch_work *work, struct err *err)
{
    const struct store *store = &work->store;
    const char *first = store->failure.bytes;
    err_failed(err, "%zu of %zu items failed", store->failed,
               work->survey.end - work->survey.first);
    if (work->plan.kind != STORE_LINES)
        return -1;
    if (first)
        err_append(err, "%s: %s", store->failed > 1 ? ", the first" : "", first);
    if (store->failed > 1 || !first)
        err_append(err, "; \"error\" in the output says why");
    return -1;
}

/* Where results have a place of their own, what is done of them is not lost. */
static int run_and_store(struct batch_work *work, struct err *err)
{
    struct buf hint = {0};
    size_t dropped = work->survey.dropped;
    if (open_store(work, err))
        return -1;
    if (dropped)
        print_note("%zu character%s not in the vocabulary %s left out", dropped,
                   dropped == 1 ? " that is" : "s that are", dropped == 1 ? "was" : "were");
    if (!work->plan.to_stdout) {
        const char *place = work->store.folder.path;
        buf_text(&hint, "attn-cli: interrupted: '");
        label_visible(&hint, place, strlen(place));
        buf_text(&hint, "' holds what is done: the same command line with --resume goes on\n");
    }
    int failed = buf_check(&hint, err);
    signals_hint(work->options->quiet ? NULL : hint.bytes);
    failed = failed || (!work->store.complete && batch_run(work, err)) ||
             store_finish(&work->store, err);
    signals_hint(NULL);
    buf_release(&hint);
    return failed || (work->store.failed && fail(work, err)) ? -1 : 0;
}

int batch_command(const struct options *options, struct err *err)
{
    struct batch_work work = {.options = options};
    heap_give_back();
    int failed = prepare(&work, err);
    if (!failed)
        failed = options->batch.dry_run ? batch_print(&work, err) : run_and_store(&work, err);
    store_close(&work.store);
    open_models_release(&work.models);
    jobs_release(&work.jobs);
    return failed ? -1 : 0;
}
