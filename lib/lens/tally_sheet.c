/* tally_sheet.c: what a tally holds, as sheets: layers × heads of measures of rows, queries × keys
 * of each head for measures of cells. */
#include <math.h>

#include "base/buf.h"
#include "lens/tokenized.h"
#include "lens/tally.h"

/* What the entries of one measure span. */
struct extents {
    size_t queries, keys; /* one more than the highest of each */
    size_t pairs;         /* of a layer and a head */
    size_t *rows;         /* [layers] the row of each, NO_PLACE: nothing was counted of it … */
    size_t *columns;      /* [heads] … and the column */
    size_t row_count, column_count;
};

static bool next_of(struct tally_walk *walk, enum measure measure)
{
    while (tally_next(walk))
        if (walk->entry.measure == measure)
            return true;
    return false;
}

static void grow(size_t *end, size_t place)
{
    if (place != NO_PLACE && *end <= place)
        *end = place + 1;
}

/* Number the places that are marked by 0. */
static size_t number(size_t *places, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (places[i] != NO_PLACE)
            places[i] = found++;
    return found;
}

static size_t *no_places(size_t count, struct arena *arena, struct err *err)
{
    size_t *places = arena_alloc(arena, count, sizeof *places, err);
    for (size_t i = 0; places && i < count; i++)
        places[i] = NO_PLACE;
    return places;
}

static int find_extents(struct extents *extents, const struct tally *tally, enum measure measure,
                        struct arena *arena, struct err *err)
{
    struct tally_walk walk = {.tally = tally};
    const struct tally_size *size = &tally->size;
    size_t last_pair = NO_PLACE;
    *extents = (struct extents){0};
    extents->rows = no_places(size->layers, arena, err);
    extents->columns = no_places(size->heads, arena, err);
    if (!extents->rows || !extents->columns)
        return -1;
    while (next_of(&walk, measure)) {
        size_t pair = walk.entry.layer * size->heads + walk.entry.head;
        extents->pairs += pair != last_pair;
        last_pair = pair;
        extents->rows[walk.entry.layer] = extents->columns[walk.entry.head] = 0;
        grow(&extents->queries, walk.entry.query);
        grow(&extents->keys, walk.entry.key);
    }
    extents->row_count = number(extents->rows, size->layers);
    extents->column_count = number(extents->columns, size->heads);
    return 0;
}

/* An axis with the numbers below `count` that have a place. */
static int make_chosen_axis(struct axis *axis, const char *name, const size_t *places, size_t count,
                            struct arena *arena, struct err *err)
{
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    if (!labels || axis_of_numbers(axis, name, count, arena, err))
        return -1;
    axis->size = 0;
    for (size_t i = 0; i < count; i++)
        if (places[i] != NO_PLACE)
            labels[axis->size++] = axis->labels[i];
    axis->labels = labels;
    return 0;
}

/* The sheets of one measure while they are made: the values and counts of the last one. */
struct filling {
    struct sheet *sheets;
    const uint64_t **counts;
    size_t count;
    float *last_values;
    uint64_t *last_counts;
};

/* Another sheet after the others, like this one. */
static int add_sheet(struct filling *filling, struct sheet sheet, float value, struct arena *arena,
                     struct err *err)
{
    size_t cells = sheet.rows.size * sheet.columns.size;
    filling->last_values = arena_alloc(arena, cells, sizeof *filling->last_values, err);
    filling->last_counts = arena_alloc(arena, cells, sizeof *filling->last_counts, err);
    if (!filling->last_values || !filling->last_counts)
        return -1;
    for (size_t i = 0; i < cells; i++)
        filling->last_values[i] = value;
    sheet.values = filling->last_values;
    filling->counts[filling->count] = filling->last_counts;
    filling->sheets[filling->count++] = sheet;
    return 0;
}

/* Layers and heads that nothing was counted of have no place; a pair of them of which nothing was
 * is NaN. */
static int fill(struct measurement *item, const struct tally *tally, enum measure measure,
                struct arena *arena, struct err *err)
{
    struct extents extents;
    struct tally_walk walk = {.tally = tally};
    struct filling filling = {0};
    struct sheet sheet = {.tensor = measure_rows[measure].name, .layer = -1, .head = -1};
    const struct tally_size *size = &tally->size;
    if (find_extents(&extents, tally, measure, arena, err))
        return -1;
    if (!extents.pairs)
        return 0;
    size_t count = item->of_cells ? extents.pairs : 1;
    filling.sheets = arena_alloc(arena, count, sizeof *filling.sheets, err);
    filling.counts = arena_alloc(arena, count, sizeof *filling.counts, err);
    if (!filling.sheets || !filling.counts)
        return -1;
    if (item->of_cells
            ? axis_of_numbers(&sheet.rows, "query", extents.queries, arena, err) ||
                  axis_of_numbers(&sheet.columns, "key", extents.keys, arena, err)
            : make_chosen_axis(&sheet.rows, "layer", extents.rows, size->layers, arena, err) ||
                  make_chosen_axis(&sheet.columns, "head", extents.columns, size->heads, arena,
                                   err))
        return -1;
    if (!item->of_cells && add_sheet(&filling, sheet, NAN, arena, err))
        return -1;
    sheet.causal = size->causal;
    while (next_of(&walk, measure)) {
        const struct tally_entry *entry = &walk.entry;
        bool same = sheet.layer == (int)entry->layer && sheet.head == (int)entry->head;
        sheet.layer = (int)entry->layer;
        sheet.head = (int)entry->head;
        if (item->of_cells && !same && add_sheet(&filling, sheet, 0, arena, err))
            return -1;
        size_t place = item->of_cells ? entry->query * extents.keys + entry->key
                                      : extents.rows[entry->layer] * extents.column_count +
                                            extents.columns[entry->head];
        filling.last_values[place] = (float)tally_value(entry);
        filling.last_counts[place] = entry->cell.count;
        item->most = entry->cell.count > item->most ? entry->cell.count : item->most;
    }
    item->sheets = filling.sheets;
    item->counts = filling.counts;
    item->count = filling.count;
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

int tally_measure(struct measured *measured, const struct tally *tally, struct arena *arena,
                  struct err *err)
{
    struct measurement *items = arena_alloc(arena, MEASURE_COUNT, sizeof *items, err);
    measured->items = items;
    measured->count = 0;
    for (int i = 0; i < MEASURE_COUNT && items; i++) {
        if (!(tally->measures >> i & 1))
            continue;
        struct measurement *item = &items[measured->count++];
        item->name = measure_rows[i].name;
        item->about = measure_rows[i].about;
        item->of_cells = !measure_rows[i].of_row;
        if (fill(item, tally, (enum measure)i, arena, err))
            return -1;
        item->basis = name_basis(item, i == MEASURE_MAX, arena, err);
        if (!item->basis)
            return -1;
    }
    return items ? 0 : -1;
}
