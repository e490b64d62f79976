#include "dose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"

static bool is_number(const struct swept_option *swept)
{
    double number = 0;
    for (size_t i = 0; i < swept->values.count; i++)
        if (!swept->values.items || !num_parse_double(swept->values.items[i], -1e9, 1e9, &number))
            return false;
    return true;
}

int dose_begin(struct dose *dose, const struct sweep *sweep, const char *y, struct arena *arena,
               struct err *err)
{
    *dose = (struct dose){.y = y, .sweep = sweep, .lines = 1};
    while (dose->axis < sweep->count && !is_number(&sweep->items[dose->axis]))
        dose->axis++;
    if (dose->axis == sweep->count)
        return err_usage(err,
                         "--format: expected a --sweep of numbers, such as s=-3:3:0.5, for the "
                         "figure of a batch, found none: use a folder (-o DIR/)");
    const struct texts *values = &sweep->items[dose->axis].values;
    dose->points = values->count;
    for (size_t i = 0; i < sweep->count; i++) /* repetitions are averaged */
        dose->lines *=
            i == dose->axis || !sweep->items[i].values.items ? 1 : sweep->items[i].values.count;
    dose->x = arena_alloc(arena, dose->points, sizeof *dose->x, err);
    dose->sums = arena_alloc(arena, dose->lines * dose->points, sizeof *dose->sums, err);
    dose->counts = arena_alloc(arena, dose->lines * dose->points, sizeof *dose->counts, err);
    for (size_t i = 0; dose->x && i < dose->points; i++)
        num_parse_double(values->items[i], -1e9, 1e9, &dose->x[i]);
    return err_if(err->kind);
}

/* "layer=1, s=2": the values of the other settings in a line; the name if there is one line. */
static const char *line_label(const struct dose *dose, size_t line, struct arena *arena,
                              struct err *err)
{
    struct buf label = {0};
    for (size_t i = dose->sweep->count; i-- > 0;) {
        const struct swept_option *swept = &dose->sweep->items[i];
        if (i == dose->axis || !swept->values.items)
            continue;
        buf_format(&label, "%s%s=%s", label.size ? ", " : "", swept->name,
                   swept->values.items[line % swept->values.count]);
        line /= swept->values.count;
    }
    if (!label.size)
        buf_text(&label, dose->name);
    return buf_keep(&label, arena, err);
}

/* The mean of a column over the rows that have a number, or the number of one row. */
static double number_of(const struct column *column, size_t rows, long long row)
{
    double sum = 0;
    size_t count = 0;
    const long long at = row < 0 ? row + (long long)rows : row;
    for (size_t i = 0; i < rows; i++) {
        const double number = column_number(column, i);
        if (isfinite(number) && (row == LLONG_MAX || (long long)i == at)) {
            sum += number;
            count++;
        }
    }
    return count ? sum / (double)count : NAN;
}

/* Find the number's column in a table. */
static const struct column *find_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!(column->flags & COLUMN_TEXT_ONLY) &&
            (name ? strcmp(column->name, name) == 0
                  : column->kind == COLUMN_FLOAT && column_is_result(column)))
            return column;
    }
    return NULL;
}

int dose_add(struct dose *dose, const struct report *report, struct err *err)
{
    const char *colon = dose->y ? strchr(dose->y, ':') : NULL;
    char name[SHEET_NAME_BYTES] = "";
    struct nearest nearest;
    long long row = LLONG_MAX;
    if (colon && !num_parse_integer(colon + 1, -1000000, 1000000, &row))
        return err_usage(
            err, "--y: expected NAME or NAME:ROW, such as surprisal_nats:-1, found '%s'", dose->y);
    const size_t size = colon ? (size_t)(colon - dose->y) : dose->y ? strlen(dose->y) : 0;
    if (size)
        memcpy(name, dose->y, num_min(size, sizeof name - 1));
    const struct column *column = NULL;
    size_t rows = 0;
    nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i <= report->table_count && !column; i++) {
        const struct table *table = i < report->table_count ? &report->tables[i] : report->facts;
        if (!table || table->flags & COLUMN_TEXT_ONLY)
            continue;
        column = find_column(table, size ? name : NULL);
        rows = table->rows.size;
        for (size_t k = 0; k < table->count; k++)
            nearest_offer(&nearest, table->columns[k].name);
    }
    if (!column) {
        char guess[NAMES_GUESS_BYTES];
        names_guess(guess, nearest.name);
        return err_usage(err,
                         "--y: expected a column of a table or a fact of the results, found "
                         "%s%s%s%s: --format csv shows them",
                         size ? "'" : "", size ? name : "none", size ? "'" : "", guess);
    }
    const double number = number_of(column, rows, row);
    snprintf(dose->name, sizeof dose->name, "%s", column->name);
    size_t line = 0, point = 0, scale = 1;
    for (size_t i = dose->sweep->count; i-- > 0;) {
        const struct swept_option *swept = &dose->sweep->items[i];
        size_t index = 0;
        while (swept->values.items && strcmp(swept->values.items[index], swept->value) != 0)
            index++;
        if (i == dose->axis)
            point = index;
        else if (swept->values.items) {
            line += index * scale;
            scale *= swept->values.count;
        }
    }
    if (isfinite(number)) {
        dose->sums[line * dose->points + point] += number;
        dose->counts[line * dose->points + point]++;
    }
    return 0;
}

int dose_report(struct report *report, const struct dose *dose, struct arena *arena,
                struct err *err)
{
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct table_rows rows = {.most = dose->points, .arena = arena, .err = err};
    const char *setting = dose->sweep->items[dose->axis].name;
    size_t *order = arena_alloc(arena, dose->points, sizeof *order, err);
    size_t most = 0;
    for (size_t i = 0; order && i < dose->points; i++) { /* the axis ascends */
        size_t at = i;
        for (; at > 0 && dose->x[order[at - 1]] > dose->x[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (size_t i = 0; order && i < dose->points; i++, rows_next(&rows)) {
        const char *x = arena_format(arena, err, "%.6g", dose->x[order[i]]);
        rows_label(&rows, setting, COLUMN_KEY, (struct label){x, x, x});
        for (size_t line = 0; line < dose->lines; line++) {
            const size_t cell = line * dose->points + order[i], count = dose->counts[cell];
            const char *label = line_label(dose, line, arena, err);
            most = num_max(most, count);
            rows_float(&rows, (struct column){label, .title = label, .digits = 4},
                       count ? dose->sums[cell] / (double)count : NAN);
        }
    }
    if (!table || !order || rows_finish(table, &rows, dose->name, setting))
        return -1;
    table->curves = true;
    table->note =
        arena_format(arena, err, "%s by %s%s", dose->name, setting,
                     most > 1 ? arena_format(arena, err, ", mean of %zu results", most) : "");
    report->tables = table;
    report->table_count = 1;
    return table->note ? 0 : -1;
}
