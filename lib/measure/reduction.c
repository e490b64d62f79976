#include "measure/reduction.h"

#include <assert.h>
#include <math.h>

#include "base/num.h"

struct head_reduction {
    struct reduction_cell *mean; /* [place]; NULL: not measured */
    struct largest {
        float weight;
        uint64_t count;
    } * max;                      /* [place] */
    struct reduction_cell rows[]; /* of measures of rows */
};

static size_t head_bytes(unsigned measures)
{
    size_t rows = measures >> MEASURE_COUNT ? MEASURE_ALL : MEASURE_COUNT;
    return sizeof(struct head_reduction) + rows * sizeof(struct reduction_cell);
}

static bool wants(const struct reduction *reduction, enum measure measure)
{
    return reduction->measures >> measure & 1;
}

/* Where a query and a key stand among a head's places: beyond the diagonal there are none. */
static size_t place_of(const struct reduction_size *size, size_t query, size_t key)
{
    return size->causal ? query * (query + 1) / 2 + key : query * size->keys + key;
}

int reduction_init(struct reduction *reduction, unsigned measures,
                   const struct reduction_size *size, struct arena *arena, struct err *err)
{
    *reduction = (struct reduction){.measures = measures, .size = *size, .arena = arena};
    reduction->heads =
        arena_alloc(arena, size->layers * size->heads, sizeof *reduction->heads, err);
    return reduction->heads ? 0 : -1;
}

static bool count_places(size_t *places, const struct reduction_size *size)
{
    bool counted =
        num_multiply(places, size->queries, size->causal ? size->queries + 1 : size->keys);
    *places /= size->causal ? 2 : 1;
    return counted;
}

bool reduction_bytes(size_t *bytes, unsigned measures, const struct reduction_size *size)
{
    size_t place = (measures >> MEASURE_MEAN & 1 ? sizeof(struct reduction_cell) : 0) +
                   (measures >> MEASURE_MAX & 1 ? sizeof(struct largest) : 0);
    return count_places(bytes, size) && num_multiply(bytes, *bytes, place) &&
           num_add(bytes, *bytes, head_bytes(measures)) &&
           num_multiply(bytes, *bytes, size->layers * size->heads);
}

/* Memory for a head that is seen for the first time. */
static struct head_reduction *open_head(struct reduction *reduction, size_t layer, size_t head,
                                        struct err *err)
{
    struct head_reduction **slot = &reduction->heads[layer * reduction->size.heads + head];
    size_t places = 0;
    if (*slot)
        return *slot;
    struct head_reduction *fresh =
        arena_alloc(reduction->arena, 1, head_bytes(reduction->measures), err);
    if (!fresh)
        return NULL;
    bool means = wants(reduction, MEASURE_MEAN);
    bool largest = wants(reduction, MEASURE_MAX);
    if ((means || largest) && !count_places(&places, &reduction->size)) {
        err_memory(err, SIZE_MAX);
        return NULL;
    }
    fresh->mean = means ? arena_alloc(reduction->arena, places, sizeof *fresh->mean, err) : NULL;
    fresh->max = largest ? arena_alloc(reduction->arena, places, sizeof *fresh->max, err) : NULL;
    if ((means && !fresh->mean) || (largest && !fresh->max))
        return NULL;
    return *slot = fresh;
}

static void add_cells(struct head_reduction *head, size_t place, const struct attention_row *row)
{
    for (size_t key = 0; key < row->keys && head->mean; key++) {
        exact_sum_add(&head->mean[place + key].sum, row->weights[key]);
        head->mean[place + key].count++;
    }
    for (size_t key = 0; key < row->keys && head->max; key++) {
        struct largest *max = &head->max[place + key];
        if (max->count++ == 0 || row->weights[key] > max->weight)
            max->weight = row->weights[key];
    }
}

static void add_rows(const struct reduction *reduction, struct head_reduction *head,
                     const struct attention_row *row)
{
    for (int i = 0; i < MEASURE_ALL; i++) {
        const struct measure_row *measure = &measure_rows[i];
        if (!wants(reduction, (enum measure)i) || !measure->of_row ||
            row->query < measure->first_query)
            continue;
        double value = measure->of_row(row);
        if (isnan(value))
            continue;
        exact_sum_add_double(&head->rows[i].sum, value);
        head->rows[i].count++;
    }
}

int reduction_add(struct reduction *reduction, size_t layer, size_t head,
                  const struct tensor *weights, const uint32_t *ids, struct err *err)
{
    size_t queries = weights->shape[0];
    size_t keys = weights->shape[1];
    struct head_reduction *counted = open_head(reduction, layer, head, err);
    if (!counted)
        return -1;
    assert(weights->rank == 2 && (weights->stride[1] == 1 || keys == 1));
    assert(queries <= reduction->size.queries && keys <= reduction->size.keys);
    for (size_t query = reduction->first_query; query < queries; query++) {
        struct attention_row row = {
            .weights = weights->data + query * weights->stride[0],
            .keys = reduction->size.causal ? query + 1 : keys,
            .query = query,
            .ids = ids,
            .marks = &reduction->marks,
        };
        add_cells(counted, place_of(&reduction->size, query, 0), &row);
        add_rows(reduction, counted, &row);
    }
    return 0;
}

double reduction_value(const struct reduction_entry *entry)
{
    double sum = exact_sum_value(&entry->cell.sum);
    return entry->measure == MEASURE_MAX ? sum : sum / (double)entry->cell.count;
}

struct reduction_cell reduction_find(const struct reduction *reduction,
                                     const struct reduction_entry *at)
{
    const struct head_reduction *head =
        reduction->heads[at->layer * reduction->size.heads + at->head];
    struct reduction_cell cell = {0};
    if (!head)
        return cell;
    if (at->query == NO_PLACE)
        return head->rows[at->measure];
    size_t place = place_of(&reduction->size, at->query, at->key);
    if (at->measure == MEASURE_MEAN)
        return head->mean[place];
    cell.count = head->max[place].count;
    if (cell.count)
        exact_sum_add(&cell.sum, head->max[place].weight);
    return cell;
}

/* Places of a measure in one head; those beyond the diagonal are passed, too. */
static size_t steps_of(const struct reduction *reduction, enum measure measure)
{
    return measure_rows[measure].of_row ? 1 : reduction->size.queries * reduction->size.keys;
}

/* The entry of a step within a measure. */
static void enter(struct reduction_walk *walk, enum measure measure, size_t step)
{
    const struct reduction_size *size = &walk->reduction->size;
    size_t steps = steps_of(walk->reduction, measure);
    size_t place = step % steps;
    bool of_cells = !measure_rows[measure].of_row;
    walk->entry = (struct reduction_entry){
        .measure = measure,
        .layer = step / steps / size->heads,
        .head = step / steps % size->heads,
        .query = of_cells ? place / size->keys : NO_PLACE,
        .key = of_cells ? place % size->keys : NO_PLACE,
    };
}

bool reduction_next(struct reduction_walk *walk)
{
    const struct reduction *reduction = walk->reduction;
    size_t heads = reduction->size.layers * reduction->size.heads;
    size_t before = 0;
    for (int i = 0; i < MEASURE_ALL; i++) {
        size_t steps =
            wants(reduction, (enum measure)i) ? heads * steps_of(reduction, (enum measure)i) : 0;
        while (walk->next < before + steps) {
            enter(walk, (enum measure)i, walk->next++ - before);
            if (!reduction_fits(reduction, &walk->entry))
                continue;
            walk->entry.cell = reduction_find(reduction, &walk->entry);
            if (walk->entry.cell.count)
                return true;
        }
        before += steps;
    }
    return false;
}

bool reduction_fits(const struct reduction *reduction, const struct reduction_entry *entry)
{
    const struct reduction_size *size = &reduction->size;
    bool of_rows = measure_rows[entry->measure].of_row != NULL;
    if (!wants(reduction, entry->measure) || entry->layer >= size->layers ||
        entry->head >= size->heads)
        return false;
    if (of_rows)
        return entry->query == NO_PLACE && entry->key == NO_PLACE;
    return entry->query < size->queries && entry->key < size->keys &&
           (!size->causal || entry->key <= entry->query);
}

int reduction_merge(struct reduction *reduction, const struct reduction_entry *entry,
                    struct err *err)
{
    struct head_reduction *head = open_head(reduction, entry->layer, entry->head, err);
    if (!head)
        return -1;
    if (entry->measure == MEASURE_MAX) {
        struct largest *max = &head->max[place_of(&reduction->size, entry->query, entry->key)];
        float weight = (float)exact_sum_value(&entry->cell.sum);
        if (max->count == 0 || weight > max->weight)
            max->weight = weight;
        max->count += entry->cell.count;
        return 0;
    }
    struct reduction_cell *cell =
        entry->query == NO_PLACE
            ? &head->rows[entry->measure]
            : &head->mean[place_of(&reduction->size, entry->query, entry->key)];
    exact_sum_merge(&cell->sum, &entry->cell.sum);
    cell->count += entry->cell.count;
    return 0;
}

/* --- a sink ----------------------------------------------------------------------------------- */

int reduction_sink_init(struct reduction_sink *sink, const struct reduction_text *texts,
                        size_t count, size_t layers, struct arena *arena, struct err *err)
{
    *sink = (struct reduction_sink){.texts = texts, .layers = layers};
    sink->counted = arena_alloc(arena, count * layers, sizeof *sink->counted, err);
    return sink->counted ? 0 : -1;
}

struct reduction_sink reduction_sink_only(const struct reduction_sink *sink, size_t index)
{
    return (struct reduction_sink){
        .texts = sink->texts + index,
        .layers = sink->layers,
        .counted = sink->counted + index * sink->layers,
    };
}

static bool has_layer(const struct selection *selection, size_t layer)
{
    for (size_t i = 0; i < selection->layers.count; i++)
        if (selection->layers.items[i] == layer)
            return true;
    return false;
}

static size_t head_at(const struct selection *selection, size_t i)
{
    return selection->heads ? selection->heads[i] : i;
}

int reduction_sink_see(void *context, const struct announcement *seen, struct err *err)
{
    const struct reduction_sink *sink = context;
    const struct reduction_text *text = &sink->texts[seen->text];
    const struct selection *selection = text->selection;
    size_t layer = (size_t)seen->layer;
    bool *counted = &sink->counted[seen->text * sink->layers + layer];
    if (seen->site != SITE_WEIGHTS || *counted || !has_layer(selection, layer))
        return 0;
    for (size_t i = 0; i < selection->head_count; i++) /* a layer counts whole, or not at all */
        if (!open_head(text->reduction, layer, head_at(selection, i), err))
            return -1;
    for (size_t i = 0; i < selection->head_count; i++) {
        size_t head = head_at(selection, i);
        struct tensor weights = tensor_slice(&seen->values, head);
        if (reduction_add(text->reduction, layer, head, &weights, text->ids, err))
            return -1;
    }
    *counted = true;
    return 0;
}
