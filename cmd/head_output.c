/* head_output.c: what `attn-cli heads` measured, in every form: of one model a line a head, of
 * several a column a model, or a line a head of each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "heads.h"
#include "write/text_line.h"

bool heads_is_form(const struct heads_job *job, const char *name)
{
    return strcmp(job->form->name, name) == 0;
}

/* --- what is kept of a model ------------------------------------------------------------------ */

/* A line, and what it is sorted by: NaN comes last. */
struct sorted_line {
    struct head_line line;
    double key;
};

/* The highest first; then by layer and head. */
static int compare(const void *a, const void *b)
{
    const struct sorted_line *one = a;
    const struct sorted_line *other = b;
    if (one->key != other->key)
        return one->key < other->key ? 1 : -1;
    if (one->line.layer != other->line.layer)
        return one->line.layer < other->line.layer ? -1 : 1;
    return (one->line.head > other->line.head) - (one->line.head < other->line.head);
}

static void fill_lines(struct sorted_line *lines, const struct heads_job *job,
                       const struct head_table *table, double *values)
{
    size_t heads = job->session.viewer.model.config.n_head;
    for (size_t i = 0; i < table->count; i++) {
        struct head_line line = {i / heads, i % heads, values + i * table->column_count};
        for (size_t k = 0; k < table->column_count; k++)
            values[i * table->column_count + k] = head_survey_score(
                table->columns[k].score, line.layer, line.head, table->columns[k].random);
        double key = job->sort ? head_survey_score(job->sort, line.layer, line.head, false) : 0;
        lines[i] = (struct sorted_line){line, isnan(key) ? -INFINITY : key};
    }
    qsort(lines, table->count, sizeof *lines, compare);
}

static int make_table(struct head_table *table, struct heads_job *job, struct err *err)
{
    const struct config *c = &job->session.viewer.model.config;
    struct arena *arena = &job->kept;
    size_t count = c->n_layer * c->n_head;
    size_t ways = job->with_random ? 2 : 1;
    size_t across = job->scores.count * ways;
    struct head_column *columns = arena_alloc(arena, across, sizeof *columns, err);
    struct sorted_line *sorted = arena_alloc(arena, count, sizeof *sorted, err);
    struct head_line *lines = arena_alloc(arena, count, sizeof *lines, err);
    double *values = arena_alloc(arena, count * across, sizeof *values, err);
    if (!columns || !sorted || !lines || !values)
        return -1;
    for (size_t k = 0; k < across; k++)
        columns[k] = (struct head_column){&job->scores.items[k / ways], k % ways > 0};
    *table =
        (struct head_table){job->models.hashes ? job->models.names.names[job->models.open] : NULL,
                            columns, across, lines, count};
    fill_lines(sorted, job, table, values);
    for (size_t i = 0; i < count; i++)
        lines[i] = sorted[i].line;
    return 0;
}

static int make_maps(struct measured *measured, struct heads_job *job, struct err *err)
{
    struct arena *arena = &job->kept;
    if (head_survey_measure(measured, &job->survey, job->map, arena, err))
        return -1;
    if (job->models.hashes) {
        size_t open = job->models.open;
        struct measured_column *column = arena_alloc(arena, 1, sizeof *column, err);
        if (!column)
            return -1;
        measured->model = job->models.names.names[open];
        measured->name = job->beside.columns[open].exact;
        measured->hash = job->models.hashes[open];
        *column = (struct measured_column){"model", measured->name};
        measured->columns = column;
        measured->column_count = 1;
    }
    measured->title = arena_format(arena, err, "%s · what its heads do", measured->model);
    return measured->title ? 0 : -1;
}

int head_output_keep(struct heads_job *job, struct err *err)
{
    struct heads_found *found = &job->found[job->models.open];
    struct buf origin = {0};
    if (head_survey_origin(&origin, &job->survey, err)) {
        buf_release(&origin);
        return -1;
    }
    found->origin = buf_keep(&origin, &job->kept, err);
    return !found->origin || (job->table ? make_table(&found->table, job, err)
                                         : make_maps(&found->measured, job, err))
               ? -1
               : 0;
}

/* --- a page of several models ----------------------------------------------------------------- */

/* Heads of the model in the order of the last one's lines, a column a model. */
static int make_sheet(struct sheet *sheet, const struct heads_job *job, size_t column,
                      const struct axis *models, struct arena *arena, struct err *err)
{
    const struct head_table *last = &job->found[models->size - 1].table;
    const struct head_column *what = &last->columns[column];
    size_t count = last->count;
    size_t *rows = arena_alloc(arena, count, sizeof *rows, err);
    float *values = arena_alloc(arena, count, models->size * sizeof *values, err);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    if (!rows || !values || !labels)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct head_line *line = &last->lines[i];
        if (label_of_head(&labels[i], line->layer, line->head, arena, err))
            return -1;
        rows[line->layer * job->heads + line->head] = i;
    }
    for (size_t model = 0; model < models->size; model++)
        for (size_t i = 0; i < count; i++) {
            const struct head_line *line = &job->found[model].table.lines[i];
            size_t row = rows[line->layer * job->heads + line->head];
            values[row * models->size + model] = (float)line->values[column];
        }
    *sheet = (struct sheet){
        .tensor = arena_format(arena, err, "%s%s", what->score->name, what->random ? ".null" : ""),
        .layer = -1,
        .head = -1,
        .rows = {"head", count, labels, 0},
        .columns = *models,
        .values = values,
    };
    return sheet->tensor ? 0 : -1;
}

static int write_models(struct stream *out, struct heads_job *job, const struct place *place,
                        struct err *err)
{
    struct arena *arena = &job->kept;
    size_t count = job->found->table.column_count;
    struct sheet *sheets = arena_alloc(arena, count, sizeof *sheets, err);
    struct kept *kept = arena_alloc(arena, count, sizeof *kept, err);
    struct report report = {.tensors = kept, .tensor_count = count, .has_encoder = true};
    report.about = "what their heads do";
    report.model = arena_format(arena, err, "%zu models", model_list_count(&job->models));
    if (!sheets || !kept || !report.model)
        return -1;
    const struct axis models = {"model", model_list_count(&job->models), job->beside.columns, 0};
    for (size_t i = 0; i < count; i++) {
        if (make_sheet(&sheets[i], job, i, &models, arena, err))
            return -1;
        kept[i] = kept_made(&sheets[i]);
    }
    return text_page_write(out, &report, place, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Say what was measured on what, where the form does not, and that a pipe had no text. */
static void note_material(const struct heads_job *job)
{
    const struct inputs *inputs = &job->session.inputs;
    struct stat status;
    bool is_text = !fstat(STDIN_FILENO, &status) && !S_ISCHR(status.st_mode);
    bool is_said =
        heads_is_form(job, "text") || heads_is_form(job, "json") || heads_is_form(job, "jsonl");
    if (inputs->path && !inputs->count && is_text)
        print_note("standard input is empty: measured on repeated random tokens");
    bool of_texts = true; /* alone: that goes without saying */
    for (int material = 0; material < OF_TEXTS; material++)
        of_texts &= !head_survey_needs(&job->survey, (enum score_material)material);
    if (inputs->count && !is_said && !of_texts)
        print_note("%s", job->found[model_list_count(&job->models) - 1].origin);
}

/* Of each model where they differ. */
static void write_origin(struct stream *out, const struct heads_job *job)
{
    size_t columns = page_columns(&job->options->looks);
    const struct heads_found *found = job->found;
    bool differ = false;
    for (size_t i = 1; i < model_list_count(&job->models); i++)
        differ |= strcmp(found[i].origin, found->origin) != 0;
    stream_char(out, '\n');
    for (size_t i = 0; i < (differ ? model_list_count(&job->models) : 1); i++) {
        if (differ)
            stream_format(out, "%s: ", found[i].table.model);
        text_wrap(out, found[i].origin, 0, 0, columns ? columns : strlen(found[i].origin));
    }
}

static int write_table(struct stream *out, struct heads_job *job, const struct place *place,
                       struct err *err)
{
    for (size_t i = 0; job->csv && i < model_list_count(&job->models); i++)
        if (head_table_csv(out, &job->found[i].table, i == 0, err))
            return -1;
    if (job->csv)
        return 0;
    if (job->models.hashes ? write_models(out, job, place, err)
                           : head_table_write(out, &job->found->table, place, err))
        return -1;
    write_origin(out, job);
    return 0;
}

static int write_maps(struct stream *out, struct heads_job *job, const struct place *place,
                      struct err *err)
{
    size_t count = model_list_count(&job->models);
    struct measured *items = arena_alloc(&job->kept, count, sizeof *items, err);
    struct measured_list list = {job->found->measured.title, items, count};
    if (count > 1)
        list.title = arena_format(&job->kept, err, "%zu models · what their heads do", count);
    if (!items || !list.title)
        return -1;
    for (size_t i = 0; i < count; i++)
        items[i] = job->found[i].measured;
    return job->form->write(out, &list, place, err);
}

int head_output_write(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct stream out = {0};
    struct place place = page_place(&options->looks, &job->style);
    place.count = 1;
    int failed = output_to(&out, options->output.path, err);
    if (!failed)
        note_material(job);
    failed = failed || (job->table ? write_table : write_maps)(&out, job, &place, err);
    return stream_end(&out, failed, err);
}
