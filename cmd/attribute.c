/* attribute.c: `attn-cli attribute`: what every part of a model adds to the logit of an answer. */
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "format/json_writer.h"
#include "measure/attribution.h"
#include "output.h"
#include "progress.h"
#include "session.h"

struct job {
    const struct options *options;
    struct session session;
    struct style style;
    struct output output;
    struct place place;
    struct attribution_question question;
    struct arena text; /* one text's */
};

/* --- what is asked ---------------------------------------------------------------------------- */

static int read_by(struct job *job, struct err *err)
{
    const char *name = job->options->attribute.by;
    size_t index = BY_PART;
    if (name && names_choose(&index, NAMES(attribution_ways, ATTRIBUTION_WAYS), "--by", name, err))
        return -1;
    job->question.by = (enum attribution_by)index;
    return 0;
}

static int read_text(struct job *job, struct text_pair *pair, size_t index, struct err *err)
{
    arena_clear(&job->text);
    if (session_read(&job->session, pair, index, &job->text, err))
        return -1;
    return answer_position(&job->question.position, job->options, &pair->sentence, err)
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
        if (read_text(job, &pair, i, err))
            return -1;
        session_count_dropped(session, &pair, i);
        tokens += job->question.position + 1;
    }
    viewer_expect(&session->viewer, tokens);
    viewer_expect_steps(&session->viewer, session->inputs.count); /* of logits, the last of each */
    session_note_dropped(session);
    return 0;
}

/* --- one text --------------------------------------------------------------------------------- */

/* logit of ␣Mary less ␣John after ␣to: 3.5512 */
static int describe(struct job *job, struct attribution *attribution, struct err *err)
{
    struct report *report = &attribution->report;
    struct answer answer = {attribution->answer, job->question.against};
    const char *logit =
        answer_describe(&answer, &job->session.viewer,
                        &report->sentence.labels[job->question.position], &job->text, err);
    if (logit)
        report->about = arena_format(&job->text, err, "%s: %.4f", logit, attribution->logit);
    return report->about ? 0 : -1;
}

/* "answer": 12, "against": null, "position": 4, "logit": 3.5, "remainder": 1e-06 */
static int put_members(struct buf *members, const struct job *job,
                       const struct attribution *attribution, struct err *err)
{
    struct json_writer json = {.buf = members};
    answer_put(&json, &(struct answer){attribution->answer, job->question.against});
    json_put_integer(&json, "position", (long long)job->question.position);
    json_put_float(&json, "logit", (float)attribution->logit);
    json_put_float(&json, "remainder", (float)(attribution->logit - attribution->sum));
    buf_text(members, ", ");
    return buf_check(members, err);
}

/* Below a page. */
static int write_bars(struct job *job, const struct report *report, struct err *err)
{
    if (strcmp(job->output.format->name, "text") != 0)
        return 0;
    return attribution_bars_write(&job->output.stream, report, job->question.by, job->place.columns,
                                  err);
}

static int write_text(void *context, size_t *done, struct err *err)
{
    struct job *job = context;
    size_t index = (*done)++;
    struct session *session = &job->session;
    struct text_pair pair;
    struct attribution attribution;
    struct buf members = {0};
    if (read_text(job, &pair, index, err))
        return -1;
    if (attribution_make(&attribution, &session->viewer, &pair, &job->question, &job->text, err))
        return inputs_blame(&session->inputs, index, err);
    int failed = describe(job, &attribution, err) ||
                 put_members(&members, job, &attribution, err) || output_open(&job->output, err);
    job->place.index = index;
    job->place.first_members = members.bytes;
    failed = failed || output_write_made(&job->output, &attribution.report, &job->place, err) ||
             write_bars(job, &attribution.report, err);
    if (!failed)
        print_note("%s; the parts sum to it but for %.1e", attribution.report.about,
                   fabs(attribution.logit - attribution.sum));
    buf_release(&members);
    return failed ? -1 : 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static int prepare(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    struct session *session = &job->session;
    struct answer answer;
    if (read_by(job, err) || output_choose(&job->output, &options->output, err) ||
        looks_read(&job->style, options, err) ||
        inputs_open(&session->inputs, &options->input, INPUTS_SOME, err) ||
        session_open(session, err) || answer_read(&answer, session, err))
        return -1;
    job->question.answer = answer.id;
    job->question.against = answer.against;
    if (output_check_made(&job->output, err))
        return -1;
    looks_note(&options->looks, job->output.format);
    job->place = page_place(&options->looks, &job->style);
    job->place.count = session->inputs.count;
    return output_check_count(&job->output, session->inputs.count, err);
}

static int write_all(struct job *job, struct err *err)
{
    return progress_over_texts(job->session.inputs.count, job->options->output.path, write_text,
                               job, err) ||
                   output_commit(&job->output, err)
               ? -1
               : 0;
}

int attribute_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    int failed = prepare(&job, err) || check_texts(&job, err) || write_all(&job, err);
    output_discard(&job.output);
    session_release(&job.session);
    arena_release(&job.text);
    return failed ? -1 : 0;
}
