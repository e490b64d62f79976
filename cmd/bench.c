/* bench.c: `attn-cli bench`: compares the speed of a model with the limits of this machine. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "bench/benchmark.h"
#include "command.h"
#include "math/machine.h"
#include "model/model.h"
#include "model/new_model.h"
#include "output.h"
#include "say.h"
#include "session.h"

VALUES(measurements, "Measurements (--only), medians of all rounds", TASK_KINDS,
       task_rows[index].name, task_rows[index].about)

struct own_options {
    const char *lengths, *widths, *only, *shape;
    bool growth;
    long long repeat;
};

static const struct option_row own_options[] = {
    STRING("model", 'm', "MODEL", IN(model.name),
           "folder, GGUF file or name; the name of a bundled model or of one in the Hugging Face "
           "cache; default: $ATTN_MODEL, else tiny",
           .heading = "Model", .values = &values_models),
    STRING("shape", 0, "NAME", OWN(shape),
           "random weights in the shape of a known model; see 'help sizes'",
           .values = &values_shapes),
    STRING("tokens", 'n', "LIST", OWN(lengths),
           "text lengths in tokens; default: 1,2,6,12,24,64,256, up to the context, and 1024 if "
           "256 tokens need at most half a second; with --growth: 256,512,1024,2048,4096",
           .heading = "Measurements"),
    STRING("only", 0, "LIST", OWN(only), "measurements: prefill or decode; default: all",
           .values = &values_measurements, .joints = ","),
    INTEGER("repeat", 0, "N", OWN(repeat), 1, 1000, "number of rounds (default: 5)", .preset = 5),
    STRING("precision", 0, "TYPE", IN(model.precision), "f32 (default) or bf16",
           .values = &values_precisions),
    FLAG("growth", 0, OWN(growth),
         "how attention grows with text length; one head of size 64 unless a model is named"),
    STRING("widths", 0, "LIST", OWN(widths),
           "with --growth: widths of a head to compare; at one length (default: 1024 tokens)"),
    STRING("attention", 0, "LIST", IN(mechanism.attention),
           "with --growth: attention patterns to compare; dense,window:64; default: dense",
           .values = &values_attention, .joints = ",+"),
    STRING("output", 'o', "FILE", IN(output.path),
           "file: its ending sets the format; default: standard output", .heading = "Output",
           .flags = OPTION_PROCESS),
    STRING("format", 0, "FORMAT", IN(output.format),
           "output format; default: by the ending of -o, else text; see 'help formats'",
           .values = &values_formats, .flags = OPTION_FIXED),
    INTEGER("threads", 't', "N", IN(model.threads), 1, POOL_THREADS_MAX,
            "number of threads; default: one per processor", .heading = "Running"),
    {0},
};

static command_verb bench_command;

const struct command command_bench = {
    .name = "bench",
    .heading = "Models",
    .about = "measure speed against the limits of this machine",
    .operands = "[MODEL]",
    .most_used = "-m smollm2.gguf\n"
                 "--shape gpt2\trandom weights of known sizes\n"
                 "-n 64,256\n"
                 "--only decode\n"
                 "-t 1\tthreads (default: one per CPU)\n"
                 "-o bench.csv\n",
    .examples = "attn-cli bench\n"
                "attn-cli bench --shape gpt2 --threads 1\n"
                "attn-cli bench --shape gpt2-medium --tokens 64,256 --repeat 3\n"
                "attn-cli bench --growth --attention dense,sqrt,log,window:64,lowrank:64,linear\n"
                "attn-cli bench --growth --widths 32,64,128,256 -o widths.csv\n"
                "attn-cli bench --only prefill --format json | jq '.tables.bench[].of_compute'\n",
    .run = bench_command,
    .options = own_options,
    .without = "threads verbose",
    .operand_values = &values_models,
};

enum { LENGTHS_MAX = 64, TOKENS_MAX = 1000000, WIDTH_MAX = 4096, WIDTH_TOKENS = 1024 };

/* 1024 tokens are a default length only if a pass of 256 tokens takes at most this many seconds */
static const double SECONDS_MOST = 0.5;

struct bench_run {
    const struct options *options;
    struct output output;
    struct new_model new_models[LENGTHS_MAX];
    struct folder folders[LENGTHS_MAX];
    size_t lengths[LENGTHS_MAX], widths[LENGTHS_MAX];
    struct bench_plan plan;
    struct progress progress;
    struct arena arena;
};

/* The value of an option that is a list of numbers up to `most`; `text` is NULL if the option was
 * not given. */
struct size_list {
    const char *option, *text;
    long long most;
};

static int parse_sizes(size_t *sizes, size_t *count, struct size_list list, struct err *err)
{
    for (const char *item = list.text; item; item = list_next(item)) {
        long long number = 0;
        size_t size = strcspn(item, ",");
        if (!num_parse_part(item, size, 1, list.most, &number))
            return err_usage(err, "%s: expected whole numbers from 1 to %lld, found '%.*s'",
                             list.option, list.most, (int)size, item);
        if (*count == LENGTHS_MAX)
            return err_usage(err, "%s: expected at most %d lengths, found more", list.option,
                             LENGTHS_MAX);
        sizes[(*count)++] = (size_t)number;
    }
    return 0;
}

static int parse_lengths(struct bench_run *run, struct err *err)
{
    struct bench_plan *plan = &run->plan;
    const struct own_options *own = options_own(run->options);
    if (parse_sizes(run->lengths, &plan->length_count,
                    (struct size_list){"--tokens", own->lengths, TOKENS_MAX}, err) ||
        parse_sizes(run->widths, &plan->width_count,
                    (struct size_list){"--widths", own->widths, WIDTH_MAX}, err))
        return -1;
    if (own->widths && !own->lengths)
        run->lengths[plan->length_count++] = WIDTH_TOKENS;
    if (own->widths && plan->length_count > 1)
        return err_usage(err, "--widths: expected one length in --tokens, found %zu",
                         plan->length_count);
    plan->lengths = plan->length_count ? run->lengths : NULL;
    plan->widths = own->widths ? run->widths : NULL;
    return 0;
}

static int parse_options(struct bench_run *run, struct err *err)
{
    const struct options *options = run->options;
    const char *only = options_own(options)->only;
    const char *model = options->model.name             ? options->model.name
                        : options->input.operands.count ? *options->input.operands.items
                                                        : NULL;
    if (options_own(options)->shape && model)
        return err_usage(err, "--shape and the model '%s' cannot be combined", model);
    const char *growing = options->mechanism.attention   ? "attention"
                          : options_own(options)->widths ? "widths"
                                                         : NULL;
    if (growing && !options_own(options)->growth)
        return err_usage(err, "--%s applies only with --growth", growing);
    if (options_own(options)->widths && (model || options_own(options)->shape))
        return err_usage(err, "--widths and the model '%s' cannot be combined",
                         model ? model : options_own(options)->shape);
    if (output_choose_table(&run->output, &options->output, err) || parse_lengths(run, err) ||
        (only &&
         names_choose_set(&run->plan.kinds, NAMES(task_rows, TASK_KINDS), "--only", only, err)))
        return -1;
    if (options_own(options)->growth)
        return options_exclude(options, "growth", "only precision", err);
    return precision_choose(&run->plan.precision, options->model.precision, err);
}

/* Find the models to measure: with --shape, new models of this shape; with --widths, or --growth
 * without a model, new models of one head; otherwise the given model. */
static int find_folder(struct bench_run *run, struct err *err)
{
    const char *name = NULL;
    const struct options *options = run->options;
    const struct own_options *own = options_own(options);
    bool named =
        !own->widths && (options->input.operands.count || chosen_model(options->model.name));
    size_t count = own->widths ? run->plan.width_count : 1;
    if (!own->shape && (!own->growth || named))
        return err_if(only_model(&name, options, err) ||
                      model_find(run->folders, name, &run->arena, err));
    for (size_t i = 0; i < count; i++) {
        struct new_model *new_model = &run->new_models[i];
        size_t width = own->widths ? run->widths[i] : HEAD_WIDTH;
        if (own->shape ? shape_make(new_model, own->shape, err)
                       : shape_make_head(new_model, width, err))
            return -1;
        run->folders[i] = new_model->folder;
        /* packing the weights needs as much memory as their file */
        if (heap_expect(new_model->files[0].size, run->folders[i].path, err))
            return -1;
    }
    return 0;
}

/* Measure, and write the result. If an exponent of the times may be off by 0.25 or more, print a
 * note about the least certain one. */
static int measure(struct bench_run *run, struct err *err)
{
    const struct options *options = run->options;
    struct mechanism_options mechanism = options->mechanism;
    struct mechanism *ways = NULL;
    struct report result;
    if (!mechanism.attention)
        mechanism.attention = "dense";
    int failed = options_own(options)->growth &&
                 mechanism_options_list(&ways, &run->plan.way_count, &mechanism, &run->arena, err);
    run->plan.ways = ways;
    failed = failed || benchmark(&result, &run->plan, &run->arena, err);
    progress_end(&run->progress);
    if (failed)
        return -1;
    const struct table *table = result.tables;
    const struct column *spread = table_column(table, "time_exponent_spread");
    size_t worst = 0;
    for (size_t i = 1; spread && i < table->rows.size; i++)
        if (column_number(spread, i) > column_number(spread, worst))
            worst = i;
    if (spread && column_number(spread, worst) >= 0.25)
        print_note("the times of '%s' are no clear power: its exponent may be off by %.2f (close "
                   "other programs, or measure longer texts or more rounds: --tokens, --repeat)",
                   table->rows.labels[worst].text, column_number(spread, worst));
    return output_write_table(&run->output, &result, options, NULL, err);
}

static int bench_command(const struct options *options, struct err *err)
{
    struct bench_run run = {
        .options = options,
        .plan = {.folder = run.folders,
                 .threads = (size_t)options->model.threads,
                 .rounds = (size_t)options_own(options)->repeat,
                 .kinds = TASKS_ALL,
                 .seconds_most = SECONDS_MOST,
                 .progress = &run.progress.sink},
    };
    int failed = parse_options(&run, err) || find_folder(&run, err);
    if (!failed) {
        progress_begin(&run.progress, NULL);
        failed = measure(&run, err);
    }
    output_discard(&run.output);
    for (size_t i = 0; i < LENGTHS_MAX; i++)
        new_model_release(&run.new_models[i]);
    arena_release(&run.arena);
    return err_if(failed);
}
