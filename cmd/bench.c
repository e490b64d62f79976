/* bench.c: `attn-cli bench`: a model on this machine, held against what the machine can do. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/num.h"
#include "bench/bench_compare.h"
#include "bench/growth.h"
#include "command.h"
#include "model/model.h"
#include "output.h"
#include "session.h"
#include "model_maker.h"

enum {
    LENGTHS_MAX = 64,
    TOKENS_MAX = 1000000, /* more than any model's context */
};

/* Of --attention: how it grows with a text, in several ways. */
static const struct form {
    const char *name, *ending;
    bool for_files;
    int (*check)(struct err *err);
    growth_writer *write; /* NULL: a picture, in this form */
    enum drawing_form drawing;
} forms[] = {
    {"text", ".txt", false, NULL, growth_page_write, 0},
    {"json", ".json", false, NULL, growth_json_write, 0},
    {"svg", ".svg", false, NULL, NULL, DRAWING_SVG},
    {"tex", ".tex", false, NULL, NULL, DRAWING_TEX},
    {"png", ".png", true, drawing_check, NULL, DRAWING_PNG},
    {"pdf", ".pdf", true, drawing_check, NULL, DRAWING_PDF},
};

enum { FORMS = sizeof forms / sizeof *forms };

struct job {
    const struct options *options;
    struct new_model new_model;
    struct folder folder;
    size_t lengths[LENGTHS_MAX];
    struct bench_plan plan;
    bool json;
    struct bench_report earlier; /* of --compare */
    const struct form *form;     /* of --attention */
    struct arena arena;
};

/* --- --attention: how it grows with a text, in several ways ----------------------------------- */

/* What can be known before a model is opened. */
static int choose_form(struct job *job, struct err *err)
{
    static const struct format_table table = FORMAT_TABLE(forms, FORMS);
    const struct options *options = job->options;
    const char *other = options->bench.only        ? "only"
                        : options->bench.compare   ? "compare"
                        : options->bench.save      ? "save"
                        : options->model.precision ? "precision"
                                                   : NULL;
    if (other)
        return err_usage(
            err, "--%s: expected no --attention beside it, which measures attention alone", other);
    job->form = format_choose(&table, &options->output, err);
    return job->form ? 0 : -1;
}

/* A picture needs a line. */
static int check_lengths(const struct job *job, struct err *err)
{
    const struct task_choice *choice = &job->plan.choice;
    for (size_t i = 1; i < choice->length_count; i++)
        if (choice->lengths[i] <= choice->lengths[i - 1])
            return err_usage(err, "--tokens: expected rising lengths, found %zu after %zu",
                             choice->lengths[i], choice->lengths[i - 1]);
    if (!job->form->write && choice->length_count == 1)
        return err_usage(err, "--tokens: expected at least two lengths for a picture, found one");
    return 0;
}

static int measure_growth(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct growth growth;
    struct mechanism *ways = NULL;
    struct progress progress;
    struct stream out = {0};
    struct growth_plan plan = {
        .folder = &job->folder,
        .threads = (size_t)options->model.threads,
        .rounds = (size_t)options->bench.repeat,
        .lengths = job->plan.choice.lengths, /* NULL: the usual ones */
        .length_count = job->plan.choice.length_count,
        .progress = &progress.sink,
    };
    int failed =
        mechanism_options_list(&ways, &plan.way_count, &options->mechanism, &job->arena, err) ||
        check_lengths(job, err);
    plan.ways = ways;
    progress_begin(&progress, NULL);
    failed = failed || growth_measure(&growth, &plan, &job->arena, err);
    progress_end(&progress);
    failed = failed || output_to(&out, options->output.path, err) ||
             (job->form->write ? job->form->write(&out, &growth, err)
                               : growth_figure_write(&out, job->form->drawing, &growth, err));
    return stream_end(&out, failed, err);
}

/* --- all else --------------------------------------------------------------------------------- */

static int read_lengths(struct job *job, struct err *err)
{
    struct task_choice *choice = &job->plan.choice;
    const char *item = job->options->bench.lengths;
    choice->lengths = item ? job->lengths : NULL;
    for (size_t size = 0; item; item = item[size] ? item + size + 1 : NULL) {
        char text[32];
        long long tokens = 0;
        size = strcspn(item, ",");
        snprintf(text, sizeof text, "%.*s", (int)size, item);
        if (size >= sizeof text || !num_parse_integer(text, 1, TOKENS_MAX, &tokens))
            return err_usage(err, "--tokens: expected whole numbers from 1 to %d, found '%.*s'",
                             TOKENS_MAX, (int)size, item);
        if (choice->length_count == LENGTHS_MAX)
            return err_usage(err, "--tokens: expected at most %d lengths, found more", LENGTHS_MAX);
        job->lengths[choice->length_count++] = (size_t)tokens;
    }
    return 0;
}

static int read_only(struct job *job, struct err *err)
{
    const char *item = job->options->bench.only;
    job->plan.choice.kinds = item ? 0 : TASKS_ALL;
    for (size_t size = 0; item; item = item[size] ? item + size + 1 : NULL) {
        size = strcspn(item, ",");
        size_t kind = 0;
        if (names_choose_item(&kind, NAMES(task_rows, TASK_KINDS), "--only", item, size, err))
            return -1;
        job->plan.choice.kinds |= 1U << kind;
    }
    return 0;
}

static int check_options(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    bool named = options->model.name || options->input.operands.count;
    if (options->bench.shape && named)
        return err_usage(err, "--shape: stands in place of a model, found '%s' as well",
                         options->model.name ? options->model.name
                                             : options->input.operands.items[0]);
    if (options->bench.save && options->bench.compare)
        return err_usage(err, "--compare: expected no --save beside it, which measures nothing");
    if (options->bench.save && !options->bench.shape)
        return err_usage(err, "--save: writes the model of --shape, found no --shape");
    if (options->output.force && !options->bench.save)
        return err_usage(err, "--force: goes with --save, found no --save");
    if (options->output.json && options->output.format &&
        strcmp(options->output.format, "json") != 0)
        return err_usage(err, "--json: means --format json, found --format %s as well",
                         options->output.format);
    if (options->mechanism.attention)
        return choose_form(job, err);
    if (options->output.path)
        return err_usage(err, "--output: expected --attention beside it: all else is printed");
    if (options_choose_page(&job->json, &options->output, err))
        return -1;
    return options_precision(&job->plan.choice.precision, &options->model, err);
}

static int find_folder(struct job *job, struct err *err)
{
    const char *name = NULL;
    const struct options *options = job->options;
    bool named = options->input.operands.count || chosen_model(options->model.name);
    job->plan.folder = &job->folder;
    if (!options->bench.shape && (!options->mechanism.attention || named))
        return only_model(&name, options, err) || model_find(&job->folder, name, &job->arena, err)
                   ? -1
                   : 0;
    if (options->bench.shape ? shape_make(&job->new_model, options->bench.shape, err)
                             : shape_make_head(&job->new_model, err))
        return -1;
    job->folder = job->new_model.folder;
    return 0;
}

static int measure(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct bench_report report;
    struct bench_compared compared;
    struct progress progress;
    struct stream out = {0};
    size_t made = options->bench.shape ? job->new_model.files[0].size : 0;
    if (heap_expect(made, job->folder.path, err)) /* packed, it is there twice */
        return -1;
    job->plan.threads = (size_t)options->model.threads;
    job->plan.version = ATTN_VERSION;
    job->plan.no_amx = options->model.no_amx;
    job->plan.rounds = (size_t)options->bench.repeat;
    progress_begin(&progress, NULL);
    job->plan.progress = &progress.sink;
    int failed = benchmark(&report, &job->plan, &job->arena, err);
    progress_end(&progress);
    if (!failed && options->bench.compare) {
        failed = bench_compare(&compared, options->bench.compare, &job->earlier, &report,
                               &job->arena, err);
        report.compared = &compared;
    }
    if (failed || stream_to(&out, STDOUT_FILENO, err))
        return -1;
    failed = (job->json ? bench_json_write : bench_page_write)(&out, &report, err);
    return stream_end(&out, failed, err);
}

int bench_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options};
    int failed = check_options(&job, err) || read_lengths(&job, err) || read_only(&job, err) ||
                 (options->bench.save &&
                  target_folder_check(options->bench.save, options->output.force, err));
    failed = failed || (options->bench.compare &&
                        bench_json_read(&job.earlier, options->bench.compare, &job.arena, err));
    failed = failed || find_folder(&job, err);
    if (!failed && options->mechanism.attention)
        failed = measure_growth(&job, err);
    else if (!failed)
        failed = options->bench.save
                     ? save_folder(&job.folder, options->bench.save, options->output.force, err)
                     : measure(&job, err);
    new_model_release(&job.new_model);
    arena_release(&job.arena);
    return failed ? -1 : 0;
}
