/* heads.c: `attn-cli heads`: what every head of a model does, measured on texts and on repeated
 * random tokens. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stream.h"
#include "command.h"
#include "heads.h"
#include "write/text_line.h"

/* --- options --------------------------------------------------------------------------------- */

static int choose(struct heads_job *job, size_t *index, const char *option, const char *name,
                  size_t size, struct err *err)
{
    return score_choose(&job->scores, index, option, name, size, &job->session.arena, err);
}

/* All that need no file which is not given; "offset" needs a number. */
static int choose_all(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    for (size_t i = 0; i < score_row_count; i++) {
        const struct score_row *row = &score_rows[i];
        size_t index = 0;
        bool lacks = (row->material == OF_PAIRS && !options->heads.pairs) ||
                     (row->material == OF_NEEDLES && !options->heads.needles) ||
                     row->measure == MEASURE_OFFSET;
        if (!lacks && choose(job, &index, "--score", row->name, strlen(row->name), err))
            return -1;
    }
    return 0;
}

static int choose_listed(struct heads_job *job, const char *list, struct err *err)
{
    size_t index = 0;
    for (;; list++) {
        size_t size = strcspn(list, ",");
        if (choose(job, &index, "--score", list, size, err))
            return -1;
        list += size;
        if (!*list)
            return 0;
    }
}

/* The usual ones, and those that a file was given for. */
static int choose_default(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    size_t index = 0;
    score_choose_usual(&job->scores);
    if (options->heads.pairs && choose(job, &index, "--score", "successor", 9, err))
        return -1;
    return options->heads.needles && (choose(job, &index, "--score", "needle", 6, err) ||
                                      choose(job, &index, "--score", "needle-top", 10, err))
               ? -1
               : 0;
}

/* Files and scores that need them come together. */
static int check_files(const struct heads_job *job, struct err *err)
{
    const struct {
        enum score_material material;
        const char *option, *path, *score;
    } files[] = {{OF_PAIRS, "pairs", job->options->heads.pairs, "successor"},
                 {OF_NEEDLES, "needle", job->options->heads.needles, "needle"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *found = NULL;
        for (size_t k = 0; k < job->scores.count; k++)
            if (job->scores.items[k].row->material == files[i].material)
                found = job->scores.items[k].name;
        if (found && !files[i].path)
            return err_usage(err, "%s: expected --%s FILE beside it, found none", found,
                             files[i].option);
        if (!found && files[i].path)
            return err_usage(err, "--%s: expected the score %s beside it, found others",
                             files[i].option, files[i].score);
    }
    return 0;
}

static int choose_scores(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    const char *list = options->heads.score;
    const char *map = options->heads.map;
    const char *sort = options->heads.sort;
    size_t index = 0;
    if (map && list)
        return err_usage(err, "--map: expected it without --score: it is the one that is shown");
    if (map    ? choose(job, &index, "--map", map, strlen(map), err)
        : list ? strcmp(list, "all") ? choose_listed(job, list, err) : choose_all(job, err)
               : choose_default(job, err))
        return -1;
    job->map = map ? &job->scores.items[index] : NULL;
    if (sort && choose(job, &index, "--sort", sort, strlen(sort), err))
        return -1;
    job->sort = sort ? &job->scores.items[index] : NULL;
    return check_files(job, err);
}

static bool is_form(const struct heads_job *job, const char *name)
{
    return strcmp(job->form->name, name) == 0;
}

/* Of a table, what is read or loaded: text and CSV; of maps every form. */
static int check_options(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    const struct format_table table = FORMAT_TABLE(measured_forms, measured_form_count);
    if (choose_scores(job, err))
        return -1;
    job->form = format_choose(&table, &options->output, err);
    if (!job->form)
        return -1;
    job->csv = is_form(job, "csv");
    job->table = !job->map && (job->csv || is_form(job, "text"));
    if (job->sort && !job->table)
        return err_usage(err, "--sort: it is for the lines of text and csv, found %s%s",
                         job->map ? "--map " : "--format ",
                         job->map ? job->map->name : job->form->name);
    bool is_data = job->csv || is_form(job, "tidy") || is_form(job, "json") ||
                   is_form(job, "jsonl") || is_form(job, "safetensors");
    job->survey.with_random = options->heads.null || (is_data && !job->map);
    return 0;
}

/* --- measuring ------------------------------------------------------------------------------- */

static int add_text(struct heads_job *job, size_t index, struct err *err)
{
    struct arena arena = {0};
    struct text_pair pair = {0};
    int failed = session_read(&job->session, &pair, index, &arena, err);
    if (!failed && head_survey_add_text(&job->survey, &pair.sentence, err))
        failed = inputs_blame(&job->session.inputs, index, err);
    arena_release(&arena);
    return failed;
}

/* What a model lacks is left out, unless it was asked for by name. */
static int leave_out(struct heads_job *job, struct err *err)
{
    const struct model *model = &job->session.viewer.model;
    struct err why = {0};
    size_t kept = 0;
    if (!head_survey_needs(&job->survey, OF_WORDS) && !head_survey_needs(&job->survey, OF_PAIRS))
        return 0;
    if (!circuits_check(model, true, &why))
        return 0;
    if (!job->options->heads.score || strcmp(job->options->heads.score, "all") != 0)
        return err_adopt(err, &why);
    for (size_t i = 0; i < job->scores.count; i++) {
        enum score_material material = job->scores.items[i].row->material;
        if (material != OF_WORDS && material != OF_PAIRS)
            job->scores.items[kept++] = job->scores.items[i];
    }
    job->scores.count = kept;
    print_note("copying and successor are left out: %s", why.text);
    return 0;
}

/* What begins texts: by the tokenizer, else by the config. */
static int find_bos(struct heads_job *job, struct err *err)
{
    const struct viewer *viewer = &job->session.viewer;
    uint32_t bos = 0;
    bool found = false;
    job->survey.bos = viewer->model.config.bos_id;
    if (!viewer->tokenizer)
        return 0;
    if (tokenizer_find_begin(&bos, &found, viewer->tokenizer, &viewer->model.folder, err))
        return -1;
    job->survey.bos = found ? (long long)bos : -1;
    return 0;
}

static int measure(struct heads_job *job, struct err *err)
{
    struct session *session = &job->session;
    struct head_survey *survey = &job->survey;
    survey->viewer = &session->viewer;
    survey->scores = &job->scores;
    survey->seed = (uint64_t)job->options->heads.seed;
    if (inputs_open(&session->inputs, &job->options->input, INPUTS_ANY, err) ||
        head_materials_open(job, err))
        return -1;
    survey->on_texts = session->inputs.count > 0;
    if (leave_out(job, err) || find_bos(job, err) || head_survey_open(survey, &session->arena, err))
        return -1;
    if (session->inputs.count)
        print_note_of_tokenizer(session->viewer.tokenizer);
    size_t repeats = head_survey_needs(survey, OF_REPEATS) ? HEAD_SURVEY_REPEATS : 0;
    size_t texts = head_survey_needs(survey, OF_TEXTS) ? session->inputs.count : 0;
    progress_begin(&job->progress, "texts");
    job->steps = repeats + texts + job->needle_count + (job->options->heads.pairs != NULL) +
                 head_survey_needs(survey, OF_WORDS);
    for (size_t i = 0; i < repeats; i++) {
        if (head_survey_add_repeat(survey, i, err))
            return -1;
        progress_show(&job->progress, ++job->done, job->steps, NULL);
    }
    for (size_t i = 0; i < texts; i++) {
        if (add_text(job, i, err))
            return -1;
        progress_show(&job->progress, ++job->done, job->steps, NULL);
    }
    if (head_materials_measure(job, err))
        return -1;
    progress_end(&job->progress);
    return 0;
}

/* Say what was measured on what, where the form does not, and that a pipe had no text. */
static int note_material(const struct heads_job *job, struct err *err)
{
    const struct inputs *inputs = &job->session.inputs;
    struct stat status;
    struct buf text = {0};
    bool is_text = !fstat(STDIN_FILENO, &status) && !S_ISCHR(status.st_mode);
    bool is_said = is_form(job, "text") || is_form(job, "json") || is_form(job, "jsonl");
    if (inputs->path && !inputs->count && is_text)
        print_note("standard input is empty: measured on repeated random tokens");
    int failed = head_survey_origin(&text, &job->survey, err);
    bool of_texts = true; /* alone: that goes without saying */
    for (int material = 0; material < OF_TEXTS; material++)
        of_texts &= !head_survey_needs(&job->survey, (enum score_material)material);
    if (!failed && inputs->count && !is_said && !of_texts)
        print_note("%s", text.bytes);
    buf_release(&text);
    return failed ? -1 : 0;
}

/* --- a line a head --------------------------------------------------------------------------- */

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

static int fill_lines(struct sorted_line *lines, const struct heads_job *job,
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
    return 0;
}

static int make_table(struct head_table *table, struct heads_job *job, struct err *err)
{
    const struct config *c = &job->session.viewer.model.config;
    struct arena *arena = &job->session.arena;
    size_t count = c->n_layer * c->n_head;
    size_t ways = job->survey.with_random ? 2 : 1;
    size_t across = job->scores.count * ways;
    struct head_column *columns = arena_alloc(arena, across, sizeof *columns, err);
    struct sorted_line *sorted = arena_alloc(arena, count, sizeof *sorted, err);
    struct head_line *lines = arena_alloc(arena, count, sizeof *lines, err);
    double *values = arena_alloc(arena, count * across, sizeof *values, err);
    if (!columns || !sorted || !lines || !values)
        return -1;
    for (size_t k = 0; k < across; k++)
        columns[k] = (struct head_column){&job->scores.items[k / ways], k % ways > 0};
    *table = (struct head_table){columns, across, lines, count};
    fill_lines(sorted, job, table, values);
    for (size_t i = 0; i < count; i++)
        lines[i] = sorted[i].line;
    return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static int write_origin(struct stream *out, const struct heads_job *job, struct err *err)
{
    struct buf text = {0};
    size_t columns = page_columns(&job->options->looks);
    int failed = head_survey_origin(&text, &job->survey, err);
    stream_char(out, '\n');
    if (!failed)
        text_wrap(out, text.bytes, 0, 0, columns ? columns : text.size);
    buf_release(&text);
    return failed;
}

static int write_table(struct stream *out, struct heads_job *job, const struct place *place,
                       struct err *err)
{
    struct head_table table;
    if (make_table(&table, job, err))
        return -1;
    if (job->csv) {
        head_table_csv(out, &table);
        return 0;
    }
    return head_table_write(out, &table, place, err) || write_origin(out, job, err) ? -1 : 0;
}

static int write_maps(struct stream *out, struct heads_job *job, const struct place *place,
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

static int write_scores(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct stream out = {0};
    int failed =
        measure(job, err) || output_to(&out, options->output.path, err) || note_material(job, err);
    struct place place = page_place(&options->looks, &job->style);
    failed = failed || (job->table ? write_table : write_maps)(&out, job, &place, err) ||
             stream_commit(&out, err);
    stream_discard(&out);
    return failed ? -1 : 0;
}

static int open_model(struct heads_job *job, struct err *err)
{
    struct viewer *viewer = &job->session.viewer;
    const struct options *options = job->options;
    return session_open_model(&job->session, err) ||
                   inputs_set_tokenizer(viewer->tokenizer, &viewer->model.folder, &options->input,
                                        err) ||
                   session_edit(&job->session, err)
               ? -1
               : 0;
}

int heads_command(const struct options *options, struct err *err)
{
    struct heads_job job = {.options = options, .session.options = options};
    struct output output = {0};
    bool of_reports = head_reports_asked(options);
    int failed =
        looks_read(&job.style, options, err) ||
        (of_reports ? head_reports_check(&output, options, err) : check_options(&job, err)) ||
        open_model(&job, err) ||
        (of_reports ? head_reports_write(&job, &output, err) : write_scores(&job, err));
    output_discard(&output);
    head_materials_release(&job);
    session_release(&job.session);
    return failed ? -1 : 0;
}
