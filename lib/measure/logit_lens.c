#include "measure/logit_lens.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "lens/continuation.h"
#include "math/isa.h"
#include "math/portable_math.h"
#include "measure/token_scores.h"
#include "measure/trials.h"
#include "model/layer.h"
#include "model/points.h"

static bool is_of_stream(const struct config *config, enum site site)
{
    size_t floats = 0;
    const struct site_row *row = site_row(site);
    return row->in_layer && site_branch(site) != BRANCH_SOURCE && row->axes == AXES_TOKEN_CHANNEL &&
           site_exists(config, site) && site_id(site) != SITE_MLP_ACT &&
           site_id(site) != SITE_MLP_GATE && site_id(site) != SITE_MLP_UP &&
           site_size(&floats, config, site, config->n_head, 1, 1) && floats == config->n_embd;
}

int lens_find_site(enum site *site, const char *name, const struct config *config, struct err *err)
{
    struct buf known = {0};
    *site = site_of_output(config);
    if (selection_translate_one(&name, "--site", config, err))
        return -1;
    if (!name || (site_find(name, strlen(name), site) && is_of_stream(config, *site)))
        return 0;
    const struct site_set sites = model_sites(config);
    for (enum site other = site_first(sites); other != SITE_END; other = site_after(sites, other))
        if (is_of_stream(config, other))
            buf_format(&known, "%s%s", known.size ? ", " : "", site_name(other));
    err_usage(err, "--site: expected one of %s, found '%s'", known.size ? known.bytes : "", name);
    buf_release(&known);
    return -1;
}

/* --- one row of logits ------------------------------------------------------------------------ */

/* The indices of a cell of the lens; `layer` is an index into the plan's layers. */
struct place {
    size_t layer, token;
};

struct lens_work {
    const struct lens_plan *plan;
    const struct logit_lens *lens;
    const struct report *report;
    const struct tokenized *text;
    struct matrix ends; /* [tokens, C] vectors that give the model's own logits */
    size_t from, end;   /* tokens of the lens: `from` to `end` - 1 */
    size_t first;       /* index of the first of the tokens whose cells are being computed */
    struct matrix rows; /* [capacity, C] vectors of several layers, each times its layer's Jacobian,
                         * if any */
    struct place *places; /* [capacity] the cell to which each row belongs */
    size_t count;         /* number of filled rows */
    float *last;          /* [tokens, V] the model's own logits from `first` on, unless brief */
    double *last_sums;    /* [tokens] logsumexp of the rows of `last` */
    size_t own;           /* index of the layer whose logits are the model's own; the layer count if
                           * the lens lacks this layer */
    struct likely *best;
};

static void see_row(void *context, size_t row, const float *logits, size_t count)
{
    struct lens_work *work = context;
    const struct viewer *viewer = work->plan->viewer;
    const struct place place = work->places[row];
    const size_t at_last = place.token - work->first;
    double entropy = 0;
    double sum = logsumexp_entropy(&entropy, logits, count);
    if (place.layer == work->own && !work->plan->is_brief) {
        memcpy(work->last + at_last * count, logits, count * sizeof *logits);
        work->last_sums[at_last] = sum;
    }
    if (place.layer == work->plan->layers.count)
        return;
    size_t index = place.layer * work->lens->tokens + place.token - work->from;
    size_t best_count = work->lens->best_count;
    struct lens_cell *cell = &work->lens->cells[index];
    struct likely *best = work->best + index * best_count;
    long long target = work->plan->target;
    size_t at = place.token + viewer->model.config.causal;
    if (target < 0 && !config_classifies(&viewer->model.config) && at < work->text->count &&
        (long long)work->text->ids[at] != viewer->mask)
        target = work->text->ids[at];
    double less = work->plan->against >= 0 ? (double)logits[work->plan->against] : sum;
    topk(best, best_count, logits, count, sum);
    *cell = (struct lens_cell){
        .best = best,
        .entropy = (float)entropy,
        .target = target < 0 ? NAN : (float)((double)logits[target] - less),
    };
    if (work->plan->is_brief)
        return;
    cell->kl = (float)logits_divergence(work->last + at_last * count, work->last_sums[at_last],
                                        logits, sum, count);
    cell->rank = target < 0 ? 0 : likelier(logits, count, (uint32_t)target) + 1;
}

/* --- all layers, several tokens at a time ----------------------------------------------------- */

/* Return the values of a site in a report, [T, C]. */
static struct matrix find(const struct report *report, enum site site, size_t layer)
{
    const struct array *array = report_find(report, site, layer);
    size_t width = array->columns.size;
    return (struct matrix){(float *)array->data, array->rows.size, width, width};
}

/* Note that the next `count` rows belong to tokens from `first` on in a layer. */
static void add_places(struct lens_work *work, size_t layer, size_t count)
{
    for (size_t i = 0; i < count; i++)
        work->places[work->count++] = (struct place){layer, work->first + i};
}

/* Compute the logits of the rows, pass each to see_row, and empty the rows. */
static int look_at_rows(struct lens_work *work, struct matrix rows, bool normed, struct err *err)
{
    struct logits_work logits = {work->plan->viewer, matrix_rows(rows, 0, work->count), normed,
                                 see_row, work};
    int failed = work->count && logits_of_rows(&logits, err);
    work->count = 0;
    return err_if(failed);
}

/* Compute the cells of `count` tokens in all layers. Rows of several layers are multiplied by the
 * unembedding together. */
static int look_at_tokens(struct lens_work *work, size_t count, struct err *err)
{
    const struct lens_plan *plan = work->plan;
    if (work->own < plan->layers.count || !plan->is_brief) {
        add_places(work, work->own, count);
        if (look_at_rows(work, matrix_rows(work->ends, work->first, count), true, err))
            return -1;
    }
    for (size_t index = 0; index < work->own; index++) {
        const size_t layer = plan->layers.items[index];
        const struct matrix found =
            matrix_rows(find(work->report, plan->site, layer), work->first, count);
        if (work->count + count > work->rows.rows && look_at_rows(work, work->rows, false, err))
            return -1;
        const struct matrix rows = matrix_rows(work->rows, work->count, count);
        if (plan->jacobian && weight_exists(&plan->jacobian->weights[layer]))
            linear(&plan->viewer->machine, rows, found, &plan->jacobian->weights[layer],
                   ACTIVATION_NONE);
        else
            memcpy(rows.data, found.data, count * found.columns * sizeof *found.data);
        add_places(work, index, count);
    }
    return look_at_rows(work, work->rows, false, err);
}

/* Reuse the cells of token `first` if its vectors and the next token equal the ones
 * of the previous text. Returns false if they do not. */
static bool take_known(const struct lens_work *work, const struct lens_known *known)
{
    const struct lens_plan *plan = work->plan;
    const struct logit_lens *lens = work->lens;
    size_t at = work->first;
    if (lens->best_count != known->lens.best_count ||
        at + 1 >= num_min(lens->tokens, known->lens.tokens) ||
        work->text->ids[at + 1] != known->ids[at + 1])
        return false;
    for (size_t i = 0; i < plan->layers.count; i++) {
        struct matrix now = find(work->report, plan->site, plan->layers.items[i]);
        struct matrix before = find(known->report, plan->site, plan->layers.items[i]);
        if (memcmp(matrix_rows(now, at, 1).data, matrix_rows(before, at, 1).data,
                   now.columns * sizeof(float)) != 0)
            return false;
    }
    for (size_t i = 0; i < plan->layers.count; i++) {
        struct lens_cell *cell = &lens->cells[i * lens->tokens + at];
        struct likely *best = work->best + (i * lens->tokens + at) * lens->best_count;
        *cell = known->lens.cells[i * known->lens.tokens + at];
        cell->best = memcpy(best, cell->best, lens->best_count * sizeof *best);
    }
    return true;
}

static struct site_set sites_of(const struct lens_plan *plan)
{
    return SITE_SET(plan->site, site_of_logits(&plan->viewer->model.config));
}

/* Compute the lens from a report that has the plan's sites in all layers, and may have other
 * sites. */
static int look_at_report(struct logit_lens *lens, const struct lens_plan *plan,
                          const struct report *report, const struct tokenized *text,
                          struct arena *arena, struct err *err)
{
    const struct config *config = &plan->viewer->model.config;
    struct lens_known *known = plan->known;
    size_t words = config_logits(config), layers = plan->layers.count, width = config->n_embd;
    size_t from = plan->of_one ? plan->position : 0, tokens = plan->of_one ? 1 : text->count;
    size_t step = logits_piece_rows(words, tokens);
    size_t capacity = logits_piece_rows(words, layers * tokens);
    size_t compared = plan->is_brief ? 0 : step;
    bool ends = plan->layers.items[layers - 1] + 1 == config->n_layer &&
                plan->site == site_of_output(config);
    *lens = (struct logit_lens){plan, tokens, num_min(plan->best_count, words), NULL};
    lens->cells = arena_alloc(arena, layers, tokens * sizeof *lens->cells, err);
    struct lens_work work = {
        .plan = plan,
        .lens = lens,
        .report = report,
        .text = text,
        .ends = find(report, site_of_logits(config), config->n_layer - 1),
        .from = from,
        .end = from + tokens,
        .first = from,
        .own = layers - ends,
        .rows = {arena_room(arena, capacity, width * sizeof(float), err), capacity, width, width},
        .places = arena_room(arena, capacity, sizeof *work.places, err),
        .last = arena_room(arena, compared, words * sizeof *work.last, err),
        .last_sums = arena_room(arena, compared, sizeof *work.last_sums, err),
        .best = arena_room(arena, layers * tokens * lens->best_count, sizeof *work.best, err),
    };
    if (!lens->cells || !work.rows.data || !work.places || !work.last || !work.last_sums ||
        !work.best)
        return -1;

    while (known && take_known(&work, known))
        work.first++;
    if (known)
        *known = (struct lens_known){*lens, report, text->ids};
    for (; work.first < work.end; work.first += step)
        if (look_at_tokens(&work, num_min(work.end - work.first, step), err))
            return -1;
    return 0;
}

int lens_capture(struct logit_lens *lens, const struct lens_plan *plan,
                 const struct text_with_source *pair, struct arena *arena, struct err *err)
{
    struct selection selection = {.sites = sites_of(plan)};
    struct report report;
    struct capture_request asked = {&selection, pair, 1, 0, &report};
    return err_if(selection_layers(&selection, NULL, &plan->viewer->model.config, arena, err) ||
                  viewer_capture(plan->viewer, &asked, arena, err) ||
                  look_at_report(lens, plan, &report, &pair->text, arena, err));
}

/* Add the memory of a pass that captures sites in all layers, and of the logits of lenses. */
static void add_look(struct memory *memory, const struct lens_plan *plans, size_t count,
                     struct site_set sites, const struct text_with_source *pair)
{
    const struct viewer *viewer = plans->viewer;
    const struct selection selection = {.sites = sites,
                                        .layers.count = viewer->model.config.n_layer};
    viewer_add_memory(memory, viewer, &selection, pair, CAPTURE_ALL);
    for (size_t i = 0; i < count; i++)
        memory->during = fmax(memory->during,
                              logits_piece_bytes(viewer, plans[i].layers.count * pair->text.count));
}

/* Return the bytes of a lens: its cells, the vectors that are multiplied together, and the model's
 * own logits for some tokens. */
static double lens_bytes(const struct lens_plan *plan, size_t tokens)
{
    const struct config *config = &plan->viewer->model.config;
    size_t words = config_logits(config), places = plan->layers.count * tokens;
    size_t best = num_min(plan->best_count, words) * sizeof(struct likely);
    size_t row = config->n_embd * sizeof(float) + sizeof(struct place);
    return (double)places * (double)(sizeof(struct lens_cell) + best) +
           (double)logits_piece_rows(words, places) * (double)row +
           (plan->is_brief ? 0 : logits_piece_bytes(plan->viewer, tokens));
}

void lens_add_memory(struct memory *memory, const struct lens_plan *plan,
                     const struct text_with_source *pair)
{
    enum { ROW_BYTES = 600 }; /* estimated bytes of a row of the table */
    double rows = (double)plan->layers.count * (double)pair->text.count;
    add_look(memory, plan, 1, sites_of(plan), pair);
    memory->held += lens_bytes(plan, pair->text.count) + ROW_BYTES * rows;
}

/* --- report ----------------------------------------------------------------------------------- */

const char *const lens_numbers[LENS_NUMBERS] = {
    [LENS_BEST] = "best", [LENS_ID] = "id",     [LENS_ENTROPY] = "entropy",
    [LENS_KL] = "kl",     [LENS_RANK] = "rank", [LENS_TARGET] = "target",
};

enum { TOKEN = 2 }; /* index of the column "token" in the table */

static float probability(float logprob)
{
    return isnan(logprob) ? NAN : exp_float(logprob);
}

/* Add a row to the table: its key columns, and the columns of `numbers` (bits 1 << LENS_…). */
static void put_row(struct table_rows *rows, const struct logit_lens *lens, unsigned numbers,
                    const struct tokenized *text, const struct tokenizer *tokenizer)
{
    const struct lens_cell *cell = &lens->cells[rows->row];
    size_t token = rows->row % lens->tokens;
    long long rank = cell->rank ? (long long)cell->rank : COLUMN_MISSING;
    struct label best = label_of_word(tokenizer, cell->best->id, rows->arena, rows->err);
    rows_integer(rows, "layer", COLUMN_KEY,
                 (long long)lens->plan->layers.items[rows->row / lens->tokens]);
    rows_integer(rows, "position", COLUMN_KEY, lens->plan->of_one ? -1 : (long long)token);
    rows_label(rows, "token", COLUMN_KEY, text->labels[token]);
    if (numbers >> LENS_BEST & 1) {
        rows_label(rows, "best", 0, best);
        rows_float(rows, (struct column){"probability"}, probability(cell->best->logprob));
        rows_float(rows, (struct column){"logprob", .unit = "nats"}, cell->best->logprob);
    }
    if (numbers >> LENS_ID & 1)
        rows_integer(rows, "id", 0, cell->best->id);
    if (numbers >> LENS_ENTROPY & 1)
        rows_float(rows, (struct column){"entropy", .unit = "nats"}, cell->entropy);
    if (numbers >> LENS_KL & 1)
        rows_float(rows, (struct column){"kl", .unit = "nats"}, cell->kl);
    if (numbers >> LENS_RANK & 1)
        rows_integer(rows, "rank", 0, rank);
    if (numbers >> LENS_TARGET & 1 && lens->plan->against >= 0)
        rows_float(rows, (struct column){"logit_difference"}, cell->target);
    if (numbers >> LENS_TARGET & 1 && lens->plan->against < 0) {
        rows_float(rows, (struct column){"target"}, probability(cell->target));
        rows_float(rows, (struct column){"target_logprob", .unit = "nats"}, cell->target);
    }
}

/* Make an array, layers by tokens, of one column of the table. For LENS_BEST, cells show tokens in
 * place of probabilities, except for means. */
static int make_array(struct array *array, const struct table *table, const struct logit_lens *lens,
                      size_t index, struct arena *arena, struct err *err)
{
    static const struct label last_token = {"-1", "-1", "-1"};
    const struct column *column = &table->columns[index];
    const struct lens_plan *plan = lens->plan;
    const struct config *config = &plan->viewer->model.config;
    const struct layers *layers = &plan->layers;
    bool has_texts = strcmp(column->name, "probability") == 0 && !plan->is_mean;
    float *values = arena_alloc(arena, table->rows.size, sizeof *values, err);
    const char **texts = arena_alloc(arena, table->rows.size, sizeof *texts, err);
    struct axis rows;
    if (!values || !texts ||
        axis_of_numbers(&rows, "layer", layers->items, layers->count, arena, err))
        return -1;
    for (size_t i = 0; i < table->rows.size; i++) {
        values[i] = (float)column_number(column, i);
        texts[i] = has_texts ? column_text(column - 1, i, true) : NULL;
    }
    const char *name = has_texts ? "best" : column->name;
    *array = (struct array){
        .name = name,
        .layer = -1,
        .data = values,
        .rows = rows,
        .columns = {plan->of_one && config_classifies(config) ? "answer"
                    : plan->of_one  ? plan->viewer->mask < 0 ? "last token" : "last mask"
                    : plan->is_mean ? "position"
                                    : "token",
                    lens->tokens, plan->of_one ? &last_token : table->rows.labels, 0},
        .display = {.title = arena_format(arena, err, "%s lens: %s",
                                          plan->jacobian ? "Jacobian" : "logit",
                                          !has_texts                  ? name
                                          : config_classifies(config) ? "most likely class"
                                                                      : "most likely token"),
                    .whole = column->kind == COLUMN_INTEGER,
                    .texts = has_texts ? texts : NULL,
                    .beside_texts = has_texts ? "probability" : NULL},
    };
    return array->display.title ? 0 : -1;
}

int lens_report(struct report *report, const struct logit_lens *lens, unsigned numbers,
                const struct tokenizer *tokenizer, struct arena *arena, struct err *err)
{
    size_t cells = lens->plan->layers.count * lens->tokens;
    bool lists = numbers >> LENS_BEST & 1 && lens->best_count > 1;
    struct table_rows rows = {.most = cells, .arena = arena, .err = err};
    struct table *tables = arena_alloc(arena, 2, sizeof *tables, err);
    const struct likely **best = arena_alloc(arena, cells, sizeof *best, err);
    if (!tables || !best)
        return -1;
    for (size_t i = 0; i < cells && !err->kind; i++, rows_next(&rows)) {
        best[i] = lens->cells[i].best;
        put_row(&rows, lens, numbers, &report->text, tokenizer);
    }
    if (rows_finish(tables, &rows, "lens", "token"))
        return -1;
    tables->flags = COLUMN_DATA_ONLY;
    const struct likely_best likely = {"best", tables, TOKEN, best, lens->best_count, tokenizer};
    if (lists && likely_table(&tables[1], &likely, arena, err))
        return -1;
    for (size_t i = TOKEN + 1; i < tables->count; i++) {
        const struct column *column = &tables->columns[i];
        struct array array;
        if (column_is_result(column) && !strstr(column->name, "logprob") &&
            (make_array(&array, tables, lens, i, arena, err) ||
             report_add_array(report, &array, arena, err)))
            return -1;
    }
    report->tables = tables;
    report->table_count = lists ? 2 : 1;
    report->shows_arrays = true;
    return 0;
}

/* --- facts of a page -------------------------------------------------------------------------- */

enum {
    STEP_LISTED = 20, /* maximum number of likely tokens that a step lists; the last step may list
                       * more */
    HALVES_MAX = 4,   /* only models with at most this many layers get a step after each sublayer */
};

int next_tokens_plan(struct next_plan *plan, struct viewer *viewer, size_t best_count,
                     bool all_steps, struct arena *arena, struct err *err)
{
    const struct config *config = &viewer->model.config;
    const size_t layers = config->n_layer;
    struct selection all = {0};
    struct err none = {0};
    enum site site = SITE_RESID_MID;
    *plan = (struct next_plan){.count = 0};
    const unsigned of_words = NEEDS_WORDS | (viewer->mask < 0 ? NEEDS_CAUSAL : 0);
    best_count = num_min(best_count, config_logits(config));
    if (!best_count || config->answers == ANSWER_OF_MEAN || viewer->logistic || viewer->regresses ||
        logits_check(viewer, config_classifies(config) ? 0 : of_words, &none))
        return 0;
    if (selection_layers(&all, NULL, config, arena, err))
        return -1;
    const struct sublayer *list = layer_of(config, BRANCH_TEXT, 0)->sublayers;
    bool starts = all_steps && !list->norm_after;
    bool halves =
        starts && layers <= HALVES_MAX && !lens_find_site(&site, site_name(site), config, &none);
    bool crosses = halves && list[1].kind == SUBLAYER_ATTEND_SOURCE;
    enum stream_step step = halves ? STEP_MLP : STEP_LAYER;
    enum site end = site_of_output(config);
    size_t listed = num_min(best_count, STEP_LISTED);
    const struct {
        enum stream_step step;
        enum site site;
        size_t first, count, best; /* `first`: first layer; `count`: number of layers; `best`:
                                    * number of likely tokens to list */
    } parts[] = {
        {STEP_EMBEDDING, SITE_RESID_PRE, 0, starts, listed},
        {STEP_ATTENTION, SITE_RESID_MID, 0, halves ? layers : 0, listed},
        {STEP_CROSS, SITE_OF(BRANCH_CROSS, SITE_RESID_MID), 0, crosses ? layers : 0, listed},
        {step, end, 0, all_steps ? layers - 1 : 0, listed},
        {step, end, layers - 1, 1, best_count},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].count)
            continue;
        plan->steps[plan->count] = parts[i].step;
        plan->lenses[plan->count++] =
            (struct lens_plan){.viewer = viewer,
                               .site = parts[i].site,
                               .layers = {all.layers.items + parts[i].first, parts[i].count},
                               .best_count = parts[i].best,
                               .target = -1,
                               .against = -1,
                               .is_brief = true};
    }
    return 0;
}

struct site_set next_tokens_sites(const struct next_plan *plan)
{
    struct site_set sites = {0};
    for (size_t i = 0; i < plan->count; i++)
        site_set_join(&sites, sites_of(&plan->lenses[i]));
    return sites;
}

void next_tokens_add_memory(struct memory *memory, const struct next_plan *plan,
                            const struct text_with_source *pair)
{
    if (plan->count)
        add_look(memory, plan->lenses, plan->count, next_tokens_sites(plan), pair);
    for (size_t i = 0; i < plan->count; i++)
        memory->held += lens_bytes(&plan->lenses[i], pair->text.count);
}

/* Run a trial without head number `index`, whose context is set to 0. */
static int try_head(struct tried *found, struct trial *trial, size_t index, long long target,
                    struct err *err)
{
    const struct config *config = &trial->viewer->model.config;
    const size_t layer = index / config->n_head;
    const ptrdiff_t head =
        (ptrdiff_t)(index % config->n_head % site_heads(config, SITE_CONTEXT, layer));
    const struct edit_range of_layer = {(ptrdiff_t)layer, (ptrdiff_t)layer}, of_head = {head, head};
    const struct edit edit = {
        .site = SITE_CONTEXT, .op = EDIT_SET, .layers = {&of_layer, 1}, .heads = {&of_head, 1}};
    return trial_run(found, trial, &edit, target, err);
}

/* True if the position attends to key `index`, counting the source's tokens, then the text's. */
static bool sees_key(const struct trial *trial, size_t index)
{
    const struct viewer *viewer = trial->viewer;
    const struct config *config = &viewer->model.config;
    const size_t sources = trial->pair->source.count, key = index - sources;
    if (index < sources)
        return site_exists(config, SITE_OF(BRANCH_CROSS, SITE_MASKED));
    const bool sees_later = viewer->mask >= 0 || config_classifies(config);
    return site_exists(config, SITE_MASKED) && key != trial->position &&
           (key < trial->position || sees_later);
}

/* Run a trial in which the position cannot attend to a key that it otherwise sees. */
static int try_key(struct tried *found, struct trial *trial, size_t index, long long target,
                   struct err *err)
{
    const size_t sources = trial->pair->source.count;
    struct arrow_cut cut = index < sources
                               ? arrow_cut(BRANCH_CROSS, trial->position, index)
                               : arrow_cut(BRANCH_TEXT, trial->position, index - sources);
    return trial_run(found, trial, arrow_edit(&cut), target, err);
}

int next_tokens_without(struct without_parts *found, struct viewer *viewer,
                        const struct text_with_source *pair, enum next_without what,
                        struct arena *arena, struct err *err)
{
    const struct config *config = &viewer->model.config;
    const size_t count = what == WITHOUT_HEAD ? config->n_layer * config->n_head
                                              : pair->source.count + pair->text.count;
    float *shares = arena_alloc(arena, count, sizeof *shares, err);
    struct label *tops = arena_alloc(arena, count, sizeof *tops, err);
    struct trial trial;
    struct tried usual = {.target = 0}, other;
    trial_open(&trial, viewer, pair, tokenized_opening(&pair->text, config, viewer->mask));
    int failed = !shares || !tops || trial_run(&usual, &trial, NULL, -1, err);
    for (size_t i = 0; i < count && !failed; i++) {
        shares[i] = NAN;
        if (what == WITHOUT_KEY && !sees_key(&trial, i))
            continue;
        failed = what == WITHOUT_HEAD ? try_head(&other, &trial, i, usual.best.id, err)
                                      : try_key(&other, &trial, i, usual.best.id, err);
        if (failed)
            break;
        shares[i] = expf(other.target);
        tops[i] = label_of_word(viewer->words, other.best.id, arena, err);
        failed = err->kind != 0;
    }
    trial_close(&trial);
    *found = (struct without_parts){shares, tops};
    return err_if(failed);
}

/* Make the names of all listed token ids, in ascending order of the ids. */
static int name_ids(struct next_tokens *next, const struct viewer *viewer, struct arena *arena,
                    struct err *err)
{
    bool *listed = arena_alloc(arena, next->vocabulary, sizeof *listed, err);
    size_t count = 0;
    for (size_t i = 0; listed && i < next->layer_count; i++)
        for (size_t k = 0; k < next->layers[i].best_count * next->layers[i].count; k++) {
            bool *is_listed = &listed[next->layers[i].best[k].id];
            count += !*is_listed;
            *is_listed = true;
        }
    uint32_t *ids = arena_alloc(arena, count, sizeof *ids, err);
    struct label *names = arena_alloc(arena, count, sizeof *names, err);
    if (!listed || !ids || !names)
        return -1;
    for (size_t id = 0; id < next->vocabulary; id++)
        if (listed[id]) {
            ids[next->name_count] = (uint32_t)id;
            names[next->name_count++] = label_of_word(viewer->words, (uint32_t)id, arena, err);
        }
    next->named = ids;
    next->names = names;
    return err_if(err->kind);
}

int next_tokens_of_report(const struct next_tokens **found, const struct next_plan *plan,
                          const struct report *report, const struct tokenized *text,
                          struct arena *arena, struct err *err)
{
    struct logit_lens lenses[STREAM_STEPS];
    size_t capacity = 0;
    if (!plan->count)
        return 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (look_at_report(&lenses[i], &plan->lenses[i], report, text, arena, err))
            return -1;
        capacity += plan->lenses[i].layers.count;
    }
    struct next_tokens *next = arena_alloc(arena, 1, sizeof *next, err);
    struct next_of_step *layers = arena_alloc(arena, capacity, sizeof *layers, err);
    const struct viewer *viewer = plan->lenses->viewer;
    if (!next || !layers)
        return -1;
    const struct config *config = &viewer->model.config;
    bool predicts = viewer->mask < 0 ||
                    text->ids[tokenized_opening(text, config, viewer->mask)] == viewer->mask;
    *next = (struct next_tokens){.layers = layers, .vocabulary = config_logits(config)};
    for (size_t layer = 0; layer < config->n_layer; layer++)
        for (size_t i = 0; i < plan->count; i++) { /* the steps after a layer, in the order of the
                                                    * pass */
            size_t index = layer - *plan->lenses[i].layers.items;
            const size_t tokens = lenses[i].tokens;
            const struct lens_cell *cells = lenses[i].cells + index * tokens;
            if (index >= plan->lenses[i].layers.count)
                continue;
            float *came = arena_alloc(arena, tokens, sizeof *came, err);
            if (!came)
                return -1;
            for (size_t k = 0; k < tokens; k++)
                came[k] = viewer->mask < 0 && !config_classifies(config) ? cells[k].target : NAN;
            layers[next->layer_count++] = (struct next_of_step){
                .step = plan->steps[i],
                .layer = layer,
                .best_count = lenses[i].best_count,
                .first = plan->lenses[i].of_one ? plan->lenses[i].position : 0,
                .count = predicts ? tokens : 0,
                .best = cells->best,
                .came = came};
        }
    *found = next;
    return name_ids(next, viewer, arena, err);
}
