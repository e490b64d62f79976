#include "lens/tally_sheet.h"

#include <math.h>

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

/* A sheet of zeros, and where its numbers are to be written. */
static float *make_sheet(struct sheet *sheet, const struct axis *rows, const struct axis *columns,
                         struct arena *arena, struct err *err)
{
    float *values = arena_alloc(arena, rows->size * columns->size, sizeof *values, err);
    *sheet = (struct sheet){
        .layer = -1, .head = -1, .rows = *rows, .columns = *columns, .values = values};
    return values;
}

static int fill_heads(struct tally_sheets *sheets, const struct tally *tally, enum measure measure,
                      const struct span_of *span, struct arena *arena, struct err *err)
{
    struct axis rows;
    struct axis columns;
    struct tally_walk walk = {.tally = tally};
    if (make_chosen_axis(&rows, "layer", span->rows, tally->size.layers, arena, err) ||
        make_chosen_axis(&columns, "head", span->columns, tally->size.heads, arena, err))
        return -1;
    float *values = make_sheet(&sheets->items[0], &rows, &columns, arena, err);
    if (!values)
        return -1;
    sheets->items[0].tensor = measure_rows[measure].name;
    sheets->count = 1;
    for (size_t i = 0; i < span->row_count * span->column_count; i++)
        values[i] = NAN;
    while (next_of(&walk, measure)) {
        size_t row = span->rows[walk.entry.layer];
        size_t column = span->columns[walk.entry.head];
        values[row * span->column_count + column] = (float)tally_value(&walk.entry);
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
    float *values = NULL;
    if (make_axis(&rows, "query", span->queries, arena, err) ||
        make_axis(&columns, "key", span->keys, arena, err))
        return -1;
    while (next_of(&walk, measure)) {
        const struct tally_entry *entry = &walk.entry;
        struct sheet *sheet = sheets->count ? &sheets->items[sheets->count - 1] : NULL;
        if (!sheet || sheet->layer != (int)entry->layer || sheet->head != (int)entry->head) {
            sheet = &sheets->items[sheets->count++];
            values = make_sheet(sheet, &rows, &columns, arena, err);
            if (!values)
                return -1;
            sheet->tensor = measure_rows[measure].name;
            sheet->layer = (int)entry->layer;
            sheet->head = (int)entry->head;
            sheet->causal = tally->size.causal;
        }
        values[entry->query * span->keys + entry->key] = (float)tally_value(entry);
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
    sheets->items = arena_alloc(arena, of_rows ? 1 : span.pairs, sizeof *sheets->items, err);
    if (!sheets->items)
        return -1;
    return (of_rows ? fill_heads : fill_cells)(sheets, tally, measure, &span, arena, err);
}
