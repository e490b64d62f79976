#include "measure/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "math/portable_math.h"
#include "measure/logit_lens.h"
#include "measure/token_scores.h"
#include "measure/trials.h"
#include "model/layer.h"
#include "model/points.h"

/* Thresholds of the rule in finding.h: of the weight, of S and D, and of the probability p. */
static const double WEIGHT_LEAST = 0.3;
static const double S_ACTS = 0.25, S_LOOKS = 1;
static const double D_LEAST = 0.15, SHARE_LEAST = 0.1;
static const double BASE_LEAST = 1e-4;
static const double NEARLY = 0.9; /* an S of at least this share of the largest S counts as equal */

enum {
    TRIED_MOST = 6,         /* maximum number of token pairs, and of heads of a pair, to cut */
    CELLS_MOST = 1 << 24,   /* maximum number of cells of all maps that are searched */
    PASSES_ALLOWED = 2,     /* passes that are allowed, even if plan->products is less */
    FEWEST_SEEN = 2,        /* a row with fewer visible keys has no findings */
    NEIGHBOURS = 2,         /* tokens at less than this distance are neighbours */
    PRODUCTS_OF_LAYER = 12, /* multiplications of a layer for a token, divided by width² */
};

static const double LN_2 = 0.693147180559945309417;

static double log_2(double x)
{
    return log_double(x) / LN_2;
}

const double quick_products = 5e9;

double pass_products(const struct config *config, size_t tokens)
{
    double width = (double)config->n_embd;
    return (double)tokens * ((double)config_layers(config) * PRODUCTS_OF_LAYER * width * width +
                             (double)config->vocab_size * width);
}

/* --- tokens ----------------------------------------------------------------------------------- */

bool token_is_mark(const struct label *label)
{
    const size_t size = strlen(label->text);
    const char first = size > 1 ? label->text[0] : 0, last = size > 1 ? label->text[size - 1] : 0;
    return (first == '[' && last == ']') || (first == '<' && last == '>');
}

/* True for tokens with a letter or a digit. */
static bool is_word(const struct label *label)
{
    const size_t size = strlen(label->plain);
    uint32_t character;
    for (size_t at = 0; at < size; at += utf8_step(&character, label->plain + at, size - at)) {
        utf8_step(&character, label->plain + at, size - at);
        enum utf8_class class = utf8_class(character);
        if (class == UTF8_LETTER || class == UTF8_NUMBER)
            return true;
    }
    return false;
}

/* --- maps and their arrows -------------------------------------------------------------------- */

/* The map of a head. */
struct map {
    struct sheet sheet;
    enum site site;
    size_t layer, head;
    const struct label *keys; /* labels of the tokens of the keys */
    bool is_cross;            /* the keys are tokens of the source */
    double most;              /* largest |cell| of all states; 0: the map has attention weights */
};

struct arrow {
    const struct map *map;
    size_t query, key;
    double weight, s;
    size_t order; /* index of the arrow, in the order of maps, queries and keys */
};

/* The arrows of several heads between two tokens. */
struct pair_of_tokens {
    const struct arrow *arrows[TRIED_MOST]; /* [count] the largest S first */
    size_t count;
    struct arrow named;        /* the arrow in the head that the finding names */
    double d;                  /* D of finding.h; NaN: not measured */
    struct tried usual, other; /* the prediction at the query with and without the arrow */
    bool predicts;             /* true if `usual` is known */
    enum finding_kind kind;
    size_t next; /* number of the next pair with this query, from 1; 0: this is the last */
};

struct search {
    const struct finding_plan *plan;
    struct arena *arena; /* memory of the search */
    struct err *err;
    const struct tokenized *text, *source;
    struct map *maps; /* [map_count] */
    size_t map_count;
    struct arrow *arrows; /* [arrow_count] */
    size_t arrow_count;
    struct pair_of_tokens *pairs; /* [pair_count] */
    size_t pair_count;
    bool predicts;       /* the model predicts tokens or classes at some rows */
    bool has_failed;     /* a trial has failed, with `err` */
    bool is_translation; /* arrows are of cross-attention */
    struct trial trial;
    double budget; /* number of multiplications that trials may still use */
};

static double cell_of(const struct map *map, size_t query, size_t key)
{
    return (double)sheet_cell(&map->sheet, query, key);
}

static bool sees(const struct map *map, size_t query, size_t key)
{
    return !sheet_hides(&map->sheet, query, key);
}

/* Return the number by which a row's cells are divided: 1 or, for a state, whose rows may be nearly
 * empty, the larger of the sum of |cell| over the row and the largest |cell| of all heads. */
static double divisor_of(const struct map *map, size_t query)
{
    double sum = 0;
    if (!(map->most > 0))
        return 1;
    for (size_t key = 0; key < map->sheet.columns.size; key++)
        if (sees(map, query, key))
            sum += fabs(cell_of(map, query, key));
    return fmax(fmax(sum, map->most), 1e-9);
}

static double weight_of(const struct map *map, size_t query, size_t key)
{
    const double cell = cell_of(map, query, key);
    return map->most > 0 ? fabs(cell) / divisor_of(map, query) : cell;
}

/* Return the distance of a key from its query; in cross-attention, from the diagonal of the map. */
static double distance(const struct map *map, size_t query, size_t key)
{
    const struct sheet *sheet = &map->sheet;
    const double rows = (double)num_max(sheet->rows.size, 3) - 2;
    const double slope = ((double)sheet->columns.size - 1) / rows;
    return fabs((double)key - (double)query * (map->is_cross ? slope : 1));
}

struct mean {
    double sum;
    size_t count;
};

static double mean_of(struct mean mean)
{
    return mean.count ? mean.sum / (double)mean.count : 0;
}

/* Return b of finding.h: the weight that habit and nearness explain. `near`: the sum of 1 / (1 + d)
 * over the row. */
static double base_of(const struct map *map, size_t query, size_t key, double near)
{
    struct mean column = {0}, alike = {0};
    const bool neighbours = !map->is_cross && distance(map, query, key) < NEIGHBOURS;
    for (size_t row = 0; row < map->sheet.rows.size; row++) {
        const size_t other = row + key - query; /* the key at the same distance; wraps below 0 */
        if (row == query)
            continue;
        if (sees(map, row, key)) {
            column.sum += weight_of(map, row, key);
            column.count++;
        }
        if (neighbours && other < map->sheet.columns.size && sees(map, row, other)) {
            alike.sum += weight_of(map, row, other);
            alike.count++;
        }
    }
    const double habit = fmax(mean_of(column), mean_of(alike));
    return fmax(fmax(habit, 1 / (1 + distance(map, query, key)) / near), BASE_LEAST);
}

static int add_arrow(struct search *search, struct arrow arrow)
{
    struct arrow *arrows = arena_grow(search->arena, search->arrows, search->arrow_count,
                                      sizeof *search->arrows, search->err);
    if (!arrows)
        return -1;
    search->arrows = arrows;
    arrow.order = search->arrow_count;
    search->arrows[search->arrow_count++] = arrow;
    return 0;
}

/* True if the rule in finding.h allows the row as a query. */
static bool is_query(const struct search *search, const struct map *map, size_t query)
{
    const struct viewer *viewer = search->plan->viewer;
    const struct config *config = &viewer->model.config;
    const struct tokenized *text = search->text;
    if (search->predicts && config_classifies(config))
        return query == tokenized_opening(text, config, -1) || config->answers == ANSWER_OF_EACH;
    if (search->predicts && viewer->mask >= 0)
        return text->ids[query] == viewer->mask;
    if (map->is_cross)
        return query + 1 < map->sheet.rows.size;
    return search->predicts && !search->is_translation
               ? query == tokenized_opening(text, config, -1)
               : !token_is_mark(&text->labels[query]);
}

/* Add the arrows of a row whose surprise S is at least S_ACTS. */
static int add_row(struct search *search, const struct map *map, size_t query)
{
    double near = 0;
    size_t seen = 0;
    for (size_t key = 0; key < map->sheet.columns.size; key++)
        if (sees(map, query, key)) {
            near += 1 / (1 + distance(map, query, key));
            seen++;
        }
    for (size_t key = 0; key < map->sheet.columns.size && seen >= FEWEST_SEEN; key++) {
        const double weight = sees(map, query, key) ? weight_of(map, query, key) : 0;
        if (!(weight >= WEIGHT_LEAST) || token_is_mark(&map->keys[key]) ||
            (!map->is_cross && key == query))
            continue;
        const double s = weight * log_2(weight / base_of(map, query, key, near));
        if (s >= S_ACTS && add_arrow(search, (struct arrow){map, query, key, weight, s}))
            return -1;
    }
    return 0;
}

/* Order arrows by S, the largest first; arrows with equal S by `order`. */
static int compare_arrows(const void *one, const void *other)
{
    const struct arrow *a = one, *b = other;
    if (a->s != b->s)
        return a->s < b->s ? 1 : -1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* --- the maps of a text ----------------------------------------------------------------------- */

/* Return the sites of the maps that are searched: cross-attention or, if the model has none,
 * self-attention; and states, unless each channel of the mixer is a head. */
static struct site_set sites_of_maps(const struct config *config)
{
    const enum site cross = SITE_OF(BRANCH_CROSS, SITE_WEIGHTS);
    const enum site state = SITE_OF(BRANCH_MIXER, SITE_WEIGHTS);
    struct site_set sites = {0};
    if (site_exists(config, cross))
        site_set_add(&sites, cross);
    else if (site_exists(config, SITE_WEIGHTS))
        site_set_add(&sites, SITE_WEIGHTS);
    if (site_exists(config, state) && !mixer_of_channels(&config->mixer))
        site_set_add(&sites, state);
    return sites;
}

static int select_maps(struct selection *selection, const struct viewer *viewer,
                       struct arena *arena, struct err *err)
{
    const struct config *config = &viewer->model.config;
    *selection = (struct selection){.sites = sites_of_maps(config)};
    return selection_layers(selection, NULL, config, arena, err);
}

/* Capture the maps of all heads, and find the largest |cell| of all states. */
static int find_maps(struct search *search, const struct selection *selection)
{
    const struct finding_plan *plan = search->plan;
    struct report *report = arena_alloc(search->arena, 1, sizeof *report, search->err);
    const struct capture_request asked = {selection, plan->pair, 1, 0, report};
    size_t count = 0;
    double most = 0;
    if (!report || viewer_capture(plan->viewer, &asked, search->arena, search->err))
        return -1;
    for (size_t i = 0; i < report->array_count; i++)
        count += array_matrix_count(&report->arrays[i]);
    search->maps = arena_alloc(search->arena, count, sizeof *search->maps, search->err);
    for (size_t i = 0; search->maps && i < report->array_count; i++) {
        const struct array *array = &report->arrays[i];
        const struct tokenized *keys = report_keys(report, site_branch(array->site));
        for (size_t head = 0; head < array_matrix_count(array); head++)
            search->maps[search->map_count++] =
                (struct map){.sheet = array_matrix(report, array, head),
                             .site = array->site,
                             .layer = (size_t)array->layer,
                             .head = array->heads.numbers ? array->heads.numbers[head] : head,
                             .keys = keys->labels,
                             .is_cross = keys == &report->source};
        for (size_t k = 0; site_branch(array->site) == BRANCH_MIXER && k < array_cells(array); k++)
            most = isfinite(array->data[k]) ? fmax(most, fabs((double)array->data[k])) : most;
    }
    for (size_t i = 0; i < search->map_count; i++)
        if (site_branch(search->maps[i].site) == BRANCH_MIXER)
            search->maps[i].most = fmax(most, 1e-9);
    return search->maps ? 0 : -1;
}

/* --- pairs of tokens -------------------------------------------------------------------------- */

/* Return the pair with the arrow's key from the list of pairs that begins with number `*first`; if
 * the list lacks it, put a new pair in front. */
static struct pair_of_tokens *pair_of(struct search *search, const struct arrow *arrow,
                                      size_t *first)
{
    struct pair_of_tokens *pairs = search->pairs;
    for (size_t number = *first; number; number = pairs[number - 1].next)
        if (pairs[number - 1].named.key == arrow->key)
            return &pairs[number - 1];
    struct pair_of_tokens *pair = &pairs[search->pair_count++];
    pair->named = *arrow;
    pair->d = NAN;
    pair->next = *first;
    *first = search->pair_count;
    return pair;
}

/* Collect the sorted arrows of all heads in pairs of a query and a key. Arrows of states are in
 * pairs separate from arrows of attention. */
static int join_pairs(struct search *search)
{
    const size_t rows = search->text->count, count = search->arrow_count;
    size_t *firsts = arena_alloc(search->arena, 2 * rows, sizeof *firsts, search->err);
    search->pairs = arena_alloc(search->arena, count, sizeof *search->pairs, search->err);
    if (!search->pairs || !firsts)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct arrow *arrow = &search->arrows[i];
        const bool of_state = arrow->map->most > 0;
        struct pair_of_tokens *pair =
            pair_of(search, arrow, &firsts[(of_state ? rows : 0) + arrow->query]);
        if (pair->count < TRIED_MOST)
            pair->arrows[pair->count++] = arrow;
    }
    return 0;
}

/* Run a trial if search->budget allows it. Returns false if it does not, if the model does not
 * support the edit, or if the trial failed with search->err. */
static bool try_one(struct tried *found, struct search *search, size_t position,
                    struct arrow_cut *cut, long long target)
{
    struct trial *trial = &search->trial;
    const struct config *config = &search->plan->viewer->model.config;
    const double cost = pass_products(config, trial_tokens(trial));
    if (cost > search->budget || search->err->kind)
        return false;
    search->budget -= cost;
    trial->position = position;
    struct err why = {0};
    if (!trial_run(found, trial, cut ? arrow_edit(cut) : NULL, target, &why))
        return true;
    if (why.kind == ERR_UNSUPPORTED && !why.out_of_memory) {
        err_clear(&why);
        return false;
    }
    search->has_failed = true;
    err_adopt(search->err, &why);
    return false;
}

/* Return how many bits of log-probability the pair's predicted token loses in a trial. */
static double bits_lost(const struct pair_of_tokens *pair, const struct tried *other)
{
    return ((double)pair->usual.target - (double)other->target) / LN_2;
}

/* Find the prediction at the query of a pair, with and without the arrow. */
static void try_pair(struct search *search, struct pair_of_tokens *pair)
{
    const struct config *config = &search->plan->viewer->model.config;
    const enum site_branch branch = site_branch(pair->named.map->site);
    const size_t query = pair->named.query;
    struct arrow_cut cut = arrow_cut(branch, query, pair->named.key);
    for (struct pair_of_tokens *other = search->pairs; other < pair && !pair->predicts; other++)
        if (other->predicts && other->named.query == query) {
            pair->usual = other->usual;
            pair->predicts = true;
        }
    if (!pair->predicts)
        pair->predicts = try_one(&pair->usual, search, query, NULL, -1);
    if (pair->predicts && arrow_can_be_cut(config, branch) &&
        try_one(&pair->other, search, query, &cut, pair->usual.best.id))
        pair->d = bits_lost(pair, &pair->other);
}

/* Set pair->named to the arrow in the head where a cut in this head alone costs the most bits. */
static void name_head(struct search *search, struct pair_of_tokens *pair)
{
    double most = -INFINITY;
    for (size_t i = 0; i < pair->count && pair->count > 1; i++) {
        const struct arrow *arrow = pair->arrows[i];
        struct arrow_cut cut = arrow_cut(site_branch(arrow->map->site), arrow->query, arrow->key);
        struct tried other;
        cut.in_head = true;
        cut.layer = (struct edit_range){(ptrdiff_t)arrow->map->layer, (ptrdiff_t)arrow->map->layer};
        cut.head = (struct edit_range){(ptrdiff_t)arrow->map->head, (ptrdiff_t)arrow->map->head};
        if (!try_one(&other, search, arrow->query, &cut, pair->usual.best.id))
            return;
        if (bits_lost(pair, &other) > most) {
            most = bits_lost(pair, &other);
            pair->named = *arrow;
        }
    }
}

/* Set the kind of a pair, FINDING_ACTS or FINDING_LOOKS. Returns false if it is not a finding. */
static bool tells(const struct search *search, struct pair_of_tokens *pair)
{
    const struct arrow *arrow = &pair->named;
    const bool words =
        is_word(&search->text->labels[arrow->query]) && is_word(&arrow->map->keys[arrow->key]);
    const bool acts =
        pair->d >= D_LEAST && (double)exp_float(pair->usual.best.logprob) >= SHARE_LEAST;
    pair->kind = acts ? FINDING_ACTS : FINDING_LOOKS;
    return acts || (arrow->s >= S_LOOKS && words);
}

/* Return the rank of a pair. Pairs that act rank above pairs that look. Pairs that act rank by
 * D · S, pairs that look by S. */
static double rank_of(const struct pair_of_tokens *pair)
{
    enum { ABOVE_ALL = 10000 };
    return pair->kind == FINDING_ACTS ? ABOVE_ALL + pair->d * pair->named.s : pair->named.s;
}

/* Remove the pairs that are no findings, and sort the others, the largest rank first. If the first
 * pair only looks, put the pair with the latest query first, among the pairs with nearly as large
 * an S. */
static void order_pairs(struct search *search)
{
    struct pair_of_tokens *pairs = search->pairs;
    size_t count = 0;
    for (size_t i = 0; i < search->pair_count; i++) {
        struct pair_of_tokens pair = pairs[i];
        size_t at = count;
        if (!tells(search, &pair))
            continue;
        for (; at > 0 && rank_of(&pairs[at - 1]) < rank_of(&pair); at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
        count++;
    }
    search->pair_count = count;
    size_t best = 0;
    for (size_t i = 1; i < count && pairs->kind == FINDING_LOOKS; i++)
        if (pairs[i].named.s >= NEARLY * pairs->named.s &&
            pairs[i].named.query > pairs[best].named.query)
            best = i;
    for (struct pair_of_tokens first = pairs[best]; count && best > 0; best--) {
        pairs[best] = pairs[best - 1];
        pairs[best - 1] = first;
    }
}

/* --- the result ------------------------------------------------------------------------------- */

static struct guess guess_of(const struct search *search, struct likely likely, struct arena *arena)
{
    return (struct guess){likely.id,
                          label_of_word(search->plan->viewer->words, likely.id, arena, search->err),
                          (double)exp_float(likely.logprob)};
}

static struct finding finding_of(const struct search *search, const struct pair_of_tokens *pair,
                                 struct arena *arena)
{
    const struct arrow *arrow = &pair->named;
    struct finding finding = {.kind = pair->kind,
                              .map = arrow->map->site,
                              .layer = arrow->map->layer,
                              .head = arrow->map->head,
                              .query = arrow->query,
                              .key = arrow->key,
                              .weight = arrow->weight,
                              .s = arrow->s,
                              .d = pair->d};
    if (pair->predicts)
        finding.says = guess_of(search, pair->usual.best, arena);
    if (!isnan(pair->d)) {
        finding.without = guess_of(search, pair->other.best, arena);
        finding.falls_to = (double)exp_float(pair->other.target);
    }
    return finding;
}

/* True if an earlier finding names the head of the arrow. */
static bool has_head(const struct findings *found, const struct arrow *arrow)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct finding *other = &found->items[i];
        if (other->map == arrow->map->site && other->layer == arrow->map->layer &&
            other->head == arrow->map->head)
            return true;
    }
    return false;
}

/* Find the prediction at the query of the headline or, if this is not known, at the token that
 * tokenized_opening chooses. */
static void find_prediction(struct findings *found, struct search *search, struct arena *arena)
{
    const struct viewer *viewer = search->plan->viewer;
    struct tried usual;
    found->row = tokenized_opening(search->text, &viewer->model.config, viewer->mask);
    if (found->count && found->items->says.token.text) {
        found->row = found->items->query;
        found->says = found->items->says;
        return;
    }
    if (search->predicts && try_one(&usual, search, found->row, NULL, -1))
        found->says = guess_of(search, usual.best, arena);
}

static int search_all(struct findings *found, struct search *search,
                      const struct selection *selection, struct arena *arena)
{
    if (find_maps(search, selection))
        return -1;
    for (size_t i = 0; i < search->map_count; i++)
        for (size_t query = 0; query < search->maps[i].sheet.rows.size; query++)
            if (is_query(search, &search->maps[i], query) &&
                add_row(search, &search->maps[i], query))
                return -1;
    if (search->arrow_count)
        qsort(search->arrows, search->arrow_count, sizeof *search->arrows, compare_arrows);
    if (join_pairs(search))
        return -1;
    for (size_t i = 0; i < num_min(search->pair_count, TRIED_MOST) && search->predicts; i++)
        try_pair(search, &search->pairs[i]);
    order_pairs(search);
    if (search->pair_count && search->pairs->kind == FINDING_ACTS)
        name_head(search, search->pairs);
    for (size_t i = 0; i < search->pair_count && found->count < FINDINGS_MOST; i++)
        if (!has_head(found, &search->pairs[i].named))
            found->items[found->count++] = finding_of(search, &search->pairs[i], arena);
    find_prediction(found, search, arena);
    return err_if(search->has_failed || search->err->kind);
}

/* True if the model predicts tokens, or classes with probabilities that sum to 1. A masked model
 * predicts only if the text has a mask. Returns false with `err` if memory ran out. */
static bool predicts_at_all(const struct finding_plan *plan, struct err *err)
{
    const struct viewer *viewer = plan->viewer;
    const struct config *config = &viewer->model.config;
    struct arena arena = {0};
    struct next_plan next = {.count = 0};
    int failed = next_tokens_plan(&next, plan->viewer, 1, false, &arena, err);
    bool masked = text_has_mask(&plan->pair->text, viewer);
    arena_release(&arena);
    return !failed && next.count && (viewer->mask < 0 || config_classifies(config) || masked);
}

static bool is_long(const struct finding_plan *plan, const struct selection *selection)
{
    return viewer_captured_bytes(plan->viewer, selection, plan->pair) >
           (double)CELLS_MOST * sizeof(float);
}

int findings_make(struct findings *found, const struct finding_plan *plan, struct arena *arena,
                  struct err *err)
{
    const struct config *config = &plan->viewer->model.config;
    const size_t tokens = plan->pair->text.count + plan->pair->source.count;
    struct arena own = {0};
    struct selection selection;
    struct search search = {.plan = plan,
                            .arena = &own,
                            .err = err,
                            .text = &plan->pair->text,
                            .source = &plan->pair->source,
                            .predicts = predicts_at_all(plan, err)};
    *found = (struct findings){.count = 0};
    int failed = err->kind || select_maps(&selection, plan->viewer, &own, err);
    search.is_translation = !failed &&
                            site_set_has(selection.sites, SITE_OF(BRANCH_CROSS, SITE_WEIGHTS)) &&
                            has_encoder(config);
    search.budget = fmax(plan->products, PASSES_ALLOWED * pass_products(config, tokens));
    found->is_long = !failed && is_long(plan, &selection);
    if (!failed && !found->is_long && !site_set_is_empty(selection.sites)) {
        trial_open(&search.trial, plan->viewer, plan->pair, 0);
        if (search.trial.is_cached) /* one pass over the tokens before it fills the cache */
            search.budget -= pass_products(config, tokens);
        failed = search_all(found, &search, &selection, arena);
        trial_close(&search.trial);
    }
    arena_release(&own);
    return err_if(failed);
}

void findings_add_memory(struct memory *memory, const struct finding_plan *plan)
{
    struct arena arena = {0};
    struct err none = {0};
    struct selection selection;
    struct memory maps = {0}, trials = {0};
    if (!select_maps(&selection, plan->viewer, &arena, &none) && !is_long(plan, &selection)) {
        viewer_add_memory(&maps, plan->viewer, &selection, plan->pair, CAPTURE_ALL);
        if (predicts_at_all(plan, &none))
            trial_add_memory(&trials, plan->viewer, plan->pair);
        memory->during =
            fmax(memory->during, maps.held + fmax(maps.during, trials.held + trials.during));
    }
    err_clear(&none);
    arena_release(&arena);
}
