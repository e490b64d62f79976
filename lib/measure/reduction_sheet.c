/* reduction_sheet.c: what a reduction holds, as sheets: layers × heads of measures of rows, queries
 * × keys of each head for measures of cells. */
#include <math.h>

#include "base/buf.h"
#include "lens/tokenized.h"
#include "measure/reduction.h"

/* The numbers below `count` that are marked, as an axis. */
static int make_axis(struct axis *axis, const char *name, const bool *marked, size_t count,
                     struct arena *arena, struct err *err)
{
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    if (!labels || axis_of_numbers(axis, name, count, arena, err))
        return -1;
    axis->size = 0;
    for (size_t i = 0; i < count; i++)
        if (marked[i])
            labels[axis->size++] = axis->labels[i];
    axis->labels = labels;
    return 0;
}

/* Room for the sheets of a measurement, which are added one by one. */
struct sheets {
    struct sheet *items;
    const uint64_t **counts;
    float *values; /* of the last one … */
    uint64_t *last_counts;
    size_t count;
};

static int open_sheets(struct sheets *sheets, size_t count, struct arena *arena, struct err *err)
{
    *sheets = (struct sheets){
        .items = arena_alloc(arena, count, sizeof *sheets->items, err),
        .counts = arena_alloc(arena, count, sizeof *sheets->counts, err),
    };
    return sheets->items && sheets->counts ? 0 : -1;
}

static int add_sheet(struct sheets *sheets, struct sheet sheet, struct arena *arena,
                     struct err *err)
{
    size_t cells = sheet.rows.size * sheet.columns.size;
    sheet.values = sheets->values = arena_alloc(arena, cells, sizeof *sheets->values, err);
    sheets->counts[sheets->count] = sheets->last_counts =
        arena_alloc(arena, cells, sizeof *sheets->last_counts, err);
    sheets->items[sheets->count++] = sheet;
    return sheets->values && sheets->last_counts ? 0 : -1;
}

static void put(struct measurement *item, struct sheets *sheets, size_t place,
                const struct reduction_entry *entry)
{
    uint64_t count = entry->cell.count;
    sheets->values[place] = count ? (float)reduction_value(entry) : NAN;
    sheets->last_counts[place] = count;
    item->most = count > item->most ? count : item->most;
}

static void keep(struct measurement *item, const struct sheets *sheets)
{
    item->sheets = sheets->items;
    item->counts = sheets->counts;
    item->count = sheets->count;
}

/* Layers × heads. Those that nothing was counted of have no place, unless every head has one; a
 * pair of them of which nothing was is NaN. */
static int fill_rows(struct measurement *item, const struct reduction *reduction,
                     enum measure measure, struct arena *arena, struct err *err)
{
    struct sheets sheets;
    struct sheet sheet = {
        .tensor = item->name, .layer = -1, .head = -1, .fraction = measure_is_fraction(measure)};
    const struct reduction_size *size = &reduction->size;
    bool *layers = arena_alloc(arena, size->layers, sizeof *layers, err);
    bool *heads = arena_alloc(arena, size->heads, sizeof *heads, err);
    struct reduction_entry entry = {.measure = measure, .query = NO_PLACE, .key = NO_PLACE};
    size_t found = 0;
    if (!layers || !heads || open_sheets(&sheets, 1, arena, err))
        return -1;
    for (size_t i = 0; i < size->layers * size->heads; i++) {
        entry.layer = i / size->heads;
        entry.head = i % size->heads;
        if (!reduction->every_head && !reduction_find(reduction, &entry).count)
            continue;
        layers[entry.layer] = heads[entry.head] = true;
        found++;
    }
    if (!found)
        return 0;
    if (make_axis(&sheet.rows, "layer", layers, size->layers, arena, err) ||
        make_axis(&sheet.columns, "head", heads, size->heads, arena, err) ||
        add_sheet(&sheets, sheet, arena, err))
        return -1;
    size_t place = 0;
    for (size_t i = 0; i < size->layers * size->heads; i++) {
        entry.layer = i / size->heads;
        entry.head = i % size->heads;
        if (!layers[entry.layer] || !heads[entry.head])
            continue;
        entry.cell = reduction_find(reduction, &entry);
        put(item, &sheets, place++, &entry);
    }
    keep(item, &sheets);
    return 0;
}

/* Queries × keys, up to the longest of all, of every head that something was counted of. */
static int fill_cells(struct measurement *item, const struct reduction *reduction,
                      enum measure measure, struct arena *arena, struct err *err)
{
    struct reduction one = *reduction;
    struct reduction_walk walk = {.reduction = &one};
    struct sheets sheets;
    struct sheet sheet = {.tensor = item->name,
                          .layer = -1,
                          .head = -1,
                          .fraction = measure_is_fraction(measure),
                          .causal = one.size.causal};
    size_t queries = 0;
    size_t keys = 0;
    one.measures = 1u << measure;
    while (reduction_next(&walk)) {
        queries = walk.entry.query < queries ? queries : walk.entry.query + 1;
        keys = walk.entry.key < keys ? keys : walk.entry.key + 1;
    }
    if (!queries)
        return 0;
    if (open_sheets(&sheets, one.size.layers * one.size.heads, arena, err) ||
        axis_of_numbers(&sheet.rows, "query", queries, arena, err) ||
        axis_of_numbers(&sheet.columns, "key", keys, arena, err))
        return -1;
    walk = (struct reduction_walk){.reduction = &one};
    while (reduction_next(&walk)) {
        const struct reduction_entry *entry = &walk.entry;
        bool same = sheet.layer == (int)entry->layer && sheet.head == (int)entry->head;
        sheet.layer = (int)entry->layer;
        sheet.head = (int)entry->head;
        if (!same && add_sheet(&sheets, sheet, arena, err))
            return -1;
        put(item, &sheets, entry->query * keys + entry->key, entry);
    }
    keep(item, &sheets);
    return 0;
}

/* mean over up to 5 queries */
static const char *name_basis(const struct measurement *item, bool of_largest, struct arena *arena,
                              struct err *err)
{
    struct buf text = {0};
    bool one = item->most == 1;
    buf_format(&text, "%s up to %llu %s", of_largest ? "over" : "mean over",
               (unsigned long long)item->most,
               item->of_cells ? (one ? "text" : "texts") : (one ? "query" : "queries"));
    return buf_keep(&text, arena, err);
}

int reduction_measure(struct measured *measured, const struct reduction *reduction,
                      struct arena *arena, struct err *err)
{
    struct measurement *items = arena_alloc(arena, MEASURE_ALL, sizeof *items, err);
    measured->items = items;
    measured->count = 0;
    for (int i = 0; i < MEASURE_ALL && items; i++) {
        if (!(reduction->measures >> i & 1))
            continue;
        struct measurement *item = &items[measured->count++];
        item->name = measure_rows[i].name;
        item->about = measure_rows[i].about;
        item->of_cells = !measure_rows[i].of_row;
        if ((item->of_cells ? fill_cells : fill_rows)(item, reduction, (enum measure)i, arena, err))
            return -1;
        item->basis = name_basis(item, i == MEASURE_MAX, arena, err);
        if (!item->basis)
            return -1;
    }
    return items ? 0 : -1;
}
