#include "lens/frame.h"

#include <assert.h>
#include <math.h>
#include <string.h>

double column_number(const struct column *column, size_t row)
{
    switch (column->kind) {
    case COLUMN_FLOAT:
        return column_float(column, row);
    case COLUMN_INTEGER:
        return column_integer(column, row) == COLUMN_MISSING ? (double)NAN
                                                             : (double)column_integer(column, row);
    case COLUMN_TEXT:
    case COLUMN_LABEL:
        break;
    }
    return NAN;
}

const char *column_text(const struct column *column, size_t row, bool for_people)
{
    if (column->kind == COLUMN_TEXT)
        return ((const char *const *)column->values)[row];
    const struct label *label = &((const struct label *)column->values)[row];
    return for_people ? label->text : label->plain;
}

bool column_is_result(const struct column *column)
{
    bool is_number = column->kind == COLUMN_FLOAT || column->kind == COLUMN_INTEGER;
    return is_number && !(column->flags & (COLUMN_KEY | COLUMN_TEXT_ONLY));
}

int frame_key(const struct frame *frame, const char *name, size_t row)
{
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        if (column->kind != COLUMN_INTEGER || strcmp(column->name, name) != 0)
            continue;
        return column_integer(column, row) == COLUMN_MISSING ? -1
                                                             : (int)column_integer(column, row);
    }
    return -1;
}

const struct column *frame_models(const struct frame *frame)
{
    for (size_t i = 0; i < frame->count; i++)
        if (strcmp(frame->columns[i].name, "model") == 0 && frame->columns[i].flags & COLUMN_KEY)
            return &frame->columns[i];
    return NULL;
}

int frame_columns(struct frame *frame, const struct column *columns, size_t count,
                  struct arena *arena, struct err *err)
{
    static const size_t sizes[] = {[COLUMN_FLOAT] = sizeof(double),
                                   [COLUMN_INTEGER] = sizeof(long long),
                                   [COLUMN_TEXT] = sizeof(const char *),
                                   [COLUMN_LABEL] = sizeof(struct label)};
    struct column *copy = arena_alloc(arena, count, sizeof *copy, err);
    if (!copy)
        return -1;
    if (count)
        memcpy(copy, columns, count * sizeof *copy);
    frame->columns = copy;
    frame->count = count;
    for (size_t i = 0; i < count; i++) {
        if (copy[i].values)
            continue;
        copy[i].values = arena_alloc(arena, frame->rows.size, sizes[copy[i].kind], err);
        if (!copy[i].values)
            return -1;
    }
    return 0;
}

static void *values_of(struct frame *frame, size_t column, enum column_kind kind)
{
    assert(column < frame->count && frame->columns[column].kind == kind);
    (void)kind;
    return (void *)frame->columns[column].values;
}

double *frame_floats(struct frame *frame, size_t column)
{
    return values_of(frame, column, COLUMN_FLOAT);
}

long long *frame_integers(struct frame *frame, size_t column)
{
    return values_of(frame, column, COLUMN_INTEGER);
}

const char **frame_texts(struct frame *frame, size_t column)
{
    return values_of(frame, column, COLUMN_TEXT);
}

struct label *frame_labels(struct frame *frame, size_t column)
{
    return values_of(frame, column, COLUMN_LABEL);
}

/* "surprisal (bits)": in pictures a name does not end in its unit. */
static const char *picture_label(const struct column *column, struct arena *arena, struct err *err)
{
    size_t unit = column->unit ? strlen(column->unit) : 0;
    size_t size = strlen(column->name);
    if (!unit || size <= unit || column->name[size - unit - 1] != '_' ||
        strcmp(column->name + size - unit, column->unit) != 0)
        return column->name;
    return arena_format(arena, err, "%.*s (%s)", (int)(size - unit - 1), column->name,
                        column->unit);
}

static bool is_shown(const struct column *column, bool coloured)
{
    return column_is_result(column) && (!coloured || column->flags & COLUMN_COLOURED);
}

int frame_sheet(struct sheet *sheet, const struct frame *frame, bool for_picture,
                struct arena *arena, struct err *err)
{
    size_t rows = frame->rows.size;
    size_t count = 0;
    bool coloured = false;
    bool fraction = true;
    for (size_t i = 0; i < frame->count; i++)
        coloured |= for_picture && frame->columns[i].flags & COLUMN_COLOURED;
    for (size_t i = 0; i < frame->count; i++)
        count += is_shown(&frame->columns[i], coloured);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    float *values = arena_alloc(arena, rows, count * sizeof *values, err);
    if (!labels || !values)
        return -1;
    for (size_t i = 0, at = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        if (!is_shown(column, coloured))
            continue;
        const char *shown = for_picture ? picture_label(column, arena, err) : column->name;
        if (!shown)
            return -1;
        labels[at] = (struct label){shown, column->name, column->name};
        fraction = fraction && column->fraction;
        for (size_t row = 0; row < rows; row++)
            values[row * count + at] = (float)column_number(column, row);
        at++;
    }
    *sheet = (struct sheet){
        .tensor = frame->name,
        .layer = -1,
        .head = -1,
        .rows = frame->rows,
        .columns = {"value", count, labels, 0},
        .values = values,
        .fraction = fraction,
        .running = frame->running && for_picture && count == 1,
    };
    return 0;
}

struct facts *facts_new(struct arena *arena, struct err *err)
{
    static const struct label label = {"", "", ""};
    struct facts *facts = arena_alloc(arena, 1, sizeof *facts, err);
    if (facts)
        facts->frame = (struct frame){"facts", {"", 1, &label, 0}, facts->columns, .count = 0};
    return facts;
}

static size_t add_fact(struct facts *facts, const char *name, enum column_kind kind)
{
    size_t index = facts->frame.count++;
    assert(index < FACTS_MAX);
    facts->columns[index] =
        (struct column){.name = name, .kind = kind, .values = &facts->values[index]};
    return index;
}

void facts_float(struct facts *facts, const char *name, double value)
{
    facts->values[add_fact(facts, name, COLUMN_FLOAT)].number = value;
}

void facts_integer(struct facts *facts, const char *name, long long value)
{
    facts->values[add_fact(facts, name, COLUMN_INTEGER)].integer = value;
}

void facts_text(struct facts *facts, const char *name, const char *text)
{
    facts->values[add_fact(facts, name, COLUMN_TEXT)].text = text;
}

void facts_row(struct facts *facts, const char *name, const char *text)
{
    size_t index = add_fact(facts, name, COLUMN_TEXT);
    facts->values[index].text = text;
    facts->columns[index].flags = COLUMN_TEXT_ONLY;
}
