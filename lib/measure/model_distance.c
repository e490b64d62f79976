#include "measure/model_distance.h"

#include <math.h>

#include "base/num.h"
#include "math/assignment.h"
#include "math/portable_math.h"

enum { CELLS_KEPT = 1 << 26 }; /* of a pass: layers beyond that take further ones */

static const double LN_2 = 0.6931471805599453;

struct sums {
    double off, size;     /* squares of the difference, of the first model's values */
    size_t masked_in_one; /* values that are infinite in only one model */
};

struct comparing {
    const struct model_distance_plan *plan;
    struct model_distance *distance;
    struct sums *of_sites; /* as in the distance */
    double *of_pairs;      /* [layers, heads, heads] sums over queries */
    size_t queries;
    struct arena of_one, of_other; /* what the passes gave */
};

size_t model_distance_site(const struct model_distance *distance, enum site site, size_t layer)
{
    return (size_t)site * distance->layers.count + layer;
}

/* --- numbers ---------------------------------------------------------------------------------- */

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
static void add_values(struct sums *sums, const float *a, const float *b, size_t count)
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

/* --- the passes ------------------------------------------------------------------------------- */

static const struct kept *find(const struct report *report, const struct kept *like)
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

static void add_tensor(struct comparing *comparing, const struct kept *a, const struct kept *b)
{
    struct model_distance *distance = comparing->distance;
    size_t layer = 0;
    while (a->layer >= 0 && distance->layers.items[layer] != (size_t)a->layer)
        layer++;
    size_t place = model_distance_site(distance, a->site, layer);
    size_t heads = distance->head_count;
    distance->compared[place] = true;
    add_values(&comparing->of_sites[place], a->data, b->data, kept_cells(a));
    if (a->site != SITE_WEIGHTS)
        return;
    struct pair_loop loop = {a, b, comparing->of_pairs + layer * heads * heads};
    double work = 16 * (double)heads * (double)kept_cells(a); /* a logarithm is so many products */
    pool_run(comparing->plan->models[0]->machine.pool,
             (struct loop){.rounds = heads, .work = work, .round = add_pairs}, &loop);
}

/* As many layers as may be kept together, of all sites. */
static size_t layers_at_once(const struct model_distance_plan *plan, size_t tokens)
{
    const struct config *c = &plan->models[0]->model.config;
    double cells = 1;
    for (int site = 0; site < SITE_COUNT; site++) {
        size_t count = 0;
        if (site_exists(c, (enum site)site) && site_rows[site].in_layer &&
            site_size(&count, c, (enum site)site, c->n_head, tokens, tokens))
            cells += (double)count;
    }
    return cells >= CELLS_KEPT ? 1 : (size_t)(CELLS_KEPT / cells);
}

static int compare_text(struct comparing *comparing, size_t text, struct err *err)
{
    const struct model_distance_plan *plan = comparing->plan;
    const struct model_distance *distance = comparing->distance;
    size_t step = layers_at_once(plan, plan->pairs[text].sentence.count);
    for (size_t first = 0; first < distance->layers.count; first += step) {
        struct selection selection = *plan->selection;
        struct report one, other;
        struct look at = {&selection, &plan->pairs[text], 1, text, &one};
        struct look at_other = {&selection, &plan->pairs[text], 1, text, &other};
        selection.layers = (struct layers){distance->layers.items + first,
                                           num_min(distance->layers.count - first, step)};
        selection.sites = 0;
        for (int site = 0; site < SITE_COUNT; site++)
            if (site_exists(&plan->models[0]->model.config, (enum site)site) &&
                site_exists(&plan->models[1]->model.config, (enum site)site) &&
                (site_rows[site].in_layer || first == 0))
                selection.sites |= site_bit((enum site)site);
        arena_clear(&comparing->of_one);
        arena_clear(&comparing->of_other);
        if (viewer_look(plan->models[0], &at, &comparing->of_one, err) ||
            viewer_look(plan->models[1], &at_other, &comparing->of_other, err))
            return -1;
        for (size_t i = 0; i < one.tensor_count; i++) {
            const struct kept *b = find(&other, &one.tensors[i]);
            if (b)
                add_tensor(comparing, &one.tensors[i], b);
        }
    }
    comparing->queries += plan->pairs[text].sentence.count;
    return 0;
}

int model_distance_check(const struct model_distance_plan *plan, struct err *err)
{
    for (size_t i = 0; i < 2; i++)
        if (plan->models[i]->model.config.cross)
            return err_unsupported(
                err, "'%s': expected a model of one text, found one that attends to a second text",
                plan->models[i]->model.name);
    return 0;
}

static int check(const struct model_distance_plan *plan, struct err *err)
{
    const struct config *a = &plan->models[0]->model.config;
    const struct config *b = &plan->models[1]->model.config;
    const char *other = plan->models[1]->model.name;
    if (a->n_layer == b->n_layer && a->n_head == b->n_head)
        return 0;
    return err_usage(err, "'%s': expected %zu layers of %zu heads, as '%s' has, found %zu of %zu",
                     other, a->n_layer, a->n_head, plan->models[0]->model.name, b->n_layer,
                     b->n_head);
}

static int prepare(struct comparing *comparing, struct arena *arena, struct err *err)
{
    struct model_distance *distance = comparing->distance;
    const struct selection *selection = comparing->plan->selection;
    size_t heads = comparing->plan->models[0]->model.config.n_head;
    size_t *numbers = arena_alloc(arena, heads, sizeof *numbers, err);
    for (size_t i = 0; numbers && i < heads; i++)
        numbers[i] = i;
    *distance = (struct model_distance){
        .plan = comparing->plan,
        .layers = selection->layers,
        .heads = selection->heads ? selection->heads : numbers,
        .head_count = selection->heads ? selection->head_count : heads,
    };
    heads = distance->head_count;
    size_t layers = distance->layers.count;
    distance->of_heads = arena_alloc(arena, layers * heads, sizeof *distance->of_heads, err);
    distance->of_sites = arena_alloc(arena, SITE_COUNT * layers, sizeof(double), err);
    distance->masked_in_one = arena_alloc(arena, SITE_COUNT * layers, sizeof(size_t), err);
    distance->compared = arena_alloc(arena, SITE_COUNT * layers, sizeof(bool), err);
    comparing->of_sites = arena_alloc(arena, SITE_COUNT * layers, sizeof *comparing->of_sites, err);
    comparing->of_pairs = arena_alloc(arena, layers * heads, heads * sizeof(double), err);
    return numbers && distance->of_heads && distance->of_sites && distance->masked_in_one &&
                   distance->compared && comparing->of_sites && comparing->of_pairs
               ? 0
               : -1;
}

static int finish(struct comparing *comparing, struct arena *arena, struct err *err)
{
    struct model_distance *distance = comparing->distance;
    size_t heads = distance->head_count;
    size_t *match = arena_alloc(arena, heads, sizeof *match, err);
    for (size_t i = 0; i < SITE_COUNT * distance->layers.count; i++) {
        const struct sums *sums = &comparing->of_sites[i];
        distance->masked_in_one[i] = sums->masked_in_one;
        distance->of_sites[i] = sums->off > 0 ? sqrt(sums->off / sums->size) : 0 * sums->off;
    }
    for (size_t layer = 0; match && layer < distance->layers.count; layer++) {
        const double *sums = comparing->of_pairs + layer * heads * heads;
        if (assignment_find(match, sums, heads, arena, err))
            return -1;
        for (size_t head = 0; head < heads; head++)
            distance->of_heads[layer * heads + head] = (struct head_distance){
                .distance = sums[head * heads + head] / (double)comparing->queries,
                .match = match[head],
                .matched = sums[head * heads + match[head]] / (double)comparing->queries,
            };
    }
    return match ? 0 : -1;
}

int model_distance_make(struct model_distance *distance, const struct model_distance_plan *plan,
                        struct arena *arena, struct err *err)
{
    struct comparing comparing = {.plan = plan, .distance = distance};
    int failed =
        model_distance_check(plan, err) || check(plan, err) || prepare(&comparing, arena, err);
    for (size_t text = 0; !failed && text < plan->pair_count; text++) {
        failed = compare_text(&comparing, text, err);
        progress_tell(plan->progress, text + 1, plan->pair_count);
    }
    failed = failed || finish(&comparing, arena, err);
    arena_release(&comparing.of_one);
    arena_release(&comparing.of_other);
    return failed ? -1 : 0;
}
