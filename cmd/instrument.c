/* instrument.c: the command lines of lens, attribute and patch; the token that the last two ask
 * about. */
#include "instrument.h"

#include <string.h>

#include "command.h"
#include "output.h"
#include "session.h"

const struct instrument *instrument_find(int command)
{
    static const struct instrument *const rows[] = {&score_instrument, &lens_instrument,
                                                    &attribute_instrument, &patch_instrument};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->command == command)
            return rows[i];
    return NULL;
}

bool instrument_is_of_data(const struct format *format)
{
    return !format_is(format, "text") && !format_is_looked_at(format);
}

/* --- the answer ------------------------------------------------------------------------------- */

int answer_read(struct answer *answer, const struct options *options, const struct viewer *viewer,
                struct arena *arena, struct err *err)
{
    const char *text = options->attribute.answer;
    *answer = (struct answer){-1, -1, NULL};
    if (!text)
        return 0;
    const char *colon = *text ? strchr(text + 1, ':') : NULL;
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    const char *first = arena_text(arena, text, size, err);
    if (!first || inputs_read_token(&answer->id, viewer, "--answer", first, arena, err))
        return -1;
    return colon ? inputs_read_token(&answer->against, viewer, "--answer", colon + 1, arena, err)
                 : 0;
}

int answer_position(size_t *index, const struct options *options, const struct tokenized *sentence,
                    struct err *err)
{
    const char *position = options->attribute.position;
    *index = sentence->count - 1;
    if (!position || selection_index(index, position, strlen(position), sentence->count))
        return 0;
    return err_usage(
        err, "--position: expected a place from 0 to %zu (or -%zu to -1 from the end), found '%s'",
        sentence->count - 1, sentence->count, position);
}

const char *answer_describe(const struct answer *answer, const struct viewer *viewer,
                            const struct label *after, struct arena *arena, struct err *err)
{
    struct label name;
    struct label other = {.text = ""};
    bool differs = answer->against >= 0;
    if (label_of_word(&name, viewer->tokenizer, (uint32_t)answer->id, arena, err) ||
        (differs &&
         label_of_word(&other, viewer->tokenizer, (uint32_t)answer->against, arena, err)))
        return NULL;
    return arena_format(arena, err, "logit of %s%s%s after %s%s%s%s", name.text,
                        differs ? " less " : "", other.text, after->text, answer->cap ? " (" : "",
                        answer->cap ? answer->cap : "", answer->cap ? " final soft cap)" : "");
}

void answer_facts(struct facts *facts, const struct answer *answer, size_t position)
{
    facts_integer(facts, "answer", answer->id);
    facts_integer(facts, "against", answer->against < 0 ? COLUMN_MISSING : answer->against);
    if (answer->cap)
        facts_text(facts, "final_soft_cap", answer->cap);
    facts_integer(facts, "position", (long long)position);
}

/* --- the command ------------------------------------------------------------------------------ */

struct job {
    const struct options *options;
    const struct instrument *instrument;
    struct session session;
    struct model_list models;
    struct question question; /* of the open model */
    struct style style;
    struct output output;
    struct place place;
    struct arena kept; /* for all models */
    struct arena one;  /* for one text: memory does not grow with their number */
};

/* What is asked for, before there is a model. */
static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const char *pages = job->instrument->pages;
    if (session_read_options(&job->session, err) ||
        output_choose(&job->output, &options->output, err))
        return -1;
    if (pages && format_is(job->output.format, "html"))
        return err_usage(err, "--format html: expected text, data or a picture: '%s' writes pages",
                         pages);
    if (job->output.to_folder && format_is(job->output.format, "html"))
        return err_usage(err, "--format html: expected a file, found the folder '%s'",
                         options->output.path);
    if (looks_read(&job->style, options, err) ||
        model_list_read(&job->models, options, &job->kept, err) ||
        inputs_open(&job->session.inputs, &options->input, INPUTS_SOME, err))
        return -1;
    size_t count = job->session.inputs.count;
    looks_note_pictures(&options->looks, job->output.format);
    if (output_check_count(&job->output, count, err) ||
        model_list_check(&job->models, &job->output, err))
        return -1;
    job->style.two_sided = job->instrument == &patch_instrument;
    job->place = page_place(&options->looks, &job->style);
    job->place.count = count * model_list_count(&job->models);
    job->place.sentences = count;
    return 0;
}

static int open_model(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct viewer *viewer = &session->viewer;
    job->question = (struct question){.options = options, .viewer = viewer};
    if (session_open(session, err) || viewer_set_mechanism(viewer, &session->mechanism, err) ||
        session_edit(session, err) ||
        (job->instrument->takes_source &&
         inputs_check_source(&options->input, &viewer->model, err)) ||
        job->instrument->ask(&job->question, job->output.format, &session->arena, err))
        return -1;
    job->place.model = job->models.hashes ? viewer->model.name : NULL;
    job->question.origin.hash = job->models.hashes ? job->models.hashes[job->models.open] : NULL;
    return 0;
}

static int read_text(struct job *job, struct text_pair *pair, size_t index, struct err *err)
{
    const struct instrument *instrument = job->instrument;
    arena_clear(&job->one);
    if (session_read(&job->session, pair, index, &job->one, err))
        return -1;
    if (!instrument->check || !instrument->check(&job->question, pair, &job->one, err))
        return 0;
    return job->session.inputs.count > 1 ? inputs_blame(&job->session.inputs, index, err) : -1;
}

/* All texts are checked before the first is run, so that no output stops half-way. */
static int read_texts(void *context, struct err *err)
{
    struct job *job = context;
    struct session *session = &job->session;
    size_t tokens = 0;
    if (open_model(job, err))
        return -1;
    for (size_t i = 0; i < session->inputs.count; i++) {
        struct text_pair pair;
        if (read_text(job, &pair, i, err))
            return -1;
        session_count_dropped(session, &pair, i);
        tokens += pair.sentence.count;
    }
    job->instrument->expect(&session->viewer, &job->question, tokens);
    session_note_dropped(session);
    return 0;
}

static int find(struct job *job, struct finding *finding, const struct look *look, struct err *err)
{
    struct progress progress;
    const char *parts = job->instrument->parts;
    if (parts) {
        progress_begin_beside(&progress, job->options->output.path, parts);
        job->question.patching.progress = &progress.sink;
    }
    int failed = job->instrument->find(finding, &job->question, look, &job->one, err);
    if (parts)
        progress_end(&progress);
    return failed;
}

static int run_text(void *context, size_t *done, struct err *err)
{
    struct job *job = context;
    size_t index = (*done)++;
    struct text_pair pair;
    struct finding finding;
    const struct look look = {.pairs = &pair, .count = 1, .first = index};
    if (read_text(job, &pair, index, err) || find(job, &finding, &look, err))
        return -1;
    job->place.index = job->models.open * job->session.inputs.count + index;
    if (output_open(&job->output, err))
        return -1;
    int failed = format_is(job->output.format, "html")
                     ? figure_write_page(&job->output.stream, &finding.report, &job->place, err)
                     : output_write(&job->output, &finding.report, &job->place, err);
    if (failed)
        return -1;
    if (job->instrument->note)
        job->instrument->note(&finding);
    return 0;
}

int instrument_command(const struct instrument *instrument, const struct options *options,
                       struct err *err)
{
    struct job job = {.options = options, .instrument = instrument, .session.options = options};
    const struct model_turn turn = {&job.session, read_texts, NULL, &job, run_text};
    int failed = prepare(&job, err) || model_list_each(&job.models, &turn, err) ||
                 output_commit(&job.output, err);
    output_discard(&job.output);
    session_release(&job.session);
    arena_release(&job.kept);
    arena_release(&job.one);
    return failed ? -1 : 0;
}
