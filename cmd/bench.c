/* bench.c: `attn-cli bench`: the speed of a model compared with the limits of this machine. */
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "bench/benchmark.h"
#include "bench/growth.h"
#include "command.h"
#include "model/model.h"
#include "model/new_model.h"
#include "output.h"
#include "session.h"

enum { LENGTHS_MAX = 64, TOKENS_MAX = 1000000 };

static const struct form {
    const char *name, *ending;
    bool for_files;
    int (*check)(struct err *err);
    bench_writer *write; /* NULL: of --growth only */
    int (*write_growth)(struct stream *out, const struct growth *growth, struct err *err);
    enum drawing_form drawing; /* where write_growth is NULL */
} forms[] = {
    {"text", ".txt", false, NULL, bench_text_write, growth_text_write, 0},
    {"json", ".json", false, NULL, bench_json_write, growth_json_write, 0},
    {"svg", ".svg", false, NULL, NULL, NULL, DRAWING_SVG},
    {"tex", ".tex", false, NULL, NULL, NULL, DRAWING_TEX},
    {"png", ".png", true, drawing_check, NULL, NULL, DRAWING_PNG},
    {"pdf", ".pdf", true, drawing_check, NULL, NULL, DRAWING_PDF},
};

struct job {
    const struct options *options;
    const struct form *form;
    struct new_model new_model;
    struct folder folder;
    size_t lengths[LENGTHS_MAX];
    size_t length_count;
    unsigned kinds;
    enum precision precision;
    struct progress progress;
    struct arena arena;
};

static int read_lengths(struct job *job, struct err *err)
{
    const char *item = job->options->bench.lengths;
    for (size_t size = 0; item; item = item[size] ? item + size + 1 : NULL) {
        char text[32];
        long long tokens = 0;
        size = strcspn(item, ",");
        snprintf(text, sizeof text, "%.*s", (int)size, item);
        if (size >= sizeof text || !num_parse_integer(text, 1, TOKENS_MAX, &tokens))
            return err_usage(err, "--tokens: expected whole numbers from 1 to %d, found '%.*s'",
                             TOKENS_MAX, (int)size, item);
        if (job->length_count == LENGTHS_MAX)
            return err_usage(err, "--tokens: expected at most %d lengths, found more", LENGTHS_MAX);
        job->lengths[job->length_count++] = (size_t)tokens;
    }
    return 0;
}

static int read_only(struct job *job, struct err *err)
{
    const char *item = job->options->bench.only;
    job->kinds = item ? 0 : TASKS_ALL;
    for (size_t size = 0; item; item = item[size] ? item + size + 1 : NULL) {
        size_t kind = 0;
        size = strcspn(item, ",");
        if (names_choose_item(&kind, NAMES(task_rows, TASK_KINDS), "--only", item, size, err))
            return -1;
        job->kinds |= 1U << kind;
    }
    return 0;
}

static int check_growth(const struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const char *other = options->bench.only        ? "only"
                        : options->model.precision ? "precision"
                                                   : NULL;
    if (other)
        return err_usage(err, "--%s and --growth cannot be combined", other);
    for (size_t i = 1; i < job->length_count; i++)
        if (job->lengths[i] <= job->lengths[i - 1])
            return err_usage(err, "--tokens: expected rising lengths, found %zu after %zu",
                             job->lengths[i], job->lengths[i - 1]);
    if (!job->form->write && job->length_count == 1)
        return err_usage(err, "--tokens: expected at least two lengths for a figure, found one");
    return 0;
}

static int read_options(struct job *job, struct err *err)
{
    static const struct format_table table = FORMAT_TABLE(forms, sizeof forms / sizeof *forms);
    const struct options *options = job->options;
    const char *model = options->model.name             ? options->model.name
                        : options->input.operands.count ? *options->input.operands.items
                                                        : NULL;
    const char *format = options->output.format;
    if (options->bench.shape && model)
        return err_usage(err, "--shape: replaces a model, found '%s' as well", model);
    if (options->output.json && format && strcmp(format, "json") != 0)
        return err_usage(err, "--json: means --format json, found --format %s as well", format);
    if (options->mechanism.attention && !options->bench.growth)
        return err_usage(err, "--attention: expected --growth, which compares kinds of attention");
    job->form = format_choose(&table, &options->output, err);
    if (!job->form || read_lengths(job, err) || read_only(job, err))
        return -1;
    if (options->bench.growth)
        return check_growth(job, err);
    if (!job->form->write)
        return err_usage(err, "--format %s: expected --growth, found none", job->form->name);
    return options_precision(&job->precision, &options->model, err);
}

/* The model of --shape; for --growth without a model, one attention head. */
static int find_folder(struct job *job, struct err *err)
{
    const char *name = NULL;
    const struct options *options = job->options;
    bool named = options->input.operands.count || chosen_model(options->model.name);
    if (!options->bench.shape && (!options->bench.growth || named))
        return only_model(&name, options, err) || model_find(&job->folder, name, &job->arena, err)
                   ? -1
                   : 0;
    if (options->bench.shape ? shape_make(&job->new_model, options->bench.shape, err)
                             : shape_make_head(&job->new_model, err))
        return -1;
    job->folder = job->new_model.folder;
    return heap_expect(job->new_model.files[0].size, job->folder.path, err); /* packed weights */
}

static int measure_growth(struct job *job, struct stream *out, struct err *err)
{
    struct growth growth;
    struct mechanism_options mechanism = job->options->mechanism;
    struct mechanism *ways = NULL;
    struct growth_plan plan = {
        .folder = &job->folder,
        .threads = (size_t)job->options->model.threads,
        .rounds = (size_t)job->options->bench.repeat,
        .lengths = job->length_count ? job->lengths : NULL,
        .length_count = job->length_count,
        .progress = &job->progress.sink,
    };
    if (!mechanism.attention)
        mechanism.attention = "dense";
    int failed = mechanism_options_list(&ways, &plan.way_count, &mechanism, &job->arena, err);
    plan.ways = ways;
    failed = failed || growth_measure(&growth, &plan, &job->arena, err);
    progress_end(&job->progress);
    if (failed || output_to(out, job->options->output.path, err))
        return -1;
    return job->form->write_growth ? job->form->write_growth(out, &growth, err)
                                   : growth_figure_write(out, job->form->drawing, &growth, err);
}

static int measure_model(struct job *job, struct stream *out, struct err *err)
{
    struct bench_report report;
    const struct bench_plan plan = {
        .version = ATTN_VERSION,
        .folder = &job->folder,
        .threads = (size_t)job->options->model.threads,
        .rounds = (size_t)job->options->bench.repeat,
        .kinds = job->kinds,
        .lengths = job->length_count ? job->lengths : NULL,
        .length_count = job->length_count,
        .precision = job->precision,
        .progress = &job->progress.sink,
    };
    int failed = benchmark(&report, &plan, &job->arena, err);
    progress_end(&job->progress);
    if (failed || output_to(out, job->options->output.path, err))
        return -1;
    return job->form->write(out, &report, err);
}

int bench_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options};
    struct stream out = {0};
    int failed = read_options(&job, err) || find_folder(&job, err);
    if (!failed) {
        progress_begin(&job.progress, NULL);
        failed = (options->bench.growth ? measure_growth : measure_model)(&job, &out, err);
    }
    failed = stream_end(&out, failed, err);
    new_model_release(&job.new_model);
    arena_release(&job.arena);
    return failed;
}
