/* run.c: `attn-cli run`: sentences in, what was asked for out.
 *
 * Options, model, tokens, selection; then groups of sentences, each one ragged batch; the output is
 * only begun when the first group is computed.
 */
#include <stdio.h>

#include "base/clock.h"
#include "command.h"
#include "session.h"
#include "output.h"
#include "write/text_line.h"

enum {
    GROUP_TOKENS = 1024, /* of the sentences that share a pass */
    GROUP_SENTENCES = 256,
    HINT_BYTES = 160,
};

struct job {
    const struct options *options;
    struct session session;
    struct request request;
    struct style style;
    struct output output;
    struct place place;
    struct writer writer; /* of a text that is written during its passes … */
    struct report whole;  /* … without values */
    bool parts;           /* some tokens are parts of a character */
    struct arena group;   /* one group's: memory does not grow with their number */
};

static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct request *request = &job->request;
    if (session_read_options(session, err) || output_choose(&job->output, &options->output, err) ||
        read_derivation(&request->derivation, &options->select, job->output.format->can_show_all,
                        err) ||
        looks_read(&job->style, options, err) ||
        inputs_open(&session->inputs, &options->input, INPUTS_SOME, err) ||
        session_open(session, err))
        return -1;
    const struct format *format = job->output.format;
    looks_note(&options->looks, format);
    if (request_make(request, options, format, &session->viewer, &session->arena, err) ||
        viewer_set_mechanism(&session->viewer, &request->mechanism, err) ||
        session_edit(session, err) ||
        inputs_check_source(&options->input, &session->viewer.model, err) ||
        output_check_selection(&job->output, &request->selection, err) ||
        output_check_count(&job->output, session->inputs.count, err))
        return -1;
    job->place = page_place(&options->looks, &job->style);
    job->place.count = session->inputs.count;
    job->place.show_tokens = request->selection.tokens;
    return 0;
}

/* Whether a token begins inside a character: Chinese, emoji and the like, in bytes. */
static bool has_parts(const struct tokenized *tokenized)
{
    for (size_t i = 0; tokenized->bytes && i < tokenized->count; i++)
        if (tokenized->bytes[i].bytes &&
            label_is_rest(tokenized->bytes[i].bytes, tokenized->bytes[i].size))
            return true;
    return false;
}

/* Tokenize a text, and see that it can be shown: a report without numbers shows what cannot be made
 * of it. */
static int check_input(struct job *job, struct text_pair *pair, size_t index, struct err *err)
{
    const struct derivation *how = &job->request.derivation;
    struct arena arena = {0};
    int failed = session_read(&job->session, pair, index, &arena, err);
    if (!failed && how->hide_first) {
        struct report report = {.sentence = pair->sentence, .source = pair->source};
        if (derive(&report, how, job->session.viewer.tokenizer, &arena, err))
            failed = inputs_blame(&job->session.inputs, index, err);
    }
    if (!failed) {
        session_count_dropped(&job->session, pair, index);
        job->parts |= has_parts(&pair->sentence) || has_parts(&pair->source);
    }
    arena_release(&arena);
    return failed;
}

/* All sentences must be sound before the first is computed: no output stops half-way. */
static int check_inputs(struct job *job, struct err *err)
{
    size_t tokens = 0;
    for (size_t i = 0; i < job->session.inputs.count; i++) {
        struct text_pair pair;
        if (check_input(job, &pair, i, err))
            return -1;
        tokens += pair.sentence.count;
    }
    viewer_expect(&job->session.viewer, tokens);
    session_note_dropped(&job->session);
    bool labelled = job->request.selection.sites && job->output.format->looks;
    if (job->parts && labelled && !job->request.derivation.words)
        print_note("a character of several tokens is shown as its parts, as in 爱₂: --words joins "
                   "them");
    return 0;
}

/* Make of the reports what was asked for, means, words and the like, and write them. */
static int write_group(struct job *job, const struct look *look, struct arena *arena,
                       struct err *err)
{
    const struct derivation *how = &job->request.derivation;
    for (size_t i = 0; i < look->count; i++)
        if (derive(&look->reports[i], how, job->session.viewer.tokenizer, arena, err))
            return inputs_blame(&job->session.inputs, look->first + i, err);
    if (output_open(&job->output, err))
        return -1;
    for (size_t i = 0; i < look->count; i++, job->place.index++)
        if (output_write(&job->output, &look->reports[i], &job->place, err))
            return -1;
    return 0;
}

static int read_group(const struct job *job, struct text_pair *pairs, size_t first, size_t *count,
                      struct arena *arena, struct err *err)
{
    size_t tokens = 0;
    *count = 0;
    while (first + *count < job->session.inputs.count && *count < GROUP_SENTENCES &&
           tokens < GROUP_TOKENS) {
        struct text_pair *pair = &pairs[*count];
        if (session_read(&job->session, pair, first + *count, arena, err))
            return -1;
        tokens += pair->sentence.count;
        if (*count && tokens > GROUP_TOKENS)
            return 0; /* it begins the next group */
        (*count)++;
    }
    return 0;
}

/* Write the next maps of a long text, during its passes. */
static int take_maps(void *context, const struct report *whole, struct report *part,
                     struct arena *arena, struct err *err)
{
    struct job *job = context;
    const struct derivation *how = &job->request.derivation;
    const struct tokenizer *tokenizer = job->session.viewer.tokenizer;
    if (!job->writer.format) {
        job->whole = *whole;
        if (derive(&job->whole, how, tokenizer, &job->group, err) || output_open(&job->output, err))
            return -1;
        const struct target target = output_target(&job->output);
        if (writer_begin(&job->writer, job->output.format, &target, &job->whole, &job->place, err))
            return -1;
    }
    if (derive(part, how, tokenizer, arena, err))
        return -1;
    for (size_t i = 0; i < report_sheet_count(part); i++) {
        struct sheet sheet = report_sheet(part, i);
        if (writer_sheet(&job->writer, &sheet, err))
            return -1;
    }
    return 0;
}

static int run_by_map(struct job *job, const struct look *look, struct err *err)
{
    struct viewer *viewer = &job->session.viewer;
    int failed = viewer_look_by_map(viewer, look, take_maps, job, &job->group, err) ||
                 writer_end(&job->writer, err);
    writer_release(&job->writer);
    job->writer = (struct writer){0};
    job->place.index++;
    return failed ? -1 : 0;
}

static int run_in_memory(struct job *job, const struct look *look, struct err *err)
{
    return viewer_look(&job->session.viewer, look, &job->group, err) ||
                   write_group(job, look, &job->group, err)
               ? -1
               : 0;
}

/* Read, run and write one group; `*done` counts the sentences that are finished. */
static int run_group(struct job *job, size_t *done, struct err *err)
{
    struct arena *arena = &job->group;
    size_t left = job->session.inputs.count - *done;
    size_t most = left < GROUP_SENTENCES ? left : GROUP_SENTENCES;
    arena_clear(arena);
    struct text_pair *pairs = arena_alloc(arena, most, sizeof *pairs, err);
    struct report *reports = arena_alloc(arena, most, sizeof *reports, err);
    struct look look = {
        .selection = &job->request.selection,
        .pairs = pairs,
        .first = *done,
        .reports = reports,
    };
    if (!pairs || !reports || read_group(job, pairs, *done, &look.count, arena, err))
        return -1;
    const struct derivation *how = &job->request.derivation;
    bool by_map = job->output.format->sheet && !how->mean_of_heads && !how->mean_of_layers &&
                  viewer_goes_by_map(&job->session.viewer, &look);
    if ((by_map ? run_by_map : run_in_memory)(job, &look, err))
        return -1;
    *done += look.count;
    return 0;
}

/* Below a page that shows a part: how to see the rest. Files hold results alone. */
static void write_hint(struct job *job)
{
    const struct config *config = &job->session.viewer.model.config;
    struct stream *out = &job->output.stream;
    bool more = config->n_layer > 1 || config->n_encoder_layer > 1;
    char line[HINT_BYTES];
    if (job->request.chosen || !job->output.to_stdout)
        return;
    stream_char(out, '\n');
    if (config->n_encoder_layer)
        snprintf(line, sizeof line,
                 "These are the last layers of %zu in the encoder, %zu in the decoder.",
                 config->n_encoder_layer, config->n_layer);
    else
        snprintf(line, sizeof line, "This is layer %zu, the last of %zu.", config->n_layer - 1,
                 config->n_layer);
    if (more)
        text_wrap(out, line, 0, 0, job->place.columns);
    snprintf(line, sizeof line, "More: %s%s--show all, --format csv; 'attn-cli help run'.",
             more ? "--layer all, " : "", config->n_head > 1 ? "--head 0, " : "");
    text_wrap(out, line, 0, 0, job->place.columns);
}

static void note_work(const struct job *job, double seconds)
{
    const struct viewer *viewer = &job->session.viewer;
    size_t texts = job->session.inputs.count;
    size_t threads = pool_threads(viewer->machine.pool);
    print_note("%zu text%s through '%s' on %zu thread%s, %s kernels, %s: %.1f ms", texts,
               texts == 1 ? "" : "s", viewer->model.name, threads, threads == 1 ? "" : "s",
               kernels_target(viewer->machine.kernels), viewer_precision(viewer).text,
               1e3 * seconds);
}

static int run_all(struct job *job, struct err *err)
{
    struct progress progress;
    double start = clock_seconds();
    bool one = job->session.inputs.count == 1;
    if (job->output.format->write && one) /* nothing is written before it is done */
        progress_begin(&progress, "layers");
    else
        progress_begin_beside(&progress, job->options->output.path, one ? "layers" : "texts");
    job->session.viewer.machine.progress = one ? &progress.sink : NULL;
    for (size_t done = 0; done < job->session.inputs.count;) {
        if (run_group(job, &done, err))
            return -1;
        if (!one)
            progress_show(&progress, done, job->session.inputs.count, NULL);
    }
    job->session.viewer.machine.progress = NULL;
    progress_end(&progress);
    write_hint(job);
    if (job->options->verbose)
        note_work(job, clock_seconds() - start);
    return output_commit(&job->output, err);
}

int run_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    int failed = prepare(&job, err) || check_inputs(&job, err) || run_all(&job, err);
    output_discard(&job.output);
    session_release(&job.session);
    arena_release(&job.group);
    return failed ? -1 : 0;
}
