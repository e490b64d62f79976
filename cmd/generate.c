/* generate.c: `attn-cli generate`: a text goes on, token by token.
 *
 * The text itself is typed as it comes: to the output, or to standard output while a report goes to
 * a file. A report (--show) and tables are written when the text has ended.
 */
#include <limits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "command.h"
#include "lens/continuation.h"
#include "output.h"
#include "session.h"
#include "write/text_page.h"

static const struct option_row own_options[] = {
    INTEGER("tokens", 'n', "N", IN(generate.tokens), 1, 1000000,
            "generate at most N tokens (default: 32)", .heading = "Generation", .preset = 32),
    REAL("temperature", 0, "T", IN(generate.temperature), 0, 1000,
         "sample at temperature T (default: 0, the most likely token)"),
    INTEGER("top-k", 0, "K", IN(generate.top_k), 0, 100000000,
            "sample from the K most likely tokens (default: 0, all)"),
    REAL("top-p", 0, "P", IN(generate.top_p), 0, 1,
         "sample from the most likely tokens with total probability P (default: 1)", .preset = 1),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX,
            "seed of sampling (default: 0); the same on every machine"),
    FLAG("ignore-eos", 0, IN(generate.ignore_eos), "continue after the model's end-of-text token"),
    FLAG("logprobs", 0, IN(generate.logprobs),
         "print log-probabilities, and the five most likely tokens at each step"),
    STRINGS("sentence", 's', "TEXT", IN(input.sentences),
            "text to continue (with --source, default: the model's first token)",
            .heading = "Input"),
    STRING("file", 'f', "FILE", IN(input.file),
           "the file as one text, without its final newline; - is standard input"),
    STRING("source", 0, "TEXT", IN(input.source),
           "text for the encoder, such as the text to translate"),
    STRING("show", 0, "LIST", IN(select.show),
           "output these tensors of the whole text instead of the text (see 'help run')",
           .heading = "Select", .values = &values_tensors, .joints = ","),
    {0},
};

const struct command command_generate = {
    .name = "generate",
    .group = "Analyse",
    .about = "continue a text, with its attention",
    .operands = "[TEXT]",
    .examples =
        "attn-cli generate \"Life is short, eat dessert\" -n 8\n"
        "attn-cli generate -s \"Life is\" --temperature 0.8 --top-p 0.95 --seed 7\n"
        "attn-cli generate -s \"Life is\" -n 4 --logprobs\n"
        "attn-cli generate -s \"Life is\" -n 6 --show weights -o attention.csv\n"
        "attn-cli generate -m translate --source \"the small black cat sees a white cow\"\n",
    .run = generate_command,
    .options = own_options,
    .shared = {{text_options, "document"},
               {model_options, NULL},
               {mechanism_options, NULL},
               {edit_options, NULL},
               {select_options, NULL},
               {output_options, NULL},
               {terminal_options, NULL},
               {figure_options, NULL},
               {running_options, NULL}},
    .reads_texts = true,
};

struct job {
    const struct options *options;
    struct session session;
    struct text_pair prompt;
    struct selection selection;
    struct derivation derivation;
    struct style style;
    struct output output;
    struct continuation text;
    struct choice *choices; /* [tokens] with --logprobs */
    size_t choice_count;
    struct stream beside; /* standard output, while the report goes elsewhere */
    struct stream *typed; /* where the text is typed; NULL: nowhere */
    double start, read;   /* seconds: the prompt's pass lies between */
};

/* --- what is asked for ------------------------------------------------------------------------ */

/* What only makes sense beside something else. */
static int check_options(const struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const char *narrow = options->select.layer        ? "layer"
                         : options->select.head       ? "head"
                         : options->select.mean       ? "mean"
                         : options->select.words      ? "words"
                         : options->select.hide_first ? "hide-first"
                                                      : NULL;
    if (!options->select.show && narrow)
        return err_usage(err, "--%s: expected --show TENSORS as well: it selects from them",
                         narrow);
    if (!options->select.show && !job->output.format->has_tables)
        return err_usage(err,
                         "--format %s: expected --show: without it generate writes text or a table "
                         "of tokens",
                         job->output.format->name);
    if (!options->select.show && job->output.to_folder)
        return err_usage(err,
                         "--output '%s': expected a file, or --show: the text alone is one file",
                         options->output.path);
    if (options->select.show && options->generate.logprobs && job->output.to_stdout)
        return err_usage(err, "--logprobs prints a table to standard output: name a file for the "
                              "tensors with --output");
    const char *drawn = options->generate.top_k > 0   ? "top-k"
                        : options->generate.top_p < 1 ? "top-p"
                                                      : NULL;
    if (drawn && options->generate.temperature <= 0)
        return err_usage(
            err, "--%s: expected --temperature above 0: at 0 the most likely token is always taken",
            drawn);
    return 0;
}

/* Beside a source no prompt is needed. Without one the model is opened first: one that attends to
 * another text lacks that. */
static int read_prompt(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    bool is_given = inputs_are_given(&options->input);
    bool is_read = !is_given && !options->input.source;
    if (session_read_options(session, err) ||
        (is_given && inputs_open(&session->inputs, &options->input, INPUTS_ONE, err)) ||
        session_open(session, err) ||
        viewer_set_mechanism(&session->viewer, &session->mechanism, err) ||
        session_edit(session, err) ||
        ((options->input.source || session->viewer.model.config.n_encoder_layer) &&
         inputs_check_source(&options->input, &session->viewer.model, err)) ||
        (is_read && inputs_open(&session->inputs, &options->input, INPUTS_ONE, err)) ||
        session_read(session, &job->prompt, 0, &session->arena, err))
        return -1;
    session_count_dropped(session, &job->prompt, 0);
    session_note_dropped(session);
    return 0;
}

/* As run chooses: a page shows the last layer unless told otherwise. */
static int choose_selection(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const struct config *config = &job->session.viewer.model.config;
    const char *layer = request_layer(job->output.format, &options->select, &job->derivation);
    if (!options->select.show)
        return 0;
    if (selection_sites(&job->selection, options->select.show, config, err) ||
        selection_layers(&job->selection, layer, config, &job->session.arena, err) ||
        selection_heads(&job->selection, options->select.head, config, &job->session.arena, err))
        return -1;
    if (job->selection.sites >> SITE_SCORES & 1)
        return err_usage(err, "--show scores: those of keys to come are not known while a text "
                              "grows: 'attn-cli run' shows them");
    if (output_check_selection(&job->output, &job->selection, err))
        return -1;
    looks_note(&options->looks, job->output.format);
    return derive_check(&job->derivation, &job->selection, job->session.viewer.tokenizer, err);
}

static int begin_text(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct generation_config generation = {
        .tokens = (size_t)options->generate.tokens,
        .sampling = {options->generate.temperature, (size_t)options->generate.top_k,
                     options->generate.top_p, (uint64_t)options->mechanism.seed},
        .past_end = options->generate.ignore_eos,
        .logits = options->generate.logprobs,
        .selection = options->select.show ? &job->selection : NULL,
    };
    if (continuation_open(&job->text, &job->session.viewer, &job->prompt, &generation, err))
        return -1;
    if (!options->generate.logprobs)
        return 0;
    size_t most = job->text.room - job->text.count + 1; /* the end of the text is a choice, too */
    job->choices = arena_alloc(&job->session.arena, most, sizeof *job->choices, err);
    return job->choices ? 0 : -1;
}

/* --- the text --------------------------------------------------------------------------------- */

/* A reader that is gone, or a disk that is full, ends the work. */
static bool is_broken(const struct job *job)
{
    return job->typed && job->typed->failure;
}

/* A piece, which does not wait for the next one. */
static void type_from(struct stream *typed, const struct continuation *text, size_t start)
{
    if (!typed)
        return;
    stream_bytes(typed, text->text.bytes + start, text->text.size - start);
    stream_flush(typed);
}

/* One token more; `*more` is false when there is none. */
static int step(struct job *job, bool *more, struct err *err)
{
    struct continuation *text = &job->text;
    if (continuation_next(text, more, err))
        return -1;
    if (job->read == 0)
        job->read = clock_seconds();
    if (job->choices && (*more || text->end == END_OF_TEXT))
        choice_make(&job->choices[job->choice_count++], text->logits,
                    job->session.viewer.model.config.vocab_size, text->chosen);
    if (*more)
        type_from(job->typed, text, text->shown);
    return 0;
}

static int type_text(struct job *job, struct err *err)
{
    bool more = true;
    bool has_report = job->options->select.show != NULL;
    int failed = 0;
    if (!has_report && format_is(job->output.format, "text")) {
        job->typed = &job->output.stream;
        failed = output_open(&job->output, err);
    } else if (has_report && !job->output.to_stdout) {
        job->typed = &job->beside;
        failed = stream_to(&job->beside, STDOUT_FILENO, err);
    }
    if (failed)
        return -1;
    type_from(job->typed, &job->text, 0);
    job->start = clock_seconds();
    while (more && !failed && !is_broken(job))
        failed = step(job, &more, err);
    if (!job->typed)
        return failed;
    stream_char(job->typed, '\n');
    stream_flush(job->typed); /* notes and errors come after it */
    return failed;
}

/* --- what is written when it has ended -------------------------------------------------------- */

/* The table of choices below the text; a report, or tables. */
static int write_report(struct job *job, struct err *err)
{
    bool shows = job->options->select.show;
    struct arena *arena = &job->session.arena;
    struct report report = {0};
    struct place place = page_place(&job->options->looks, &job->style);
    if (job->choices && job->typed) {
        struct place all = {.columns = place.columns};
        stream_char(job->typed, '\n');
        if (continuation_tables(&report, &job->text, job->choices, arena, err) ||
            frame_text_write(job->typed, report.frames, &all, err))
            return -1;
    }
    if (!shows && format_is(job->output.format, "text"))
        return 0;
    if (continuation_report(&job->text, &report, arena, err) ||
        derive(&report, &job->derivation, job->session.viewer.tokenizer, arena, err) ||
        (!shows && continuation_tables(&report, &job->text, job->choices, arena, err)))
        return -1;
    place.show_tokens = job->selection.tokens;
    return output_open(&job->output, err) || output_write(&job->output, &report, &place, err) ? -1
                                                                                              : 0;
}

static void note_work(const struct job *job)
{
    char cache[NUM_SIZE_BYTES];
    char kept[NUM_SIZE_BYTES];
    const struct continuation *text = &job->text;
    size_t steps = text->count - text->prompt_count;
    double rest = clock_seconds() - job->read;
    if (!job->options->verbose)
        return;
    num_size(cache, cache_bytes(&job->session.viewer.model.config, text->cache.precision,
                                text->cache.count) +
                        cache_bytes(&job->session.viewer.model.config, text->source_cache.precision,
                                    text->source_cache.count));
    num_size(kept, text->arena.taken_bytes);
    print_note("%zu + %zu tokens, threads: %zu, %s kernels, %s: the first after %.1f ms, then %.1f "
               "a second; cache %s, kept %s",
               text->prompt_count, steps, pool_threads(job->session.viewer.machine.pool),
               kernels_target(job->session.viewer.machine.kernels),
               viewer_precision(&job->session.viewer).text, 1e3 * (job->read - job->start),
               steps > 1 ? (double)(steps - 1) / rest : 0.0, cache, kept);
}

static int generate(struct job *job, struct err *err)
{
    if (type_text(job, err))
        return -1;
    note_work(job);
    if (!is_broken(job) && write_report(job, err))
        return -1;
    if (job->typed == &job->beside && stream_commit(&job->beside, err))
        return -1;
    if (output_commit(&job->output, err))
        return -1;
    const struct continuation *text = &job->text;
    if (text->end == END_OF_CONTEXT)
        print_note("the text ends with the model's context of %zu tokens: %zu new ones of %zu",
                   text->room, text->count - text->prompt_count, text->generation.tokens);
    return 0;
}

int generate_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    int failed =
        output_choose(&job.output, &options->output, err) || check_options(&job, err) ||
        read_derivation(&job.derivation, &options->select, job.output.format->can_show_all, err) ||
        looks_read(&job.style, options, err);
    failed = failed || read_prompt(&job, err) || choose_selection(&job, err) ||
             begin_text(&job, err) || generate(&job, err);
    output_discard(&job.output);
    stream_discard(&job.beside);
    continuation_release(&job.text);
    session_release(&job.session);
    return failed ? -1 : 0;
}
