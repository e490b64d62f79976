/* lesson_page.c: the tour as a page for browsers: the texts of its steps, each with what it tells,
 * and after all of them the way of a text through a model. */
#include "catalog.h"
#include "page_parts.h"

struct job {
    const struct options *options;
    struct output output;
    struct style style;
    struct place place;
    struct arena arena;
};

static int add_step(struct job *job, size_t step, struct err *err)
{
    struct page_lesson lesson = lesson_rows[step];
    struct options options = OPTIONS_DEFAULT;
    char *words[LESSON_WORDS_MAX + 2] = {NULL};
    size_t count = 0;
    if (lesson_words(words, &count, lesson.line, &job->arena, err))
        return -1;
    const struct command *command = command_find(words[1], err);
    if (!command || options_parse(&options, command->bit, words + 2, &job->arena, err))
        return -1;
    if (lesson.show)
        options.select.show = lesson.show;
    lesson.number = step + 1;
    lesson.count = lesson_count;
    return page_add_lesson(&job->output, &job->place, &options, &lesson, err)
               ? err_prefix(err, "step %zu", step + 1)
               : 0;
}

static int add_walk(struct job *job, struct err *err)
{
    struct options options = OPTIONS_DEFAULT;
    const struct texts *texts = &job->options->input.sentences;
    const char *text = texts->count ? texts->items[0] : "Life is short, eat dessert first";
    const char *model = job->options->model.name ? job->options->model.name : "tiny";
    struct page_lesson lesson = lesson_walk;
    lesson.number = lesson_count + 1;
    lesson.count = lesson_count;
    options.model.name = model;
    options.model.threads = job->options->model.threads;
    options.select.show = lesson.show;
    options.page.lens = true;
    if (texts_add(&options.input.sentences, text, &job->arena, err))
        return -1;
    return page_add_lesson(&job->output, &job->place, &options, &lesson, err);
}

static int write_steps(struct job *job, size_t first, size_t end, struct err *err)
{
    bool all = first == 0 && end == lesson_count;
    const struct texts *texts = &job->options->input.sentences;
    struct output_options output = job->options->output;
    output.format = "html";
    if (texts->count > 1)
        return err_usage(err, "--sentence: expected one text to walk with, found %zu",
                         texts->count);
    if (!all && (texts->count || job->options->model.name))
        return err_usage(err, "--%s: expected all steps, after which the walk comes, found one",
                         texts->count ? "sentence" : "model");
    if (looks_read(&job->style, job->options, err) || output_choose(&job->output, &output, err))
        return -1;
    if (job->output.to_folder)
        return err_usage(err, "--output: expected a file, found the folder '%s'", job->output.path);
    job->style.title = "A tour of attention";
    job->place = page_place(&job->options->looks, &job->style);
    job->place.count = end - first + all;
    for (size_t step = first; step < end; step++)
        if (add_step(job, step, err))
            return -1;
    return all ? add_walk(job, err) : 0;
}

int lesson_page(const struct options *options, size_t first, size_t end, struct err *err)
{
    struct job job = {.options = options};
    int failed = write_steps(&job, first, end, err) || output_commit(&job.output, err);
    output_discard(&job.output);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
