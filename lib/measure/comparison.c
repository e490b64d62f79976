#include "measure/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "math/portable_math.h"
#include "model/head_name.h"
#include "model/layer.h"
#include "model/mechanism.h"
#include "model/points.h"
#include "text/label.h"

enum { CELLS_KEPT = 1 << 26 };

static const double LN_2 = 0.6931471805599453;

/* --- matching --------------------------------------------------------------------------------- */

/* State of assignment_find. Rows are added one after another, each along the shortest path through
 * assigned columns to a free one (Jonker and Volgenant, 1987). Rows and columns count from 1;
 * column 0 has the row that is being added. */
struct assignment {
    const double *costs;
    size_t count;
    double *of_row, *of_column; /* dual variables of rows and columns: each cost is at least the sum
                                 * of the two for its row and its column */
    double *least;              /* [count + 1] length of the shortest path to each column */
    size_t *row_of, *before;    /* `row_of`: the row assigned to a column; `before`: the column
                                 * before it on the path */
    bool *seen;
};

/* Extend paths from the row of a column to all unvisited columns, and return the nearest of these
 * columns. */
static size_t step(struct assignment *search, size_t column)
{
    size_t row = search->row_of[column];
    size_t nearest = 0;
    double delta = INFINITY;
    search->seen[column] = true;
    for (size_t j = 1; j <= search->count; j++) {
        if (search->seen[j])
            continue;
        double cost = search->costs[(row - 1) * search->count + j - 1] - search->of_row[row] -
                      search->of_column[j];
        if (cost < search->least[j]) {
            search->least[j] = cost;
            search->before[j] = column;
        }
        if (search->least[j] < delta) {
            delta = search->least[j];
            nearest = j;
        }
    }
    for (size_t j = 0; j <= search->count; j++) {
        if (search->seen[j]) {
            search->of_row[search->row_of[j]] += delta;
            search->of_column[j] -= delta;
        } else {
            search->least[j] -= delta;
        }
    }
    return nearest;
}

int assignment_find(size_t *match, const double *costs, size_t count, struct arena *arena,
                    struct err *err)
{
    size_t size = count + 1;
    struct assignment search = {
        .costs = costs,
        .count = count,
        .of_row = arena_alloc(arena, size, sizeof(double), err),
        .of_column = arena_alloc(arena, size, sizeof(double), err),
        .least = arena_alloc(arena, size, sizeof(double), err),
        .row_of = arena_alloc(arena, size, sizeof(size_t), err),
        .before = arena_alloc(arena, size, sizeof(size_t), err),
        .seen = arena_alloc(arena, size, sizeof(bool), err),
    };
    if (err->kind)
        return -1;
    for (size_t row = 1; row <= count; row++) {
        size_t column = 0;
        search.row_of[0] = row;
        memset(search.seen, 0, size * sizeof *search.seen);
        for (size_t j = 0; j <= count; j++)
            search.least[j] = INFINITY;
        do
            column = step(&search, column);
        while (search.row_of[column]);
        while (column) { /* go back along the path: each row moves to the next column */
            search.row_of[column] = search.row_of[search.before[column]];
            column = search.before[column];
        }
    }
    for (size_t j = 1; j <= count; j++)
        match[search.row_of[j] - 1] = j - 1;

    /* undo cycles of the match that cost as much as, or more than, giving each of their rows the
     * column of its own index */
    memset(search.seen, 0, size * sizeof *search.seen);
    for (size_t first = 0; first < count; first++) {
        double moved = 0, own = 0;
        if (search.seen[first + 1])
            continue;
        for (size_t i = first; !search.seen[i + 1]; i = match[i]) {
            search.seen[i + 1] = true;
            moved += costs[i * count + match[i]];
            own += costs[i * count + i];
        }
        for (size_t i = first; own <= moved && match[i] != i;) {
            size_t next = match[i];
            match[i] = i;
            i = next;
        }
    }
    return 0;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Sums of the differences of one head between the first run and a run of the same model with
 * another attention pattern or with edits. */
struct compared_head {
    double max, sum, kept, overlap;
};

/* Sums of the differences of one site between the first model and another model. */
struct site_sums {
    double off, size;     /* sums of squares: `off` of the differences, `size` of the first model's
                           * values */
    size_t masked_in_one; /* number of values that are infinite in only one of the models */
    size_t finite;        /* number of values that are finite in both models */
    bool compared;        /* true if both models have the site with the same size */
    float *tokens;        /* [token_count] the relative difference of each token */
    size_t token_count;
};

/* The selected heads of one attention of a layer: the self-attention of the text or of the encoder,
 * or the cross-attention. */
struct compared_group {
    enum site_branch branch;
    size_t layer, count, channels;
    size_t first;  /* index of the group's first head among the heads of all groups */
    double *pairs; /* [runs after the first][count, count] if models are compared: distance of each
                    * pair of heads, summed over queries */
};

struct comparison {
    const struct comparison_plan *plan;
    const struct config *config;
    bool of_models;
    struct compared_group *groups;
    size_t group_count, head_count; /* `group_count`: number of groups; `head_count`: heads of all
                                     * groups */
    size_t layers;                  /* number of layers of the model; with an encoder, of its
                                     * encoder or decoder, whichever has more */
    size_t queries[SITE_BRANCHES], longest;
    struct compared_head *of_heads; /* [runs after the first][head_count] sums of each head */
    struct site_sums *of_sites;     /* [runs after the first][SITE_COUNT, layers] sums of each site;
                                     * layer 0 also for sites outside of layers */
    struct arena *arena;            /* owns the report */
    struct arena first, other;      /* `first`: tensors of the first run's pass; `other`: of another
                                     * run's pass */
};

/* --- settings --------------------------------------------------------------------------------- */

/* Return the weight of a row's sink: 1 minus the sum of the row's weights, but at least 0. */
static double sink_of(const float *row, size_t keys)
{
    double rest = 1;
    for (size_t i = 0; i < keys; i++)
        rest -= (double)row[i];
    return fmax(rest, 0);
}

/* Return the divisor that renormalises a row: 1 or, if the first key is hidden, the sum of the
 * row's other weights and its sink. */
static double whole_of(const float *row, size_t keys, bool has_sinks, size_t hidden)
{
    double sum = has_sinks && hidden ? sink_of(row, keys) : 0;
    for (size_t i = hidden; i < keys && hidden; i++)
        sum += (double)row[i];
    return sum > 0 ? sum : 1;
}

/* Add the differences of two tensors of weights or contexts, without the first `hidden` queries and
 * keys. A sink counts as a key. */
static void add_heads(struct compared_head *sums, const struct array *a, const struct array *b,
                      bool has_sinks, size_t hidden)
{
    const size_t columns = a->columns.size, rows = a->rows.size;
    for (size_t row = 0; row < a->heads.size * rows; row++) {
        const float *x = a->data + row * columns, *y = b->data + row * columns;
        struct compared_head *sum = &sums[row / rows];
        if (row % rows < hidden)
            continue;
        if (site_id(a->site) != SITE_WEIGHTS) {
            for (size_t i = 0; i < columns; i++) {
                const double difference = fabs((double)x[i] - (double)y[i]);
                sum->max = fmax(sum->max, difference);
                sum->sum += difference;
            }
            continue;
        }
        const double of_x = whole_of(x, columns, has_sinks, hidden);
        const double of_y = whole_of(y, columns, has_sinks, hidden);
        for (size_t i = hidden; i < columns; i++) {
            sum->kept += y[i] > 0 ? (double)x[i] / of_x : 0;
            sum->overlap += fmin((double)x[i] / of_x, (double)y[i] / of_y);
            if (!has_sinks || i > hidden)
                continue;
            const double sink = sink_of(x, columns) / of_x;
            sum->kept += sink;
            sum->overlap += fmin(sink, sink_of(y, columns) / of_y);
        }
    }
}

/* --- models ----------------------------------------------------------------------------------- */

/* The part of the Jensen-Shannon divergence that comes from one key: (a + b) / 4 · ((1 + x) ln (1 +
 * x) + (1 - x) ln (1 - x)) for x = (a - b) / (a + b). It is accurate near 0: no divergence is
 * negative. */
static double divergence_of(double a, double b)
{
    if (a == b)
        return 0;
    double x = (a - b) / (a + b), square = x * x, less = 1 - fabs(x);
    double unlike = square < 1e-6 ? square * (1 + square / 6)
                                  : (2 - less) * log_double(2 - less) +
                                        (less > 0 ? less * log_double(less) : 0);
    return (a + b) / 4 * unlike;
}

struct pair_loop {
    const struct array *a, *b;
    double *sums; /* [heads, heads] distance of each head of `a` from each head of `b`, summed over
                   * queries */
    bool has_sinks;
    size_t hidden; /* number of queries and of keys to leave out at the beginning: 0 or 1 */
};

/* Compare a head of the first model with every head of the other model, row by row. */
static void add_pairs(void *context, size_t head, size_t thread)
{
    const struct pair_loop *loop = context;
    size_t heads = loop->a->heads.size, queries = loop->a->rows.size;
    size_t keys = loop->a->columns.size, hidden = loop->hidden;
    bool has_sinks = loop->has_sinks;
    (void)thread;
    for (size_t other = 0; other < heads; other++)
        for (size_t query = hidden; query < queries; query++) {
            const float *a = loop->a->data + (head * queries + query) * keys;
            const float *b = loop->b->data + (other * queries + query) * keys;
            double of_a = whole_of(a, keys, has_sinks, hidden);
            double of_b = whole_of(b, keys, has_sinks, hidden);
            double divergence =
                has_sinks ? divergence_of(sink_of(a, keys) / of_a, sink_of(b, keys) / of_b) : 0;
            for (size_t i = hidden; i < keys; i++)
                divergence += divergence_of((double)a[i] / of_a, (double)b[i] / of_b);
            loop->sums[head * heads + other] += sqrt(divergence / LN_2);
        }
}

/* Add the differences of tokens `first` to `end` - 1, without the columns before `first_column`.
 * Values that a model masks are infinite. */
static void add_values(struct site_sums *sums, const struct array *a, const struct array *b,
                       size_t first, size_t end, size_t first_column)
{
    size_t columns = a->columns.size, rows = a->rows.size;
    for (size_t head = 0; head < array_cells(a) / (rows * columns); head++)
        for (size_t i = (head * rows + first) * columns; i < (head * rows + end) * columns; i++) {
            double x = (double)a->data[i];
            double y = (double)b->data[i];
            if (i % columns < first_column)
                continue;
            sums->masked_in_one += !isinf(x) != !isinf(y);
            sums->off += isinf(x) || isinf(y) ? 0 : (x - y) * (x - y);
            sums->size += isinf(x) || isinf(y) ? 0 : x * x;
            sums->finite += !isinf(x) && !isinf(y);
        }
}

static double relative(const struct site_sums *sums)
{
    return sums->off > 0 ? sqrt(sums->off / sums->size) : 0 * sums->off;
}

/* Compare a site of two models: over all tokens together, and for each token. */
static int add_site(struct comparison *s, struct site_sums *sums, const struct array *a,
                    const struct array *b, struct err *err)
{
    enum site_axes axes = site_axes(a->site);
    bool is_map = axes == AXES_HEAD_QUERY_KEY || axes == AXES_QUERY_KEY;
    size_t tokens = a->rows.size;
    size_t hidden = s->plan->hide_first && axes != AXES_FIRST_CHANNEL;
    sums->compared = true;
    add_values(sums, a, b, hidden, tokens, is_map ? hidden : 0);
    for (size_t token = hidden; token < tokens; token++) {
        struct site_sums one = {0};
        add_values(&one, a, b, token, token + 1, is_map ? hidden : 0);
        if (!one.finite)
            continue;
        float *values = arena_grow(s->arena, sums->tokens, sums->token_count, sizeof *values, err);
        if (!values)
            return -1;
        sums->tokens = values;
        values[sums->token_count++] = (float)relative(&one);
    }
    return 0;
}

/* True if a site has the weights or the contexts of the heads of an attention. */
static bool is_of_heads(enum site site)
{
    return site_branch(site) < ATTENTION_BRANCHES &&
           (site_id(site) == SITE_WEIGHTS || site_id(site) == SITE_CONTEXT);
}

/* Return the sums of a site in a layer for the model of another run. */
static struct site_sums *sums_at(const struct comparison *s, size_t run, enum site site,
                                 size_t layer)
{
    return &s->of_sites[((run - 1) * SITE_COUNT + (size_t)site) * s->layers + layer];
}

/* Compare a tensor of the first run with another run's, if both have equally many numbers. */
static int add_tensor(struct comparison *s, size_t run, const struct array *a,
                      const struct report *other, struct err *err)
{
    const struct array *b = report_find(other, a->site, (size_t)a->layer);
    const struct compared_group *group = s->groups;
    size_t layer = a->layer < 0 ? 0 : (size_t)a->layer;
    if (!b || array_cells(a) != array_cells(b))
        return 0;
    bool of_weights = is_of_heads(a->site) && site_id(a->site) == SITE_WEIGHTS;
    while ((of_weights || !s->of_models) &&
           (group->branch != site_branch(a->site) || group->layer != layer))
        group++;
    if (!s->of_models) {
        add_heads(s->of_heads + (run - 1) * s->head_count + group->first, a, b, s->config->sinks,
                  s->plan->hide_first);
        return 0;
    }
    if (add_site(s, sums_at(s, run, a->site, layer), a, b, err))
        return -1;
    if (!of_weights)
        return 0;
    bool has_sinks = s->config->sinks || s->plan->runs[run].viewer->model.config.sinks;
    struct pair_loop loop = {a, b, group->pairs + (run - 1) * group->count * group->count,
                             has_sinks, s->plan->hide_first};
    /* the logarithms for one attention weight cost as much as 16 products */
    double work = 16 * (double)group->count * (double)array_cells(a);
    pool_run(s->plan->runs->viewer->machine.pool,
             (struct loop){.rounds = group->count, .work = work, .round = add_pairs}, &loop);
    return 0;
}

int comparison_check_models(const struct model *a, const struct model *b, struct err *err)
{
    for (enum site_branch branch = BRANCH_TEXT; branch <= BRANCH_SOURCE; branch++) {
        const struct stack *one = stack_of(&a->config, branch),
                           *other = stack_of(&b->config, branch);
        if (one->layers != other->layers || one->heads != other->heads)
            return err_usage(err,
                             "'%s': expected %zu layer%s of %zu head%s%s, as '%s' has, found %zu "
                             "of %zu",
                             b->name, one->layers, num_plural(one->layers), one->heads,
                             num_plural(one->heads), branch ? " in the encoder" : "", a->name,
                             other->layers, other->heads);
    }
    return 0;
}

/* --- the passes ------------------------------------------------------------------------------- */

/* Return the sites to compare: for runs of one model, weights and contexts; for runs of different
 * models, all sites that the run's model shares with the first model (for run 0, all sites that any
 * other model shares), and with `first` also those outside of layers. */
static struct site_set sites_of(const struct comparison *s, size_t run, bool first)
{
    struct site_set sites = {0};
    const size_t last = run ? run : s->plan->run_count - 1;
    const struct site_set own = model_sites(s->config);
    for (enum site site = site_first(own); site != SITE_END; site = site_after(own, site)) {
        bool shared = false;
        for (size_t i = run ? run : 1; i <= last && s->of_models; i++)
            shared = shared || site_exists(&s->plan->runs[i].viewer->model.config, site);
        if (!site_is_by_name(site) &&
            (s->of_models ? shared && (site_row(site)->in_layer || first) : is_of_heads(site)))
            site_set_add(&sites, site);
    }
    return sites;
}

/* Return the number of layers that a pass captures: as many as most_cells allows, but at least
 * one. */
static size_t layers_at_once(const struct comparison *s, const struct text_with_source *pair)
{
    double most = s->plan->most_cells ? (double)s->plan->most_cells : CELLS_KEPT;
    size_t tokens = pair->text.count;
    size_t keys = pair->source.count ? pair->source.count : tokens;
    double cells = 1;
    struct site_set sites = sites_of(s, 0, false);
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        size_t count = 0;
        if (site_size(&count, s->config, site, s->plan->selection->head_count, tokens, keys))
            cells += (double)count;
    }
    return cells >= most ? 1 : (size_t)(most / cells);
}

static int asked(struct report *report, const struct comparison_run *run,
                 struct capture_request asked, struct arena *arena, struct err *err)
{
    asked.reports = report;
    arena_clear(arena);
    if (run->mechanism) {
        run->viewer->edits = run->edited ? asked.pairs->edits : NULL;
        if (viewer_set_mechanism(run->viewer, run->mechanism, err))
            return -1;
    }
    return viewer_capture(run->viewer, &asked, arena, err);
}

static struct layers layers_from(struct layers all, size_t first, size_t most)
{
    first = num_min(first, all.count);
    return (struct layers){all.items + first, num_min(all.count - first, most)};
}

/* Compare one text in all runs, several layers at a time. */
static int compare_text(struct comparison *s, size_t text, struct err *err)
{
    const struct comparison_plan *plan = s->plan;
    const struct text_with_source *pair = &plan->pairs[text];
    const struct selection *all = plan->selection;
    struct report base, other;
    size_t step = layers_at_once(s, pair);
    bool is_short = pair->text.count == 1 || pair->source.count == 1;
    if (plan->hide_first && is_short)
        return err_usage(err, "--hide-first: expected texts of two tokens or more, found one");
    for (size_t first = 0; first < num_max(all->layers.count, all->encoder_layers.count);
         first += step) {
        struct selection selection = *all;
        selection.sites = sites_of(s, 0, first == 0);
        selection.layers = layers_from(all->layers, first, step);
        selection.encoder_layers = layers_from(all->encoder_layers, first, step);
        const struct capture_request at = {&selection, pair, 1, text, NULL, NULL};
        if (asked(&base, &plan->runs[0], at, &s->first, err))
            return -1;
        for (size_t run = 1; run < plan->run_count; run++) {
            selection.sites = sites_of(s, run, first == 0);
            if (asked(&other, &plan->runs[run], at, &s->other, err))
                return s->of_models ? -1 : err_prefix(err, "%s", plan->runs[run].name);
            for (size_t i = 0; i < base.array_count; i++)
                if (add_tensor(s, run, &base.arrays[i], &other, err))
                    return -1;
        }
    }
    for (int branch = 0; branch < SITE_BRANCHES; branch++)
        s->queries[branch] += (branch == BRANCH_SOURCE ? &pair->source : &pair->text)->count -
                              (plan->hide_first && (branch != BRANCH_SOURCE || pair->source.count));
    s->longest = num_max(s->longest, pair->text.count);
    progress_tell(plan->progress, text + 1, plan->pair_count);
    return 0;
}

/* --- report of settings ----------------------------------------------------------------------- */

/* Add a row to the table "ways": for index 0, the numbers of all heads together; else the numbers
 * of head index - 1. */
static void put_setting(struct table_rows *rows, const struct comparison *s, const char *name,
                        size_t index)
{
    const struct compared_head *sums =
        s->of_heads + rows->row / (1 + s->head_count) * s->head_count;
    struct compared_head sum = {0};
    double queries = 0, channels = 0;
    const struct compared_group *group = NULL; /* the group that has this head */
    for (const struct compared_group *g = s->groups; g < s->groups + s->group_count; g++)
        for (size_t i = g->first; i < g->first + g->count; i++) {
            if (index && i != index - 1)
                continue;
            group = g;
            sum.max = fmax(sum.max, sums[i].max);
            sum.sum += sums[i].sum;
            sum.kept += sums[i].kept;
            sum.overlap += sums[i].overlap;
            queries += (double)s->queries[g->branch];
            channels += (double)(s->queries[g->branch] * g->channels);
        }
    size_t head = index ? index - 1 - group->first : 0;
    head = s->plan->selection->heads ? s->plan->selection->heads[head] : head;
    bool named = has_encoder(s->config); /* true: labels also name the kind of attention */
    const char *part = named && index ? attention_branches[group->branch].name : "";
    const char *label = name;
    char of_head[HEAD_NAME_BYTES];
    if (index)
        label = arena_format(rows->arena, rows->err, "%s%s%s %s", name, named ? " " : "", part,
                             head_name(of_head, group->layer, head));
    rows_label(rows, "", COLUMN_HIDDEN, (struct label){label, label, label});
    rows_text(rows, "attention", COLUMN_KEY, name);
    if (named)
        rows_text(rows, "part", COLUMN_KEY, part);
    rows_integer(rows, "layer", COLUMN_KEY, index ? (long long)group->layer : COLUMN_MISSING);
    rows_integer(rows, "head", COLUMN_KEY, index ? (long long)head : COLUMN_MISSING);
    rows_float(rows, (struct column){"max_difference", "max", .digits = 4}, sum.max);
    rows_float(rows, (struct column){"mean_difference", "mean", .digits = 4}, sum.sum / channels);
    rows_float(rows, (struct column){"kept", .digits = 4}, sum.kept / queries);
    rows_float(rows,
               (struct column){"overlap", .flags = COLUMN_COLOURED, .digits = 4, .fraction = true},
               sum.overlap / queries);
}

static int report_settings(struct report *report, const struct comparison *s, struct arena *arena,
                           struct err *err)
{
    size_t lines = 1 + s->head_count;
    struct table_rows rows = {.most = (s->plan->run_count - 1) * lines, .arena = arena, .err = err};
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct buf about = {0};
    for (; rows.row < rows.most && !err->kind; rows_next(&rows))
        put_setting(&rows, s, s->plan->runs[1 + rows.row / lines].name, rows.row % lines);
    if (!table || rows_finish(table, &rows, "ways", "head"))
        return -1;
    table->note = "max, mean: |difference| from the context of dense attention\n"
                  "kept: dense attention's weight on the keys that the pattern keeps\n"
                  "overlap: sum over keys of the smaller of the two weights\n"
                  "Settings apply to every layer: differences carry over to the next.";
    if (s->plan->runs[1].edited)
        table->note = arena_format(arena, err,
                                   "%s\nFor predictions, use score --continue with and without "
                                   "--ablate or other edits.",
                                   table->note);
    if (s->plan->hide_first)
        table->note = arena_format(arena, err, "%s\nAll are without the first token.", table->note);
    if (s->plan->pair_count > 1)
        buf_format(&about, "%zu texts of up to ", s->plan->pair_count);
    buf_format(&about, "%zu token%s · %zu layer%s, %zu head%s", s->longest, num_plural(s->longest),
               s->config->n_layer, num_plural(s->config->n_layer), s->config->n_head,
               num_plural(s->config->n_head));
    report->about = buf_keep(&about, arena, err);
    report->tables = table;
    report->table_count = 1;
    report->has_encoder = true; /* true even without an encoder, because keys are tokens of the
                                 * text, not of a source */
    if (s->plan->pair_count == 1)
        report->text = s->plan->pairs[0].text;
    return err_if(err->kind);
}

/* --- report of models ----------------------------------------------------------------------------
 *
 *     site,layer,head,distance,match,matched_distance,masked_in_one,median
 *     weights,0,0,0.123,2,0.001,,                heads
 *     resid_pre,0,,0.054,,,0,0.071               sites
 */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double median_of(struct site_sums *sums)
{
    size_t count = sums->token_count;
    if (!count)
        return (double)NAN;
    qsort(sums->tokens, count, sizeof *sums->tokens, compare_floats);
    return ((double)sums->tokens[(count - 1) / 2] + (double)sums->tokens[count / 2]) / 2;
}

/* Return the name of another run's model if several models are compared with the first; else
 * NULL. */
static const char *name_of(const struct comparison *s, size_t run)
{
    return s->plan->run_count > 2 ? s->plan->runs[run].name : NULL;
}

/* A row of the table that compares another model with the first. `of_all` is the distance over all
 * values of a site in a layer or, for a head of the first model, the distance to the other model's
 * head of the same index; `of_match` is the distance to the head that matches it. A missing number
 * is COLUMN_MISSING or NaN. */
struct distance {
    const char *model, *site; /* `model`: name of the other model; NULL: there is only one */
    long long layer, head, match, masked_in_one;
    double of_all, of_match, median;
};

static void put_distance(struct table_rows *rows, const struct distance *d)
{
    if (d->model)
        rows_text(rows, "model", COLUMN_KEY, d->model);
    rows_label(rows, "site", COLUMN_KEY, (struct label){d->site, d->site, d->site});
    rows_integer(rows, "layer", COLUMN_KEY, d->layer);
    rows_integer(rows, "head", COLUMN_KEY, d->head);
    rows_float(rows,
               (struct column){"distance", .flags = COLUMN_COLOURED, .digits = 4, .fraction = true},
               d->of_all);
    rows_integer(rows, "match", COLUMN_KEY, d->match);
    rows_float(rows, (struct column){"matched_distance", "distance", .digits = 4}, d->of_match);
    rows_integer(rows, "masked_in_one", 0, d->masked_in_one);
    rows_float(rows, (struct column){"median", .digits = 4}, d->median);
    rows_next(rows);
}

/* Add a row for each layer of a site to the data; for people, one row with the means over layers,
 * and the maximum with its layer. */
static void put_site(struct table_rows *data, struct table_rows *shown, const struct comparison *s,
                     size_t run, enum site site)
{
    const char *name = site_name(site);
    bool in_layer = site_row(site)->in_layer;
    double sum = 0, sum_of_medians = 0, largest = -1;
    long long largest_layer = COLUMN_MISSING;
    size_t count = 0;
    struct layers layers = selection_layers_of(s->plan->selection, site);
    for (size_t i = 0; i < layers.count; i++) {
        struct site_sums *sums = sums_at(s, run, site, layers.items[i]);
        if (!sums->compared)
            continue;
        const struct distance own = {
            .model = name_of(s, run),
            .site = name,
            .layer = in_layer ? (long long)layers.items[i] : COLUMN_MISSING,
            .head = COLUMN_MISSING,
            .of_all = relative(sums),
            .match = COLUMN_MISSING,
            .of_match = (double)NAN,
            .masked_in_one = (long long)sums->masked_in_one,
            .median = median_of(sums),
        };
        put_distance(data, &own);
        sum += own.of_all;
        sum_of_medians += own.median;
        count++;
        if (own.of_all > largest)
            largest_layer = own.layer;
        largest = fmax(largest, own.of_all);
    }
    if (!count)
        return;
    rows_label(shown, "site", COLUMN_KEY, (struct label){name, name, name});
    rows_float(shown, (struct column){"mean", .digits = 4}, sum / (double)count);
    rows_float(shown, (struct column){"median", .digits = 4}, sum_of_medians / (double)count);
    rows_float(shown, (struct column){"largest", .digits = 4}, in_layer ? largest : (double)NAN);
    rows_integer(shown, "in layer", 0, largest_layer);
    rows_next(shown);
}

/* Add a row for each head of the first model, compared with the heads of another model, to the data
 * and to a table for people. */
static int put_heads(struct table_rows *data, struct table_rows *shown, const struct comparison *s,
                     size_t run)
{
    const size_t *heads = s->plan->selection->heads;
    size_t *match =
        arena_alloc(data->arena, s->plan->selection->head_count, sizeof *match, data->err);
    for (const struct compared_group *g = s->groups; g < s->groups + s->group_count; g++) {
        const double *pairs = g->pairs + (run - 1) * g->count * g->count;
        double queries = (double)s->queries[g->branch];
        if (!match || assignment_find(match, pairs, g->count, data->arena, data->err))
            return -1;
        for (size_t head = 0; head < 2 * g->count; head++) {
            const size_t own = head / 2;
            const double *sums = pairs + own * g->count;
            const struct distance row = {
                .model = name_of(s, run),
                .site = site_name(SITE_OF(g->branch, SITE_WEIGHTS)),
                .layer = (long long)g->layer,
                .head = (long long)(heads ? heads[own] : own),
                .of_all = sums[own] / queries,
                .match = (long long)(heads ? heads[match[own]] : match[own]),
                .of_match = sums[match[own]] / queries,
                .masked_in_one = COLUMN_MISSING,
                .median = (double)NAN,
            };
            put_distance(head % 2 ? shown : data, &row);
        }
    }
    return 0;
}

/* Make the tables: for data, one table of the heads and sites of all models; for people, a table of
 * heads and a summary of sites for each model. */
static int make_distances(struct table *tables, const struct comparison *s, struct arena *arena,
                          struct err *err)
{
    const struct site_set own = model_sites(s->config);
    const size_t others = s->plan->run_count - 1;
    /* number of columns at the beginning that the table for people omits: the site, if there is no
     * encoder; the model, if there are several other models */
    const size_t keys = !has_encoder(s->config) + (others > 1);
    struct table_rows data = {
        .most = others * (s->head_count + SITE_COUNT * s->layers), .arena = arena, .err = err};
    for (size_t run = 1; run <= others; run++) {
        const struct comparison_run *other = &s->plan->runs[run];
        struct table *shown = &tables[2 * run - 1];
        struct table_rows heads = {.most = s->head_count, .arena = arena, .err = err};
        struct table_rows sites = {.most = SITE_COUNT, .arena = arena, .err = err};
        if (put_heads(&data, &heads, s, run))
            return -1;
        for (enum site site = site_first(own); site != SITE_END; site = site_after(own, site))
            put_site(&data, &sites, s, run, site);
        if (rows_finish(&shown[0], &heads, "heads", "head") ||
            rows_finish(&shown[1], &sites, "sites", "site"))
            return -1;
        if (s->head_count > 0) { /* a table without heads has no columns to hide */
            shown[0].columns += keys;
            shown[0].count -= keys + 2;
        }
        shown[0].flags = shown[1].flags = COLUMN_TEXT_ONLY;
        if (others > 1)
            shown[0].heading = arena_format(arena, err, "compared with %s%s", other->name,
                                            other->equal_weights ? " · equal weights" : "");
    }
    if (rows_finish(&tables[0], &data, "distances", "line"))
        return -1;
    tables[0].flags = COLUMN_DATA_ONLY;
    return 0;
}

/* Add a matrix of another model. `model` is its name for the title; NULL: there is only one other
 * model. */
static int add_map(struct report *report, struct array map, const char *model, struct arena *arena,
                   struct err *err)
{
    map.layer = -1;
    if (model && !(map.name = arena_format(arena, err, "%s, %s", map.name, model)))
        return -1;
    return report_add_array(report, &map, arena, err);
}

/* Add a matrix (layers by heads) of the distances of one attention's heads. */
static int draw_heads(struct report *report, const struct comparison *s, size_t run,
                      enum site_branch branch, struct arena *arena, struct err *err)
{
    struct axis rows, columns;
    const struct selection *selection = s->plan->selection;
    enum site site = SITE_OF(branch, SITE_WEIGHTS);
    struct layers layers = selection_layers_of(selection, site);
    const struct compared_group *first = s->groups;
    while (first < s->groups + s->group_count && first->branch != branch)
        first++;
    if (first == s->groups + s->group_count)
        return 0;
    float *values = arena_alloc(arena, layers.count * first->count, sizeof *values, err);
    for (size_t i = 0; values && i < layers.count * first->count; i++)
        values[i] = (float)column_float(table_column(&report->tables[2 * run - 1], "distance"),
                                        first->first + i);
    if (!values || axis_of_numbers(&rows, "layer", layers.items, layers.count, arena, err) ||
        axis_of_numbers(&columns, "head", selection->heads, first->count, arena, err))
        return -1;
    const char *name = arena_format(arena, err, "distance of %s", site_name(site));
    const struct array map = {.name = name, .data = values, .rows = rows, .columns = columns};
    return err_if(!name || add_map(report, map, name_of(s, run), arena, err));
}

/* Return the sums of a site in a layer, or outside of layers if `layer` is SIZE_MAX; NULL: the site
 * was not compared there. */
static struct site_sums *sums_of(const struct comparison *s, size_t run, enum site site,
                                 size_t layer)
{
    struct site_sums *sums = sums_at(s, run, site, layer == SIZE_MAX ? 0 : layer);
    return site_row(site)->in_layer == (layer != SIZE_MAX) && sums->compared ? sums : NULL;
}

/* Add two matrices, sites by layers: the distances, and the medians. The last column is for sites
 * outside of layers. */
static int draw_sites(struct report *report, const struct comparison *s, size_t run,
                      struct arena *arena, struct err *err)
{
    const struct site_set own = model_sites(s->config);
    struct axis rows = {"site", 0, NULL, 0}, columns = {"layer", 0, NULL, 0};
    struct label *sites = arena_alloc(arena, SITE_COUNT, sizeof *sites, err);
    struct label *layers = arena_alloc(arena, s->layers + 1, sizeof *layers, err);
    size_t *numbers = arena_alloc(arena, s->layers + 1, sizeof *numbers, err);
    for (size_t i = 0; i <= s->layers && !err->kind; i++) {
        size_t layer = numbers[columns.size] = i < s->layers ? i : SIZE_MAX;
        const char *name = i < s->layers ? arena_format(arena, err, "%zu", i) : "–";
        bool any = false;
        for (enum site site = site_first(own); site != SITE_END; site = site_after(own, site))
            any |= sums_of(s, run, site, layer) != NULL;
        layers[columns.size] = (struct label){name, name, name};
        columns.size += any;
    }
    float *maps[2];
    for (size_t i = 0; i < 2; i++)
        maps[i] = arena_alloc(arena, SITE_COUNT * columns.size, sizeof *maps[i], err);
    if (err->kind)
        return -1;
    for (enum site site = site_first(own); site != SITE_END; site = site_after(own, site)) {
        bool any = false;
        for (size_t i = 0; i < columns.size; i++) {
            struct site_sums *sums = sums_of(s, run, site, numbers[i]);
            size_t cell = rows.size * columns.size + i;
            maps[0][cell] = sums ? (float)relative(sums) : NAN;
            maps[1][cell] = sums ? (float)median_of(sums) : NAN;
            any |= sums != NULL;
        }
        sites[rows.size] = (struct label){site_name(site), site_name(site), site_name(site)};
        rows.size += any;
    }
    rows.labels = sites;
    columns.labels = layers;
    struct array map = {.name = "distance", .data = maps[0], .rows = rows, .columns = columns};
    if (add_map(report, map, name_of(s, run), arena, err))
        return -1;
    map.name = "median";
    map.data = maps[1];
    return add_map(report, map, name_of(s, run), arena, err);
}

static int report_models(struct report *report, struct facts *facts, const struct comparison *s,
                         struct arena *arena, struct err *err)
{
    const struct comparison_run *second = &s->plan->runs[1];
    const size_t others = s->plan->run_count - 1;
    struct table *tables = arena_alloc(arena, 1 + 2 * others, sizeof *tables, err);
    struct buf about = {0};
    if (!tables || make_distances(tables, s, arena, err))
        return -1;
    tables[2 * others].note = "heads: Jensen-Shannon distance of attention, 0 to 1, mean over "
                              "queries\n"
                              "match: the other model's head, one to one, and the distance to it\n"
                              "sites: norm of the difference, divided by the norm of the first "
                              "model's values; median: over single tokens";
    if (others > 1) {
        buf_format(&about, "compared with %zu models · ", others);
    } else {
        buf_text(&about, "compared with ");
        label_line(&about, second->name, strlen(second->name));
        buf_text(&about, " · ");
        facts_text(facts, "second_model", second->name);
        facts_integer(facts, "equal_weights", second->equal_weights);
    }
    buf_format(&about, "%zu text%s%s", s->plan->pair_count, num_plural(s->plan->pair_count),
               others == 1 && second->equal_weights ? " · equal weights" : "");
    report->about = buf_keep(&about, arena, err);
    report->tables = tables;
    report->table_count = 1 + 2 * others;
    for (size_t run = 1; run <= others && s->plan->draws; run++) {
        for (enum site_branch branch = 0; branch < ATTENTION_BRANCHES; branch++)
            if (draw_heads(report, s, run, branch, arena, err))
                return -1;
        if (draw_sites(report, s, run, arena, err))
            return -1;
    }
    return err_if(!report->about);
}

/* --- comparison ------------------------------------------------------------------------------- */

static int take_room(struct comparison *s, struct arena *arena, struct err *err)
{
    const struct comparison_plan *plan = s->plan;
    const struct selection *selection = plan->selection;
    s->layers = num_max(s->config->n_layer, stack_of(s->config, BRANCH_SOURCE)->layers);
    s->groups = arena_alloc(arena, ATTENTION_BRANCHES * s->layers, sizeof *s->groups, err);
    for (size_t i = 0; i < plan->run_count && !s->of_models; i++)
        if (mechanism_check(plan->runs[i].mechanism, s->config, err))
            return -1;
    for (enum site_branch branch = 0; branch < ATTENTION_BRANCHES && s->groups; branch++) {
        const struct stack *stack = stack_of(s->config, branch);
        size_t heads = selection->heads ? selection->head_count : stack->heads;
        enum site site = SITE_OF(branch, SITE_WEIGHTS);
        struct layers layers = selection_layers_of(selection, site);
        for (size_t i = 0; i < layers.count && site_exists(s->config, site); i++) {
            const struct sublayer *attention = attention_of(s->config, branch, layers.items[i]);
            if (!attention)
                continue;
            double *pairs = s->of_models ? arena_alloc(arena, (plan->run_count - 1) * heads * heads,
                                                       sizeof *pairs, err)
                                         : NULL;
            s->groups[s->group_count++] = (struct compared_group){
                branch, layers.items[i], heads, attention->head.d_v, s->head_count, pairs};
            s->head_count += heads;
        }
    }
    if (s->of_models)
        s->of_sites = arena_alloc(arena, (plan->run_count - 1) * SITE_COUNT * s->layers,
                                  sizeof *s->of_sites, err);
    else
        s->of_heads =
            arena_alloc(arena, (plan->run_count - 1) * s->head_count, sizeof *s->of_heads, err);
    return err_if(err->kind);
}

int comparison_make(struct report *report, const struct comparison_plan *plan, struct arena *arena,
                    struct err *err)
{
    struct viewer *viewer = plan->runs->viewer;
    struct facts *facts = facts_new(arena, err);
    struct comparison s = {.plan = plan,
                           .config = &viewer->model.config,
                           .of_models = !plan->runs[1].mechanism,
                           .arena = arena};
    int failed = !facts || take_room(&s, arena, err);
    for (size_t text = 0; !failed && text < plan->pair_count; text++)
        failed = compare_text(&s, text, err);
    arena_release(&s.first);
    arena_release(&s.other);
    if (failed)
        return -1;
    *report = (struct report){.model = viewer->model.name, .facts = &facts->table};
    facts_integer(facts, "texts", (long long)plan->pair_count);
    if (s.of_models)
        return report_models(report, facts, &s, arena, err);
    facts_integer(facts, "longest", (long long)s.longest);
    return report_settings(report, &s, arena, err);
}

static void add_run(struct memory *memory, const struct comparison_run *run,
                    const struct selection *selection, const struct text_with_source *pair)
{
    struct viewer *viewer = run->viewer;
    if (run->mechanism) {
        viewer_set_mechanism(viewer, run->mechanism, NULL); /* comparison_make reports its errors */
        viewer->edits = run->edited ? pair->edits : NULL;
    }
    viewer_add_memory(memory, viewer, selection, pair, CAPTURE_ALL);
}

void comparison_add_memory(struct memory *memory, const struct comparison_plan *plan,
                           const struct text_with_source *pair)
{
    const struct config *config = &plan->runs->viewer->model.config;
    struct selection selection = *plan->selection;
    struct comparison s = {.plan = plan, .config = config, .of_models = !plan->runs[1].mechanism};
    struct memory most = {0};
    size_t step = layers_at_once(&s, pair);
    selection.sites = sites_of(&s, 0, true);
    selection.layers = layers_from(selection.layers, 0, step);
    selection.encoder_layers = layers_from(selection.encoder_layers, 0, step);
    add_run(memory, &plan->runs[0], &selection, pair);
    for (size_t run = 1; run < plan->run_count; run++) {
        struct memory other = {0};
        selection.sites = sites_of(&s, run, true);
        add_run(&other, &plan->runs[run], &selection, pair);
        most.held = fmax(most.held, other.held);
        most.during = fmax(most.during, other.during);
    }
    const struct site_set sites = selection.sites;
    for (size_t i = 0; i < plan->pair_count && s.of_models; i++) /* memory for the relative
                                                                  * difference of each token at each
                                                                  * site */
        for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
            memory->held += 2 * sizeof(float) * (double)(plan->run_count - 1) *
                            (double)plan->pairs[i].text.count * (double)site_layers(config, site);
    memory->held += most.held;
    memory->during = s.of_models ? memory->during + most.during : fmax(memory->during, most.during);
}
