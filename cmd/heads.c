/* heads.c: `attn-cli heads`: what every head of a model does, measured on texts and on repeated
 * random tokens; or, with --composition, how heads compose. */
#include "heads.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

/* --- options --------------------------------------------------------------------------------- */

static int choose(struct heads_job *job, size_t *index, const char *option, const char *name,
                  size_t size, struct err *err)
{
    return score_choose(&job->scores, index, option, name, size, &job->kept, err);
}

/* All that need no file which is not given; "offset" needs a number. */
static int choose_all(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    for (size_t i = 0; i < score_row_count; i++) {
        const struct score_row *row = &score_rows[i];
        size_t index = 0;
        bool lacks = (row->material == OF_PAIRS && !options->heads.pairs) ||
                     (row->material == OF_NEEDLES && !options->heads.needles) || row->takes_offset;
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
            return err_usage(err, "score %s: expected --%s FILE, found none", found,
                             files[i].option);
        if (!found && files[i].path)
            return err_usage(err, "--%s: expected the score %s, found others", files[i].option,
                             files[i].score);
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
        return err_usage(err, "--map and --score cannot be combined");
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

/* One report of tables holds all models; of matrices there is a report for each. */
static int check_options(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    if (choose_scores(job, err) || output_choose_table(&job->output, &options->output, err))
        return -1;
    const struct format *format = job->output.format;
    job->in_maps = job->map || format->is_picture || format_is(format, "safetensors");
    if (job->sort && job->in_maps)
        return err_usage(err, "--sort: sorts the rows of tables, found %s%s",
                         job->map ? "--map " : "--format ",
                         job->map ? job->map->name : format->name);
    bool is_read = format_is(format, "text") || format->is_picture || format_is(format, "npy");
    job->with_baseline = options->heads.baseline || (!is_read && !job->map);
    looks_note_pictures(&options->looks, format);
    return job->in_maps ? model_list_check(&job->models, &job->output, err) : 0;
}

/* --- composition ------------------------------------------------------------------------------ */

static int check_composition(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    static const char *const others[] = {"score",  "map",      "sort", "baseline", "pairs",
                                         "needle", "sentence", "file", "data"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (options_are_given(options, others[i]))
            return err_usage(err, "--composition and --%s cannot be combined", others[i]);
    if (options->input.operands.count)
        return err_usage(err, "--composition: expected no text, found '%s'",
                         options->input.operands.items[0]);
    if (names_choose(&job->way, NAMES_LIST(composition_names), "--composition",
                     options->heads.composition, err) ||
        output_choose_table(&job->output, &options->output, err))
        return -1;
    job->in_maps = true;
    looks_note_pictures(&options->looks, job->output.format);
    return model_list_check(&job->models, &job->output, err);
}

/* --- measuring -------------------------------------------------------------------------------- */

static bool of_weights(const struct score *score)
{
    return score->row->material == OF_WORDS || score->row->material == OF_PAIRS;
}

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

/* What a model lacks is left out, of all models, unless it was asked for by name. */
static int leave_out(struct heads_job *job, struct err *err)
{
    const struct model *model = &job->session.viewer.model;
    struct err why = {0};
    size_t kept = 0;
    if (!head_survey_needs(&job->survey, OF_WORDS) && !head_survey_needs(&job->survey, OF_PAIRS))
        return 0;
    if (!circuits_check(model, true, &why))
        return 0;
    if (!job->options->heads.score || strcmp(job->options->heads.score, "all") != 0 ||
        (job->sort && of_weights(job->sort)))
        return err_adopt(err, &why);
    for (size_t i = 0; i < job->scores.count; i++) {
        const struct score *score = &job->scores.items[i];
        if (of_weights(score))
            continue;
        if (job->sort == score)
            job->sort = &job->scores.items[kept];
        job->scores.items[kept++] = *score;
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

/* Rows of one CSV table have the same columns, which are heads. */
static int check_shape(struct heads_job *job, struct err *err)
{
    const struct config *c = &job->session.viewer.model.config;
    if (job->models.open == 0) {
        job->layers = c->n_layer;
        job->heads = c->n_head;
    }
    bool shares = job->in_maps && !job->output.to_folder && format_is(job->output.format, "csv");
    if (!shares || (c->n_layer == job->layers && c->n_head == job->heads))
        return 0;
    return err_usage(err,
                     "expected the %zu layers of %zu heads of '%s', found %zu of %zu: --format "
                     "tidy takes models of any shape",
                     job->layers, job->heads, job->models.names.names[0], c->n_layer, c->n_head);
}

static int read_model(void *context, struct err *err)
{
    struct heads_job *job = context;
    struct session *session = &job->session;
    struct viewer *viewer = &session->viewer;
    struct head_survey *survey = &job->survey;
    bool composes = job->options->heads.composition;
    bool reads = !job->has_texts && !composes;
    if (session_open_model(session, err))
        return -1;
    job->has_texts = true; /* after the model: one that cannot be read needs no texts */
    if (reads && (inputs_open(&session->inputs, &job->options->input, INPUTS_ANY, err) ||
                  head_materials_open(job, err)))
        return -1;
    if (inputs_set_tokenizer(viewer->tokenizer, &viewer->model.folder, &job->options->input, err) ||
        session_edit(session, err) || check_shape(job, err))
        return -1;
    if (composes)
        return 0;
    *survey = (struct head_survey){.viewer = viewer,
                                   .scores = &job->scores,
                                   .seed = (uint64_t)job->options->heads.seed,
                                   .on_texts = session->inputs.count > 0,
                                   .with_baseline = job->with_baseline};
    if (leave_out(job, err) || find_bos(job, err) || head_survey_open(survey, &session->arena, err))
        return -1;
    if (session->inputs.count)
        print_note_of_tokenizer(viewer->tokenizer);
    return 0;
}

static int measure(struct heads_job *job, struct err *err)
{
    struct head_survey *survey = &job->survey;
    size_t repeats = head_survey_needs(survey, OF_REPEATS) ? HEAD_SURVEY_REPEATS : 0;
    size_t texts = head_survey_needs(survey, OF_TEXTS) ? job->session.inputs.count : 0;
    progress_begin(&job->progress, "texts");
    job->done = 0;
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

/* --- writing ---------------------------------------------------------------------------------- */

/* Text and JSON say what was measured on what; for other formats a note does, unless all was
 * measured on the texts. An empty pipe is named, too. */
static void note_material(const struct heads_job *job, const char *origin)
{
    const struct inputs *inputs = &job->session.inputs;
    const struct format *format = job->output.format;
    struct stat status;
    bool is_text = !fstat(STDIN_FILENO, &status) && !S_ISCHR(status.st_mode);
    if (inputs->path && !inputs->count && is_text)
        print_note("standard input is empty: measured on repeated random tokens");
    bool of_texts = true;
    for (int material = 0; material < OF_TEXTS; material++)
        of_texts &= !head_survey_needs(&job->survey, (enum score_material)material);
    if (inputs->count && !of_texts && !format_is(format, "text") && !format_is(format, "json") &&
        !format_is(format, "jsonl"))
        print_note("measured on %s", origin);
}

/* `origin` is what was measured on; NULL: weights alone. */
static int write_report(struct heads_job *job, const struct report *report, struct place *place,
                        const char *origin, struct err *err)
{
    place->document = RESULT_FORMAT;
    if (output_open(&job->output, err))
        return -1;
    if (origin && place->index == 0)
        note_material(job, origin);
    return output_write(&job->output, report, place, err);
}

/* The matrices of the open model; without results, its composition. */
static int write_maps(struct heads_job *job, const struct head_results *results, struct err *err)
{
    struct report report;
    struct arena *arena = &job->session.arena;
    struct place place = page_place(&job->options->looks, &job->style);
    if (results ? head_map_report(&report, results, job->map, arena, err)
                : circuits_report(&report, (enum composition)job->way, &job->session.viewer, arena,
                                  err))
        return -1;
    place.index = job->models.open;
    place.count = model_list_count(&job->models);
    place.model = job->models.hashes ? report.model : NULL;
    place.sentences = 1;
    return write_report(job, &report, &place, results ? results->items->origin : NULL, err);
}

static int write_table(struct heads_job *job, const struct head_results *results, struct err *err)
{
    struct report report;
    struct place place = page_place(&job->options->looks, &job->style);
    place.lines = 0; /* heads has no --full */
    if (head_table_report(&report, results, &job->kept, err))
        return -1;
    return write_report(job, &report, &place, results->items[results->count - 1].origin, err);
}

static int look(void *context, struct err *err)
{
    struct heads_job *job = context;
    size_t open = job->models.open;
    struct head_results results = {&job->scores, job->with_baseline, job->sort, job->found, 1};
    if (job->options->heads.composition)
        return write_maps(job, NULL, err);
    struct head_result *found = &job->found[open];
    if (measure(job, err) || head_result_keep(found, &job->survey, &job->kept, err))
        return -1;
    if (job->models.hashes) {
        found->model = job->models.names.names[open];
        found->hash = job->models.hashes[open];
    }
    results.items = found;
    return job->in_maps ? write_maps(job, &results, err) : 0;
}

/* What can be said of the options before there is a model. */
static int prepare(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct arena *arena = &job->kept;
    if (looks_read(&job->style, options, err) || model_list_read(&job->models, options, arena, err))
        return -1;
    job->found = arena_alloc(arena, model_list_count(&job->models), sizeof *job->found, err);
    if (!job->found)
        return -1;
    return options->heads.composition ? check_composition(job, err) : check_options(job, err);
}

int heads_command(const struct options *options, struct err *err)
{
    struct heads_job job = {.options = options, .session.options = options};
    const struct model_turn turn = {&job.session, read_model, look, &job};
    int failed = prepare(&job, err) || model_list_each(&job.models, &turn, err);
    if (!failed && !job.in_maps) {
        const struct head_results results = {&job.scores, job.with_baseline, job.sort, job.found,
                                             model_list_count(&job.models)};
        failed = write_table(&job, &results, err);
    }
    failed = failed || output_commit(&job.output, err);
    output_discard(&job.output);
    head_materials_release(&job);
    session_release(&job.session);
    arena_release(&job.kept);
    return failed ? -1 : 0;
}
