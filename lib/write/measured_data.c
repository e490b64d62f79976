#include "write/measured_data.h"

#include <math.h>
#include <stdlib.h>

#include "format/json_writer.h"
#include "write/csv.h"
#include "write/text_line.h"

/* --- lines ------------------------------------------------------------------------------------ */

void measured_columns(struct buf *line, const struct measured *measured, bool names)
{
    for (size_t i = 0; i < measured->column_count; i++) {
        const struct measured_column *column = &measured->columns[i];
        const char *value = column->value ? column->value : "";
        csv_field(line, names ? column->name : value);
        buf_char(line, ',');
    }
}

int measured_tidy_head(struct stream *out, const struct measured *measured, struct err *err)
{
    struct buf line = {0};
    buf_text(&line, "measure,");
    measured_columns(&line, measured, true);
    buf_text(&line, "layer,head,query,key,count,value\n");
    int failed = text_send(out, &line, err);
    buf_release(&line);
    return failed;
}

/* The lines of one sheet; `columns` are those of the settings. */
static void write_lines(struct stream *out, const struct measurement *item, size_t index,
                        const char *columns)
{
    const struct sheet *sheet = &item->sheets[index];
    for (size_t row = 0; row < sheet->rows.size; row++) {
        for (size_t column = 0; column < sheet->columns.size; column++) {
            const char *across = sheet->columns.labels[column].plain;
            const char *down = sheet->rows.labels[row].plain;
            uint64_t count = item->counts[index][row * sheet->columns.size + column];
            if (!count)
                continue;
            if (item->of_cells)
                stream_format(out, "%s,%s%d,%d,%s,%s,", item->name, columns, sheet->layer,
                              sheet->head, down, across);
            else
                stream_format(out, "%s,%s%s,%s,,,", item->name, columns, down, across);
            stream_format(out, "%llu,", (unsigned long long)count);
            stream_float(out, sheet_cell(sheet, row, column));
            stream_char(out, '\n');
        }
    }
}

int measured_tidy_lines(struct stream *out, const struct measured *measured, struct err *err)
{
    struct buf columns = {0};
    buf_text(&columns, "");
    measured_columns(&columns, measured, false);
    int failed = buf_check(&columns, err);
    for (size_t i = 0; i < measured->count && !failed; i++)
        for (size_t k = 0; k < measured->items[i].count; k++)
            write_lines(out, &measured->items[i], k, columns.bytes);
    buf_release(&columns);
    return failed;
}

int measured_tidy_write(struct stream *out, const struct measured_list *list,
                        const struct place *place, struct err *err)
{
    (void)place;
    const struct measured nothing = {0};
    if (measured_tidy_head(out, list->count ? &list->items[0] : &nothing, err))
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (measured_tidy_lines(out, &list->items[i], err))
            return -1;
    return 0;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* One sheet as it stands, several as one table:
 *
 *     measure,model,layer,0,1,2,3                 measure,layer,head,query,0,1,2
 *     entropy,tiny,0,0.39,0.01,0.39,0.24          max,0,3,0,1,0,0
 *     entropy,life,0,0.59,,,                      entropy,0,,,0.39,,
 *
 * The columns are the numbers of heads, or of keys, that any sheet has; a sheet that has not all of
 * them leaves cells empty. */
struct table {
    struct stream *out;
    bool of_cells;         /* any sheet is of queries and keys */
    struct buf has_column; /* a byte a number: whether any sheet has it */
    struct buf before;     /* what the rows of a sheet begin with */
};

static size_t number_of_column(const struct sheet *sheet, size_t column)
{
    return (size_t)strtoul(sheet->columns.labels[column].plain, NULL, 10);
}

static int mark_columns(struct buf *has_column, const struct measurement *item, struct err *err)
{
    for (size_t i = 0; i < item->count; i++)
        for (size_t c = 0; c < item->sheets[i].columns.size; c++) {
            size_t number = number_of_column(&item->sheets[i], c);
            if (number >= has_column->size)
                buf_fill(has_column, 0, number + 1 - has_column->size);
            if (buf_check(has_column, err))
                return -1;
            has_column->bytes[number] = 1;
        }
    return 0;
}

static int write_header(struct table *table, const struct measured_list *list, struct err *err)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].count; k++) {
            table->of_cells |= list->items[i].items[k].of_cells;
            if (mark_columns(&table->has_column, &list->items[i].items[k], err))
                return -1;
        }
    buf_text(&table->before, "measure,");
    measured_columns(&table->before, &list->items[0], true);
    buf_text(&table->before, table->of_cells ? "layer,head,query" : "layer");
    if (text_send(table->out, &table->before, err))
        return -1;
    for (size_t number = 0; number < table->has_column.size; number++)
        if (table->has_column.bytes[number])
            stream_format(table->out, ",%zu", number);
    stream_char(table->out, '\n');
    return 0;
}

/* A sheet's columns rise, as the table's do. */
static void write_cells(struct table *table, const struct sheet *sheet, size_t row)
{
    size_t c = 0;
    for (size_t number = 0; number < table->has_column.size; number++) {
        if (!table->has_column.bytes[number])
            continue;
        stream_char(table->out, ',');
        if (c < sheet->columns.size && number_of_column(sheet, c) == number)
            stream_float(table->out, sheet_cell(sheet, row, c++));
    }
    stream_char(table->out, '\n');
}

static int write_sheet(struct table *table, const struct measured *measured,
                       const struct measurement *item, const struct sheet *sheet, struct err *err)
{
    buf_clear(&table->before);
    buf_format(&table->before, "%s,", item->name);
    measured_columns(&table->before, measured, false);
    if (item->of_cells)
        buf_format(&table->before, "%d,%d,", sheet->layer, sheet->head);
    for (size_t row = 0; row < sheet->rows.size; row++) {
        if (text_send(table->out, &table->before, err))
            return -1;
        stream_text(table->out, sheet->rows.labels[row].plain);
        stream_text(table->out, table->of_cells && !item->of_cells ? ",," : "");
        write_cells(table, sheet, row);
    }
    return 0;
}

static int write_table(struct table *table, const struct measured_list *list, struct err *err)
{
    if (write_header(table, list, err))
        return -1;
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].count; k++) {
            const struct measurement *item = &list->items[i].items[k];
            for (size_t n = 0; n < item->count; n++)
                if (write_sheet(table, &list->items[i], item, &item->sheets[n], err))
                    return -1;
        }
    return 0;
}

int measured_csv_write(struct stream *out, const struct measured_list *list,
                       const struct place *place, struct err *err)
{
    (void)place;
    struct table table = {.out = out};
    if (!list->count)
        return 0;
    bool alone =
        list->count == 1 && list->items[0].count == 1 && list->items[0].items[0].count == 1;
    if (alone)
        return csv_sheet_write(out, &list->items[0].items[0].sheets[0], err);
    int failed = write_table(&table, list, err);
    buf_release(&table.before);
    buf_release(&table.has_column);
    return failed ? -1 : 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_rows(struct json_writer *json, const struct measurement *item, size_t index)
{
    const struct sheet *sheet = &item->sheets[index];
    json_put_open(json, "values", '[');
    for (size_t row = 0; row < sheet->rows.size; row++) {
        json_put_open(json, NULL, '[');
        for (size_t column = 0; column < sheet->columns.size; column++) {
            bool counted = item->counts[index][row * sheet->columns.size + column] > 0;
            json_put_float(json, NULL, counted ? sheet_cell(sheet, row, column) : NAN);
        }
        json_put_close(json, ']');
    }
    json_put_close(json, ']');
}

static void put_axis(struct json_writer *json, const char *name, const struct axis *axis)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < axis->size; i++)
        json_put_raw(json, NULL, axis->labels[i].plain);
    json_put_close(json, ']');
}

static void put_maps(struct json_writer *json, const struct measurement *item)
{
    json_put_open(json, "maps", '[');
    for (size_t i = 0; i < item->count; i++) {
        json_put_open(json, NULL, '{');
        json_put_integer(json, "layer", item->sheets[i].layer);
        json_put_integer(json, "head", item->sheets[i].head);
        put_rows(json, item, i);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}

static void put_measurement(struct json_writer *json, const struct measurement *item)
{
    json_put_open(json, item->name, '{');
    json_put_text(json, "basis", item->basis);
    if (item->of_cells) {
        put_maps(json, item);
    } else if (item->count) { /* one sheet */
        put_axis(json, "layers", &item->sheets->rows);
        put_axis(json, "heads", &item->sheets->columns);
        put_rows(json, item, 0);
    } else {
        json_put_integers(json, "layers", NULL, 0);
        json_put_integers(json, "heads", NULL, 0);
        json_put_integers(json, "values", NULL, 0);
    }
    json_put_close(json, '}');
}

static void put_measures(struct json_writer *json, const char *name,
                         const struct measured *measured)
{
    json_put_open(json, name, '{');
    for (size_t i = 0; i < measured->count; i++) {
        json_put_gap(json, "\n  ");
        put_measurement(json, &measured->items[i]);
    }
    json_put_close(json, '}');
}

void measured_json_measures(struct stream *out, const struct measured *measured)
{
    put_measures(&(struct json_writer){.stream = out, .one_line = true}, NULL, measured);
}

/* `format` is that of a line by itself, NULL of one of many. */
static void put_group(struct json_writer *json, const char *name, const char *format,
                      const struct measured *measured)
{
    json_put_open(json, name, '{');
    if (format)
        json_put_text(json, "format", format);
    json_put_text(json, "model", measured->model);
    if (measured->hash)
        json_put_text(json, "weights_sha256", measured->hash);
    json_put_integer(json, "texts", measured->texts);
    json_put_open(json, "settings", '{');
    for (size_t k = 0; k < measured->column_count; k++)
        if (measured->columns[k].value)
            json_put_text(json, measured->columns[k].name, measured->columns[k].value);
    json_put_close(json, '}');
    put_measures(json, "measures", measured);
    json_put_close(json, '}');
}

int measured_json_write(struct stream *out, const struct measured_list *list,
                        const struct place *place, struct err *err)
{
    (void)place, (void)err; /* what can fail here sticks to the stream */
    struct json_writer json = {.stream = out};
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("measures"));
    json_put_open(&json, "groups", '[');
    for (size_t i = 0; i < list->count; i++)
        put_group(&json, "\n ", NULL, &list->items[i]);
    json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    return 0;
}

int measured_jsonl_write(struct stream *out, const struct measured_list *list,
                         const struct place *place, struct err *err)
{
    (void)place, (void)err;
    for (size_t i = 0; i < list->count; i++) {
        put_group(&(struct json_writer){.stream = out, .one_line = true}, NULL,
                  JSON_FORMAT("measures-line"), &list->items[i]);
        stream_char(out, '\n');
    }
    return 0;
}
