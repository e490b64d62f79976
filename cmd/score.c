/* score.c: `attn-cli score`: how likely texts are, token by token, or their continuations. */
#include <string.h>

#include "base/num.h"
#include "command.h"
#include "instrument.h"
#include "output.h"
#include "session.h"
#include "text/tokenizer.h"

static const struct option_row own_options[] = {
    STRINGS("continue", 0, "TEXT", IN(score.continuations),
            "score a continuation such as ' are' instead of the text (repeatable; compared with "
            "the first)",
            .heading = "Scoring"),
    FLAG("total", 0, IN(score.total), "print totals only: tokens, log-probability, perplexity"),
    FLAG("bits", 0, IN(score.bits), "surprisal and entropy in bits (default: nats)"),
    INTEGER("stride", 0, "N", IN(score.stride), 1, 100000000,
            "read texts beyond the context in windows that advance by N tokens"),
    INTEGER("top", 0, "N", IN(score.best), 0, 1000,
            "N most likely tokens at each position, in text and json (default: 3)", .preset = 3),
    FLAG("words", 0, IN(select.words), "merge subword tokens into words and sum their surprisal"),
    {0},
};

const struct command command_score = {
    .name = "score",
    .group = "Analyse",
    .about = "log-probability, surprisal and perplexity",
    .operands = "[TEXT]...",
    .examples =
        "attn-cli score \"Life is short, eat dessert first\"\n"
        "attn-cli score \"Life is short\" --bits --words --format csv\n"
        "attn-cli score \"The keys to the cabinet\" --continue \" are\" --continue \" is\"\n"
        "printf 'Life is short\\neat dessert\\n' | attn-cli score --total\n"
        "attn-cli score \"Life is short, eat dessert first\" -o surprisal.svg\n",
    .run = score_command,
    .options = own_options,
    .shared = {{text_options, NULL},
               {model_options, NULL},
               {mechanism_options, NULL},
               {edit_options, NULL},
               {table_options, NULL},
               {terminal_options, NULL},
               {figure_options, "range"},
               {running_options, "verbose"}},
    .reads_texts = true,
    .in_batch = true,
};

enum {
    GROUP_TOKENS = 1024, /* of the texts that are scored together */
    GROUP_TEXTS = 256,
    FABLES_PERPLEXITY = 300, /* of whole fables it is below 40, of parts of them up to 200 */
};

/* --- one text, for the command and for a batch ------------------------------------------------ */

static int ask(struct question *question, const struct format *format, struct arena *arena,
               struct err *err)
{
    const struct options *options = question->options;
    const struct score_options *score = &options->score;
    struct viewer *viewer = question->viewer;
    struct scoring *scoring = &question->scoring;
    size_t before = 0;
    size_t after = 0;
    bool continues = score->continuations.count > 0;
    const char *moot = continues && score->total ? "total" : options->select.words ? "words" : NULL;
    bool for_people = format_is(format, "text");
    bool has_best = for_people || format_is(format, "json") || format_is(format, "jsonl");
    question->view = (struct score_view){.origin.viewer = viewer,
                                         .bits = score->bits,
                                         .words = options->select.words,
                                         .for_people = for_people};
    *scoring = (struct scoring){.viewer = viewer, .stride = (size_t)score->stride};
    if (moot && (continues || score->total))
        return err_usage(err, "--%s reports totals; --%s does not apply",
                         continues ? "continue" : "total", moot);
    if (continues && options->input.ids)
        return err_usage(err, "--continue: expected a text, found --ids");
    if (text_origin_attends(&question->view.origin, arena, err))
        return -1;
    if (continues && viewer->tokenizer)
        tokenizer_adds(viewer->tokenizer, &before, &after);
    if (after)
        return err_usage(err, "--continue: expected no token after a text, found one that the "
                              "tokenizer adds: --special none or bos leaves it out");
    if (has_best && !score->total && !continues && !options->select.words)
        scoring->best_count = (size_t)score->best;
    if (score->stride > 0 && options->input.any_length)
        return err_usage(err, "--stride and --long cannot be combined");
    viewer->reads_any_length = score->stride > 0;
    scoring->context = score->stride > 0 ? viewer->model.config.n_positions : 0;
    if (question->view.words && !viewer->tokenizer)
        return err_usage(err, "--words: expected a tokenizer, found a model that takes only ids");
    return scoring_check(scoring, err);
}

/* Read a text with each of its continuations into pairs [continuations]; the text is their prompt.
 * Refuse a continuation that changes the tokens at its end. */
static int read_continued(struct text_pair *pairs, const struct question *question,
                          const struct text_pair *alone, struct arena *arena, struct err *err)
{
    const struct texts *continuations = &question->options->score.continuations;
    const struct tokenized *sentence = &alone->sentence;
    if (!sentence->text)
        return err_usage(err, "--continue: expected a text, found ids");
    for (size_t i = 0; i < continuations->count; i++) {
        const char *more = continuations->items[i];
        size_t size = strlen(more);
        char *text = arena_room(arena, sentence->size + size + 1, 1, err);
        struct input whole = {.text = text, .size = sentence->size + size};
        const struct tokenized *read = &pairs[i].sentence;
        size_t same = 0;
        if (!text)
            return -1;
        memcpy(text, sentence->text, sentence->size);
        memcpy(text + sentence->size, more, size + 1);
        if (viewer_read(question->viewer, &pairs[i], &whole, NULL, arena, err))
            return -1;
        while (same < sentence->count && same < read->count &&
               sentence->ids[same] == read->ids[same])
            same++;
        if (same < sentence->count)
            return err_usage(err,
                             "--continue '%s': expected the text's %zu tokens unchanged, found "
                             "another one at %zu: begin it where a token begins, as with a space",
                             more, sentence->count, same);
        if (read->count == same)
            return err_usage(err, "--continue '%s': expected at least one token, found none", more);
        pairs[i].source = alone->source;
        pairs[i].prompt_count = sentence->count;
    }
    return 0;
}

static int check(const struct question *question, struct text_pair *pair, struct arena *arena,
                 struct err *err)
{
    size_t count = question->options->score.continuations.count;
    struct text_pair *pairs = arena_alloc(arena, count, sizeof *pairs, err);
    if (!pairs || count)
        return pairs ? read_continued(pairs, question, pair, arena, err) : -1;
    return question->view.words
               ? word_spans_find(&pair->sentence, question->viewer->tokenizer, arena, err)
               : 0;
}

static int report_continued(struct finding *finding, const struct score_view *view,
                            const struct scored *scored, struct arena *arena, struct err *err)
{
    const struct tokenized *sentence = &finding->pair->sentence;
    const struct texts *continuations = &finding->question->options->score.continuations;
    size_t count = continuations->count;
    struct score_total *items = arena_alloc(arena, count, sizeof *items, err);
    struct score_totals totals = {"continuation", items, count, .sentence = sentence};
    for (size_t i = 0; items && i < count; i++) {
        const char *text = continuations->items[i];
        struct token_bytes bytes = {text, strlen(text)};
        struct thing thing = {i, &bytes, 1, 0};
        items[i] = score_total_of(&scored[i], sentence->count, scored[i].count - sentence->count);
        if (label_make(&items[i].label, &thing, arena, err))
            return -1;
    }
    return items ? score_totals_report(&finding->report, view, &totals, arena, err) : -1;
}

static int report_total(struct finding *finding, const struct score_view *view, struct arena *arena,
                        struct err *err)
{
    struct buf words = {0};
    struct score_totals totals = {"text", &finding->total, 1, .sentence = &finding->pair->sentence};
    tokenized_visible(&words, &finding->pair->sentence);
    const char *text = buf_keep(&words, arena, err);
    finding->total.label = (struct label){text, text, text};
    return text ? score_totals_report(&finding->report, view, &totals, arena, err) : -1;
}

static int find(struct finding *findings, const struct question *question, const struct look *look,
                struct arena *arena, struct err *err)
{
    const struct score_options *options = &question->options->score;
    bool continues = options->continuations.count > 0;
    size_t each = num_max(options->continuations.count, 1);
    struct text_pair *pairs = arena_alloc(arena, look->count, each * sizeof *pairs, err);
    struct scored *scored = arena_alloc(arena, look->count, each * sizeof *scored, err);
    struct look whole = {.pairs = continues ? pairs : look->pairs,
                         .count = look->count * each,
                         .first = look->first};
    for (size_t i = 0; pairs && continues && i < look->count; i++)
        if (read_continued(&pairs[i * each], question, &look->pairs[i], arena, err))
            return -1;
    if (!pairs || !scored || scoring_run(scored, &question->scoring, &whole, arena, err))
        return -1;
    for (size_t i = 0; i < look->count; i++) {
        struct finding *finding = &findings[i];
        const struct scored *own = &scored[i * each];
        struct score_view view = question->view;
        *finding = (struct finding){question, &look->pairs[i], .position = 0};
        view.origin.source = &finding->pair->source;
        if (!continues)
            finding->total = score_total_of(own, 0, own->count);
        if (continues ? report_continued(finding, &view, own, arena, err)
            : options->total
                ? report_total(finding, &view, arena, err)
                : score_report(&finding->report, &view, &finding->pair->sentence, own, arena, err))
            return -1;
    }
    return 0;
}

const struct instrument score_instrument = {
    .command = &command_score, .ask = ask, .check = check, .find = find};

/* --- the command ------------------------------------------------------------------------------ */

struct score_job {
    const struct options *options;
    struct session session;
    struct question question; /* of the open model */
    struct style style;
    struct output output;
    struct place place;
    bool total;
    struct score_total *totals; /* --total: [texts] of the open model, and one of all texts */
    struct score_total all;
    struct model_list models;
    bool has_columns; /* several models are columns; in JSON and tidy they follow one another */
    struct score_models columns;
    struct arena kept;  /* lives longer than a model */
    struct arena group; /* of one group of texts: memory does not grow with their number */
};

static int prepare(struct score_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    job->total = options->score.total;
    if (session_read_options(session, err) ||
        output_choose_table(&job->output, &options->output, err) ||
        looks_read(&job->style, options, err) ||
        model_list_read(&job->models, options, &job->kept, err) ||
        inputs_open(&session->inputs, &options->input, INPUTS_SOME, err))
        return -1;
    looks_note(&options->looks, job->output.format);
    bool is_json = format_is(job->output.format, "json") || format_is(job->output.format, "jsonl");
    job->has_columns = job->models.hashes && !format_is(job->output.format, "tidy") && !is_json;
    if (score_models_init(&job->columns, job->models.names.names, job->models.names.count,
                          session->inputs.count, &job->kept, err))
        return -1;
    job->place = page_place(&options->looks, &job->style);
    job->place.sentences = job->total ? 1 : session->inputs.count;
    job->place.count =
        job->place.sentences * (job->has_columns ? 1 : model_list_count(&job->models));
    return output_check_count(&job->output, job->place.sentences, err);
}

static int read_text(struct score_job *job, struct text_pair *pair, size_t index,
                     struct arena *arena, struct err *err)
{
    if (session_read(&job->session, pair, index, arena, err))
        return -1;
    int failed = check(&job->question, pair, arena, err);
    return failed ? inputs_blame(&job->session.inputs, index, err) : 0;
}

/* All texts are read before the first is scored: an error leaves no partial output. */
static int read_texts(void *context, struct err *err)
{
    struct score_job *job = context;
    struct session *session = &job->session;
    struct viewer *viewer = &session->viewer;
    size_t count = session->inputs.count;
    size_t tokens = 0;
    job->question = (struct question){.options = job->options, .viewer = viewer};
    if (session_open(session, err) || viewer_set_mechanism(viewer, &session->mechanism, err) ||
        session_edit(session, err) ||
        inputs_check_source(&job->options->input, &viewer->model, err) ||
        ask(&job->question, job->output.format, &session->arena, err))
        return -1;
    if (job->has_columns) /* which do not show the most likely tokens */
        job->question.scoring.best_count = 0;
    job->totals = arena_alloc(&session->arena, count + 1, sizeof *job->totals, err);
    for (size_t i = 0; job->totals && i < count; i++) {
        struct text_pair pair;
        arena_clear(&job->group);
        if (read_text(job, &pair, i, &job->group, err))
            return -1;
        session_count_dropped(session, &pair, i);
        tokens += pair.sentence.count;
    }
    viewer_expect(viewer, tokens);
    viewer_expect_steps(viewer, tokens); /* logits are computed in steps */
    session_note_dropped(session);
    return job->totals ? 0 : -1;
}

static int write_one(struct score_job *job, const struct finding *finding, size_t index,
                     struct err *err)
{
    struct session *session = &job->session;
    job->place.blank = inputs_blank_before(&session->inputs, index);
    job->all.tokens += finding->total.tokens;
    job->all.logprob += finding->total.logprob;
    if (!job->total)
        return job->has_columns
                   ? score_models_add(&job->columns, job->models.open, index, &finding->report, err)
                   : output_write(&job->output, &finding->report, &job->place, err);
    struct score_total *total = &job->totals[index];
    const char *text = finding->total.label.text;
    *total = finding->total;
    total->sentence = (long long)(index + job->place.blank);
    text = arena_text(&session->arena, text, strlen(text), err);
    total->label = (struct label){text, text, text};
    return text ? 0 : -1;
}

static int run_group(void *context, size_t *done, struct err *err)
{
    struct score_job *job = context;
    size_t each = num_max(job->options->score.continuations.count, 1);
    size_t most = num_min(job->session.inputs.count - *done, GROUP_TEXTS);
    size_t count = 0;
    bool is_kept = job->has_columns && !job->total && job->models.open == 0;
    struct arena *arena = is_kept ? &job->kept : &job->group;
    arena_clear(&job->group);
    struct text_pair *pairs = arena_alloc(arena, most, sizeof *pairs, err);
    struct finding *findings = arena_alloc(arena, most, sizeof *findings, err);
    if (!pairs || !findings)
        return -1;
    for (size_t tokens = 0; count < most && tokens < GROUP_TOKENS; count++) {
        if (read_text(job, &pairs[count], *done + count, arena, err))
            return -1;
        tokens += each * pairs[count].sentence.count;
    }
    struct look look = {.pairs = pairs, .count = count, .first = *done};
    if (find(findings, &job->question, &look, arena, err) || output_open(&job->output, err))
        return -1;
    for (size_t i = 0; i < count; i++, job->place.index++)
        if (write_one(job, &findings[i], *done + i, err))
            return -1;
    *done += count;
    return 0;
}

/* --- after the last text ---------------------------------------------------------------------- */

static int write_model_tables(struct score_job *job, struct err *err)
{
    const struct inputs *inputs = &job->session.inputs;
    for (size_t i = 0; i < inputs->count; i++, job->place.index++) {
        struct report report;
        struct text_pair pair;
        struct score_view view = job->question.view;
        arena_clear(&job->group);
        if (session_read(&job->session, &pair, i, &job->group, err))
            return -1;
        view.origin.source = &pair.source;
        score_models_report(&report, &job->columns, i, &view, &pair.sentence);
        job->place.blank = inputs_blank_before(inputs, i);
        if (output_write(&job->output, &report, &job->place, err))
            return -1;
    }
    return 0;
}

/* After the last text of a model. */
static int write_end(struct score_job *job, struct err *err)
{
    size_t count = job->session.inputs.count;
    size_t open = job->models.open;
    struct report report;
    struct score_totals totals = {"text", job->totals, count, .texts = count};
    bool on_page = format_is(job->output.format, "text") && !job->output.to_folder &&
                   !job->options->score.continuations.count;
    arena_clear(&job->group);
    job->place.index = job->has_columns ? 0 : open;
    if (job->has_columns) {
        job->all.label = job->columns.labels[open];
        job->columns.totals[open] = job->all;
        if (open + 1 < job->columns.count)
            return 0;
        if (!job->total && write_model_tables(job, err))
            return -1;
        totals =
            (struct score_totals){"model", job->columns.totals, job->columns.count, .texts = count};
        job->place.sentences = 1;
    } else if (count > 1) {
        job->totals[totals.count] = job->all;
        job->totals[totals.count++].label = (struct label){"all", "all", "all"};
    }
    if (job->total || (on_page && job->has_columns)) {
        if (score_totals_report(&report, &job->question.view, &totals, &job->group, err))
            return -1;
        if (job->has_columns)
            report.model = job->columns.title;
        return output_write(&job->output, &report, &job->place, err);
    }
    if (!on_page || count == 1)
        return 0;
    const char *summary = score_summary(&job->question.view, &job->all, &job->group, err);
    if (summary)
        stream_format(&job->output.stream, "\nall %zu texts · %s\n", count, summary);
    return summary ? 0 : -1;
}

static int score(void *context, struct err *err)
{
    struct score_job *job = context;
    size_t open = job->models.open;
    const char *path = job->options->output.path;
    job->place.index = job->has_columns ? 0 : open * job->place.sentences;
    job->place.model = job->models.hashes && !job->has_columns ? job->columns.names[open] : NULL;
    job->all = (struct score_total){.sentence = COLUMN_MISSING};
    if (progress_over_texts(job->session.inputs.count, path, run_group, job, err))
        return -1;
    double perplexity = score_perplexity(&job->all);
    if (perplexity > FABLES_PERPLEXITY && model_is_of_fables(&job->session.viewer.model))
        print_note("'%s' knows only the short fables it was trained on, and these texts are unlike "
                   "them (perplexity %.0f): its scores mean little",
                   bundled_default, perplexity);
    return write_end(job, err);
}

int score_command(const struct options *options, struct err *err)
{
    struct score_job job = {.options = options, .session.options = options};
    const struct model_turn turn = {&job.session, read_texts, score, &job};
    int failed = prepare(&job, err) || model_list_each(&job.models, &turn, err) ||
                 output_commit(&job.output, err);
    if (failed && (err->about == ERR_ABOUT_LENGTH || err->about == ERR_ABOUT_CONTEXT)) {
        err_append(err, ": --stride N reads it in windows");
        err->about = ERR_ABOUT_ANYTHING;
    }
    output_discard(&job.output);
    session_release(&job.session);
    arena_release(&job.group);
    arena_release(&job.kept);
    return failed ? -1 : 0;
}
