/* frame_write.c: frames as CSV, as tidy CSV and as JSON. */
#include "write/frame_write.h"

#include <math.h>

#include "base/num.h"
#include "write/csv.h"
#include "write/text_line.h"

static bool is_data(const struct column *column)
{
    return !(column->flags & COLUMN_TEXT_ONLY);
}

/* Append a number, or nothing where it is missing. */
static void add_number(struct buf *line, const struct column *column, size_t row)
{
    char text[NUM_FLOAT_BYTES];
    double number = column_number(column, row);
    if (isnan(number))
        return;
    if (column->kind == COLUMN_INTEGER)
        buf_format(line, "%lld", column_integer(column, row));
    else
        buf_bytes(line, text, num_float(text, (float)number));
}

static void add_cell(struct buf *line, const struct column *column, size_t row)
{
    if (column->kind == COLUMN_FLOAT || column->kind == COLUMN_INTEGER) {
        add_number(line, column, row);
        return;
    }
    const char *text = column_text(column, row, false);
    csv_field(line, text ? text : "");
}

static int write_line(struct stream *out, struct buf *line, const struct frame *frame,
                      const struct place *place, bool names, size_t row, struct err *err)
{
    const char *comma = "";
    buf_clear(line);
    csv_report_place(line, place, names);
    for (size_t i = 0; i < frame->count; i++) {
        if (!is_data(&frame->columns[i]))
            continue;
        buf_text(line, comma);
        comma = ",";
        if (names)
            csv_field(line, frame->columns[i].name);
        else
            add_cell(line, &frame->columns[i], row);
    }
    buf_char(line, '\n');
    return text_send(out, line, err);
}

int frame_csv_write(struct stream *out, const struct frame *frame, const struct place *place,
                    struct err *err)
{
    struct buf line = {0};
    int failed = place->index == 0 ? write_line(out, &line, frame, place, true, 0, err) : 0;
    for (size_t row = 0; row < frame->rows.size && !failed; row++)
        failed = write_line(out, &line, frame, place, false, row, err);
    buf_release(&line);
    return failed ? -1 : 0;
}

/* The row's number: its position, of a table that lists the tokens once for each layer. */
static size_t row_number(const struct frame *frame, size_t row)
{
    int position = frame_key(frame, "position", row);
    return position >= 0 ? (size_t)position : frame->rows.first + row;
}

static void add_key(struct buf *line, const struct frame *frame, const char *name, size_t row)
{
    int key = frame_key(frame, name, row);
    if (key >= 0)
        buf_format(line, "%d", key);
    buf_char(line, ',');
}

int frame_tidy_write(struct stream *out, const struct frame *frame, const struct place *place,
                     struct err *err)
{
    struct buf line = {0};
    int failed = 0;
    const struct column *models = frame_models(frame);
    for (size_t row = 0; row < frame->rows.size && !failed; row++)
        for (size_t i = 0, at = 0; i < frame->count && !failed; i++) {
            const struct column *column = &frame->columns[i];
            if (!column_is_result(column))
                continue;
            buf_clear(&line);
            csv_report_place(&line, place, false);
            if (models) {
                add_cell(&line, models, row);
                buf_char(&line, ',');
            }
            buf_format(&line, "%s,", frame->name);
            add_key(&line, frame, "layer", row);
            add_key(&line, frame, "head", row);
            buf_format(&line, "%zu,", row_number(frame, row));
            csv_field(&line, frame->rows.labels[row].plain);
            buf_format(&line, ",%zu,%s,", at++, column->name);
            add_number(&line, column, row);
            buf_char(&line, '\n');
            failed = text_send(out, &line, err);
        }
    buf_release(&line);
    return failed ? -1 : 0;
}

static void put_cell(struct json_writer *json, const struct column *column, size_t row)
{
    if (column->kind == COLUMN_FLOAT)
        json_put_float(json, column->name, (float)column_float(column, row));
    else if (column->kind == COLUMN_TEXT || column->kind == COLUMN_LABEL)
        json_put_text(json, column->name, column_text(column, row, false));
    else if (column_integer(column, row) == COLUMN_MISSING)
        json_put_text(json, column->name, NULL);
    else
        json_put_integer(json, column->name, column_integer(column, row));
}

void frame_json_row(struct json_writer *json, const struct frame *frame, size_t row)
{
    for (size_t i = 0; i < frame->count; i++)
        if (is_data(&frame->columns[i]))
            put_cell(json, &frame->columns[i], row);
}

void frame_json_write(struct json_writer *json, const struct frame *frame)
{
    json_put_open(json, frame->name, '[');
    for (size_t row = 0; row < frame->rows.size; row++) {
        json_put_open(json, "\n  ", '{');
        frame_json_row(json, frame, row);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}
