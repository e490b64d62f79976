/* attribute.c: `attn-cli attribute`: what every part of a model adds to the logit of an answer. */
#include <math.h>

#include "command.h"
#include "instrument.h"
#include "output.h"
#include "session.h"

/* --- what is asked of any text ---------------------------------------------------------------- */

static int ask(struct question *question, const struct format *format, struct arena *arena,
               struct err *err)
{
    const char *name = question->options->attribute.by;
    size_t index = BY_PART;
    struct answer answer;
    (void)format; /* all have the same numbers */
    if (name && names_choose(&index, NAMES(attribution_ways, ATTRIBUTION_WAYS), "--by", name, err))
        return -1;
    question->attribution.by = (enum attribution_by)index;
    if (answer_read(&answer, question->options, question->viewer, arena, err))
        return -1;
    question->attribution.answer = answer.id;
    question->attribution.against = answer.against;
    return 0;
}

static int check(const struct question *question, struct text_pair *pair, struct arena *arena,
                 struct err *err)
{
    size_t position = 0;
    (void)arena;
    return answer_position(&position, question->options, &pair->sentence, err);
}

/* logit of ␣Mary less ␣John after ␣to: 3.5512 */
static int describe(struct finding *finding, const struct answer *answer, struct arena *arena,
                    struct err *err)
{
    struct report *report = &finding->attribution.report;
    const struct label *after = &report->sentence.labels[finding->position];
    const char *logit = answer_describe(answer, finding->question->viewer, after, arena, err);
    if (logit)
        report->about = arena_format(arena, err, "%s: %.4f", logit, finding->attribution.logit);
    return report->about ? 0 : -1;
}

/* "answer": 12, "against": null, "position": 4, "logit": 3.5, "remainder": 1e-06 */
static int put_members(struct finding *finding, const struct answer *answer, struct arena *arena,
                       struct err *err)
{
    const struct attribution *attribution = &finding->attribution;
    struct buf members = {0};
    struct json_writer json = {.buf = &members};
    answer_put(&json, answer);
    json_put_integer(&json, "position", (long long)finding->position);
    json_put_float(&json, "logit", (float)attribution->logit);
    json_put_float(&json, "remainder", (float)(attribution->logit - attribution->sum));
    finding->members = buf_keep(&members, arena, err);
    return finding->members ? 0 : -1;
}

static int find(struct finding *findings, const struct question *question, const struct look *look,
                struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < look->count; i++) {
        struct finding *finding = &findings[i];
        struct attribution_question own = question->attribution;
        *finding = (struct finding){question, &look->pairs[i], .position = 0};
        if (answer_position(&own.position, question->options, &look->pairs[i].sentence, err) ||
            attribution_make(&finding->attribution, question->viewer, finding->pair, &own, arena,
                             err))
            return -1;
        finding->position = own.position;
        bool capped = question->viewer->model.config.logit_cap > 0;
        const struct answer answer = {finding->attribution.answer, own.against,
                                      capped ? "before" : NULL};
        if (describe(finding, &answer, arena, err) || put_members(finding, &answer, arena, err))
            return -1;
        finding->report = finding->attribution.report;
    }
    return 0;
}

const struct instrument attribute_instrument = {
    FOR_ATTRIBUTE, JSON_FORMAT("attribute"), ask, check, find, NULL, instrument_write_line};

/* --- the command ------------------------------------------------------------------------------ */

struct job {
    const struct options *options;
    struct session session;
    struct style style;
    struct output output;
    struct place place;
    struct question question;
    struct arena text; /* one text's */
};

static int read_text(struct job *job, struct text_pair *pair, size_t index, struct err *err)
{
    arena_clear(&job->text);
    if (session_read(&job->session, pair, index, &job->text, err))
        return -1;
    return check(&job->question, pair, &job->text, err)
               ? inputs_blame(&job->session.inputs, index, err)
               : 0;
}

/* All texts must be sound before the first is looked at: no output stops half-way. */
static int check_texts(struct job *job, struct err *err)
{
    struct session *session = &job->session;
    size_t tokens = 0;
    for (size_t i = 0; i < session->inputs.count; i++) {
        struct text_pair pair;
        size_t position = 0;
        if (read_text(job, &pair, i, err) ||
            answer_position(&position, job->options, &pair.sentence, err))
            return -1;
        session_count_dropped(session, &pair, i);
        tokens += position + 1;
    }
    viewer_expect(&session->viewer, tokens);
    viewer_expect_steps(&session->viewer, session->inputs.count); /* of logits, the last of each */
    session_note_dropped(session);
    return 0;
}

static int write_text(void *context, size_t *done, struct err *err)
{
    struct job *job = context;
    size_t index = (*done)++;
    struct text_pair pair;
    struct finding finding;
    const struct look look = {.pairs = &pair, .count = 1, .first = index};
    const struct attribution *attribution = &finding.attribution;
    if (read_text(job, &pair, index, err))
        return -1;
    if (find(&finding, &job->question, &look, &job->text, err))
        return inputs_blame(&job->session.inputs, index, err);
    job->place.index = index;
    job->place.document = attribute_instrument.document;
    job->place.members = finding.members;
    if (output_open(&job->output, err) ||
        output_write_made(&job->output, &attribution->report, &job->place, err))
        return -1;
    if (format_is(job->output.format, "text") &&
        attribution_bars_write(&job->output.stream, &attribution->report, job->place.columns, err))
        return -1;
    print_note("%s; the parts sum to it but for %.1e", attribution->report.about,
               fabs(attribution->logit - attribution->sum));
    return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    job->question = (struct question){.options = options, .viewer = &session->viewer};
    if (output_choose(&job->output, &options->output, err) ||
        looks_read(&job->style, options, err) ||
        inputs_open(&session->inputs, &options->input, INPUTS_SOME, err) ||
        session_open(session, err) || ask(&job->question, job->output.format, &session->arena, err))
        return -1;
    if (output_check_made(&job->output, err))
        return -1;
    looks_note_pictures(&options->looks, job->output.format);
    job->place = page_place(&options->looks, &job->style);
    job->place.count = session->inputs.count;
    return output_check_count(&job->output, session->inputs.count, err);
}

int attribute_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    int failed = prepare(&job, err) || check_texts(&job, err) ||
                 progress_over_texts(job.session.inputs.count, options->output.path, write_text,
                                     &job, err) ||
                 output_commit(&job.output, err);
    output_discard(&job.output);
    session_release(&job.session);
    arena_release(&job.text);
    return failed ? -1 : 0;
}
