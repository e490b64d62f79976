/* heads.c: `attn-cli heads`: measures scores of every head of a model on texts and on repeated
 * random tokens; with --composition, scores of how heads compose.
 *
 * The command sums the measurements of all texts; `batch --do heads` writes a result for each text
 * or, with --mean texts, for all. Scores that need no text (random tokens, weights, needles) are
 * measured once for each setting. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "command.h"
#include "driver.h"
#include "format/csv_read.h"
#include "heads.h"
#include "measure/contacts.h"
#include "measure/head_circuits.h"
#include "say.h"

static const char *about_score(const struct score_row *row)
{
    static char text[192];
    if (!row->verdict && row >= score_rows + ROLES)
        return row->about;
    snprintf(text, sizeof text, "%s (%s)", row->about, row->verdict ? "label 0.5+" : "role");
    return text;
}

WORDS(score_groups, "Scores (help scores defines them)",
      {"default", "previous-token, first-token, self, duplicate-token, induction, entropy, "
                  "distance"},
      {"also", "sink, offset:N, distance-variance, copying, successor, needle, needle-top"},
      {"both directions", "next-token, separator, same-token, broad"},
      {"cross-attention", "alignment, diagonal"}, {"all", "every score that fits the model"},
      {"NAME:texts", "measured on your texts; NAME:repeats on random tokens"})
VALUES_(, scores, "Scores (--score, --sort, --map), averaged over all queries but the first",
        score_row_count, score_rows[index].name, about_score(&score_rows[index]))

VALUES(compositions, NULL, COMPOSITIONS, composition_names[index], NULL)

struct own_options {
    struct heads_options heads;
};

static const struct option_row own_options[] = {
    STRING("score", 0, "LIST", OWN(heads.score),
           "scores to compute; induction,copying,offset:-2, or all (of causal models without "
           "next-token, separator, same-token and broad); default: the first five, entropy and "
           "distance; models that attend both ways: previous-token, first-token, and next-token to "
           "distance; with --source also alignment and diagonal; several models: the defaults of "
           "all of them; NAME:texts measures on the texts, NAME:repeats on repeated random tokens",
           .values = &values_scores, .joints = ",", .flags = OPTION_FIXED, .heading = "Scores"),
    STRING("sort", 0, "SCORE", OWN(heads.sort), "highest score first; default: by layer and head",
           .values = &values_scores, .flags = OPTION_FIXED),
    INTEGER("top", 0, "N", IN(heads.top), 1, 100000000,
            "with --sort: only the first N heads; with --contacts: N pairs (default: 20)",
            .flags = OPTION_FIXED),
    STRING("map", 0, "SCORE", OWN(heads.map), "one score as a matrix of layers by heads",
           .values = &values_scores, .flags = OPTION_FIXED),
    FLAG("baseline", 0, OWN(heads.baseline),
         "also each score on random tokens; in a column after the score; the random tokens replace "
         "the tokens of each text (copying, successor: words are paired at random); doubles the "
         "time",
         .flags = OPTION_FIXED),
    STRING("composition", 0, "Q", OWN(heads.composition),
           "how strongly heads feed each other: q, k or v; instead of scores: how strongly each "
           "head composes with earlier heads through its q, k or v",
           .values = &values_compositions, .flags = OPTION_NOT_BATCH,
           .heading = "Other measurements"),
    STRING("pairs", 0, "FILE", IN(heads.pairs),
           "word pairs for successor: Monday,Tuesday; one pair per line", .flags = OPTION_FIXED),
    STRING("needle", 0, "FILE", IN(heads.needles),
           "texts for needle: columns text, needle, query; JSONL or CSV; also for the score "
           "needle-top",
           .flags = OPTION_FIXED),
    FLAG("contacts", 0, IN(heads.contacts),
         "ESM: pairs of residues that touch in the fold; instead of scores; the probability of "
         "each pair, for each text, by the regression over all heads that the model's files have"),
    STRING("mean", 0, "AXES", IN(select.mean),
           "average over heads, layers; in batch also over texts", .values = &values_means,
           .joints = ",", .flags = OPTION_FIXED),
    INTEGER("seed", 0, "N", IN(mechanism.seed), 0, LLONG_MAX,
            "seed of the random tokens (default: 0)"),
    {0},
};

static const struct task heads_task, contacts_task;

static const struct task *choose_task(const struct options *options)
{
    return options->heads.contacts ? &contacts_task : &heads_task;
}

static command_verb heads_command;

const struct command command_heads = {
    .name = "heads",
    .heading = "Look",
    .about = "what each head does: induction, previous token, ...",
    .operands = "[TEXT]...",
    .most_used = "-m smollm2.gguf\n"
                 "-f texts.txt\ttexts to measure on\n"
                 "--sort induction\thighest score first\n"
                 "--top 8\twith --sort: only the first N\n"
                 "--score offset:-2\n"
                 "--map induction\tone score, layers by heads\n"
                 "--baseline\talso each score on random tokens\n"
                 "-o heads.csv\n",
    .note = "Without a text, heads are measured on random tokens that repeat.",
    .examples = "attn-cli heads\n"
                "attn-cli heads \"Life is short, eat dessert first\" --sort induction\n"
                "attn-cli heads --map induction -o induction.svg\n"
                "attn-cli heads --score induction,copying,offset:-2 --baseline\n"
                "attn-cli heads -m tiny \"Life is short, eat dessert first\" --sort induction\n"
                "attn-cli heads --map previous-token\n"
                "attn-cli heads --composition k\n"
                "attn-cli heads --format csv > heads.csv\n",
    .task = &heads_task,
    .choose = choose_task,
    .run = heads_command,
    .options = own_options,
    .value_groups = &values_score_groups,
    .shared = {text_options, model_options, edit_options, output_options, terminal_options,
               figure_options},
    .without = "words precision view token-range verbose",
    .draws = true,
    .without_tokenizer = "leave out the text to measure on random tokens",
};

/* --- scores ----------------------------------------------------------------------------------- */

/* Find the kinds (USUAL_…) of all models of a sweep: all shards then choose the same usual
 * scores. */
static int find_usual(unsigned *usual, const struct driver *driver, struct err *err)
{
    const struct sweep *sweep = &driver->sweep;
    const struct texts *models = &sweep->models;
    for (size_t i = 0; i < sweep->count; i++)
        if (strcmp(sweep->items[i].name, "model") == 0)
            models = &sweep->items[i].values;
    for (size_t i = 0; i < num_max(models->count, 1); i++) {
        struct folder folder;
        struct config config;
        const char *name = chosen_model(models->count ? models->items[i] : NULL);
        struct arena arena = {0};
        int failed = model_find(&folder, name, &arena, err) || config_open(&config, &folder, err);
        arena_release(&arena);
        if (failed)
            return models->count > 1 ? model_blame(name, err) : -1;
        *usual |= config.causal ? USUAL_CAUSAL : USUAL_TWO_WAY;
    }
    return 0;
}

/* Choose the usual scores for the kinds of models or, with `all`, all scores that these models have
 * except "offset", which needs a number. Scores that need a file or a source are chosen only if the
 * file or source is given. */
static int choose_rows(struct heads_state *own, const struct driver *driver, unsigned usual,
                       bool all, struct err *err)
{
    const struct options *options = driver->options;
    bool has_source = options->input.source || driver->items.found & 1 << ITEM_SOURCE;
    for (size_t i = 0; i < score_row_count; i++) {
        const struct score_row *row = &score_rows[i];
        bool of_file = row->material == OF_PAIRS || row->material == OF_NEEDLES;
        bool has_file = row->material == OF_PAIRS ? options->heads.pairs : options->heads.needles;
        bool wanted = of_file          ? has_file
                      : row->of_source ? has_source
                                       : row->usual & usual || (all && !row->takes_offset &&
                                                                row->usual != USUAL_TWO_WAY);
        if (wanted && !score_choose(&own->scores, "--score", row->name, err))
            return -1;
    }
    return 0;
}

/* Refuse a score whose file or texts are not given, and a file that no chosen score reads. */
static int check_materials(const struct heads_state *own, const struct driver *driver,
                           struct err *err)
{
    const char *pairs = driver->options->heads.pairs, *needles = driver->options->heads.needles;
    bool found[SCORE_MATERIALS] = {false};
    for (size_t i = 0; i < own->scores.count; i++) {
        const struct score *score = &own->scores.items[i];
        bool only_texts = score->material == OF_TEXTS && score->row->material != OF_TEXTS;
        const char *lacks = score->material == OF_PAIRS && !pairs       ? "--pairs FILE"
                            : score->material == OF_NEEDLES && !needles ? "--needle FILE"
                            : only_texts && !driver->items.count        ? "a text"
                                                                        : NULL;
        if (lacks)
            return err_usage(err, "score %s: expected %s, found none", score->name, lacks);
        found[score->material] = true;
    }
    if (pairs && !found[OF_PAIRS])
        return err_usage(err, "--pairs: expected --score successor, found other scores");
    if (needles && !found[OF_NEEDLES])
        return err_usage(err, "--needle: expected --score needle, found other scores");
    return 0;
}

int heads_choose(struct heads_state *own, struct driver *driver, struct err *err)
{
    unsigned usual = 0;
    const struct options *options = driver->options;
    const char *list = own->options->score, *map = own->options->map, *sort = own->options->sort;
    if (options_exclude(options, "map", "score", err) || find_usual(&usual, driver, err) ||
        (map && !(own->grid = score_choose(&own->scores, "--map", map, err))) ||
        (!map && !list && choose_rows(own, driver, usual, false, err)))
        return -1;
    for (; list; list = list_next(list)) {
        const char *name = arena_text(&driver->kept, list, strcspn(list, ","), err);
        bool all = name && strcmp(name, "all") == 0;
        own->has_all |= all;
        if (!name || (all ? choose_rows(own, driver, usual, true, err)
                          : !score_choose(&own->scores, "--score", name, err)))
            return -1;
    }
    return err_if((sort && !(own->sort = score_choose(&own->scores, "--sort", sort, err))) ||
                  check_materials(own, driver, err));
}

/* --- options ---------------------------------------------------------------------------------- */

/* Set up the output. A table contains all models; maps need a report for each model. */
static void prepare_output(struct heads_state *own, struct driver *driver)
{
    own->accumulates = !driver->is_batch || driver->accumulates;
    driver->output.draws_pages = true;
    if (!own->in_maps)
        driver->layout.lines = 0;             /* show every head */
    driver->derivation.mean_of_texts = false; /* results are not averaged: `add` merges their
                                               * sums */
    if (!driver->is_batch)
        driver_accumulate(driver, own->in_maps ? num_max(driver->sweep.models.count, 1) : 1);
}

static int prepare_composition(struct heads_state *own, struct driver *driver, struct err *err)
{
    const struct options *options = driver->options;
    if (options_exclude(options, "composition",
                        "score map sort top baseline mean pairs needle sentence file ids", err))
        return -1;
    if (options->input.operands.count)
        return err_usage(err, "--composition: expected no text, found '%s'",
                         options->input.operands.items[0]);
    own->in_maps = true;
    prepare_output(own, driver);
    return names_choose(&own->way, NAMES_LIST(composition_names), "--composition",
                        own->options->composition, err);
}

static int prepare(void *state, struct driver *driver, struct err *err)
{
    struct heads_state *own = state;
    const struct options *options = driver->options;
    own->options = &options_own(options)->heads;
    own->top = (size_t)options->heads.top;
    if (own->options->composition)
        return prepare_composition(own, driver, err);
    const struct format *format = driver->output.format;
    own->results.count = num_max(driver->sweep.models.count, 1);
    own->results.items =
        arena_alloc(&driver->kept, own->results.count, sizeof *own->results.items, err);
    if (!own->results.items || heads_choose(own, driver, err))
        return -1;
    bool joins = driver->derivation.mean_of_heads || driver->derivation.mean_of_layers;
    own->in_maps =
        own->grid || (!joins && (format->is_picture || format_is(format, "safetensors npz")));
    if (joins && (own->grid || own->sort))
        return err_usage(err, "--mean %s: expected all heads of a table, found %s: leave it out",
                         options->select.mean, own->grid ? "--map" : "--sort");
    if (own->sort && own->in_maps)
        return err_usage(err, "--sort: expected a table, found %s%s",
                         own->grid ? "--map " : "--format ",
                         own->grid ? own->grid->name : format->name);
    if (own->top && !own->sort)
        return err_usage(err, "--top: expected --sort SCORE as well, found none");
    own->results.scores = &own->scores;
    own->results.with_baseline = own->options->baseline;
    own->how = &driver->derivation;
    prepare_output(own, driver);
    return 0;
}

/* Refuse models of different shapes in one CSV table of maps, whose columns are heads. */
static int check_shape(struct heads_state *own, const struct driver *driver, struct err *err)
{
    const struct config *c = &driver->session.viewer.model.config;
    const struct output *output = &driver->output;
    if (driver->setting == 0) {
        own->layers = c->n_layer;
        own->heads = c->n_head;
    }
    bool shares = own->in_maps && !output->to_folder && format_is(output->format, "csv");
    if (!shares || driver->is_batch || (c->n_layer == own->layers && c->n_head == own->heads))
        return 0;
    return err_usage(
        err,
        "expected %zu layer%s of %zu head%s as in '%s', found %zu of %zu: --format tidy "
        "accepts models of different shapes",
        own->layers, num_plural(own->layers), own->heads, num_plural(own->heads),
        driver->sweep.models.items[0], c->n_layer, c->n_head);
}

/* --- a model ---------------------------------------------------------------------------------- */

static bool is_of_words(const struct score *score)
{
    return score->material == OF_WORDS || score->material == OF_PAIRS;
}

/* True if all chosen scores are measured on texts, not on random tokens or weights. */
static bool is_of_texts(const struct head_survey *survey)
{
    bool of_texts = true;
    for (int material = 0; material < OF_TEXTS; material++)
        of_texts &= !head_survey_needs(survey, (enum score_material)material);
    return of_texts;
}

/* Refuse scores of words (copying, successor) that the model cannot have. With --score all, these
 * scores are left without values, unless --sort names one of them. */
static int check_circuits(struct heads_state *own, const struct driver *driver, struct err *err)
{
    const struct score *sort = own->sort;
    struct err why = {0};
    bool of_words = false;
    for (size_t i = 0; i < own->scores.count; i++)
        of_words |= is_of_words(&own->scores.items[i]);
    if (!of_words || !circuits_check(&driver->session.viewer.model, true, &why))
        return 0;
    if (!own->has_all || (sort && is_of_words(sort)))
        return err_adopt(err, &why);
    own->survey.lacks_logits = true;
    print_note("no values for copying and successor: %s", why.text);
    return 0;
}

int heads_open(struct heads_state *own, struct driver *driver, struct err *err)
{
    struct viewer *viewer = &driver->session.viewer;
    struct head_survey *survey = &own->survey;
    *survey = (struct head_survey){.viewer = viewer,
                                   .scores = &own->scores,
                                   .seed = (uint64_t)driver->current.mechanism.seed,
                                   .on_texts = driver->items.count > 0,
                                   .with_baseline = own->results.with_baseline};
    if (check_circuits(own, driver, err) || head_survey_open(survey, &driver->session.arena, err))
        return -1;
    if (driver->session.edits.by_text && (survey->with_baseline || !is_of_texts(survey)))
        return err_usage(err, "positions by name in edits apply to the texts, not to the random "
                              "tokens and words of other scores: expected texts and scores such as "
                              "--score self,induction:texts, without --baseline");
    return 0;
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct heads_state *own = state;
    if (check_shape(own, driver, err))
        return -1;
    return own->options->composition ? circuits_check(&driver->session.viewer.model, false, err)
                                     : heads_open(own, driver, err);
}

/* --- words ------------------------------------------------------------------------------------ */

/* Read the pairs of words in the file of --pairs. A line has at least 3 bytes: "a,b". */
static int read_pairs(struct circuit_words *words, const struct file *file, const char *path,
                      const struct viewer *viewer, struct arena *arena, struct err *err)
{
    struct csv_reader reader = {utf8_begin(file->bytes, file->size), file->bytes + file->size, 1,
                                ','};
    struct csv_record record;
    size_t capacity = file->size / 3 + 1;
    uint32_t *from = arena_alloc(arena, capacity, sizeof *from, err);
    uint32_t *to = arena_alloc(arena, capacity, sizeof *to, err);
    uint32_t *among = arena_alloc(arena, 2 * capacity, sizeof *among, err);
    size_t vocabulary = viewer->model.config.vocab_size;
    bool *named = arena_alloc(arena, vocabulary, sizeof *named, err);
    size_t count = 0;
    if (!from || !to || !among || !named)
        return -1;
    for (;; count++) {
        if (csv_read(&reader, &record, arena, err))
            return err_prefix(err, "'%s'", path);
        if (!record.count)
            break;
        const char *origin = arena_format(arena, err, "'%s' line %zu", path, record.line);
        if (origin && record.count != 2)
            return err_set(err, "%s: expected two words separated by a comma, found %zu", origin,
                           record.count);
        for (size_t i = 0; i < 2; i++) {
            long long id = 0;
            if (!origin || token_option_read(&id, viewer, origin, record.fields[i], arena, err)) {
                if (err->kind == ERR_USAGE)
                    err->kind = ERR_INPUT; /* the word is in a file, not in an option */
                return -1;
            }
            (i ? to : from)[count] = (uint32_t)id;
            named[id] = true;
        }
    }
    if (!count)
        return err_set(err, "'%s': expected at least one line, found none", path);
    *words = (struct circuit_words){from, to, count, among, 0};
    for (size_t id = 0; id < vocabulary; id++)
        if (named[id])
            among[words->among_count++] = (uint32_t)id;
    return 0;
}

/* Measure the scores that need only weights, on the words of circuits_all_words or of --pairs. */
static int measure_words(struct heads_state *own, struct driver *driver,
                         enum score_material material, struct err *err)
{
    const struct head_survey *survey = &own->survey;
    const char *path = driver->options->heads.pairs;
    struct viewer *viewer = &driver->session.viewer;
    struct arena *arena = &driver->session.arena;
    struct circuit_words words;
    struct file file = {0};
    if (survey->lacks_logits || !head_survey_needs(survey, material))
        return 0;
    int failed =
        material == OF_PAIRS
            ? file_map(&file, path, err) || read_pairs(&words, &file, path, viewer, arena, err)
            : circuits_all_words(&words, viewer, survey->seed, arena, err);
    for (size_t i = 0; i < own->scores.count && !failed; i++)
        if (own->scores.items[i].material == material)
            failed = circuits_count(own->sums.found + i * survey->heads,
                                    own->sums.random + i * survey->heads, &words, viewer,
                                    survey->seed, err);
    own->sums.counts[material] = failed ? 0 : words.count;
    file_release(&file);
    return err_if(failed);
}

/* --- needles ---------------------------------------------------------------------------------- */

static int run_needle(struct heads_state *own, struct viewer *viewer, const struct item *item,
                      struct arena *arena, struct err *err)
{
    struct text_with_source pair;
    const char *query = item_column(item, "query"), *needle = item_column(item, "needle");
    if (!item->input.text || item->input.pair.bytes)
        return err_set(err, "expected 'text', found '%s'", item->input.text ? "pair" : "ids");
    const char *text = arena_text(arena, item->input.text, item->input.size, err);
    const char *whole = text ? arena_format(arena, err, "%s%s", text, query ? query : "") : NULL;
    struct input input = {.text = whole, .size = whole ? strlen(whole) : 0};
    const char *at = whole && needle && *needle ? strstr(text, needle) : NULL;
    if (whole && (!at || strstr(at + 1, needle)))
        return err_set(err,
                       "column 'needle': expected a part of 'text' that occurs once, found '%s'",
                       needle ? needle : "");
    if (!whole || viewer_read(viewer, &pair, &input, NULL, arena, err))
        return -1;
    size_t first = (size_t)(at - text), end = first + strlen(needle);
    const struct tokenized *read = &pair.text;
    bool *marked = arena_alloc(arena, read->count, sizeof *marked, err);
    for (size_t i = 0; marked && i < read->count; i++)
        marked[i] = read->tokens[i].start < end && read->tokens[i].end > first;
    const struct head_text one = {.text = viewer_text(&pair),
                                  .marked = marked,
                                  .number = own->sums.counts[OF_NEEDLES],
                                  .sums = &own->sums};
    return marked ? head_survey_run(&own->survey, viewer, OF_NEEDLES, &one, 1, err) : -1;
}

static int measure_needles(struct heads_state *own, struct driver *driver, struct err *err)
{
    struct options options = *driver->options;
    struct arena arena = {0};
    struct items items;
    struct item item;
    struct progress progress;
    options.input = (struct input_options){.file = options.heads.needles};
    if (!head_survey_needs(&own->survey, OF_NEEDLES))
        return 0;
    int failed = items_open(&items, &options, 0, ITEMS_SOME, err);
    progress_begin(&progress, "needles");
    for (size_t i = 0; !failed && i < items.count; i++) {
        failed = items_read(&items, &item, i, &arena, err) ||
                 (run_needle(own, &driver->session.viewer, &item, &arena, err) &&
                  items_blame(&items, i, err));
        progress_show(&progress, i + 1, items.count, NULL);
        arena_clear(&arena);
    }
    progress_end(&progress);
    items_release(&items);
    arena_release(&arena);
    return failed;
}

/* --- a model, before its texts ---------------------------------------------------------------- */

int heads_begin(struct heads_state *own, struct driver *driver, struct err *err)
{
    return err_if(head_sums_init(&own->sums, &own->survey, &driver->kept, err) ||
                  measure_words(own, driver, OF_PAIRS, err) ||
                  measure_words(own, driver, OF_WORDS, err) || measure_needles(own, driver, err) ||
                  head_survey_run_repeats(&own->survey, &driver->session.viewer, &own->sums, err));
}

static int begin(void *state, struct driver *driver, struct err *err)
{
    struct heads_state *own = state;
    return own->options->composition ? 0 : heads_begin(own, driver, err);
}

/* --- the table -------------------------------------------------------------------------------- */

/* The value of a row in the column of --sort, by which rows are ordered: -infinity if it is
 * missing, 0 without --sort. */
static double rank_of(const struct column *sort, size_t row)
{
    return sort ? fmax(column_float(sort, row), (double)-INFINITY) : 0;
}

/* Make the table, with the rows of each model in the order of --sort and limited to --top. */
static int make_table(struct report *report, const struct heads_state *own,
                      const struct head_results *results, struct arena *arena, struct err *err)
{
    struct table *table = head_table_report(report, results, arena, err);
    size_t *rows = table ? arena_alloc(arena, table->rows.size, sizeof *rows, err) : NULL;
    size_t count = 0;
    if (!rows)
        return -1;
    size_t top = own->top ? own->top : table->rows.size;
    const struct column *sort = own->sort ? table_column(table, own->sort->name) : NULL;
    for (size_t m = 0, row = 0; m < results->count; m++) {
        size_t first = count;
        size_t end = row + results->items[m].rows;
        for (; row < end; row++) {
            size_t at = count;
            while (at > first && rank_of(sort, row) > rank_of(sort, rows[at - 1]))
                at--;
            memmove(&rows[at + 1], &rows[at], (count - at) * sizeof *rows);
            rows[at] = row;
            /* once there are --top rows, a new row replaces the last */
            count += count < first + top;
        }
    }
    return table_pick(table, rows, count, arena, err);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Make the report of one model; of one text, in a batch; or of all models, if `result` is NULL. */
static int make_report(struct report *report, const struct heads_state *own,
                       struct head_result *result, struct arena *arena, struct err *err)
{
    struct head_results one = own->results;
    one.items = result ? result : one.items;
    one.count = result ? 1 : one.count;
    return err_if((own->in_maps ? head_grid_report(report, &one, own->grid, arena, err)
                                : make_table(report, own, &one, arena, err)) ||
                  derive(report, own->how, NULL, arena, err));
}

void heads_read(const struct heads_state *own, struct driver *driver, struct job *job)
{
    const struct head_survey *survey = &own->survey;
    if (survey->watch || head_survey_needs(survey, OF_TEXTS))
        head_survey_add_memory(&job->memory, &driver->session.viewer, survey->scores->count,
                               &job->pair);
}

static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    (void)arena;
    (void)err;
    heads_read(state, driver, job);
    return 0;
}

int heads_run(const struct heads_state *own, const struct group *group, void **watched,
              struct err *err)
{
    struct arena *arena = group->arena;
    struct head_text *texts = arena_alloc(arena, group->count, sizeof *texts, err);
    struct head_sums *sums = arena_alloc(arena, group->count, sizeof *sums, err);
    if (!texts || !sums)
        return -1;
    for (size_t i = 0; i < group->count; i++) {
        struct job *job = group->jobs[i];
        job->own = &sums[i];
        texts[i] = (struct head_text){.text = viewer_text(&job->pair),
                                      .number = job->index,
                                      .sums = &sums[i],
                                      .before = head_copies(&job->pair.text, arena, err),
                                      .watched = watched ? watched[i] : NULL};
        if (!texts[i].before || head_sums_init(&sums[i], &own->survey, arena, err))
            return -1;
    }
    return watched || head_survey_needs(&own->survey, OF_TEXTS)
               ? head_survey_run(&own->survey, group->viewer, OF_TEXTS, texts, group->count, err)
               : 0;
}

static int run(void *state, const struct group *group, struct err *err)
{
    const struct heads_state *own = state;
    if (heads_run(own, group, NULL, err))
        return -1;
    /* make the result of each text from the sums over it and the sums that need no text */
    for (size_t i = 0; i < group->count && !own->accumulates; i++) {
        struct job *job = group->jobs[i];
        struct head_sums *sums = job->own;
        struct head_result result;
        head_sums_merge(sums, &own->survey, &own->sums);
        if (head_result_keep(&result, &own->survey, sums, group->arena, err) ||
            make_report(&job->report, own, &result, group->arena, err))
            return -1;
        job->report.text = job->pair.text;
    }
    return 0;
}

static int add(void *state, struct job *job, struct err *err)
{
    struct heads_state *own = state;
    (void)err;
    if (own->accumulates)
        head_sums_merge(&own->sums, &own->survey, job->own);
    return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

/* Print a note that says on which texts, tokens or weights the scores were measured, unless the
 * output contains this information (text, JSON) or all scores are measured on the texts. */
static void note_material(const struct heads_state *own, const struct driver *driver,
                          const char *origin)
{
    bool tells = format_is(driver->output.format, "text json jsonl");
    if (!tells && !(driver->items.count && is_of_texts(&own->survey)))
        print_note("measured on %s", origin);
}

/* After the last text of a model, unless each text has a result of its own, keep the result of the
 * model. Write it now if it consists of matrices, or in a batch. With --composition, only write the
 * scores of how heads compose. */
static int end(void *state, struct driver *driver, struct err *err)
{
    struct heads_state *own = state;
    const struct sweep *sweep = &driver->sweep; /* of all swept options, the model varies slowest */
    size_t model = driver->setting / (sweep->settings / num_max(sweep->models.count, 1));
    struct arena *arena = &driver->session.arena;
    struct report report;
    if (!own->accumulates)
        return 0;
    if (own->options->composition)
        return err_if(circuits_report(&report, (enum composition)own->way, &driver->session.viewer,
                                      arena, err) ||
                      driver_write(driver, &report, err));
    struct head_result *result = &own->results.items[model];
    if (head_result_keep(result, &own->survey, &own->sums, &driver->kept, err))
        return -1;
    if (sweep->of_models) {
        char *hash = arena_alloc(&driver->kept, SHA256_DIGITS + 1, 1, err);
        if (!hash)
            return -1;
        weights_hash(&driver->session.viewer.model.weights, hash);
        result->model = sweep->models.items[model];
        result->hash = hash;
    }
    if (!own->in_maps && !driver->is_batch)
        return 0;
    if (model == 0 && !driver->is_batch)
        note_material(own, driver, result->origin);
    return err_if(make_report(&report, own, result, arena, err) ||
                  driver_write(driver, &report, err));
}

static int finish(void *state, struct driver *driver, struct err *err)
{
    const struct heads_state *own = state;
    struct report report;
    if (driver->is_batch || own->in_maps)
        return 0;
    note_material(own, driver, own->results.items[own->results.count - 1].origin);
    return err_if(make_report(&report, own, NULL, &driver->kept, err) ||
                  driver_write(driver, &report, err));
}

static const struct task heads_task = {
    .many = ITEMS_ANY,
    .begins = true,
    .pages = "attn-cli page",
    .state_bytes = sizeof(struct heads_state),
    .prepare = prepare,
    .open = open,
    .read = read,
    .begin = begin,
    .at_once = true,
    .run = run,
    .add = add,
    .end = end,
    .finish = finish,
};

/* --composition compares weights and reads no text, not even standard input. */
static int heads_command(const struct options *options, struct err *err)
{
    struct task task = *choose_task(options);
    if (options_own(options)->heads.composition)
        task.many = ITEMS_NONE;
    return driver_do(&task, options, err);
}

/* --- --contacts ------------------------------------------------------------------------------- */

/* Prepare --contacts, the scores of contacts between residues, for protein models with an output
 * for contacts: refuse the options of other scores. */
static int contacts_task_prepare(void *state, struct driver *driver, struct err *err)
{
    (void)state;
    driver->output.draws_pages = true;
    return options_exclude(driver->options, "contacts",
                           "score sort map baseline mean composition pairs needle source pair",
                           err);
}

static int contacts_task_open(void *state, struct driver *driver, struct err *err)
{
    return contacts_open(state, &driver->session.viewer, &driver->session.arena, err);
}

static int contacts_task_read(void *state, struct driver *driver, struct job *job,
                              struct arena *arena, struct err *err)
{
    (void)arena;
    contacts_add_memory(&job->memory, state, &driver->session.viewer, &job->pair);
    return contacts_check(&job->pair.text, err);
}

static int contacts_task_run(void *state, const struct group *group, struct err *err)
{
    long long top = group->driver->options->heads.top;
    for (size_t i = 0; i < group->count; i++) {
        struct job *job = group->jobs[i];
        const struct capture_request asked = {
            .pairs = &job->pair, .count = 1, .first = job->number, .reports = &job->report};
        if (contacts_run(group->viewer, state, &asked, top ? (size_t)top : 20, group->arena, err))
            return -1;
    }
    return 0;
}

static const struct task contacts_task = {
    .many = ITEMS_SOME,
    .folder = "csv",
    .state_bytes = sizeof(struct contact_head),
    .prepare = contacts_task_prepare,
    .open = contacts_task_open,
    .read = contacts_task_read,
    .at_once = true,
    .run = contacts_task_run,
};
