/* generate.c: `attn-cli generate`: continues a text, token by token. In format text, the text is
 * written while it grows; if tensors (--show) go to a file, it is written to standard output.
 * Tensors, tables and the results of a batch are written at the end. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/platform.h"
#include "command.h"
#include "driver.h"
#include "lens/continuation.h"
#include "model/layer.h"
#include "say.h"
#include "write/text.h"
#include "texts.h"

static const struct option_row own_options[] = {
    INTEGER("tokens", 'n', "N", IN(generate.tokens), 1, 1000000,
            "at most N tokens; default: the model's with --source, or 32", .heading = "Generation"),
    INTEGER("beams", 0, "N", IN(generate.beams), 1, 100,
            "beam search with N beams; default: the model's with --source, or 1: no search"),
    FLAG("ignore-eos", 0, IN(generate.ignore_eos), "continue after the model's end-of-text token"),
    FLAG("logprobs", 0, IN(generate.logprobs),
         "log-probability and likeliest tokens of each step; five tokens a step"),
    REAL("temperature", 0, "T", IN(generate.temperature), 0, 1000,
         "sample at temperature T; default: 0, the most likely token", .heading = "Sampling"),
    INTEGER("top-k", 0, "K", IN(generate.top_k), 0, 100000000,
            "sample from the K most likely tokens; default: 0, all"),
    REAL("top-p", 0, "P", IN(generate.top_p), 0, 1,
         "likeliest tokens of total probability P; samples from these tokens; default: 1",
         .preset = 1),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX,
            "seed of sampling (default: 0); results are the same on every machine",
            .flags = OPTION_NOT_BATCH),
    STRINGS("sentence", 's', "TEXT", IN(input.sentences),
            "text to continue; default with --source: the model's start token",
            .flags = OPTION_FIXED, .heading = "Input"),
    STRING("file", 'f', "FILE", IN(input.file),
           "file with one text, or a table of one row; .csv, .tsv, .jsonl; - is standard input"),
    STRING("source", 0, "TEXT", IN(input.source), "text of the encoder, such as one to translate",
           .flags = OPTION_FIXED),
    STRING("show", 0, "LIST", IN(select.show),
           "tensors of prompt and continuation; instead of the text; see 'help tensors'",
           .values = &values_tensors, .joints = ",", .heading = "Attention"),
    {0},
};

static const struct task generate_task;

const struct command command_generate = {
    .name = "generate",
    .heading = "Text",
    .about = "continue a text",
    .operands = "[TEXT]",
    .most_used = "-n 20\n"
                 "-m smollm2.gguf\n"
                 "--temperature 0.8\n"
                 "--top-p 0.95\tsample from tokens of share P\n"
                 "--seed 7\n"
                 "--source \"the cat\"\ttext to translate\n"
                 "--chat\tuse the model's chat template\n"
                 "--logprobs\tprobabilities of each step\n"
                 "-o text.txt\n",
    .examples =
        "attn-cli generate \"Life is short, eat dessert\" -n 8\n"
        "attn-cli generate -s \"Life is\" --temperature 0.8 --top-p 0.95 --seed 7\n"
        "attn-cli generate -s \"Life is\" -n 4 --logprobs\n"
        "attn-cli generate -s \"Life is\" -n 6 --show weights -o attention.csv\n"
        "attn-cli generate -m translate --source \"the small black cat sees a white cow\"\n",
    .task = &generate_task,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, select_options,
               output_options, terminal_options, figure_options},
    .without = "document pair",
    .draws = true,
};

struct generate_state {
    struct request request;              /* the tensors that --show selects */
    struct generation_config generation; /* options of generation, with the seed for item 0 */
};

/* A text that is being generated. */
struct growth {
    struct driver *driver;
    struct arena *arena; /* memory of the result */
    struct continuation text;
    struct stream beside; /* standard output, for the text if tensors go to a file */
    struct stream *typed; /* prints the text; NULL: it is not printed */
    /* times in seconds: `start`: before the first step, which reads the prompt; `read`: after it */
    double start, read;
};

/* --- options ---------------------------------------------------------------------------------- */

/* Refuse formats of output that cannot contain the result, and options that would have no
 * effect. */
static int check_options(const struct driver *driver, const struct options *options,
                         struct err *err)
{
    const struct output *output = &driver->output;
    const char *selecting =
        options_are_given(options, "layer head query key mean words hide-first");
    const char *drawn = options->generate.top_k > 0   ? "top-k"
                        : options->generate.top_p < 1 ? "top-p"
                                                      : NULL;
    bool shows = options->select.show;
    if (!shows && !output->format->has_tables)
        return err_usage(err,
                         "--format %s: expected --show: without it generate writes text or a table "
                         "of tokens",
                         output->format->name);
    if (!shows && output->to_folder && !driver->is_batch)
        return err_usage(err, "--output '%s': expected a file, found a folder, which needs --show",
                         options->output.path);
    if (shows && options->generate.logprobs && driver->is_batch)
        return err_usage(err, "--show and --logprobs cannot be combined in a batch");
    if (shows && options->generate.logprobs && output->to_stdout)
        return err_usage(err, "--logprobs prints a table to standard output: name a file for the "
                              "tensors with --output");
    if (!shows && selecting)
        return err_usage(err, "--%s applies only to tensors: expected --show as well", selecting);
    if (options->generate.beams > 1 && options->generate.temperature > 0)
        return err_usage(
            err, "--beams and --temperature cannot be combined: beam search does not sample");
    if (drawn && options->generate.temperature <= 0)
        return err_usage(
            err, "--%s: expected --temperature above 0: at 0 the most likely token is always taken",
            drawn);
    return 0;
}

/* Check the options that need no text. With --show, select tensors as `run` does. */
static int open(void *state, struct driver *driver, struct err *err)
{
    struct generate_state *own = state;
    struct request *request = &own->request;
    struct session *session = &driver->session;
    const struct options *options = session->options;
    *own = (struct generate_state){
        .generation = {
            .tokens = (size_t)options->generate.tokens,
            .sampling = {options->generate.temperature, (size_t)options->generate.top_k,
                         options->generate.top_p, (uint64_t)options->mechanism.seed},
            .beams = (size_t)options->generate.beams,
            .past_end = options->generate.ignore_eos,
            .logits = options->generate.logprobs,
        }};
    if (check_options(driver, options, err))
        return -1;
    if (options->select.show) {
        own->generation.selection = &request->selection;
        if (request_make(request, driver, err))
            return -1;
        if (site_set_has(request->selection.sites, SITE_SCORES))
            return err_usage(err, "--show scores: the scores of later keys are not available while "
                                  "generating: use 'attn-cli run'");
        if (request->derivation.mean_of_texts)
            return err_usage(err, "--mean texts: generated texts cannot be averaged: save them and "
                                  "use 'attn-cli run -f FILE --mean texts'");
        if (output_check_selection(&driver->output, &request->selection, err))
            return -1;
    }
    return continuation_prepare(&session->viewer, &own->generation, driver->items.count, err);
}

/* Estimate the memory of a text. In an encoder-decoder, remove the end token from the prompt of the
 * decoder. A pair of texts is refused. */
static int read_item(void *state, struct driver *driver, struct job *job, struct arena *arena,
                     struct err *err)
{
    const struct generate_state *own = state;
    const struct viewer *viewer = &driver->session.viewer;
    struct tokenized *prompt = &job->pair.text;
    if (has_encoder(&viewer->model.config)) { /* a decoder's prompt has no end token */
        prompt->count -= prompt->added_after;
        prompt->added_after = 0;
    }
    struct text_with_source whole = job->pair;
    if (whole.text.pair.bytes)
        return err_usage(err, "expected one text to continue, found a pair");
    (void)arena;
    whole.text.count = continuation_capacity(viewer, &own->generation, job->pair.text.count);
    continuation_add_memory(&job->memory, viewer, &own->generation, &job->pair);
    if (own->generation.selection)
        job->result_bytes = request_add_memory(&job->memory, &own->request, viewer, &whole, false);
    return 0;
}

/* --- the text --------------------------------------------------------------------------------- */

/* True if the text can no longer be printed, for example to a closed pipe or a full disk:
 * generation then ends. */
static bool is_broken(const struct growth *growth)
{
    return growth->typed && growth->typed->failure;
}

/* Generate the text. Print it while it grows: in format text to the output or, if tensors (--show)
 * go to a file, to standard output. A batch does not print it. */
static int grow(struct growth *growth, struct err *err)
{
    struct continuation *text = &growth->text;
    struct output *output = &growth->driver->output;
    struct buf edits = {0};
    bool shows = text->generation.selection, is_batch = growth->driver->is_batch;
    int failed = 0;
    if (!is_batch && !shows && format_is(output->format, "text")) {
        growth->typed = &output->stream;
        failed = output_open(output, err);
    } else if (!is_batch && shows && !output->to_stdout) {
        growth->typed = &growth->beside;
        failed = stream_to(&growth->beside, STDOUT_FILENO, err);
    }
    if (failed)
        return -1;
    edits_write(&edits, text->viewer->edits);
    if (growth->typed && edits.size && !edits.out_of_memory)
        print_note("generated with %s", edits.bytes);
    buf_release(&edits);
    growth->start = clock_seconds();
    for (bool more = true; more && !failed;) {
        if (growth->typed) { /* print the prompt, then each token */
            stream_bytes(growth->typed, text->text.bytes + text->shown,
                         text->text.size - text->shown);
            stream_flush(growth->typed);
        }
        if (is_broken(growth))
            break;
        failed = continuation_next(text, &more, err);
        growth->read = growth->read > 0 ? growth->read : clock_seconds();
    }
    if (growth->typed) {
        stream_char(growth->typed, '\n');
        stream_flush(growth->typed); /* notes and errors come after the text */
    }
    return failed;
}

/* --- the result ------------------------------------------------------------------------------- */

/* Print the table of --logprobs below the text. Fill the report, unless the printed text is the
 * whole result. */
static int fill_report(struct growth *growth, struct job *job, struct err *err)
{
    struct driver *driver = growth->driver;
    if (growth->text.choices && growth->typed) {
        const struct layout all = {.columns = driver->layout.columns};
        struct report table = {0};
        stream_char(growth->typed, '\n');
        if (continuation_tables(&table, &growth->text, growth->arena, err) ||
            table_text_write(growth->typed, table.tables, &all, err))
            return -1;
    }
    job->is_written = growth->typed == &driver->output.stream;
    if (job->is_written)
        return 0;
    return continuation_report(&growth->text, &job->report, growth->arena, err);
}

static void note_work(const struct growth *growth)
{
    char cache[NUM_SIZE_BYTES];
    const struct continuation *text = &growth->text;
    const struct viewer *viewer = text->viewer;
    size_t steps = text->count - text->prompt_count;
    double rest = clock_seconds() - growth->read;
    if (text->end == END_OF_CONTEXT)
        print_note(
            "stopped at the model's context length of %zu tokens, after %zu of %zu new tokens",
            text->capacity, steps, text->generation.tokens);
    if (!growth->driver->options->verbose)
        return;
    num_size(cache, cache_bytes(&viewer->model.config, text->cache.precision, text->cache.count));
    print_note("%zu + %zu tokens, threads: %zu, %s kernels, %s: first token after %.1f ms, then "
               "%.1f tokens/s; cache %s",
               text->prompt_count, steps, pool_threads(viewer->machine.pool),
               kernels_target(viewer->machine.kernels), viewer_precision(viewer).text,
               1e3 * (growth->read - growth->start), steps > 1 ? (double)(steps - 1) / rest : 0.0,
               cache);
}

/* Generate the text of a group, which has one job. Item N draws its random numbers with the seed
 * --seed + N·2³². */
static int run(void *state, const struct group *group, struct err *err)
{
    struct job *job = group->jobs[0];
    struct growth growth = {.driver = group->driver, .arena = group->arena};
    struct generation_config generation = ((struct generate_state *)state)->generation;
    generation.sampling.seed += (uint64_t)job->item.number << 32;
    const struct items *items = &group->driver->items;
    const struct tokenized *prompt = &job->pair.text;
    if (!group->driver->is_batch && group->driver->options->input.file &&
        items->kind == ITEMS_DOCUMENT && prompt->raw && memchr(prompt->raw, '\n', prompt->size))
        print_note("'%s': its lines are one prompt; 'attn-cli batch --do generate' continues each",
                   shown_path(items->path));
    if (continuation_open(&growth.text, group->viewer, &job->pair, &generation, err))
        return -1;
    int failed = grow(&growth, err);
    if (!failed && !group->driver->is_batch)
        note_work(&growth);
    failed = failed || (!is_broken(&growth) && fill_report(&growth, job, err)) ||
             (growth.typed == &growth.beside && stream_commit(&growth.beside, err));
    job->is_written |= is_broken(&growth);
    stream_discard(&growth.beside);
    continuation_release(&growth.text);
    return err_if(failed);
}

static const struct task generate_task = {
    .many = ITEMS_PROMPT,
    .alone = true,
    .state_bytes = sizeof(struct generate_state),
    .open = open,
    .read = read_item,
    .run = run,
};
