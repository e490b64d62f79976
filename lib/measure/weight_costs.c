#include "measure/weight_costs.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/num.h"
#include "model/layer.h"
#include "model/points.h"
#include "pass/sampler.h"

/* Sums that compare the numbers of two models. */
struct weight_sums {
    double off, size;           /* sums of squares: `off` of the differences; `size` of the first
                                 * model's numbers */
    double max, largest, bytes; /* `max`: largest difference; `largest`: largest number; `bytes`:
                                 * size of the other model's numbers */
    size_t count;
};

/* Weights that are replaced together by the other model's: the weights of one layer of the text or
 * of the encoder (layer -1: the weights outside of layers), or all weights. */
struct weight_unit {
    const char *name;
    int layer;
    bool of_source, is_all;
    struct weight_sums sums;
    double kl, surprisal; /* `kl`: KL divergence, summed over `rows` tokens; `surprisal`: rise of
                           * the surprisal, summed over `predicted` tokens */
    size_t rows, predicted, same;
};

/* Tensors whose names differ in numbers alone: "model.layers.*.mlp.up_proj.weight". */
struct weight_kind {
    const char *name;
    struct weight_sums sums, *of_units; /* `sums`: of all tensors of the kind; `of_units`
                                         * [unit_count]: of its tensors in each unit */
    double largest;                     /* largest distance of a tensor of this kind; -1: no tensor
                                         * yet */
    int in_layer;
    const char *types[2]; /* names of the types in the two models, such as "Q4_K Q6_K" */
};

struct weight_costs {
    const struct weight_costs_plan *plan;
    struct viewer *own, *other;
    const char *model; /* name of the other model, if there are several; else NULL */
    bool predicts;
    struct weight_unit *units; /* [unit_count] the last unit is all weights */
    size_t unit_count;
    struct weight_kind *kinds; /* [kind_count] kinds of tensors */
    size_t kind_count;
    struct hash_table kind_of;
    struct table_rows *data;
    struct arena *arena, first,
        mixed; /* `arena`: memory of the report; `first`, `mixed`: logits of the first and another
                * model */
    struct err *err;
};

int weight_costs_check(const struct model *a, const struct model *b, struct err *err)
{
    const struct weights *one = &a->weights, *other = &b->weights;
    for (size_t i = 0; i < num_max(one->parameter_count, other->parameter_count); i++) {
        struct parameter_info x = {.name = "none"}, y = {.name = "none"};
        if (i < one->parameter_count)
            x = weights_parameter(one, i);
        if (i < other->parameter_count)
            y = weights_parameter(other, i);
        bool equal = strcmp(x.name, y.name) == 0 && !x.entry == !y.entry;
        if (equal && x.entry)
            equal =
                x.entry->rank == y.entry->rank &&
                memcmp(x.entry->shape, y.entry->shape, x.entry->rank * sizeof *x.entry->shape) == 0;
        if (!equal)
            return err_usage(err, "'%s': expected tensor '%s' of the shape that '%s' has, found %s",
                             b->name, x.name, a->name,
                             strcmp(x.name, y.name) == 0 ? "another" : y.name);
    }
    return 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static struct weight_sums compare_entries(const struct safetensors_entry *a,
                                          const struct safetensors_entry *b)
{
    enum { AT_ONCE = 16 * DTYPE_BLOCK_MAX };
    float x[AT_ONCE], y[AT_ONCE];
    struct weight_sums sums = {.count = a->count, .bytes = (double)dtype_bytes(b->dtype, b->count)};
    for (size_t first = 0, some; first < a->count; first += some) {
        some = num_min(a->count - first, AT_ONCE);
        dtype_to_float(x, (const char *)a->data + dtype_bytes(a->dtype, first), a->dtype, some);
        dtype_to_float(y, (const char *)b->data + dtype_bytes(b->dtype, first), b->dtype, some);
        for (size_t i = 0; i < some; i++) {
            const double off = (double)x[i] - (double)y[i];
            sums.off += off * off;
            sums.size += (double)x[i] * (double)x[i];
            sums.max = fmax(sums.max, fabs(off));
            sums.largest = fmax(sums.largest, fabs((double)x[i]));
        }
    }
    return sums;
}

static void add_sums(struct weight_sums *to, const struct weight_sums *sums)
{
    to->off += sums->off;
    to->size += sums->size;
    to->max = fmax(to->max, sums->max);
    to->largest = fmax(to->largest, sums->largest);
    to->bytes += sums->bytes;
    to->count += sums->count;
}

static double distance_of(const struct weight_sums *sums)
{
    return sums->off > 0 ? sqrt(sums->off / sums->size) : 0;
}

static bool unit_has(const struct weight_unit *unit, struct slot slot)
{
    return unit->is_all || (slot.layer == unit->layer &&
                            (slot.layer < 0 || (slot.branch == BRANCH_SOURCE) == unit->of_source));
}

/* Find or add the kind of a tensor: each number between dots of its name becomes a star. */
static struct weight_kind *kind_of(struct weight_costs *w, const char *name)
{
    struct buf starred = {0};
    uint32_t index = 0;
    for (const char *at = name; *at;) {
        size_t size = strcspn(at, "."), digits = strspn(at, "0123456789");
        buf_bytes(&starred, digits == size ? "*" : at, digits == size ? 1 : size);
        at += size;
        if (*at)
            buf_char(&starred, *at++);
    }
    const char *key = buf_keep(&starred, w->arena, w->err);
    if (!key)
        return NULL;
    if (hash_table_get(&w->kind_of, key, strlen(key), &index))
        return &w->kinds[index];
    struct weight_kind *kind = &w->kinds[w->kind_count];
    *kind = (struct weight_kind){.name = key, .largest = -1};
    kind->of_units = arena_alloc(w->arena, w->unit_count, sizeof *kind->of_units, w->err);
    if (!kind->of_units ||
        hash_table_put(&w->kind_of, key, strlen(key), (uint32_t)w->kind_count, w->err))
        return NULL;
    w->kind_count++;
    return kind;
}

/* --- predictions ------------------------------------------------------------------------------ */

static int capture_logits(const struct array **logits, struct weight_costs *w,
                          struct viewer *viewer, size_t text, struct arena *arena)
{
    struct selection selection = {0};
    struct report *report = NULL;
    arena_clear(arena);
    site_set_add(&selection.sites, SITE_LOGITS);
    report = arena_alloc(arena, 1, sizeof *report, w->err);
    const struct capture_request asked = {&selection, &w->plan->pairs[text], 1, text, report, NULL};
    if (!report || viewer_capture(viewer, &asked, arena, w->err))
        return -1;
    *logits = report_find(report, SITE_LOGITS, 0);
    return 0;
}

/* Run a text on the first model with the weights of one unit from the other model. */
static int capture_mixed(const struct array **logits, struct weight_costs *w,
                         const struct weight_unit *unit, size_t text)
{
    if (unit->is_all)
        return capture_logits(logits, w, w->other, text, &w->mixed);
    const struct weights *weights = &w->own->model.weights, *others = &w->other->model.weights;
    struct viewer mixed = *w->own;
    mixed.scratch = (struct arena){0};
    if (weights_share(&mixed.model.weights, weights, weights->config, w->err))
        return -1;
    for (size_t i = 0; i < weights->parameter_count; i++)
        if (unit_has(unit, weights_parameter(weights, i).slot))
            weights_take(&mixed.model.weights, others, i);
    int failed = capture_logits(logits, w, &mixed, text, &w->mixed);
    weights_release(&mixed.model.weights);
    arena_release(&mixed.scratch);
    return failed;
}

static void add_predictions(struct weight_unit *unit, const struct array *own,
                            const struct array *other, const struct tokenized *next)
{
    const size_t words = own->columns.size;
    for (size_t row = 0; row < own->rows.size; row++) {
        const float *x = own->data + row * words, *y = other->data + row * words;
        const double sums[] = {logsumexp(x, words), logsumexp(y, words)};
        struct likely best[2];
        topk(&best[0], 1, x, words, 0);
        topk(&best[1], 1, y, words, 0);
        unit->kl += logits_divergence(x, sums[0], y, sums[1], words);
        unit->same += best[0].id == best[1].id;
        unit->rows++;
        if (!next || row + 1 >= next->count)
            continue;
        const uint32_t id = next->ids[row + 1];
        unit->surprisal += ((double)x[id] - sums[0]) - ((double)y[id] - sums[1]);
        unit->predicted++;
    }
}

static int run_texts(struct weight_costs *w)
{
    const struct config *config = &w->own->model.config;
    for (size_t text = 0; text < w->plan->pair_count; text++) {
        const struct array *own = NULL, *other = NULL;
        const struct tokenized *next =
            config->causal && !config_classifies(config) ? &w->plan->pairs[text].text : NULL;
        if (capture_logits(&own, w, w->own, text, &w->first))
            return -1;
        for (size_t i = 0; i < w->unit_count; i++) {
            if (capture_mixed(&other, w, &w->units[i], text))
                return -1;
            add_predictions(&w->units[i], own, other, next);
            progress_tell(w->plan->progress, text * w->unit_count + i + 1,
                          w->plan->pair_count * w->unit_count);
        }
    }
    return 0;
}

/* --- the report -------------------------------------------------------------------------------
 *
 *     weights,layer,type,other_type,bits,distance,relative,kl,surprisal,same_best
 *     model.layers.0.mlp.up_proj.weight,0,F32,Q4_0,4.5,0.1,0.06,,,      tensors
 *     layer 0,0,,,4.6,0.09,,0.003,0.001,0.97                            units
 */

static void put_names(struct table_rows *rows, const struct weight_costs *w, const char *name,
                      int layer, const char *const types[2])
{
    if (w->model)
        rows_text(rows, "model", COLUMN_KEY, w->model);
    rows_label(rows, "weights", COLUMN_KEY, (struct label){name, name, name});
    rows_integer(rows, "layer", COLUMN_KEY | COLUMN_DATA_ONLY, layer < 0 ? COLUMN_MISSING : layer);
    rows_text(rows, "type", COLUMN_KEY, types[0]);
    rows_text(rows, "other_type", COLUMN_KEY, types[1]);
    rows_title(rows, "other");
}

/* Put the columns of sums. `whole`: true if the sums are over several kinds of tensors; the ratio
 * of the largest difference to the largest number, which says nothing about most kinds, is then
 * left out. */
static void put_sums(struct table_rows *rows, const struct weight_sums *sums, bool whole)
{
    const double bits = 8 * sums->bytes / (double)sums->count;
    rows_float(rows, (struct column){"bits", .digits = 2}, bits);
    rows_float(rows, (struct column){"distance", .flags = COLUMN_COLOURED, .digits = 4},
               distance_of(sums));
    rows_float(rows, (struct column){"relative", "max / largest", .digits = 4},
               whole               ? (double)NAN
               : sums->largest > 0 ? sums->max / sums->largest
                                   : sums->max);
}

static void put_cost(struct table_rows *rows, const struct weight_unit *unit)
{
    const double tokens = unit ? (double)unit->rows : 0;
    rows_float(rows, (struct column){"kl", "KL", .unit = "nats", .digits = 5},
               tokens > 0 ? unit->kl / tokens : (double)NAN);
    rows_float(rows, (struct column){"surprisal", .unit = "nats", .digits = 5},
               unit && unit->predicted ? unit->surprisal / (double)unit->predicted : (double)NAN);
    rows_float(rows, (struct column){"same_best", "same best", .digits = 4, .fraction = true},
               tokens > 0 ? (double)unit->same / tokens : (double)NAN);
    rows_next(rows);
}

/* Append a type to a list, unless the list has it. */
static void add_type(const char **types, const char *type, struct weight_costs *w)
{
    if (!*types)
        *types = type;
    else if (!name_is_among(*types, type))
        *types = arena_format(w->arena, w->err, "%s %s", *types, type);
}

static int compare_tensors(struct weight_costs *w)
{
    const struct weights *weights = &w->own->model.weights;
    for (size_t i = 0; i < weights->parameter_count; i++) {
        const struct parameter_info a = weights_parameter(weights, i);
        const struct parameter_info b = weights_parameter(&w->other->model.weights, i);
        if (!a.entry)
            continue;
        const char *const types[] = {dtype_name(a.entry->dtype), dtype_name(b.entry->dtype)};
        const struct weight_sums sums = compare_entries(a.entry, b.entry);
        struct weight_kind *kind = kind_of(w, a.name);
        const char *name = arena_text(w->arena, a.name, strlen(a.name), w->err);
        if (!kind || !name)
            return -1;
        put_names(w->data, w, name, a.slot.layer, types);
        put_sums(w->data, &sums, false);
        put_cost(w->data, NULL);
        add_sums(&kind->sums, &sums);
        for (size_t side = 0; side < 2; side++)
            add_type(&kind->types[side], types[side], w);
        if (distance_of(&sums) > kind->largest) {
            kind->largest = distance_of(&sums);
            kind->in_layer = a.slot.layer;
        }
        for (size_t k = 0; k < w->unit_count; k++)
            if (unit_has(&w->units[k], a.slot)) {
                add_sums(&w->units[k].sums, &sums);
                add_sums(&kind->of_units[k], &sums);
            }
    }
    return 0;
}

/* Make the tables for people: one of the kinds of tensors, and one of the units (layers). */
static int make_tables(struct table tables[2], struct weight_costs *w)
{
    static const char *const no_types[2];
    struct table_rows kinds = {.most = w->kind_count, .arena = w->arena, .err = w->err};
    struct table_rows units = {.most = w->unit_count, .arena = w->arena, .err = w->err};
    for (size_t i = 0; i < w->kind_count; i++, rows_next(&kinds)) {
        struct weight_kind *kind = &w->kinds[i];
        put_names(&kinds, w, kind->name, -1, kind->types);
        put_sums(&kinds, &kind->sums, false);
        rows_float(&kinds, (struct column){"largest", .digits = 4}, kind->largest);
        rows_integer(&kinds, "in layer", 0, kind->in_layer < 0 ? COLUMN_MISSING : kind->in_layer);
    }
    for (size_t i = 0; i < w->unit_count; i++) {
        const struct weight_unit *unit = &w->units[i];
        put_names(w->data, w, unit->name, unit->layer, no_types);
        put_sums(w->data, &unit->sums, true);
        put_cost(w->data, unit);
        rows_label(&units, "weights", COLUMN_KEY, (struct label){unit->name, unit->name, NULL});
        put_sums(&units, &unit->sums, true);
        put_cost(&units, unit);
    }
    if (rows_finish(&tables[0], &kinds, "tensors", "weights") ||
        rows_finish(&tables[1], &units, "layers", "weights"))
        return -1;
    tables[0].flags = tables[1].flags = COLUMN_TEXT_ONLY;
    tables[0].columns += w->model != NULL;
    tables[0].count -= w->model != NULL;
    if (w->model)
        tables[0].heading = arena_format(w->arena, w->err, "compared with %s", w->model);
    return 0;
}

/* Add matrices: the distances (kinds of tensors by layers), and the cost of each layer. The unit of
 * all weights is left out. */
static int draw(struct report *report, const struct weight_costs *w)
{
    const size_t columns = w->unit_count - 1;
    const char *after = w->model ? arena_format(w->arena, w->err, ", %s", w->model) : "";
    struct label *labels =
        arena_alloc(w->arena, w->kind_count + columns + 1, sizeof *labels, w->err);
    float *values = arena_alloc(w->arena, (w->kind_count + 1) * columns, sizeof *values, w->err);
    if (!labels || !values || !after)
        return -1;
    struct label *names = labels + w->kind_count + 1;
    for (size_t row = 0; row <= w->kind_count; row++) {
        const struct weight_kind *kind = row < w->kind_count ? &w->kinds[row] : NULL;
        const char *in_layer = kind ? strstr(kind->name, "*.") : NULL;
        const char *name = in_layer && !has_encoder(&w->own->model.config) ? in_layer + 2
                           : kind                                          ? kind->name
                                                                           : "KL";
        labels[row] = (struct label){name, name, name};
        for (size_t i = 0; i < columns; i++) {
            const struct weight_unit *unit = &w->units[i];
            const char *number = unit->layer < 0 ? "–" : unit->name + strlen("layer ");
            const bool has = kind ? kind->of_units[i].count : unit->rows;
            names[i] = (struct label){number, number, number};
            values[row * columns + i] = !has   ? NAN
                                        : kind ? (float)distance_of(&kind->of_units[i])
                                               : (float)(unit->kl / (double)unit->rows);
        }
    }
    const struct axis of_columns = {"layer", columns, names, 0};
    const struct array arrays[] = {
        {.name = arena_format(w->arena, w->err, "distance of weights%s", after),
         .layer = -1,
         .data = values,
         .rows = {"weights", w->kind_count, labels, 0},
         .columns = of_columns},
        {.name = arena_format(w->arena, w->err, "KL divergence in nats%s", after),
         .layer = -1,
         .data = values + w->kind_count * columns,
         .rows = {"cost", 1, labels + w->kind_count, 0},
         .columns = of_columns},
    };
    return err_if(w->err->kind || report_add_array(report, &arrays[0], w->arena, w->err) ||
                  (w->predicts && report_add_array(report, &arrays[1], w->arena, w->err)));
}

/* List the units: weights outside of layers, each selected layer of the text and of the encoder,
 * and all weights. */
static int list_units(struct weight_costs *w)
{
    const struct layers *stacks[] = {&w->plan->selection->layers,
                                     &w->plan->selection->encoder_layers};
    w->units =
        arena_alloc(w->arena, stacks[0]->count + stacks[1]->count + 2, sizeof *w->units, w->err);
    if (!w->units)
        return -1;
    w->units[w->unit_count++] = (struct weight_unit){.name = "outside of layers", .layer = -1};
    for (size_t stack = 0; stack < 2; stack++)
        for (size_t i = 0; i < stacks[stack]->count; i++) {
            const size_t layer = stacks[stack]->items[i];
            const char *name =
                arena_format(w->arena, w->err, "layer %s%zu", stack ? "enc." : "", layer);
            w->units[w->unit_count++] =
                (struct weight_unit){.name = name, .layer = (int)layer, .of_source = stack};
        }
    w->units[w->unit_count++] = (struct weight_unit){.name = "all", .layer = -1, .is_all = true};
    return err_if(w->err->kind);
}

static int compare_model(struct report *report, struct table tables[2], struct weight_costs *w)
{
    w->kinds =
        arena_alloc(w->arena, w->own->model.weights.parameter_count, sizeof *w->kinds, w->err);
    int failed = !w->kinds || list_units(w) || compare_tensors(w) ||
                 (w->predicts && run_texts(w)) || make_tables(tables, w) ||
                 (w->plan->draws && draw(report, w));
    hash_table_release(&w->kind_of);
    arena_release(&w->first);
    arena_release(&w->mixed);
    return err_if(failed);
}

int weight_costs_make(struct report *report, const struct weight_costs_plan *plan,
                      struct arena *arena, struct err *err)
{
    struct viewer *own = plan->viewers[0];
    const size_t others = plan->count - 1;
    const size_t layers = plan->selection->layers.count + plan->selection->encoder_layers.count;
    struct table_rows data = {.most = others * (own->model.weights.parameter_count + layers + 2),
                              .arena = arena,
                              .err = err};
    struct facts *facts = facts_new(arena, err);
    struct table *tables = arena_alloc(arena, 1 + 2 * others, sizeof *tables, err);
    if (!facts || !tables)
        return -1;
    *report = (struct report){.model = own->model.name,
                              .facts = &facts->table,
                              .tables = tables,
                              .table_count = 1 + 2 * others};
    for (size_t i = 1; i <= others; i++) {
        struct weight_costs w = {.plan = plan,
                                 .own = own,
                                 .other = plan->viewers[i],
                                 .model = others > 1 ? plan->viewers[i]->model.name : NULL,
                                 .predicts = site_exists(&own->model.config, SITE_LOGITS) &&
                                             !own->logistic && !own->regresses && !own->spans,
                                 .data = &data,
                                 .arena = arena,
                                 .err = err};
        if (compare_model(report, &tables[2 * i - 1], &w))
            return -1;
    }
    if (rows_finish(&tables[0], &data, "weights", "line"))
        return -1;
    tables[0].flags = COLUMN_DATA_ONLY;
    tables[2 * others].note =
        "distance: norm of the difference / norm of the first model's weights\n"
        "bits: of a weight in the other model; largest: distance of a tensor\n"
        "KL: of the predictions with these weights alone from the other model, from those of the "
        "first, in nats, mean over tokens\n"
        "surprisal: how much that of the text rises, in nats a token";
    facts_integer(facts, "texts", (long long)plan->pair_count);
    facts_text(facts, "second_model", others == 1 ? plan->viewers[1]->model.name : NULL);
    report->about = arena_format(arena, err, "weights of %s · %zu text%s",
                                 others == 1 ? plan->viewers[1]->model.name
                                             : arena_format(arena, err, "%zu models", others),
                                 plan->pair_count, num_plural(plan->pair_count));
    return err_if(err->kind);
}

void weight_costs_add_memory(struct memory *memory, const struct weight_costs_plan *plan,
                             const struct text_with_source *pair)
{
    struct selection selection = {0};
    struct memory pass = {0};
    if (!site_exists(&plan->viewers[0]->model.config, SITE_LOGITS))
        return;
    site_set_add(&selection.sites, SITE_LOGITS);
    viewer_add_memory(&pass, plan->viewers[0], &selection, pair, CAPTURE_ALL);
    memory->held += 2 * pass.held; /* logits of the first model, and of another */
    memory->during = fmax(memory->during, pass.during);
}
