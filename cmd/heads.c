/* heads.c: `attn-cli heads`: what every head of a model does, measured on texts and on repeated
 * random tokens; or, with --composition, how heads compose. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "format/csv_read.h"
#include "measure/head_circuits.h"
#include "measure/needle.h"
#include "output.h"
#include "session.h"

VALUES(scores, "Scores, averaged over all queries but the first", score_row_count,
       score_rows[index].name, score_rows[index].about)

VALUES(compositions, NULL, COMPOSITIONS, composition_names[index], NULL)

static const struct option_row own_options[] = {
    STRING("score", 0, "LIST", IN(heads.score),
           "scores to compute: induction,copying,offset:-2, or all (default: previous-token to "
           "distance)",
           .heading = "Scores", .values = &values_scores, .joints = ","),
    STRING("sort", 0, "SCORE", IN(heads.sort),
           "sort by a score, highest first (default: by layer and head)", .values = &values_scores),
    STRING("map", 0, "SCORE", IN(heads.map), "show one score as a matrix of layers by heads",
           .values = &values_scores),
    FLAG("baseline", 0, IN(heads.baseline),
         "add a column with each score on random tokens (most data formats always have it)"),
    STRING("composition", 0, "q|k|v", IN(heads.composition),
           "show how strongly each head composes with earlier heads through q, k or v, instead of "
           "scores",
           .values = &values_compositions),
    STRING("pairs", 0, "FILE", IN(heads.pairs),
           "word pairs for the score successor, one per line: Monday,Tuesday"),
    STRING("needle", 0, "FILE", IN(heads.needles),
           "texts for the score needle, one JSON object per line: {\"text\": …, \"needle\": …, "
           "\"query\": …}"),
    INTEGER("seed", 0, "N", IN(heads.seed), 0, LLONG_MAX, "seed of the random tokens (default: 0)"),
    STRINGS("sentence", 's', "TEXT", IN(input.sentences),
            "text to measure on (repeatable; default: random tokens)", .flags = OPTION_FIXED),
    {0},
};

const struct command command_heads = {
    .name = "heads",
    .group = "Inspect",
    .about = "score every head: induction, previous token, sink, ...",
    .operands = "[TEXT]...",
    .examples = "attn-cli heads\n"
                "attn-cli heads -m tiny \"Life is short, eat dessert first\" --sort induction\n"
                "attn-cli heads --map previous-token\n"
                "attn-cli heads --map induction -o induction.svg\n"
                "attn-cli heads --score induction,copying,offset:-2 --baseline\n"
                "attn-cli heads --composition k\n"
                "attn-cli heads --format csv > heads.csv\n",
    .run = heads_command,
    .options = own_options,
    .shared = {{text_options, "document ids source words"},
               {model_options, "precision"},
               {edit_options, NULL},
               {table_options, NULL},
               {terminal_options, NULL},
               {figure_options, "view token-range top"},
               {running_options, "verbose"}},
    .reads_texts = true,
};

struct heads_job {
    const struct options *options;
    struct model_list models;
    struct head_result *found; /* [models] */
    struct score_list scores;
    const struct score *sort, *map; /* NULL: none */
    size_t way;                     /* of --composition */
    bool in_maps;                   /* matrices of layers by heads, not a table */
    bool with_baseline;
    bool has_texts;       /* texts and files are read, once for all models */
    size_t layers, heads; /* of the first model */
    size_t done, steps;   /* of all that is measured */
    struct style style;
    struct output output;
    struct session session;
    struct head_survey survey;
    struct progress progress;
    struct file pairs, needles;
    size_t needle_count;
    struct arena kept; /* outlives the models */
};

/* --- options --------------------------------------------------------------------------------- */

static int choose(struct heads_job *job, size_t *index, const char *option, const char *name,
                  size_t size, struct err *err)
{
    return score_choose(&job->scores, index, option, name, size, &job->kept, err);
}

/* All scores whose files were given, without "offset", which needs a number. */
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

/* The usual scores, and those whose file was given. */
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

/* A score needs its file, and a file its score. */
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

/* --- files of --pairs and --needle ------------------------------------------------------------ */

/* The next line of a file without its newline; false after the last. */
static bool next_line(struct file *line, const char **at, const char *end)
{
    if (*at == end)
        return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *stop = newline ? newline : end;
    *line = file_borrow(*at, (size_t)(stop - *at));
    *at = newline ? newline + 1 : end;
    return true;
}

static bool is_blank(const struct file *line)
{
    for (size_t i = 0; i < line->size; i++)
        if (!strchr(" \t\r", line->bytes[i]) || !line->bytes[i])
            return false;
    return true;
}

static int open_file(struct file *file, const char *path, struct err *err)
{
    if (path && file_map(file, path, err))
        return -1;
    if (path && !file->size)
        return err_set(err, "'%s': expected a line at least, found nothing", path);
    return 0;
}

static int open_files(struct heads_job *job, struct err *err)
{
    const struct options *options = job->options;
    struct file line;
    if (open_file(&job->pairs, options->heads.pairs, err) ||
        open_file(&job->needles, options->heads.needles, err))
        return -1;
    const char *end = job->needles.bytes + job->needles.size;
    for (const char *at = job->needles.bytes; next_line(&line, &at, end);)
        job->needle_count += !is_blank(&line);
    return 0;
}

static void release_files(struct heads_job *job)
{
    file_release(&job->pairs);
    file_release(&job->needles);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a;
    uint32_t other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

static int read_word(struct heads_job *job, uint32_t *id, const char *text, size_t line,
                     struct err *err)
{
    struct buf place = {0};
    long long found = 0;
    buf_format(&place, "'%s' line %zu", job->options->heads.pairs, line);
    int failed =
        buf_check(&place, err) || inputs_read_token(&found, &job->session.viewer, place.bytes, text,
                                                    &job->session.arena, err);
    if (failed && err->kind == ERR_USAGE)
        err->kind = ERR_INPUT; /* the word is in a file, not in an option */
    *id = (uint32_t)found;
    buf_release(&place);
    return failed ? -1 : 0;
}

/* A line holds 3 bytes at least: "a,b". */
static int read_pairs(struct heads_job *job, struct circuit_words *words, struct err *err)
{
    struct arena *arena = &job->session.arena;
    const char *path = job->options->heads.pairs;
    struct csv_reader reader = {job->pairs.bytes, job->pairs.bytes + job->pairs.size, 1, ','};
    struct csv_record record;
    size_t room = job->pairs.size / 3 + 1;
    uint32_t *from = arena_alloc(arena, room, sizeof *from, err);
    uint32_t *to = arena_alloc(arena, room, sizeof *to, err);
    uint32_t *among = arena_alloc(arena, 2 * room, sizeof *among, err);
    size_t count = 0;
    if (!from || !to || !among)
        return -1;
    for (;; count++) {
        if (csv_read(&reader, &record, arena, err))
            return err_prefix(err, "'%s'", path);
        if (!record.count)
            break;
        if (record.count != 2)
            return err_set(err,
                           "'%s' line %zu: expected two words with a comma between them, found %zu",
                           path, record.line, record.count);
        if (read_word(job, &from[count], record.fields[0], record.line, err) ||
            read_word(job, &to[count], record.fields[1], record.line, err))
            return -1;
        among[2 * count] = from[count];
        among[2 * count + 1] = to[count];
    }
    if (!count)
        return err_set(err, "'%s': expected a line at least, found none", path);
    *words = (struct circuit_words){.from = from, .to = to, .count = count, .among = among};
    qsort(among, 2 * count, sizeof *among, compare_ids);
    for (size_t i = 0; i < 2 * count; i++)
        if (i == 0 || among[i] != among[i - 1])
            among[words->among_count++] = among[i];
    return 0;
}

/* --- needles ---------------------------------------------------------------------------------- */

static int add_needle(struct heads_job *job, const struct file *line, struct err *err)
{
    struct arena arena = {0};
    struct needle needle;
    struct text_pair pair = {0};
    bool *marked = NULL;
    int failed = needle_read(&needle, line->bytes, line->size, &arena, err);
    struct input input = {.text = failed ? "" : needle.text, .size = failed ? 0 : needle.size};
    failed = failed || viewer_read(&job->session.viewer, &pair, &input, NULL, &arena, err);
    if (!failed && (marked = arena_alloc(&arena, pair.sentence.count, sizeof *marked, err))) {
        needle_mark(marked, &needle, &pair.sentence);
        failed = head_survey_add_needle(&job->survey, &pair.sentence, marked, err);
    }
    arena_release(&arena);
    return failed || !marked ? -1 : 0;
}

static int add_needles(struct heads_job *job, struct err *err)
{
    const char *end = job->needles.bytes + job->needles.size;
    struct file line;
    size_t number = 1;
    for (const char *at = job->needles.bytes; next_line(&line, &at, end); number++) {
        if (is_blank(&line))
            continue;
        if (add_needle(job, &line, err))
            return err_prefix(err, "'%s' line %zu", job->options->heads.needles, number);
        progress_show(&job->progress, ++job->done, job->steps, NULL);
    }
    return 0;
}

static int count_circuits(struct heads_job *job, enum score_material material,
                          const struct circuit_words *words, struct err *err)
{
    uint64_t seed = job->survey.seed;
    job->survey.counts[material] = words->count;
    for (size_t i = 0; i < job->scores.count; i++)
        if (job->scores.items[i].row->material == material &&
            circuits_count(&job->scores.items[i], words, &job->session.viewer, seed, err))
            return -1;
    progress_show(&job->progress, ++job->done, job->steps, NULL);
    return 0;
}

static int measure_files(struct heads_job *job, struct err *err)
{
    struct circuit_words words;
    const struct head_survey *survey = &job->survey;
    if (head_survey_needs(survey, OF_PAIRS) &&
        (read_pairs(job, &words, err) || count_circuits(job, OF_PAIRS, &words, err)))
        return -1;
    if (head_survey_needs(survey, OF_WORDS) &&
        (circuits_all_words(&words, &job->session.viewer, survey->seed, &job->session.arena, err) ||
         count_circuits(job, OF_WORDS, &words, err)))
        return -1;
    return head_survey_needs(survey, OF_NEEDLES) ? add_needles(job, err) : 0;
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

/* Leave out, for all models, scores that a model lacks, unless they were asked for by name. */
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

/* The token that begins texts: the tokenizer's, else the config's. */
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
                  open_files(job, err)))
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
    if (measure_files(job, err))
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
    place.lines = 0; /* every head has its row */
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

/* Check the options before a model is opened. */
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
    release_files(&job);
    session_release(&job.session);
    arena_release(&job.kept);
    return failed ? -1 : 0;
}
