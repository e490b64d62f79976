/* page.c: `attn-cli page`: writes texts as one interactive HTML page: their tensors, predictions,
 * head scores, and explanations of weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "draw/page.h"
#include "measure/finding.h"
#include "measure/head_scores.h"
#include "measure/logit_lens.h"
#include "measure/score_attribution.h"
#include "measure/sparse_features.h"
#include "command.h"
#include "driver.h"
#include "model/layer.h"
#include "model/points.h"
#include "say.h"
#include "texts.h"
#include "weights_file.h"

static const struct option_row own_options[] = {
    STRING("show", 0, "LIST", IN(select.show),
           "tensors (default: embedding, weights); with an encoder also its tensors; see 'help "
           "tensors'",
           .values = &values_tensors, .joints = ",", .heading = "What the page contains"),
    STRING("layer", 0, "LIST", IN(select.layer), "layers: 0,3-5, -1 (last), or all (default)"),
    STRING("head", 0, "LIST", IN(select.head),
           "heads: 0,3-5, -1 (last), or all (default); 17.4,20.0: these heads of these layers"),
    STRING("title", 0, "TEXT", IN(display.title),
           "title, '' for none; default: the model and the text", .display = DISPLAY_TITLE),
    STRING("explain", 0, "LIST", IN(page.explain),
           "heads that \"Why this number?\" can explain; 0.1,1.3, all or none; default: all, if "
           "that adds at most 1 MB"),
    INTEGER("top", 0, "N", IN(page.top), 0, 1000,
            "next tokens at each position (default: 50); at masks: the tokens there; 0: none"),
    FLAG("lens", 0, IN(page.lens),
         "predictions of every layer; default: if computing them needs under half a second"),
    STRING("scores", 0, "all|none", IN(page.scores),
           "scores of 'attn-cli heads'; default: if computing them needs under half a second"),
    STRINGS("sae", 0, "DIR", IN(edit.dictionaries),
            "features of a sparse autoencoder at each token; or of a transcoder, the 8 largest; "
            "DIR:LAYER and what follows it are those of 'attn-cli features'"),
    FLAG("live", 0, IN(page.live),
         "other texts can be typed; the page contains the model and runs it in the browser"),
    FLAG("unedited", 0, IN(page.unedited), "each text before and after edits"),
    STRING("weights", 0, "FILE", IN(input.weights),
           "show these weights, without a model; attention weights of another program: npy, npz, "
           "safetensors, BertViz's JSON",
           .heading = "Other programs"),
    STRING("tokens", 0, "FILE", IN(input.tokens),
           "tokens of --weights; a line for each, or a list in JSON"),
    STRING("output", 'o', "FILE", IN(output.path), "page to write (default: standard output)",
           .flags = OPTION_PROCESS, .heading = "Output"),
    {0},
};

const struct command command_page = {
    .name = "page",
    .heading = "Look",
    .about = "attention as a web page to click on",
    .operands = "[TEXT]...",
    .most_used = "-o page.html\tpage to write\n"
                 "-m smollm2.gguf\n"
                 "-f texts.csv\n"
                 "--source \"the cat\"\n"
                 "--live\n"
                 "--unedited\n"
                 "--lang zh\ten (default) or zh\n",
    .note = "The file needs no network and no server. It opens on the head that matters. By\n"
            "default it has what needs under half a second or 1 MB to add.",
    .examples = "attn-cli page \"The keys to the cabinet\" -o page.html\n"
                "attn-cli page \"Life is short\" \"Life is long\" -o two-texts.html\n"
                "attn-cli page -m life -m life-causal \"Life is short\" -o two-models.html\n"
                "attn-cli page \"The keys to the cabinet\" --knockout 4:1 --unedited -o cut.html\n"
                "attn-cli page \"Life is short, eat dessert first\" -o page.html\n"
                "attn-cli page -m tiny -m life-causal -s \"Life is short\" --show all -o two.html\n"
                "attn-cli page -s \"Life is short\" --layer 1 --head 3 > head.html\n",
    .run = page_command,
    .options = own_options,
    .shared = {text_options, model_options, mechanism_options, edit_options, select_options,
               figure_options},
    .without = "query view figure-width font font-size dpi cells mark token-range panel-labels "
               "mask verbose",
    .draws = true,
    .draws_pages = true,
};

struct page_state {
    struct driver *driver;
    struct request request;
    bool *explains; /* [layers, heads] true for heads that --explain names; NULL: --explain all */
    const struct page_lesson *lesson; /* the lesson step that the page shows; NULL: no lesson */
    /* true once a note has said that a text is unlike the texts on which --sae was trained */
    bool has_noted;
};

enum {
    PAGE_NEXT_BEST = 50, /* default of --top: predictions that are listed at each token */
    FEATURES_LISTED = 8, /* maximum number of features of each dictionary that are listed at a
                          * token: those with the largest activations */
    FEATURE_WORDS = 5,   /* number of words that are listed as promoted by a feature */
};

/* A run of a text, by a viewer with the mechanism of the options; with or without edits. */
struct page_run {
    const struct page_state *own;
    const struct options *options;
    struct viewer *viewer;
    const struct text_with_source *pair;
    struct arena *arena;
    struct report report;
    struct page_facts facts;
};

static size_t runs_of(const struct page_state *own)
{
    return own->driver->options->page.unedited ? 2 : 1;
}

/* --- --explain: exact tensors of the heads that a page can explain ---------------------------- */

enum {
    /* Without --explain, a command's pages explain all heads if the exact tensors and split scores
     * in all pages together have at most this many bytes. */
    DEFAULT_BYTES = 1000000,
    STEP_BYTES = 56000,     /* the same limit for each step of a lesson */
    LARGE_BYTES = 10000000, /* size in bytes from which a live page gets a note */
    ORIGINS_MOST = 256,     /* maximum number of scores of a text that are split into parts */
    /* estimated size in the page, in bytes, of a split score without the grids of its parts */
    ORIGIN_BYTES = 600,
};

static size_t layers_of(const struct config *config)
{
    return num_max(config->n_layer, stack_of(config, BRANCH_SOURCE)->layers);
}

/* Mark a head of a layer. In differential attention, two heads make one context: mark both. */
static void mark_head(bool *layer, size_t head, size_t heads, const struct config *config)
{
    layer[head] = true;
    if (config->differs)
        layer[(head + heads / 2) % heads] = true;
}

static int parse_explain(struct page_state *own, const struct config *config, struct arena *arena,
                         struct err *err)
{
    const char *list = own->driver->options->page.explain;
    size_t heads = config_most_heads(config), count = layers_of(config) * heads;
    if (list && strcmp(list, "all") == 0)
        return 0;
    own->explains = arena_alloc(arena, count, sizeof *own->explains, err);
    if (!own->explains)
        return -1;
    if (!list || strcmp(list, "none") == 0)
        return 0;
    for (; list; list = list_next(list)) {
        size_t size = strcspn(list, ",");
        struct head_range range;
        if (!head_range_read(&range, list, size, layers_of(config), heads) || range.is_bare ||
            range.of_keys)
            return err_usage(err,
                             "--explain: expected all, none or heads such as L0H1, with layers "
                             "below %zu and heads below %zu, found '%.*s'",
                             layers_of(config), heads, (int)size, list);
        for (ptrdiff_t layer = range.layers[0]; layer <= range.layers[1]; layer++)
            for (ptrdiff_t head = range.heads[0]; head <= range.heads[1]; head++)
                mark_head(own->explains + (size_t)layer * heads, (size_t)head, heads, config);
    }
    return 0;
}

/* Remove the heads of a tensor that `explains` does not mark; NULL: keep all. A tensor with
 * key/value heads keeps each of them that serves a marked head. */
static int narrow(struct array *array, const bool *explains, const struct config *config,
                  struct arena *arena, struct err *err)
{
    size_t served = site_shared_by(config, array->site, (size_t)array->layer);
    const bool *layer =
        explains ? explains + (size_t)array->layer * config_most_heads(config) : NULL;
    size_t size = array->rows.size * array->columns.size;
    size_t count = 0;
    float *data = arena_room(arena, array->heads.size * size, sizeof *data, err);
    size_t *heads = arena_alloc(arena, array->heads.size, sizeof *heads, err);
    if (!data || !heads)
        return -1;
    for (size_t i = 0; i < array->heads.size; i++) {
        if (layer && !memchr(layer + array->heads.numbers[i] * served, true, served))
            continue;
        memcpy(data + count * size, array->data + i * size, size * sizeof *data);
        heads[count++] = array->heads.numbers[i];
    }
    array->heads.size = count;
    array->data = data;
    array->heads.numbers = heads;
    return 0;
}

/* Remove the heads that are not explained from all tensors of a report, and tensors without
 * heads. */
static int narrow_all(struct report *report, const bool *explains, const struct config *config,
                      struct arena *arena, struct err *err)
{
    struct array *arrays = arena_alloc(arena, report->array_count, sizeof *arrays, err);
    size_t count = 0;
    if (!arrays)
        return -1;
    for (size_t i = 0; i < report->array_count; i++) {
        arrays[count] = report->arrays[i];
        if (narrow(&arrays[count], explains, config, arena, err))
            return -1;
        count += arrays[count].heads.size > 0;
    }
    report->arrays = arrays;
    report->array_count = count;
    return 0;
}

/* Select the layers that have heads to explain. If there are none, select no sites. */
static int select_layers(struct selection *selection, const bool *explains,
                         const struct config *config, struct arena *arena, struct err *err)
{
    size_t *layers = arena_alloc(arena, layers_of(config), sizeof *layers, err);
    size_t heads = config_most_heads(config);
    *selection = (struct selection){.layers = {layers, 0}, .encoder_layers = {layers, 0}};
    if (!layers)
        return -1;
    for (size_t layer = 0, count = 0; layer < layers_of(config); layer++) {
        if (explains && !memchr(explains + layer * heads, true, heads))
            continue;
        layers[count++] = layer;
        selection->sites = page_explained_sites(config);
        selection->layers.count += layer < config->n_layer;
        selection->encoder_layers.count += layer < stack_of(config, BRANCH_SOURCE)->layers;
    }
    return 0;
}

/* Return the heads to explain, NULL for all: the heads of --explain; without --explain all heads,
 * if their tensors are small enough, else none. Sets facts.explained_bytes, the estimated size of
 * the tensors of all heads. */
static const bool *explained_heads(struct page_run *run)
{
    const struct page_state *own = run->own;
    const struct config *config = &run->viewer->model.config;
    size_t tokens = run->pair->text.count, heads = config_most_heads(config);
    size_t bytes = page_explained_numbers(config, tokens) * 16 / 3;
    size_t origins = 2 * layers_of(config) * heads * tokens;
    size_t most = own->lesson ? STEP_BYTES : DEFAULT_BYTES / own->driver->identity.count;
    if (origins <= ORIGINS_MOST && !run->options->page.live)
        bytes += origins * (ORIGIN_BYTES + 4 * (layers_of(config) + 2) * (heads + 5));
    bool all = !run->options->page.explain && bytes <= most;
    run->facts.explained_bytes = bytes;
    return all ? NULL : own->explains;
}

static int find_explained(struct page_run *run, struct err *err)
{
    const struct config *config = &run->viewer->model.config;
    struct arena *arena = run->arena;
    struct selection selection;
    struct report *report = arena_alloc(arena, 1, sizeof *report, err);
    const struct capture_request asked = {&selection, run->pair, 1, 0, report};
    const bool *explains = explained_heads(run);
    if (!report || select_layers(&selection, explains, config, arena, err))
        return -1;
    if (site_set_is_empty(selection.sites))
        return 0;
    if (viewer_capture(run->viewer, &asked, arena, err))
        return -1;
    if (narrow_all(report, explains, config, arena, err))
        return -1;
    run->facts.explained = report;
    return 0;
}

/* --- what Motion draws: the streams, and a head of each layer --------------------------------- */

enum {
    /* maximum size in bytes of base64 of the exact residual streams of all queries, over all pages
     * of the command; if they are larger, a page has the rounded streams of one query */
    WHOLE_BYTES = 300000,
    /* maximum count of numbers in the queries, keys, values and scores of all heads; if there are
     * more, only the numbers of one query are captured */
    WHOLE_FLOATS = 1 << 24,
};

/* The query whose journey through the model a page shows first: in the lesson, the query of the
 * first mark, otherwise the query that tokenized_opening chooses. */
static size_t first_query(const struct page_run *run)
{
    const char *mark = run->own->lesson ? run->own->lesson->marks : "";
    size_t end = strcspn(mark, " "), colons = 0;
    while (end && colons < 2)
        colons += mark[--end] == ':';
    return colons == 2
               ? strtoul(mark + end + 1, NULL, 10)
               : tokenized_opening(&run->pair->text, &run->viewer->model.config, run->facts.mask);
}

/* Capture the tensors of `sites` in all layers, for all queries (`whole`) or only for the query
 * that the page shows first. */
static int capture_journey(struct page_journey *journey, struct page_run *run,
                           struct site_set sites, bool whole, struct err *err)
{
    const struct config *config = &run->viewer->model.config;
    const size_t query = first_query(run);
    struct report *report = arena_alloc(run->arena, 1, sizeof *report, err);
    struct selection selection = {.sites = sites};
    const struct capture_request asked = {&selection, run->pair, 1, 0, report};
    journey->query = whole ? -1 : (long long)query;
    if (!report || (!whole && !(selection.queries = arena_format(run->arena, err, "%zu", query))) ||
        selection_layers(&selection, NULL, config, run->arena, err) ||
        viewer_capture(run->viewer, &asked, run->arena, err))
        return -1;
    journey->report = report;
    return 0;
}

static double captured_bytes(const struct page_run *run, struct site_set sites, struct err *err)
{
    struct selection selection = {.sites = sites};
    return selection_layers(&selection, NULL, &run->viewer->model.config, run->arena, err)
               ? 0
               : viewer_captured_bytes(run->viewer, &selection, run->pair);
}

/* The size in bytes of the tensors that capture_journey keeps: of all queries if that is at most
 * `most`, else of one query. */
static double kept_bytes(const struct page_run *run, struct site_set sites, double most,
                         struct err *err)
{
    double bytes = captured_bytes(run, sites, err);
    return bytes <= most ? bytes : bytes / (double)num_max(run->pair->text.count, 1);
}

/* True if the page needs data for its animation: of the residual streams with `streams`, otherwise
 * of the heads. A live page computes the layers itself; a step of the lesson needs only the data
 * that its scenes show. */
static bool has_motion(const struct page_run *run, bool streams)
{
    const struct page_lesson *lesson = run->own->lesson;
    const char *scene = lesson ? lesson->scene : "heads";
    return !run->options->page.live && scene && (!lesson || !strstr(scene, "heads") == !streams);
}

static int find_streams(struct page_run *run, struct err *err)
{
    const struct site_set sites = page_stream_sites(&run->viewer->model.config);
    const double most = WHOLE_BYTES / (double)run->own->driver->identity.count * 3 / 4;
    struct page_journey *streams = &run->facts.streams;
    if (!has_motion(run, true) || site_set_is_empty(sites))
        return 0;
    const bool whole = captured_bytes(run, sites, err) <= most && !run->own->lesson;
    streams->exact = whole || run->own->lesson;
    return err_if(err->kind || capture_journey(streams, run, sites, whole, err));
}

/* True if an array contains attention weights that were made from scores, which can be split. */
static bool is_split(const struct array *array)
{
    return site_id(array->site) == SITE_WEIGHTS && site_branch(array->site) != BRANCH_MIXER;
}

/* In each layer, choose the head with the largest weight from the query that the page shows first
 * to a key other than the first key and the query itself. Also choose the head on which the
 * prediction depends most, if that is known. */
static bool *choose_heads(const struct page_run *run, struct err *err)
{
    const struct config *config = &run->viewer->model.config;
    const size_t most = config_most_heads(config);
    const size_t row = first_query(run);
    const float *without = run->facts.without_heads;
    bool *chosen = arena_alloc(run->arena, layers_of(config) * most, sizeof *chosen, err);
    for (size_t i = 0; chosen && i < run->report.array_count; i++) {
        const struct array *array = &run->report.arrays[i];
        float highest = -1;
        size_t best = 0;
        if (!is_split(array) || row >= array->rows.size)
            continue;
        for (size_t head = 0; head < array->heads.size; head++)
            for (size_t key = 1; key < array->columns.size; key++) {
                float weight = array_head(array, head).data[row * array->columns.size + key];
                if (key != row && weight > highest)
                    highest = weight, best = array->heads.numbers[head];
            }
        chosen[(size_t)array->layer * most + best] = true;
    }
    for (size_t i = 0, best = 0; chosen && without && i < config->n_layer * config->n_head; i++) {
        best = without[i] < without[best] ? i : best;
        if (i + 1 == config->n_layer * config->n_head)
            chosen[best / config->n_head * most + best % config->n_head] = true;
    }
    return chosen;
}

/* Capture the tensors of the heads that the animation shows, one or two in a layer (choose_heads),
 * unless the page explains all heads or none. */
static int find_journey(struct page_run *run, struct err *err)
{
    const struct config *config = &run->viewer->model.config;
    const struct site_set sites = page_journey_sites(config);
    const char *explain = run->options->page.explain;
    struct page_journey *journey = &run->facts.journey;
    const bool *chosen;
    if (!has_motion(run, false) || !explained_heads(run) ||
        (explain && strcmp(explain, "none") == 0) || site_set_is_empty(sites))
        return 0;
    const double floats = captured_bytes(run, sites, err) / sizeof(float);
    if (err->kind || !(chosen = choose_heads(run, err)) ||
        capture_journey(journey, run, sites, floats <= WHOLE_FLOATS, err))
        return -1;
    return narrow_all((struct report *)journey->report, chosen, config, run->arena, err);
}

/* --- where the queries and keys of these heads come from -------------------------------------- */

/* For the query origin->query and the key to which this query has the largest weight, split the
 * score into parts, and store the result in `origin`. */
static int split_score(struct page_run *run, struct page_origin *origin,
                       const struct array *weights, size_t head, struct err *err)
{
    const size_t keys = report_keys(run->facts.explained, site_branch(weights->site))->count;
    const float *row =
        weights->data + (head * weights->rows.size + origin->query) * weights->columns.size;
    struct report *report = arena_alloc(run->arena, 1, sizeof *report, err);
    struct score_plan plan = {.viewer = run->viewer,
                              .head = {site_branch(weights->site), origin->layer, origin->head},
                              .query = origin->query,
                              .against = origin->less_mean ? AGAINST_MEAN : AGAINST_NOTHING,
                              .depth = PAGE_ORIGIN_DEPTH};
    struct score_attribution found;
    for (size_t key = 1; key < keys; key++)
        if (row[key] > row[plan.key] || isnan(row[plan.key]))
            plan.key = key;
    if (!report)
        return -1;
    *report = run->report;
    report->arrays = NULL;
    report->array_count = 0;
    if (score_attribution_make(&found, report, &plan, run->pair, run->arena, err))
        return -1;
    origin->key = plan.key;
    origin->score = found.score;
    origin->report = report;
    return 0;
}

/* For the heads to explain, split the strongest score of each query into parts twice: the score
 * less the query's mean score, and the score itself. Nothing is split with edits, in a lesson or a
 * live page, if there are too many scores or, without --explain, if it would take long. */
static int find_origins(struct page_run *run, struct err *err)
{
    const struct report *explained = run->facts.explained;
    const struct config *config = &run->viewer->model.config;
    double layer = 12 * (double)config->n_embd * (double)config->n_embd;
    size_t tokens = run->pair->text.count + run->pair->source.count, most = 0, count = 0;
    for (size_t i = 0; explained && i < explained->array_count; i++)
        if (is_split(&explained->arrays[i]))
            most += 2 * explained->arrays[i].heads.size * explained->arrays[i].rows.size;
    bool is_quick = (double)(config_layers(config) * tokens * most) * layer <= quick_products;
    if (!most || most > ORIGINS_MOST || run->viewer->edits || run->facts.lesson ||
        run->options->page.live || !(is_quick || run->options->page.explain))
        return 0;
    struct page_origin *origins = arena_alloc(run->arena, most, sizeof *origins, err);
    int failed = !origins;
    for (size_t i = 0; i < explained->array_count; i++) {
        const struct array *weights = &explained->arrays[i];
        const size_t rows = 2 * weights->rows.size;
        if (!is_split(weights))
            continue;
        for (size_t k = 0; k < weights->heads.size * rows && !failed; k++, count++) {
            origins[count] = (struct page_origin){.weights = weights->site,
                                                  .layer = (size_t)weights->layer,
                                                  .head = weights->heads.numbers[k / rows],
                                                  .query = k % rows / 2,
                                                  .less_mean = k % 2 == 0};
            failed = split_score(run, &origins[count], weights, k / rows, err);
        }
    }
    run->facts.origins = origins;
    run->facts.origin_count = failed ? 0 : count;
    if (failed && err->kind == ERR_UNSUPPORTED) {
        err_clear(err);
        failed = 0;
    }
    return failed;
}

/* --- --scores: the scores of `heads`, on the text and on repeated random tokens --------------- */

/* Maximum approximate number of parameters of all layers of a model whose head scores are measured
 * by default, which then takes less than half a second. */
static const double QUICK_WEIGHTS = 5e6;

/* Measure the head scores that `heads` shows by default; `scores` gets a row for each head. */
static int measure_scores(struct sheet *scores, const struct page_run *run, struct err *err)
{
    struct viewer *viewer = run->viewer;
    struct arena *arena = run->arena;
    struct score_list list = {.count = 0};
    struct head_survey survey = {.viewer = viewer, .scores = &list, .on_texts = true};
    enum usual_score usual = viewer->model.config.causal ? USUAL_CAUSAL : USUAL_TWO_WAY;
    struct head_sums sums;
    struct head_result result;
    struct report report;
    const struct head_results results = {.scores = &list, .items = &result, .count = 1};
    const struct head_text text = {.text = viewer_text(run->pair), .sums = &sums};
    for (size_t i = 0; i < score_row_count; i++)
        if (score_rows[i].usual & usual &&
            !score_choose(&list, "--scores", score_rows[i].name, err))
            return -1;
    if (model_check(&viewer->model, NEEDS_ONE_TEXT, err) || head_survey_open(&survey, arena, err) ||
        head_sums_init(&sums, &survey, arena, err) ||
        head_survey_run_repeats(&survey, viewer, &sums, err) ||
        head_survey_run(&survey, viewer, OF_TEXTS, &text, 1, err) ||
        head_result_keep(&result, &survey, &sums, arena, err))
        return -1;
    const struct table *table = head_table_report(&report, &results, arena, err);
    struct array array;
    if (!table || table_array(&array, table, false, arena, err))
        return -1;
    *scores = array_matrix(&report, &array, 0);
    return 0;
}

static bool has_scores(const struct page_run *run)
{
    const char *wanted = run->options->page.scores;
    const struct config *config = &run->viewer->model.config;
    double weights = 12 * (double)config->n_layer * (double)config->n_embd * (double)config->n_embd;
    return wanted ? strcmp(wanted, "all") == 0
                  : !run->options->page.live && weights <= QUICK_WEIGHTS;
}

static int find_scores(struct page_run *run, struct err *err)
{
    const char *wanted = run->options->page.scores;
    struct err none = {0};
    if (wanted && strcmp(wanted, "all") != 0 && strcmp(wanted, "none") != 0)
        return err_usage(err, "--scores: expected all or none, found '%s'", wanted);
    if (!has_scores(run))
        return 0;
    struct sheet *scores = arena_alloc(run->arena, 1, sizeof *scores, err);
    if (!scores)
        return -1;
    if (measure_scores(scores, run, &none) == 0) {
        run->facts.scores = scores;
        return 0;
    }
    if (wanted)
        err_prefix(&none, "--scores all");
    /* true if the random texts of head scores have too few tokens for an edit */
    bool of_length = run->viewer->edits && none.kind == ERR_INPUT;
    if (wanted || !(none.kind == ERR_UNSUPPORTED || of_length))
        return err_adopt(err, &none);
    if (of_length)
        print_note("the page has no head scores, which need other texts: %s", none.text);
    err_clear(&none);
    return 0;
}

/* --- setup ------------------------------------------------------------------------------------ */

static int prepare(void *state, struct driver *driver, struct err *err)
{
    struct page_state *own = state;
    const struct options *options = driver->options;
    const struct select_options *select = &options->select;
    if (driver->output.to_folder)
        return err_usage(err, "--output: expected a file, found the folder '%s'",
                         driver->output.path);
    if (options->page.unedited && !edit_options_are_given(&options->edit))
        return err_usage(err, "--unedited: expected --edit, --ablate or --knockout, found none");
    driver->accumulates = true;
    own->driver = driver;
    driver->identity.count = driver->jobs * runs_of(own); /* number of pages, over all jobs */
    driver->identity.texts = driver->items.count;
    if (!options->page.live)
        return 0;
    if (driver->identity.count != 1)
        return err_usage(err, "--live: expected one text and one model, found %zu pages",
                         driver->identity.count);
    /* A live page has fields to change some settings. It would not keep the options below. */
    if (select->words || select->mean || select->hide_first || select->layer || select->head ||
        select->key)
        return err_usage(err, "--live: expected no --layer, --head, --key, --words, --mean or "
                              "--hide-first: a live page shows everything");
    if (options->edit.dictionaries.count)
        return err_usage(err,
                         "--live: expected no --sae: a live page does not find the features of "
                         "a typed text");
    return page_live_check(err);
}

static int open(void *state, struct driver *driver, struct err *err)
{
    struct page_state *own = state;
    struct session *session = &driver->session;
    struct request *request = &own->request;
    if (request_make(request, driver, err))
        return -1;
    if (request->derivation.mean_of_texts)
        return err_usage(err, "--mean texts: a page shows each text: 'attn-cli run' averages them");
    return err_if(output_check_selection(&driver->output, &request->selection, err) ||
                  parse_explain(own, &session->viewer.model.config, &session->arena, err));
}

/* --- facts about a text ----------------------------------------------------------------------- */

/* Options that a page repeats in the commands it shows; the page itself adds options of model,
 * texts and tensors. */
static const char *const copied[] = {"attention", "mask-after", "scale",   "attention-temperature",
                                     "dropout",   "without",    "seed",    "source",
                                     "pair",      "precision",  "special", "literal-special",
                                     "long",      "edit",       "ablate",  "knockout",
                                     "from",      "reference",  "sae"};

/* COPIED_EDITS: number of options of edits, which are the last of `copied` */
enum { COPIED = sizeof copied / sizeof *copied, COPIED_EDITS = 6 };

/* Add an option to a command, with its value or with each of its texts. The value may come from a
 * column of the input. */
static int add_option(struct texts *words, const struct option_row *row, const struct page_run *run,
                      struct err *err)
{
    const void *field = (const char *)run->options + row->offset;
    const char *name = arena_format(run->arena, err, "--%s", row->name), *value = NULL;
    char digits[NUM_DOUBLE_BYTES];
    struct texts values = {&value, 1};
    if (row->kind == OPTION_TEXTS)
        values = *(const struct texts *)field;
    else if (row->kind == OPTION_TEXT && !(value = *(const char *const *)field))
        return 0;
    else if (row->kind == OPTION_NUMBER)
        value = arena_format(run->arena, err, "%lld", *(const long long *)field);
    else if (row->kind == OPTION_REAL) {
        num_double(digits, *(const double *)field);
        value = arena_text(run->arena, digits, strlen(digits), err);
    }
    for (size_t i = 0; i < values.count && !err->kind; i++)
        if (!texts_add(words, name, run->arena, err) && row->kind != OPTION_FLAG)
            texts_add(words, values.items[i], run->arena, err);
    return err_if(err->kind);
}

/* True if --edit changes features: then the commands also need --sae. */
static bool edits_features(const struct options *options)
{
    bool found = false;
    for (size_t i = 0; i < options->edit.edits.count; i++)
        found = found || strstr(options->edit.edits.items[i], "features");
    return found;
}

/* Set the words of facts.command: options that reproduce the model, mechanism and edits. */
static int find_words(struct page_run *run, struct err *err)
{
    const struct options *options = run->options;
    struct texts words = {0};
    bool adds_beginning = run->own->driver->session.adds_beginning;
    if (adds_beginning && (texts_add(&words, "--special", run->arena, err) ||
                           texts_add(&words, "bos", run->arena, err)))
        return -1;
    for (size_t i = 0; i < (run->viewer->edits ? COPIED : COPIED - COPIED_EDITS); i++) {
        const struct option_row *row = option_find(options->set, copied[i], strlen(copied[i]));
        if ((adds_beginning && strcmp(copied[i], "special") == 0) ||
            (strcmp(copied[i], "sae") == 0 && !edits_features(options)))
            continue;
        if (row && (row->kind == OPTION_TEXT || options_are_given(options, copied[i])) &&
            add_option(&words, row, run, err))
            return -1;
    }
    run->facts.command = words.items;
    run->facts.command_count = words.count;
    return 0;
}

/* Plan the predictions of the model and, with --lens or if computing them is cheap, the predictions
 * after each layer. */
static int plan_next(struct next_plan *plan, const struct page_run *run, struct err *err)
{
    const struct options *options = run->options;
    const struct config *config = &run->viewer->model.config;
    double cost = (double)config->n_layer * (double)run->pair->text.count *
                  (double)config->vocab_size * (double)config->n_embd;
    bool steps = options->page.lens || cost <= quick_products;
    size_t best = options_are_given(options, "top") ? (size_t)options->page.top : PAGE_NEXT_BEST;
    return next_tokens_plan(plan, run->viewer, best, steps, run->arena, err);
}

static int find_next(struct page_run *run, struct err *err)
{
    const struct config *config = &run->viewer->model.config;
    struct next_plan plan;
    if (plan_next(&plan, run, err))
        return -1;
    struct selection selection = {.sites = next_tokens_sites(&plan)};
    struct report report;
    const struct capture_request asked = {&selection, run->pair, 1, 0, &report, NULL};
    if (!plan.count)
        return 0; /* the model predicts no tokens */
    return err_if(
        selection_layers(&selection, NULL, config, run->arena, err) ||
        viewer_capture(run->viewer, &asked, run->arena, err) ||
        next_tokens_of_report(&run->facts.next, &plan, &report, &run->pair->text, run->arena, err));
}

/* True if a page shows the findings of its text. A page of words does not, since findings name
 * tokens, nor does a step of the lesson. */
static bool has_findings(const struct page_run *run)
{
    return !run->own->lesson && !run->own->request.derivation.words;
}

static struct finding_plan plan_findings(const struct page_run *run)
{
    return (struct finding_plan){run->viewer, run->pair,
                                 quick_products / (double)run->own->driver->identity.count};
}

static int find_findings(struct page_run *run, struct err *err)
{
    const struct finding_plan plan = plan_findings(run);
    struct findings *findings = arena_alloc(run->arena, 1, sizeof *findings, err);
    if (!findings)
        return -1;
    if (!has_findings(run))
        return 0;
    run->facts.findings = findings;
    return findings_make(findings, &plan, run->arena, err);
}

/* Find the effect of each head and of each token on the prediction, if that is cheap and there are
 * no edits. */
static int find_effects(struct page_run *run, struct err *err)
{
    const struct config *config = &run->viewer->model.config;
    struct page_facts *facts = &run->facts;
    const size_t count = run->pair->source.count + run->pair->text.count;
    const double cost = pass_products(config, count) * (double)run->own->driver->identity.count;
    const double heads = (double)(config->n_layer * config->n_head);
    const double tokens = (double)count;
    if (!facts->next || !facts->next->layers->count || run->viewer->edits)
        return 0;
    struct without_parts without = {NULL, NULL};
    if (cost * heads <= quick_products &&
        next_tokens_without(&without, run->viewer, run->pair, WITHOUT_HEAD, run->arena, err))
        return -1;
    facts->without_heads = without.shares;
    if (run->options->page.live || facts->lesson || cost * tokens > quick_products ||
        config->mechanism.kind != ATTENTION_DENSE || !site_exists(config, SITE_MASKED))
        return 0; /* a live page measures the effects itself; --knockout needs dense attention */
    if (next_tokens_without(&without, run->viewer, run->pair, WITHOUT_KEY, run->arena, err))
        return -1;
    facts->without_keys = without.shares;
    facts->without_top = without.tops;
    return 0;
}

/* Find the features of each dictionary of --sae that are active at each token. */
static int find_features(struct page_run *run, struct err *err)
{
    const struct session *session = &run->own->driver->session;
    const size_t count = session->dictionary_count;
    struct page_features *features = arena_alloc(run->arena, count, sizeof *features, err);
    struct report *reports = arena_alloc(run->arena, count, sizeof *reports, err);
    if (!features || !reports)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct feature_plan plan = {.viewer = run->viewer,
                                          .dictionary = &session->dictionaries[i],
                                          .top = FEATURES_LISTED,
                                          .promoted = FEATURE_WORDS};
        struct selection selection;
        const struct capture_request asked = {&selection, run->pair, 1, 0, &reports[i]};
        features_select(&selection, plan.dictionary);
        if (viewer_capture(run->viewer, &asked, run->arena, err) ||
            features_report(&reports[i], &plan, run->arena, err))
            return -1;
        features[i] = (struct page_features){run->options->edit.dictionaries.items[i], &reports[i]};
    }
    run->facts.features = features;
    run->facts.feature_count = count;
    return 0;
}

/* Check that the target of a live page begins with the tokens that the model puts before each text:
 * the page appends token ids to these. */
static int check_target(const struct page_run *run, struct err *err)
{
    struct text_with_source own;
    const struct tokenized *text = run->facts.text, *begins = &own.text;
    if (viewer_read(run->viewer, &own, NULL, NULL, run->arena, err))
        return -1;
    size_t count = begins->count - begins->added_after;
    return text->count >= count && memcmp(text->ids, begins->ids, count * sizeof *text->ids) == 0
               ? 0
               : err_usage(err, "--live: expected a text that begins with '%s', found '%s'",
                           begins->labels->text, text->labels->text);
}

/* Check that a live page can run the model, and set facts.live to the folder of the model. */
static int find_live(struct page_run *run, struct err *err)
{
    struct page_facts *facts = &run->facts;
    char text[NUM_SIZE_BYTES];
    size_t bytes;
    if (!run->options->page.live)
        return 0;
    /* with an encoder, the source is the text that is typed; the page appends the tokens of the
     * target as ids */
    bool translates = has_encoder(facts->config);
    /* number of words in --source TEXT, which a live page allows */
    size_t options = translates ? 2 : 0;
    facts->by_ids = facts->by_ids || translates;
    if (facts->command_count > options)
        return err_usage(
            err, "--live: expected no %s: a live page runs one text on the unmodified model",
            facts->command[translates && strcmp(facts->command[0], "--source") == 0 ? options : 0]);
    if (translates && check_target(run, err))
        return -1;
    if (!translates && (!facts->text->raw || facts->source->count))
        return err_usage(err, "--live: expected a model that reads one text, found %s",
                         facts->source->count ? "a source" : "ids");
    facts->live = &run->viewer->model.folder;
    if (page_live_bytes(&bytes, facts->live, err))
        return -1;
    if (bytes >= LARGE_BYTES)
        print_note("--live: the page takes about %s, as it includes the model",
                   num_size(text, bytes));
    return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Run a text once and capture its tensors. `name` is "unedited" or "edited"; NULL if there is only
 * one run. */
static int capture_once(struct page_run *run, const struct page_state *own,
                        const struct group *group, const char *name, struct err *err)
{
    struct job *job = group->jobs[0];
    uint32_t **translations = group->driver->translations;
    struct viewer *viewer = group->viewer;
    const struct capture_request asked = {&own->request.selection, &job->pair, 1, job->number,
                                          &run->report};
    *run = (struct page_run){.own = own,
                             .options = &job->item.options,
                             .viewer = viewer,
                             .pair = &job->pair,
                             .arena = group->arena,
                             .facts = {.config = &viewer->model.config,
                                       .text = &job->pair.text,
                                       .source = &job->pair.source,
                                       .by_ids = translations && translations[job->number],
                                       .mask = viewer->mask,
                                       .lesson = own->lesson,
                                       .untrained = model_is_untrained(&viewer->model),
                                       .roles = &head_roles,
                                       .run = name}};
    if (viewer_capture(viewer, &asked, group->arena, err) || find_words(run, err) ||
        find_scores(run, err) || find_explained(run, err) || find_origins(run, err) ||
        find_next(run, err) || find_findings(run, err) || find_effects(run, err) ||
        find_streams(run, err) || find_journey(run, err) || find_features(run, err) ||
        find_live(run, err))
        return -1;
    return derive(&run->report, &own->request.derivation, viewer->tokenizer, group->arena, err)
               ? items_blame(&own->driver->items, job->index, err)
               : 0;
}

/* Add the memory of the tensors that capture_once captures. */
static int read(void *state, struct driver *driver, struct job *job, struct arena *arena,
                struct err *err)
{
    const struct page_state *own = state;
    struct viewer *viewer = &driver->session.viewer;
    const struct text_with_source *pair = &job->pair;
    const struct config *config = &viewer->model.config;
    struct page_run run = {own,  driver->options, viewer,
                           pair, .arena = arena,  .facts.mask = viewer->mask};
    const bool *explains = explained_heads(&run);
    struct memory *memory = &job->memory;
    struct selection selection;
    struct next_plan next;
    size_t heads = layers_of(config) * config_most_heads(config);
    size_t explained = 0; /* number of heads that `narrow` copies */
    job->result_bytes = request_add_memory(memory, &own->request, viewer, pair, false);
    if (has_scores(&run))
        head_survey_add_memory(memory, viewer, score_row_count, pair);
    if (select_layers(&selection, explains, config, arena, err) || plan_next(&next, &run, err))
        return -1;
    for (size_t i = 0; i < heads; i++)
        explained += !explains || explains[i];
    viewer_add_memory(memory, viewer, &selection, pair, CAPTURE_ALL);
    memory->held += viewer_captured_bytes(viewer, &selection, pair) * (double)explained /
                    (double)(num_max(selection.layers.count, 1) * config_most_heads(config));
    memory->held += kept_bytes(&run, page_stream_sites(config), WHOLE_BYTES, err);
    if (explains)
        memory->held += kept_bytes(&run, page_journey_sites(config), WHOLE_FLOATS * 4.0, err);
    next_tokens_add_memory(memory, &next, pair);
    if (has_findings(&run)) {
        const struct finding_plan plan = plan_findings(&run);
        findings_add_memory(memory, &plan);
    }
    for (size_t i = 0; i < driver->session.dictionary_count; i++)
        features_add_memory(memory, viewer, &driver->session.dictionaries[i], pair);
    memory->held *= (double)runs_of(own);
    return 0;
}

/* Run a text once or, with --unedited, twice. */
static int run(void *state, const struct group *group, struct err *err)
{
    static const char *const names[] = {"unedited", "edited"};
    struct page_state *own = state;
    const struct session *session = &own->driver->session;
    struct viewer *viewer = group->viewer;
    const struct edits *edits = viewer->edits;
    struct job *job = group->jobs[0];
    size_t count = runs_of(own);
    struct page_run *runs = arena_alloc(group->arena, count, sizeof *runs, err);
    int failed = !runs;
    job->own = runs;
    job->is_written = true; /* `add` writes the pages */
    for (size_t i = 0; i < count && !failed; i++) {
        viewer->edits = i + 1 < count ? NULL : edits;
        failed = capture_once(&runs[i], own, group, count > 1 ? names[i] : NULL, err);
    }
    viewer->edits = edits;
    for (size_t i = 0; i < session->dictionary_count && !failed && !own->has_noted; i++)
        own->has_noted = print_note_of_training(&session->dictionaries[i], &job->pair.text);
    return err_if(failed);
}

static int add(void *state, struct job *job, struct err *err)
{
    const struct page_state *own = state;
    struct driver *driver = own->driver;
    struct page_run *runs = job->own;
    for (size_t i = 0; i < runs_of(own); i++, driver->identity.index++) {
        driver->layout.page = &runs[i].facts;
        runs[i].report.identity = driver->identity;
        if (output_open(&driver->output, err) ||
            output_write(&driver->output, &runs[i].report, &driver->layout, err))
            return -1;
    }
    return 0;
}

static const struct task page_task = {
    .many = ITEMS_OR_SOURCE,
    .begins = true,
    .alone = true,
    .state_bytes = sizeof(struct page_state),
    .prepare = prepare,
    .open = open,
    .read = read,
    .run = run,
    .add = add,
};

int page_add_lesson(struct output *output, struct identity *identity, const struct layout *layout,
                    const struct options *options, const struct page_lesson *lesson,
                    struct err *err)
{
    struct driver driver = {.options = options,
                            .session.options = options,
                            .output = *output,
                            .layout = *layout,
                            .identity = *identity};
    struct session *session = &driver.session;
    struct page_state own = {.driver = &driver, .lesson = lesson};
    struct job job = {.number = 0};
    struct group group = {&driver, &session->viewer, (struct job *[]){&job}, 1, &driver.kept};
    const struct text_with_source *pairs = NULL;
    int failed = items_open(&driver.items, options, 0, ITEMS_ONE, err) ||
                 session_begin(session, err) || open(&own, &driver, err) ||
                 !(pairs = session_read_items(session, &driver.items, err));
    if (!failed)
        job.pair = *pairs;
    failed = failed || run(&own, &group, err) || add(&own, &job, err);
    *output = driver.output;
    driver.output = (struct output){.path = NULL}; /* the caller owns the output */
    identity->index = driver.identity.index;
    driver_release(&driver);
    return err_if(failed);
}

/* --- the command ------------------------------------------------------------------------------ */

int page_command(const struct options *options, struct err *err)
{
    struct options own = *options;
    const char *path = own.output.path;
    own.output.format = "html";
    if (path && !output_is_page(path))
        return err_usage(err, "--output: expected an HTML file such as page.html, found '%s'",
                         path);
    return weights_file_is_asked(&own) ? weights_file_show(&own, true, err)
                                       : driver_do(&page_task, &own, err);
}
