/* score_write.c: what `attn-cli score` found, in every format. */
#include <stdio.h>

#include "instrument.h"
#include "score_job.h"

enum { TITLE_BYTES = 40 };

bool score_continues(const struct score_job *job)
{
    return job->options->score.continuations.count > 0;
}

static bool is_json(const struct score_job *job)
{
    return format_is(job->output.format, "json") || format_is(job->output.format, "jsonl");
}

bool score_is_beside(const struct score_job *job)
{
    return job->models.hashes && !is_json(job);
}

/* A text, or sums in its place; `beside`: of several models, as a column of their table. */
static int write_found(struct score_job *job, const struct scored_text *text,
                       const struct score_sums *sums, bool beside, struct err *err)
{
    const struct score_view *view = job->view;
    const struct format *format = job->output.format;
    struct stream *out = &job->output.stream;
    bool looked_at = beside || format_is_looked_at(format);
    struct report report;
    if (format_is(format, "text") && !beside)
        return sums ? score_sums_page_write(out, view, sums, &job->place, &job->group, err)
                    : score_page_write(out, view, text, &job->place, err);
    if (is_json(job) && sums)
        score_sums_json_write(out, view, sums, &job->place, format_is(format, "jsonl"));
    else if (is_json(job))
        score_json_write(out, view, text, &job->place, format_is(format, "jsonl"));
    if (is_json(job))
        return 0;
    if (sums ? score_sums_report(&report, view, sums, looked_at, &job->group, err)
             : score_report(&report, view, text, looked_at, &job->group, err))
        return -1;
    return beside ? side_by_side_add(&job->beside, job->models.open, job->place.index,
                                     report.tensors[0].made, err)
                  : output_write_made(&job->output, &report, &job->place, err);
}

static int write_continued(struct score_job *job, const struct score_group *group, size_t index,
                           struct err *err)
{
    size_t first = index * group->each;
    struct tokenized sentence = {.tokens = group->pairs[first].sentence.tokens,
                                 .labels = group->pairs[first].sentence.labels,
                                 .bytes = group->pairs[first].sentence.bytes,
                                 .count = group->pairs[first].prompt_count};
    const struct input *input = &job->session.inputs.items[group->first + index];
    struct score_sums sums;
    sentence.text = input->text;
    sentence.size = input->size;
    if (score_sum_continued(&sums, job->question, &group->scored[first], sentence.count,
                            &job->group, err))
        return -1;
    sums.sentence = &sentence;
    return write_found(job, NULL, &sums, score_is_beside(job), err);
}

static int write_one(struct score_job *job, const struct score_group *group, size_t index,
                     struct err *err)
{
    struct scored_text text = {&group->pairs[index].sentence, &group->scored[index]};
    if (score_continues(job))
        return write_continued(job, group, index, err);
    struct score_sum sum = score_sum_of(text.scored, 0, text.scored->count);
    job->all.tokens += sum.tokens;
    job->all.logprob += sum.logprob;
    if (!job->view->whole)
        return write_found(job, &text, NULL, score_is_beside(job), err);
    size_t number = group->first + index;
    return score_sum_text(&job->sums[number], number + job->place.blank, text.sentence, text.scored,
                          &job->session.arena, err);
}

int score_write_group(struct score_job *job, const struct score_group *group, struct err *err)
{
    for (size_t i = 0; i < group->count; i++, job->place.index++) {
        job->place.blank = inputs_blank_before(&job->session.inputs, group->first + i);
        if (write_one(job, group, i, err))
            return -1;
    }
    return 0;
}

/* "3 texts", in place of a text for headings; for programs there is none. */
static struct tokenized no_text(const struct score_job *job, char title[TITLE_BYTES])
{
    size_t count = job->session.inputs.count;
    int size = snprintf(title, TITLE_BYTES, "%zu text%s", count, count == 1 ? "" : "s");
    return (struct tokenized){.text = is_json(job) ? NULL : title, .size = (size_t)size};
}

/* --- several models --------------------------------------------------------------------------- */

/* A text's table, a column a model. */
static int write_beside(struct score_job *job, size_t text, struct err *err)
{
    struct text_pair pair;
    struct kept kept = kept_made(&job->beside.sheets[text]);
    arena_clear(&job->group);
    if (session_read(&job->session, &pair, text, &job->group, err))
        return -1;
    job->view->origin.source = &pair.source;
    struct report report = text_origin_report(&job->view->origin, &pair.sentence);
    report.tensors = &kept;
    report.tensor_count = 1;
    job->place.index = text;
    job->place.blank = inputs_blank_before(&job->session.inputs, text);
    return output_write_made(&job->output, &report, &job->place, err);
}

/* A row a model, with --total and on pages. */
static int write_models(struct score_job *job, struct err *err)
{
    char title[TITLE_BYTES];
    char models[TITLE_BYTES];
    struct tokenized heading = no_text(job, title);
    size_t count = job->models.names.count;
    struct score_sums sums = {&heading, job->of_models, count, "model", false};
    snprintf(models, sizeof models, "%zu models", count);
    job->view->origin.models = models;
    for (size_t text = 0; !job->view->whole && text < job->session.inputs.count; text++)
        if (write_beside(job, text, err))
            return -1;
    job->view->origin.source = NULL; /* that was a text's */
    bool sums_follow = format_is(job->output.format, "text") && !score_continues(job);
    job->place.index = job->view->whole ? 0 : job->place.index + 1;
    job->place.count = 1;
    return job->view->whole || sums_follow ? write_found(job, NULL, &sums, false, err) : 0;
}

int score_write_end(struct score_job *job, struct err *err)
{
    size_t count = job->session.inputs.count;
    size_t model = job->models.open;
    char title[TITLE_BYTES];
    struct tokenized heading = no_text(job, title);
    struct score_sums sums = {&heading, job->sums, count, "text", false};
    if (score_is_beside(job)) { /* which are shown when all models have theirs */
        job->all.label = job->beside.columns[model];
        job->of_models[model] = job->all;
        return model + 1 == job->models.names.count ? write_models(job, err) : 0;
    }
    if (job->view->whole && count > 1) {
        job->all.label = (struct label){"all", "all", "all"};
        job->sums[sums.count++] = job->all;
    }
    job->place.index = model;
    if (job->view->whole)
        return write_found(job, NULL, &sums, false, err);
    if (format_is(job->output.format, "text") && count > 1 && !score_continues(job))
        score_all_write(&job->output.stream, job->view, &job->all, count);
    return 0;
}
