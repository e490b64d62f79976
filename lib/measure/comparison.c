#include "measure/comparison.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "math/assignment.h"
#include "math/portable_math.h"
#include "model/mechanism.h"
#include "text/label.h"

enum { CELLS_KEPT = 1 << 26 };

static const double LN_2 = 0.6931471805599453;
static const double SAME = 0.001; /* heads at most so far from their match are called the same */

/* Of a head under another setting. */
struct head_sums {
    double max, sum, kept, overlap;
    size_t numbers, queries;
};

/* Of a site of another model. */
struct site_sums {
    double off, size;     /* squares of the difference, of the first model's values */
    size_t masked_in_one; /* values that are infinite in only one model */
    bool compared;        /* both models have it, in the same size */
};

struct comparison {
    const struct comparison_plan *plan;
    const struct config *config;
    bool of_models;
    struct layers layers;
    const size_t *heads; /* [head_count] the model's numbers */
    size_t head_count, queries, longest;
    struct head_sums *of_heads; /* [runs after the first][layers, heads] */
    struct site_sums *of_sites; /* [SITE_COUNT, layers]; of a site in no layer the first */
    double *of_pairs;           /* [layers, heads, heads] sums of distances over queries */
    struct arena first, other;  /* values of the passes */
};

/* --- settings --------------------------------------------------------------------------------- */

static void add_contexts(struct head_sums *sum, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        sum->max = fmax(sum->max, difference);
        sum->sum += difference;
    }
    sum->numbers += count;
}

static void add_weights(struct head_sums *sum, const float *a, const float *b, size_t queries,
                        size_t keys)
{
    for (size_t i = 0; i < queries * keys; i++) {
        sum->kept += b[i] > 0 ? (double)a[i] : 0;
        sum->overlap += (double)fminf(a[i], b[i]);
    }
    sum->queries += queries;
}

/* Both have weights and contexts of the same layers and heads, and no other tensors. */
static void add_heads(struct head_sums *sums, const struct report *a, const struct report *b)
{
    for (size_t i = 0; i < a->tensor_count; i++) {
        const struct kept *kept = &a->tensors[i];
        size_t rows = kept->shape[1];
        size_t cells = rows * kept->shape[2];
        if (i > 0 && kept->layer != a->tensors[i - 1].layer)
            sums += kept->shape[0];
        for (size_t head = 0; head < kept->shape[0]; head++) {
            const float *x = kept->data + head * cells;
            const float *y = b->tensors[i].data + head * cells;
            if (kept->site == SITE_WEIGHTS)
                add_weights(&sums[head], x, y, rows, kept->shape[2]);
            else
                add_contexts(&sums[head], x, y, cells);
        }
    }
}

static struct head_sums sum_heads(const struct head_sums *sums, size_t count)
{
    struct head_sums all = {0};
    for (size_t i = 0; i < count; i++) {
        all.max = fmax(all.max, sums[i].max);
        all.sum += sums[i].sum;
        all.kept += sums[i].kept;
        all.overlap += sums[i].overlap;
        all.numbers += sums[i].numbers;
        all.queries += sums[i].queries;
    }
    return all;
}

/* --- models ----------------------------------------------------------------------------------- */

/* (1 + x) ln (1 + x) + (1 - x) ln (1 - x): no term of a divergence is below 0, and none is lost
 * between near ones. */
static double unlike(double x)
{
    double square = x * x;
    if (square < 1e-6)
        return square * (1 + square / 6);
    double less = 1 - fabs(x);
    return (2 - less) * log_double(2 - less) + (less > 0 ? less * log_double(less) : 0);
}

static double row_distance(const float *a, const float *b, size_t keys)
{
    double divergence = 0;
    for (size_t i = 0; i < keys; i++) {
        double both = (double)a[i] + (double)b[i];
        if (both > 0 && a[i] != b[i])
            divergence += both / 4 * unlike(((double)a[i] - (double)b[i]) / both);
    }
    return sqrt(divergence / LN_2);
}

struct pair_loop {
    const struct kept *a, *b;
    double *sums; /* [heads, heads] */
};

/* A head of the first model beside all of the other. */
static void add_pairs(void *context, size_t head, size_t thread)
{
    const struct pair_loop *loop = context;
    size_t heads = loop->a->shape[0];
    size_t queries = loop->a->shape[1];
    size_t keys = loop->a->shape[2];
    (void)thread;
    for (size_t other = 0; other < heads; other++)
        for (size_t query = 0; query < queries; query++)
            loop->sums[head * heads + other] +=
                row_distance(loop->a->data + (head * queries + query) * keys,
                             loop->b->data + (other * queries + query) * keys, keys);
}

/* Masked values have no difference: those that only one model masks are counted. */
static void add_values(struct site_sums *sums, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double off = (double)a[i] - (double)b[i];
        sums->masked_in_one += !isinf(a[i]) != !isinf(b[i]);
        if (isinf(a[i]) || isinf(b[i]))
            continue;
        sums->off += off * off;
        sums->size += (double)a[i] * (double)a[i];
    }
}

static const struct kept *find_tensor(const struct report *report, const struct kept *like)
{
    for (size_t i = 0; i < report->tensor_count; i++) {
        const struct kept *kept = &report->tensors[i];
        bool same =
            kept->site == like->site && kept->layer == like->layer && kept->rank == like->rank;
        for (size_t axis = 0; same && axis < kept->rank; axis++)
            same = kept->shape[axis] == like->shape[axis];
        if (same)
            return kept;
    }
    return NULL;
}

static void add_tensor(struct comparison *s, const struct kept *a, const struct kept *b)
{
    size_t layer = 0;
    size_t heads = s->head_count;
    while (a->layer >= 0 && s->layers.items[layer] != (size_t)a->layer)
        layer++;
    struct site_sums *sums = &s->of_sites[(size_t)a->site * s->layers.count + layer];
    sums->compared = true;
    add_values(sums, a->data, b->data, kept_cells(a));
    if (a->site != SITE_WEIGHTS)
        return;
    struct pair_loop loop = {a, b, s->of_pairs + layer * heads * heads};
    double work = 16 * (double)heads * (double)kept_cells(a); /* a logarithm is so many products */
    pool_run(s->plan->runs->viewer->machine.pool,
             (struct loop){.rounds = heads, .work = work, .round = add_pairs}, &loop);
}

int comparison_check_models(const struct viewer *a, const struct viewer *b, struct err *err)
{
    const struct model *const models[] = {&a->model, &b->model};
    for (size_t i = 0; i < 2; i++)
        if (models[i]->config.cross)
            return err_unsupported(
                err, "'%s': expected a model of one text, found one that attends to a second text",
                models[i]->name);
    return 0;
}

static int check_shapes(const struct model *a, const struct model *b, struct err *err)
{
    const struct config *x = &a->config;
    const struct config *y = &b->config;
    if (x->n_layer == y->n_layer && x->n_head == y->n_head)
        return 0;
    return err_usage(err, "'%s': expected %zu layers of %zu heads, as '%s' has, found %zu of %zu",
                     b->name, x->n_layer, x->n_head, a->name, y->n_layer, y->n_head);
}

/* --- the passes ------------------------------------------------------------------------------- */

/* The sites of layers, and in the first pass over a text the others. */
static uint64_t sites_of(const struct comparison *s, bool first)
{
    uint64_t sites = 0;
    if (!s->of_models)
        return site_bit(SITE_WEIGHTS) | site_bit(SITE_CONTEXT);
    for (int i = 0; i < SITE_COUNT; i++)
        if (site_exists(s->config, (enum site)i) &&
            site_exists(&s->plan->runs[1].viewer->model.config, (enum site)i) &&
            (site_rows[i].in_layer || first))
            sites |= site_bit((enum site)i);
    return sites;
}

/* As many layers as may be kept together. */
static size_t layers_at_once(const struct comparison *s, const struct text_pair *pair)
{
    double most = s->plan->most_cells ? (double)s->plan->most_cells : CELLS_KEPT;
    size_t tokens = pair->sentence.count;
    size_t keys = pair->source.count ? pair->source.count : tokens;
    double cells = 1;
    uint64_t sites = sites_of(s, false);
    for (int i = 0; i < SITE_COUNT; i++) {
        size_t count = 0;
        if (sites >> i & 1 &&
            site_size(&count, s->config, (enum site)i, s->head_count, tokens, keys))
            cells += (double)count;
    }
    return cells >= most ? 1 : (size_t)(most / cells);
}

/* "--attention window:8, --ablate '0.1'", as the command line has it. */
static int add_setting(const struct comparison_run *run, struct err *err)
{
    struct arena arena = {0};
    struct buf words = {0};
    const char *name = mechanism_attention_name(run->mechanism, &arena, err);
    if (name && !(run->edits && run->mechanism->kind == ATTENTION_DENSE))
        buf_format(&words, "--attention %s", name);
    edits_write(&words, run->edits);
    if (words.size)
        err_prefix(err, "%s", words.bytes);
    buf_release(&words);
    arena_release(&arena);
    return -1;
}

static int look(struct report *report, const struct comparison_run *run, struct look look,
                struct arena *arena, struct err *err)
{
    look.reports = report;
    arena_clear(arena);
    if (run->mechanism) {
        run->viewer->edits = run->edits;
        if (viewer_set_mechanism(run->viewer, run->mechanism, err))
            return -1;
    }
    return viewer_look(run->viewer, &look, arena, err);
}

/* Some layers of one text in all runs. */
static int compare_layers(struct comparison *s, const struct look *at, size_t first,
                          struct err *err)
{
    const struct comparison_plan *plan = s->plan;
    struct report base, other;
    if (look(&base, &plan->runs[0], *at, &s->first, err))
        return -1;
    for (size_t run = 1; run < plan->run_count; run++) {
        size_t place = (run - 1) * s->layers.count + first;
        if (look(&other, &plan->runs[run], *at, &s->other, err))
            return s->of_models ? -1 : add_setting(&plan->runs[run], err);
        if (!s->of_models)
            add_heads(s->of_heads + place * s->head_count, &base, &other);
        for (size_t i = 0; s->of_models && i < base.tensor_count; i++) {
            const struct kept *b = find_tensor(&other, &base.tensors[i]);
            if (b)
                add_tensor(s, &base.tensors[i], b);
        }
    }
    return 0;
}

static int compare_text(struct comparison *s, size_t text, struct err *err)
{
    const struct text_pair *pair = &s->plan->pairs[text];
    size_t step = layers_at_once(s, pair);
    for (size_t first = 0; first < s->layers.count; first += step) {
        struct selection selection = {
            .sites = sites_of(s, first == 0),
            .layers = {s->layers.items + first, num_min(s->layers.count - first, step)},
            .heads = s->heads,
            .head_count = s->head_count,
        };
        struct look at = {&selection, pair, 1, text, NULL, NULL};
        if (compare_layers(s, &at, first, err))
            return -1;
    }
    s->queries += pair->sentence.count;
    s->longest = num_max(s->longest, pair->sentence.count);
    progress_tell(s->plan->progress, text + 1, s->plan->pair_count);
    return 0;
}

/* --- the report of settings ------------------------------------------------------------------- */

enum { ATTENTION, LAYER, HEAD, MAX, MEAN, KEPT, OVERLAP };

static const struct column setting_columns[] = {
    [ATTENTION] = {"attention", .kind = COLUMN_TEXT, .flags = COLUMN_KEY},
    [LAYER] = {"layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [HEAD] = {"head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [MAX] = {"max_difference", "max", .digits = 4},
    [MEAN] = {"mean_difference", "mean", .digits = 4},
    [KEPT] = {"kept", .digits = 4},
    [OVERLAP] = {"overlap", .flags = COLUMN_COLOURED, .digits = 4, .fraction = true},
};

/* Of all heads, or of one. */
static int fill_setting(struct frame *frame, size_t row, const struct comparison *s,
                        const char *name, size_t index, struct arena *arena, struct err *err)
{
    size_t heads = s->layers.count * s->head_count;
    const struct head_sums *sums = s->of_heads + row / (1 + heads) * heads;
    bool all = index == 0;
    size_t layer = all ? 0 : s->layers.items[(index - 1) / s->head_count];
    size_t head = all ? 0 : s->heads[(index - 1) % s->head_count];
    struct head_sums sum = all ? sum_heads(sums, heads) : sums[index - 1];
    const char *label = all ? name : arena_format(arena, err, "%s L%zuH%zu", name, layer, head);
    frame_texts(frame, ATTENTION)[row] = name;
    frame_integers(frame, LAYER)[row] = all ? COLUMN_MISSING : (long long)layer;
    frame_integers(frame, HEAD)[row] = all ? COLUMN_MISSING : (long long)head;
    frame_floats(frame, MAX)[row] = sum.max;
    frame_floats(frame, MEAN)[row] = sum.sum / (double)sum.numbers;
    frame_floats(frame, KEPT)[row] = sum.kept / (double)sum.queries;
    frame_floats(frame, OVERLAP)[row] = sum.overlap / (double)sum.queries;
    ((struct label *)frame->rows.labels)[row] = (struct label){label, label, label};
    return label ? 0 : -1;
}

static int report_settings(struct report *report, const struct comparison *s, struct arena *arena,
                           struct err *err)
{
    size_t lines = 1 + s->layers.count * s->head_count;
    size_t count = (s->plan->run_count - 1) * lines;
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    struct buf about = {0};
    if (!frame || !labels)
        return -1;
    *frame = (struct frame){"ways", {"head", count, labels, 0}};
    frame->note = arena_format(
        arena, err,
        "max, mean: |difference| of the context from dense attention\n"
        "kept: dense attention's weight on keys that still have any\n"
        "overlap: weight that both give to a key%s%s",
        s->config->kind == MODEL_TRANSFORMER
            ? "\nOnly the decoder's heads that attend to its own text are compared."
            : "",
        s->config->n_layer > 1 ? "\nEvery layer attends in that way: differences go into the next."
                               : "");
    if (!frame->note || frame_columns(frame, setting_columns, OVERLAP + 1, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (fill_setting(frame, i, s, s->plan->runs[1 + i / lines].name, i % lines, arena, err))
            return -1;
    if (s->plan->pair_count > 1)
        buf_format(&about, "%zu texts of up to ", s->plan->pair_count);
    buf_format(&about, "%zu token%s · %zu layer%s, %zu head%s", s->longest, num_plural(s->longest),
               s->config->n_layer, num_plural(s->config->n_layer), s->config->n_head,
               num_plural(s->config->n_head));
    report->about = buf_keep(&about, arena, err);
    report->frames = frame;
    report->frame_count = 1;
    report->has_encoder = true; /* the source is not what the numbers are about */
    if (s->plan->pair_count == 1)
        report->sentence = s->plan->pairs[0].sentence;
    return report->about ? 0 : -1;
}

/* --- the report of models ---------------------------------------------------------------------
 *
 *     site,layer,head,distance,match,matched_distance,masked_in_one
 *     weights,0,0,0.123,2,0.001,                 heads
 *     resid_pre,0,,0.054,,,0                     sites
 */

enum { SITE, SITE_LAYER, SITE_HEAD, DISTANCE, MATCH, MATCHED, MASKED };

static const struct column model_columns[] = {
    [SITE] = {"site", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
    [SITE_LAYER] = {"layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [SITE_HEAD] = {"head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [DISTANCE] = {"distance", .flags = COLUMN_COLOURED, .digits = 4, .fraction = true},
    [MATCH] = {"match", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
    [MATCHED] = {"matched_distance", "distance", .digits = 4},
    [MASKED] = {"masked_in_one", .kind = COLUMN_INTEGER},
};

/* Sites in the order of the pass, each with its layers; false after the last. */
static bool next_site(size_t *index, const struct comparison *s)
{
    while (*index < SITE_COUNT * s->layers.count && !s->of_sites[*index].compared)
        ++*index;
    return *index < SITE_COUNT * s->layers.count;
}

static double site_distance(const struct site_sums *sums)
{
    return sums->off > 0 ? sqrt(sums->off / sums->size) : 0 * sums->off;
}

/* The heads of a layer; of those that changed places a line: "Head 1.3 of a is head 1.0 of b" */
static int fill_heads(struct frame *data, struct buf *moved, const struct comparison *s,
                      size_t layer, struct arena *arena, struct err *err)
{
    size_t heads = s->head_count;
    size_t number = s->layers.items[layer];
    const double *sums = s->of_pairs + layer * heads * heads;
    const char *const names[] = {s->plan->runs[0].name, s->plan->runs[1].name};
    size_t *match = arena_alloc(arena, heads, sizeof *match, err);
    if (!match || assignment_find(match, sums, heads, arena, err))
        return -1;
    for (size_t head = 0; head < heads; head++) {
        size_t row = data->rows.size++;
        double matched = sums[head * heads + match[head]] / (double)s->queries;
        frame_labels(data, SITE)[row] = (struct label){"weights", "weights", "weights"};
        frame_integers(data, SITE_LAYER)[row] = (long long)number;
        frame_integers(data, SITE_HEAD)[row] = (long long)s->heads[head];
        frame_floats(data, DISTANCE)[row] = sums[head * heads + head] / (double)s->queries;
        frame_integers(data, MATCH)[row] = (long long)s->heads[match[head]];
        frame_floats(data, MATCHED)[row] = matched;
        frame_integers(data, MASKED)[row] = COLUMN_MISSING;
        if (match[head] == head || matched > SAME)
            continue;
        buf_format(moved, "%sHead %zu.%zu of ", moved->size ? "\n" : "", number, s->heads[head]);
        label_line(moved, names[0], strlen(names[0]));
        buf_format(moved, " is head %zu.%zu of ", number, s->heads[match[head]]);
        label_line(moved, names[1], strlen(names[1]));
    }
    return 0;
}

static void fill_sites(struct frame *data, const struct comparison *s)
{
    size_t layers = s->layers.count;
    for (size_t i = 0; next_site(&i, s); i++) {
        size_t row = data->rows.size++;
        const struct site_row *site = &site_rows[i / layers];
        frame_labels(data, SITE)[row] = (struct label){site->name, site->name, site->name};
        frame_integers(data, SITE_LAYER)[row] =
            site->in_layer ? (long long)s->layers.items[i % layers] : COLUMN_MISSING;
        frame_integers(data, SITE_HEAD)[row] = frame_integers(data, MATCH)[row] = COLUMN_MISSING;
        frame_floats(data, DISTANCE)[row] = site_distance(&s->of_sites[i]);
        frame_floats(data, MATCHED)[row] = NAN;
        frame_integers(data, MASKED)[row] = (long long)s->of_sites[i].masked_in_one;
    }
}

/* For data one table of heads and sites; for people its first rows, the heads. */
static int add_distances(struct frame *data, struct frame *heads, const struct comparison *s,
                         struct arena *arena, struct err *err)
{
    size_t count = s->layers.count * s->head_count;
    struct buf moved = {0};
    *data = (struct frame){"distances",
                           {"line", count + SITE_COUNT * s->layers.count, NULL, 0},
                           .flags = COLUMN_DATA_ONLY};
    if (frame_columns(data, model_columns, MASKED + 1, arena, err))
        return -1;
    data->rows.labels = frame_labels(data, SITE);
    data->rows.size = 0;
    for (size_t layer = 0; layer < s->layers.count; layer++)
        if (fill_heads(data, &moved, s, layer, arena, err)) {
            buf_release(&moved);
            return -1;
        }
    fill_sites(data, s);
    *heads =
        (struct frame){"heads", {"head", count, data->rows.labels, 0}, .flags = COLUMN_TEXT_ONLY};
    if (moved.size && !(heads->note = buf_keep(&moved, arena, err)))
        return -1;
    return frame_columns(heads, data->columns + SITE_LAYER, MASKED - SITE_LAYER, arena, err);
}

/* For people: over the layers of a site the mean and the largest, and where that is. */
static int add_sites(struct frame *frame, const struct comparison *s, struct arena *arena,
                     struct err *err)
{
    enum { OF, MEAN_OF, LARGEST, WHERE };
    static const struct column shown[] = {
        [OF] = {"site", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [MEAN_OF] = {"mean", .digits = 4},
        [LARGEST] = {"largest", .digits = 4},
        [WHERE] = {"in layer", .kind = COLUMN_INTEGER},
    };
    size_t layers = s->layers.count;
    size_t row = 0;
    struct buf note = {0};
    *frame = (struct frame){"sites", {"site", SITE_COUNT, NULL, 0}, .flags = COLUMN_TEXT_ONLY};
    if (frame_columns(frame, shown, sizeof shown / sizeof *shown, arena, err))
        return -1;
    buf_text(&note,
             "heads: Jensen-Shannon distance of attention, 0 to 1, mean over queries\n"
             "match: the other model's head, one to one, and the distance to it\n"
             "sites: norm of the difference, divided by the norm of the first model's values");
    for (size_t i = 0; next_site(&i, s); i = (i / layers + 1) * layers) {
        const struct site_row *site = &site_rows[i / layers];
        size_t most = i;
        size_t masked = 0;
        double sum = 0;
        double count = 0;
        for (size_t k = i; k < (i / layers + 1) * layers; k++) {
            const struct site_sums *sums = &s->of_sites[k];
            most = site_distance(sums) > site_distance(&s->of_sites[most]) ? k : most;
            sum += sums->compared ? site_distance(sums) : 0;
            count += sums->compared;
            masked += sums->masked_in_one;
        }
        if (masked)
            buf_format(&note,
                       "\n%s: the masks differ: %zu cell%s -inf in only one model and left out",
                       site->name, masked, masked == 1 ? " is" : "s are");
        frame_labels(frame, OF)[row] = (struct label){site->name, site->name, site->name};
        frame_floats(frame, MEAN_OF)[row] = sum / count;
        frame_floats(frame, LARGEST)[row] =
            site->in_layer ? site_distance(&s->of_sites[most]) : (double)NAN;
        frame_integers(frame, WHERE)[row++] =
            site->in_layer ? (long long)s->layers.items[most % layers] : COLUMN_MISSING;
    }
    frame->rows.labels = frame_labels(frame, OF);
    frame->rows.size = row;
    frame->note = buf_keep(&note, arena, err);
    return frame->note ? 0 : -1;
}

static int report_models(struct report *report, struct facts *facts, const struct comparison *s,
                         struct arena *arena, struct err *err)
{
    const char *second = s->plan->runs[1].name;
    struct frame *frames = arena_alloc(arena, 3, sizeof *frames, err);
    struct buf about = {0};
    if (!frames || add_distances(&frames[0], &frames[1], s, arena, err) ||
        add_sites(&frames[2], s, arena, err))
        return -1;
    buf_text(&about, "compared with ");
    label_line(&about, second, strlen(second));
    buf_format(&about, " · %zu text%s%s", s->plan->pair_count, num_plural(s->plan->pair_count),
               s->plan->equal_weights ? " · equal weights" : "");
    facts_text(facts, "second_model", second);
    facts_integer(facts, "equal_weights", s->plan->equal_weights);
    report->about = buf_keep(&about, arena, err);
    report->frames = frames;
    report->frame_count = 3;
    return report->about ? 0 : -1;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int take_room(struct comparison *s, struct arena *arena, struct err *err)
{
    const struct comparison_plan *plan = s->plan;
    const struct selection *selection = plan->selection;
    size_t *numbers = arena_alloc(arena, s->config->n_head, sizeof *numbers, err);
    for (size_t i = 0; numbers && i < s->config->n_head; i++)
        numbers[i] = i;
    s->layers = selection->layers;
    s->heads = selection->heads ? selection->heads : numbers;
    s->head_count = selection->heads ? selection->head_count : s->config->n_head;
    size_t cells = s->layers.count * s->head_count;
    for (size_t i = 0; i < plan->run_count && !s->of_models; i++)
        if (mechanism_check(plan->runs[i].mechanism, s->config, err))
            return -1;
    if (s->of_models) {
        s->of_sites = arena_alloc(arena, SITE_COUNT * s->layers.count, sizeof *s->of_sites, err);
        s->of_pairs = arena_alloc(arena, cells, s->head_count * sizeof *s->of_pairs, err);
        return numbers && s->of_sites && s->of_pairs ? 0 : -1;
    }
    s->of_heads = arena_alloc(arena, (plan->run_count - 1) * cells, sizeof *s->of_heads, err);
    return numbers && s->of_heads ? 0 : -1;
}

int comparison_make(struct report *report, const struct comparison_plan *plan, struct arena *arena,
                    struct err *err)
{
    struct viewer *viewer = plan->runs->viewer;
    struct facts *facts = facts_new(arena, err);
    const struct mechanism before = viewer->model.config.mechanism;
    struct comparison s = {
        .plan = plan, .config = &viewer->model.config, .of_models = !plan->runs[1].mechanism};
    int failed = !facts ||
                 (s.of_models && check_shapes(&viewer->model, &plan->runs[1].viewer->model, err)) ||
                 take_room(&s, arena, err);
    for (size_t text = 0; !failed && text < plan->pair_count; text++)
        failed = compare_text(&s, text, err);
    arena_release(&s.first);
    arena_release(&s.other);
    if (!s.of_models) {
        viewer->model.config.mechanism = before;
        viewer->edits = NULL;
    }
    if (failed)
        return -1;
    *report = (struct report){.model = viewer->model.name, .facts = &facts->frame};
    facts_integer(facts, "texts", (long long)plan->pair_count);
    if (s.of_models)
        return report_models(report, facts, &s, arena, err);
    facts_integer(facts, "longest", (long long)s.longest);
    return report_settings(report, &s, arena, err);
}
