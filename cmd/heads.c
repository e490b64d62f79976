/* heads.c: `attn-cli heads`: what every head of a model does, measured on texts and on repeated
 * random tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/names.h"
#include "base/stream.h"
#include "command.h"
#include "output.h"
#include "measure/head_scores.h"
#include "draw/measured_form.h"
#include "write/text_line.h"
#include "progress.h"
#include "session.h"

enum { ORIGIN_BYTES = 160 };

struct job {
    const struct options *options;
    enum score sort, map;             /* SCORES: none */
    bool table, csv;                  /* a line a head … */
    const struct measured_form *form; /* … else layers by heads, in this form */
    struct style style;
    struct session session;
    struct head_survey survey;
    struct progress progress;
    struct head_line *lines;
    size_t count;
};

/* --- options --------------------------------------------------------------------------------- */

static int find_score(enum score *score, const char *option, const char *name, struct err *err)
{
    size_t index = SCORES;
    if (name && names_choose(&index, NAMES(score_rows, SCORES), option, name, err))
        return -1;
    *score = (enum score)index;
    return 0;
}

/* Of a table, what is read or loaded: text and CSV; of maps every form. */
static int check_options(struct job *job, struct err *err)
{
    const struct options *options = job->options;
    const struct format_table table = FORMAT_TABLE(measured_forms, measured_form_count);
    if (find_score(&job->sort, "--sort", options->heads.sort, err) ||
        find_score(&job->map, "--map", options->heads.map, err))
        return -1;
    job->form = format_choose(&table, &options->output, err);
    if (!job->form)
        return -1;
    job->csv = strcmp(job->form->name, "csv") == 0;
    job->table = job->map == SCORES && (job->csv || strcmp(job->form->name, "text") == 0);
    if (job->sort < SCORES && !job->table)
        return err_usage(err, "--sort: it is for the lines of text and csv, found %s%s",
                         job->map < SCORES ? "--map " : "--format ",
                         job->map < SCORES ? options->heads.map : job->form->name);
    return looks_read(&job->style, options, err);
}

/* --- measuring ------------------------------------------------------------------------------- */

static int add_text(struct job *job, size_t index, struct err *err)
{
    struct arena arena = {0};
    struct text_pair pair = {0};
    int failed = session_read(&job->session, &pair, index, &arena, err);
    if (!failed && head_survey_add_text(&job->survey, &pair.sentence, err))
        failed = inputs_blame(&job->session.inputs, index, err);
    arena_release(&arena);
    return failed;
}

static int measure(struct job *job, struct err *err)
{
    uint64_t seed = (uint64_t)job->options->heads.seed;
    if (head_survey_open(&job->survey, &job->session.viewer, seed, &job->session.arena, err))
        return -1;
    if (inputs_open(&job->session.inputs, &job->options->input, INPUTS_ANY, err))
        return -1;
    if (job->session.inputs.count)
        print_note_of_tokenizer(job->session.viewer.tokenizer);
    progress_begin(&job->progress, "texts");
    size_t count = HEAD_SURVEY_REPEATS + job->session.inputs.count;
    for (size_t i = 0; i < HEAD_SURVEY_REPEATS; i++) {
        if (head_survey_add_repeat(&job->survey, i, err))
            return -1;
        progress_show(&job->progress, i + 1, count, NULL);
    }
    for (size_t i = 0; i < job->session.inputs.count; i++) {
        if (add_text(job, i, err))
            return -1;
        progress_show(&job->progress, HEAD_SURVEY_REPEATS + i + 1, count, NULL);
    }
    progress_end(&job->progress);
    return 0;
}

static bool is_said_below(const struct job *job)
{
    return strcmp(job->form->name, "text") == 0 || strcmp(job->form->name, "json") == 0;
}

/* Say what was measured on what, where the form does not, and that a pipe had no text. */
static void note_material(const struct job *job)
{
    const struct inputs *inputs = &job->session.inputs;
    struct stat status;
    bool is_text = !fstat(STDIN_FILENO, &status) && !S_ISCHR(status.st_mode);
    if (inputs->path && !inputs->count && is_text)
        print_note("standard input is empty: measured on repeated random tokens");
    if (!inputs->count || is_said_below(job))
        return;
    if (job->map == SCORES)
        print_note("duplicate-token, induction: measured on repeated random tokens, "
                   "the others on the texts given");
    else if (score_rows[job->map].of_repeats)
        print_note("%s: measured on repeated random tokens, not on the texts given",
                   score_rows[job->map].name);
}

/* --- a line a head --------------------------------------------------------------------------- */

/* By the score that `context` points to, the highest first; SCORES: by layer and head. */
static int compare(const void *a, const void *b, void *context)
{
    const struct head_line *one = a;
    const struct head_line *other = b;
    enum score sort = *(const enum score *)context;
    if (sort < SCORES && one->scores[sort] != other->scores[sort])
        return one->scores[sort] < other->scores[sort] ? 1 : -1;
    if (one->layer != other->layer)
        return one->layer < other->layer ? -1 : 1;
    return (one->head > other->head) - (one->head < other->head);
}

static int make_lines(struct job *job, struct err *err)
{
    const struct config *c = &job->session.viewer.model.config;
    job->count = c->n_layer * c->n_head;
    job->lines = arena_alloc(&job->session.arena, job->count, sizeof *job->lines, err);
    if (!job->lines)
        return -1;
    for (size_t i = 0; i < job->count; i++) {
        struct head_line *line = &job->lines[i];
        line->layer = i / c->n_head;
        line->head = i % c->n_head;
        for (int score = 0; score < SCORES; score++)
            line->scores[score] =
                head_survey_score(&job->survey, line->layer, line->head, (enum score)score);
    }
    qsort_r(job->lines, job->count, sizeof *job->lines, compare, &job->sort);
    return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_origin(struct stream *out, const struct job *job)
{
    char text[ORIGIN_BYTES];
    size_t texts = job->survey.texts;
    size_t columns = page_columns(&job->options->looks);
    if (texts)
        snprintf(text, sizeof text,
                 "duplicate, induction: %d texts of repeated random tokens; the others: "
                 "%zu text%s given",
                 HEAD_SURVEY_REPEATS, texts, texts == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "measured on %d texts of repeated random tokens",
                 HEAD_SURVEY_REPEATS);
    stream_char(out, '\n');
    text_wrap(out, text, 0, 0, columns ? columns : ORIGIN_BYTES);
}

static int write_table(struct stream *out, struct job *job, const struct place *place,
                       struct err *err)
{
    if (make_lines(job, err))
        return -1;
    if (job->csv) {
        head_table_csv(out, job->lines, job->count);
        return 0;
    }
    if (head_table_write(out, job->lines, job->count, place, err))
        return -1;
    write_origin(out, job);
    return 0;
}

static int write_maps(struct stream *out, struct job *job, const struct place *place,
                      struct err *err)
{
    struct buf title = {0};
    struct measured measured;
    struct measured_list list = {.items = &measured, .count = 1};
    buf_format(&title, "%s · what its heads do", job->session.viewer.model.name);
    int failed = buf_check(&title, err) ||
                 head_survey_measure(&measured, &job->survey, job->map, &job->session.arena, err);
    list.title = measured.title = title.bytes;
    failed = failed || job->form->write(out, &list, place, err);
    buf_release(&title);
    return failed ? -1 : 0;
}

int heads_command(const struct options *options, struct err *err)
{
    struct job job = {.options = options, .session.options = options};
    struct stream out = {0};
    int failed = check_options(&job, err) || session_open_model(&job.session, err) ||
                 session_edit(&job.session, err) || measure(&job, err) ||
                 output_to(&out, options->output.path, err);
    if (!failed)
        note_material(&job);
    struct place place = page_place(&options->looks, &job.style);
    failed = failed || (job.table ? write_table : write_maps)(&out, &job, &place, err) ||
             stream_commit(&out, err);
    stream_discard(&out);
    session_release(&job.session);
    return failed ? -1 : 0;
}
