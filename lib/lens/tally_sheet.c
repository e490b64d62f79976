#include "lens/tally_sheet.h"

#include <math.h>

#include "base/buf.h"
#include "lens/reading.h"

/* What the entries of one measure span. */
struct span_of {
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

static int find_span(struct span_of *span, const struct tally *tally, enum measure measure,
                     struct arena *arena, struct err *err)
{
    struct tally_walk walk = {.tally = tally};
    const struct tally_size *size = &tally->size;
    size_t last_pair = NO_PLACE;
    *span = (struct span_of){0};
    span->rows = no_places(size->layers, arena, err);
    span->columns = no_places(size->heads, arena, err);
    if (!span->rows || !span->columns)
        return -1;
    while (next_of(&walk, measure)) {
        size_t pair = walk.entry.layer * size->heads + walk.entry.head;
        span->pairs += pair != last_pair;
        last_pair = pair;
        span->rows[walk.entry.layer] = span->columns[walk.entry.head] = 0;
        grow(&span->queries, walk.entry.query);
        grow(&span->keys, walk.entry.key);
    }
    span->row_count = number(span->rows, size->layers);
    span->column_count = number(span->columns, size->heads);
    return 0;
}

/* An axis with the numbers that have a place. */
static int make_chosen_axis(struct axis *axis, const char *name, const size_t *places, size_t count,
                            struct arena *arena, struct err *err)
{
    const struct label *numbers = labels_of_numbers(count, arena, err);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    if (!numbers || !labels)
        return -1;
    *axis = (struct axis){.name = name, .labels = labels};
    for (size_t i = 0; i < count; i++)
        if (places[i] != NO_PLACE)
            labels[axis->size++] = numbers[i];
    return 0;
}

static int make_axis(struct axis *axis, const char *name, size_t size, struct arena *arena,
                     struct err *err)
{
    *axis = (struct axis){.name = name, .size = size};
    axis->labels = labels_of_numbers(size, arena, err);
    return axis->labels ? 0 : -1;
}

/* Where the numbers of a sheet are to be written. */
struct cells {
    float *values;
    uint64_t *counts;
};

static void set_cell(struct cells *cells, size_t place, const struct tally_entry *entry)
{
    cells->values[place] = (float)tally_value(entry);
    cells->counts[place] = entry->cell.count;
}

/* A sheet of zeros after the others. */
static int add_sheet(struct tally_sheets *sheets, struct cells *cells, const struct axis *rows,
                     const struct axis *columns, struct arena *arena, struct err *err)
{
    size_t size = rows->size * columns->size;
    cells->values = arena_alloc(arena, size, sizeof *cells->values, err);
    cells->counts = arena_alloc(arena, size, sizeof *cells->counts, err);
    if (!cells->values || !cells->counts)
        return -1;
    sheets->counts[sheets->count] = cells->counts;
    sheets->items[sheets->count++] = (struct sheet){
        .layer = -1, .head = -1, .rows = *rows, .columns = *columns, .values = cells->values};
    return 0;
}

static int fill_heads(struct tally_sheets *sheets, const struct tally *tally, enum measure measure,
                      const struct span_of *span, struct arena *arena, struct err *err)
{
    struct axis rows;
    struct axis columns;
    struct cells cells;
    struct tally_walk walk = {.tally = tally};
    if (make_chosen_axis(&rows, "layer", span->rows, tally->size.layers, arena, err) ||
        make_chosen_axis(&columns, "head", span->columns, tally->size.heads, arena, err))
        return -1;
    if (add_sheet(sheets, &cells, &rows, &columns, arena, err))
        return -1;
    sheets->items[0].tensor = measure_rows[measure].name;
    for (size_t i = 0; i < span->row_count * span->column_count; i++)
        cells.values[i] = NAN;
    while (next_of(&walk, measure)) {
        size_t row = span->rows[walk.entry.layer];
        size_t column = span->columns[walk.entry.head];
        set_cell(&cells, row * span->column_count + column, &walk.entry);
        if (walk.entry.cell.count > sheets->most)
            sheets->most = walk.entry.cell.count;
    }
    return 0;
}

static int fill_cells(struct tally_sheets *sheets, const struct tally *tally, enum measure measure,
                      const struct span_of *span, struct arena *arena, struct err *err)
{
    struct axis rows;
    struct axis columns;
    struct tally_walk walk = {.tally = tally};
    struct cells cells = {0};
    if (make_axis(&rows, "query", span->queries, arena, err) ||
        make_axis(&columns, "key", span->keys, arena, err))
        return -1;
    while (next_of(&walk, measure)) {
        const struct tally_entry *entry = &walk.entry;
        struct sheet *sheet = sheets->count ? &sheets->items[sheets->count - 1] : NULL;
        if (!sheet || sheet->layer != (int)entry->layer || sheet->head != (int)entry->head) {
            if (add_sheet(sheets, &cells, &rows, &columns, arena, err))
                return -1;
            sheet = &sheets->items[sheets->count - 1];
            sheet->tensor = measure_rows[measure].name;
            sheet->layer = (int)entry->layer;
            sheet->head = (int)entry->head;
            sheet->causal = tally->size.causal;
        }
        set_cell(&cells, entry->query * span->keys + entry->key, entry);
        if (entry->cell.count > sheets->most)
            sheets->most = entry->cell.count;
    }
    return 0;
}

int tally_sheets_make(struct tally_sheets *sheets, const struct tally *tally, enum measure measure,
                      struct arena *arena, struct err *err)
{
    struct span_of span;
    bool of_rows = measure_rows[measure].of_row != NULL;
    *sheets = (struct tally_sheets){0};
    if (find_span(&span, tally, measure, arena, err))
        return -1;
    if (!span.pairs)
        return 0;
    size_t count = of_rows ? 1 : span.pairs;
    sheets->items = arena_alloc(arena, count, sizeof *sheets->items, err);
    sheets->counts = arena_alloc(arena, count, sizeof *sheets->counts, err);
    if (!sheets->items || !sheets->counts)
        return -1;
    return (of_rows ? fill_heads : fill_cells)(sheets, tally, measure, &span, arena, err);
}

/* mean over up to 5 queries */
static const char *name_basis(enum measure measure, uint64_t most, struct arena *arena,
                              struct err *err)
{
    struct buf text = {0};
    const char *basis = NULL;
    bool one = most == 1;
    const char *things =
        measure_rows[measure].of_row ? (one ? "query" : "queries") : (one ? "text" : "texts");
    buf_format(&text, "%s up to %llu %s", measure == MEASURE_MAX ? "over" : "mean over",
               (unsigned long long)most, things);
    if (!buf_check(&text, err))
        basis = arena_text(arena, text.bytes, text.size, err);
    buf_release(&text);
    return basis;
}

static int measure_one(struct measurement *item, const struct tally *tally, enum measure measure,
                       struct arena *arena, struct err *err)
{
    struct tally_sheets sheets;
    if (tally_sheets_make(&sheets, tally, measure, arena, err))
        return -1;
    *item = (struct measurement){
        .name = measure_rows[measure].name,
        .about = measure_rows[measure].about,
        .basis = name_basis(measure, sheets.most, arena, err),
        .most = sheets.most,
        .of_cells = !measure_rows[measure].of_row,
        .sheets = sheets.items,
        .counts = sheets.counts,
        .count = sheets.count,
    };
    return item->basis ? 0 : -1;
}

int tally_measure(struct measured *measured, const struct tally *tally, struct arena *arena,
                  struct err *err)
{
    struct measurement *items = arena_alloc(arena, MEASURE_COUNT, sizeof *items, err);
    measured->items = items;
    measured->count = 0;
    for (int i = 0; i < MEASURE_COUNT && items; i++)
        if (tally->measures >> i & 1 &&
            measure_one(&items[measured->count++], tally, (enum measure)i, arena, err))
            return -1;
    return items ? 0 : -1;
}
