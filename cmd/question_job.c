#include "question_job.h"

#include <string.h>

#include "base/names.h"
#include "driver.h"
#include "measure/patching.h"
#include "say.h"

int question_prepare(struct driver *driver, const char *option, const char *answer, struct err *err)
{
    const struct texts *operands = &driver->options->input.operands;
    const char *last = operands->count ? operands->items[operands->count - 1] : "";
    if (format_is(driver->output.format, "html") && driver->output.to_folder)
        return err_usage(err, "--format html: expected a file, found the folder '%s'",
                         driver->output.path);
    driver->output.draws_pages = true;
    /* an operand that begins with a space may be meant as a second answer: --answer ' are' ' is' */
    if (answer && !strchr(answer, ':') && *last == ' ')
        print_note("'%s' is read as a text: %s '%s:%s' asks for the difference of two tokens", last,
                   option, answer, last);
    return 0;
}

const struct options *question_options(const struct driver *driver, const struct job *job)
{
    return job ? &job->item.options : driver->session.options;
}

struct question_words question_words(struct driver *driver, const struct job *job)
{
    const struct options *options = question_options(driver, job);
    return (struct question_words){
        .option = "--answer",
        .answer = options->attribute.answer,
        .place_option = "--query",
        .place = options->attribute.position,
        .notes = &driver->notes,
        .text = job ? &job->pair.text : NULL,
        .index = job ? job->index : 0,
    };
}

int question_layers(struct layers *layers, const struct driver *driver, const struct job *job,
                    struct arena *arena, struct err *err)
{
    struct selection selection = {0};
    int failed = selection_layers(&selection, question_options(driver, job)->select.layer,
                                  &driver->session.viewer.model.config, arena, err);
    *layers = selection.layers;
    return failed;
}

int question_numbers(unsigned *numbers, const struct driver *driver, const struct job *job,
                     struct names names, struct err *err)
{
    const char *list = question_options(driver, job)->select.show;
    const struct format *format = driver->output.format;
    bool for_people = !driver->dose && /* in the figure of a batch, --y may name any number */
                      (format->for_people || format_is_looked_at(format));
    *numbers = for_people ? 1 : (1u << names.count) - 1;
    return list ? names_choose_set(numbers, names, "--show", list, err) : 0;
}

int question_corrupt(struct text_with_source *corrupt, const struct driver *driver,
                     const struct job *job, struct arena *arena, struct err *err)
{
    const struct options *options = &job->item.options;
    const struct viewer *viewer = &driver->session.viewer;
    const char *text = options->patch.corrupt;
    struct input input =
        options->input.ids ? (struct input){.ids = text} : input_of(text, options->input.pair);
    const char *source = options->patch.corrupt_source;
    const struct input of_source =
        viewer->tokenizer ? input_of(source, NULL) : (struct input){.ids = source};
    if (!text)
        return err_usage(err,
                         "expected --corrupt TEXT or a text in the column 'corrupt', found none%s",
                         options->attribute.head ? "" : "; or --with zero");
    if (source && !job->pair.source.count)
        return err_usage(err, "--corrupt-source: expected a model with an encoder, found '%s'",
                         viewer->model.name);
    if (input_wrap(&input, viewer->chat, arena, err) ||
        viewer_read(viewer, corrupt, &input, source ? &of_source : NULL, arena, err))
        return err_prefix(err, "--corrupt");
    if (!source)
        corrupt->source = job->pair.source;
    return patching_check_texts(&job->pair.text, &corrupt->text, err);
}

struct facts *question_report(struct job *job, const struct group *group, struct err *err)
{
    struct facts *facts = facts_new(group->arena, err);
    if (!facts || viewer_report(&job->report, group->viewer, group->arena, err))
        return NULL;
    job->report.text = job->pair.text;
    job->report.source = job->pair.source;
    job->report.facts = &facts->table;
    return facts;
}

const char *question_title(const struct question *question, const char *soft_cap,
                           const struct job *job, const struct group *group, struct facts *facts,
                           struct err *err)
{
    const struct viewer *viewer = group->viewer;
    const char *words =
        question_describe(facts, question, viewer, &job->pair.text, group->arena, err);
    if (!words || !(viewer->model.config.logit_cap > 0))
        return words;
    facts_text(facts, "final_soft_cap", soft_cap);
    return arena_format(group->arena, err, "%s (%s final soft cap)", words, soft_cap);
}

int question_run(const struct group *group, question_text *run_text, struct err *err)
{
    const struct progress_sink **progress = &group->viewer->machine.progress;
    const struct progress_sink *sink = *progress;
    int failed = 0;
    *progress = NULL;
    for (size_t i = 0; i < group->count && !failed; i++)
        failed = run_text(group->jobs[i], group, sink, err);
    *progress = sink;
    return failed;
}
