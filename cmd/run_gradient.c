/* run_gradient.c: `run --gradient`: writes the gradients of a logit, in place of the values of
 * tensors. */
#include "driver.h"
#include "measure/gradients.h"
#include "model/site.h"
#include "run.h"

int run_gradient_prepare(const struct driver *driver, struct err *err)
{
    if (driver->options->select.gradient && format_is(driver->output.format, "html"))
        return err_usage(err, "--gradient: a page shows values: choose another format");
    return options_exclude(driver->options, "gradient", "words stack align", err);
}

int run_gradient_open(bool *walks, const struct selection *selection, const struct driver *driver,
                      struct err *err)
{
    const struct options *options = driver->options;
    const char *other = options_are_given(options, "words stack align");
    bool has_others = false;
    *walks = options->select.gradient != NULL;
    const struct site_set sites = selection->sites;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        const bool is_gradient = site_id(site) == SITE_ATTENTION_GRADIENT;
        *walks |= is_gradient;
        has_others |= site_is_effective(site) && !is_gradient;
    }
    if (!*walks && options->attribute.position)
        return err_usage(err,
                         "--position: expected --gradient, the logit that is read, found none");
    if (*walks && has_others)
        return err_usage(err, "--gradient: expected tensors of the pass and attention_gradient in "
                              "--show, found one that is computed from a pass");
    return *walks && other
               ? err_usage(err, "--show attention_gradient and --%s cannot be combined", other)
               : 0;
}

int run_gradient_read(struct driver *driver, struct job *job, const struct selection *selection,
                      struct arena *arena, struct err *err)
{
    const struct options *options = &job->item.options;
    struct viewer *viewer = &driver->session.viewer;
    const struct question_words words = {
        "--gradient",   options->select.gradient, "--position", options->attribute.position,
        &driver->notes, &job->pair.text,          job->index};
    struct gradient_plan *plan = job->own = arena_alloc(arena, 1, sizeof *plan, err);
    if (!plan || model_check(&viewer->model, NEEDS_LOGITS, err) ||
        answer_read(&plan->question, &words, viewer, arena, err) ||
        position_read(&plan->question, &words, viewer, arena, err))
        return -1;
    plan->viewer = viewer;
    plan->selection = selection;
    plan->number = job->number;
    gradients_add_memory(&job->memory, plan, &job->pair);
    return 0;
}

static int run_text(struct job *job, struct viewer *viewer, struct arena *arena, struct err *err)
{
    struct gradient_plan *plan = job->own;
    struct facts *facts = facts_new(arena, err);
    plan->viewer = viewer;
    if (!facts || gradients_make(&job->report, plan, &job->pair, arena, err))
        return -1;
    const char *logit =
        question_describe(facts, &plan->question, viewer, &job->pair.text, arena, err);
    facts_float(facts, "logit", plan->value);
    job->report.facts = &facts->table;
    job->report.about = logit ? arena_format(arena, err, "%s: %.4f", logit, plan->value) : NULL;
    return job->report.about ? 0 : -1;
}

int run_gradient_run(const struct group *group, struct err *err)
{
    for (size_t i = 0; i < group->count; i++)
        if (run_text(group->jobs[i], group->viewer, group->arena, err))
            return -1;
    return 0;
}
