#include "write/measured_data.h"

#include <math.h>
#include <string.h>

#include "format/json_writer.h"
#include "write/csv_field.h"
#include "write/text_line.h"

/* --- lines -------------------------------------------------------------------------------------
 */

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

int measured_tidy_write(struct stream *out, const struct measured_list *list, struct err *err)
{
    const struct measured nothing = {0};
    if (measured_tidy_head(out, list->count ? &list->items[0] : &nothing, err))
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (measured_tidy_lines(out, &list->items[i], err))
            return -1;
    return 0;
}

/* --- JSON --------------------------------------------------------------------------------------
 */

static void json_text(struct stream *out, const char *text)
{
    json_write_text(out, text, strlen(text));
}

static void json_rows(struct stream *out, const struct measurement *item, size_t index)
{
    const struct sheet *sheet = &item->sheets[index];
    stream_text(out, "\"values\": [");
    for (size_t row = 0; row < sheet->rows.size; row++) {
        stream_text(out, row ? ", [" : "[");
        for (size_t column = 0; column < sheet->columns.size; column++) {
            bool counted = item->counts[index][row * sheet->columns.size + column] > 0;
            stream_text(out, column ? ", " : "");
            json_write_float(out, counted ? sheet_cell(sheet, row, column) : NAN);
        }
        stream_char(out, ']');
    }
    stream_char(out, ']');
}

static void json_axis(struct stream *out, const char *name, const struct axis *axis)
{
    stream_format(out, "\"%s\": [", name);
    for (size_t i = 0; i < axis->size; i++)
        stream_format(out, "%s%s", i ? ", " : "", axis->labels[i].plain);
    stream_text(out, "], ");
}

static void json_measurement(struct stream *out, const struct measurement *item)
{
    stream_text(out, "{\"basis\": ");
    json_text(out, item->basis);
    stream_text(out, ", ");
    if (item->of_cells)
        stream_text(out, "\"maps\": [");
    else if (!item->count)
        stream_text(out, "\"layers\": [], \"heads\": [], \"values\": []");
    for (size_t i = 0; i < item->count; i++) {
        if (item->of_cells) {
            stream_format(out, "%s{\"layer\": %d, \"head\": %d, ", i ? ", " : "",
                          item->sheets[i].layer, item->sheets[i].head);
        } else {
            json_axis(out, "layers", &item->sheets[i].rows);
            json_axis(out, "heads", &item->sheets[i].columns);
        }
        json_rows(out, item, i);
        stream_text(out, item->of_cells ? "}" : "");
    }
    stream_text(out, item->of_cells ? "]}" : "}");
}

void measured_json_measures(struct stream *out, const struct measured *measured, const char *gap)
{
    stream_char(out, '{');
    for (size_t i = 0; i < measured->count; i++) {
        stream_format(out, "%s%s\"%s\": ", i ? (*gap ? "," : ", ") : "", gap,
                      measured->items[i].name);
        json_measurement(out, &measured->items[i]);
    }
    stream_char(out, '}');
}

static void json_columns(struct stream *out, const struct measured *measured)
{
    const char *gap = "";
    stream_text(out, "\"settings\": {");
    for (size_t i = 0; i < measured->column_count; i++) {
        if (!measured->columns[i].value)
            continue;
        stream_text(out, gap);
        json_text(out, measured->columns[i].name);
        stream_text(out, ": ");
        json_text(out, measured->columns[i].value);
        gap = ", ";
    }
    stream_text(out, "}, ");
}

void measured_json_write(struct stream *out, const struct measured_list *list)
{
    stream_text(out, "{\"groups\": [");
    for (size_t i = 0; i < list->count; i++) {
        const struct measured *measured = &list->items[i];
        stream_text(out, i ? ",\n {\"model\": " : "\n {\"model\": ");
        json_text(out, measured->model);
        stream_format(out, ", \"texts\": %llu, ", (unsigned long long)measured->texts);
        json_columns(out, measured);
        stream_text(out, "\"measures\": ");
        measured_json_measures(out, measured, "\n  ");
        stream_char(out, '}');
    }
    stream_text(out, "]}\n");
}
