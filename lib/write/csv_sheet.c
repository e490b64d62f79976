#include "write/csv_sheet.h"

#include <string.h>

#include "write/csv_field.h"
#include "write/text_line.h"

static void add_columns(struct buf *line, const struct axis *columns)
{
    for (size_t c = 0; c < columns->size; c++) {
        buf_char(line, ',');
        csv_field(line, columns->labels[c].exact);
    }
    buf_char(line, '\n');
}

/* Rows that begin with `place`. */
static int write_rows(struct stream *out, struct buf *line, const struct buf *place,
                      const struct sheet *sheet, struct err *err)
{
    for (size_t r = 0; r < sheet->rows.size; r++) {
        buf_clear(line);
        buf_bytes(line, place->bytes, place->size);
        csv_field(line, sheet->rows.labels[r].exact);
        if (text_send(out, line, err))
            return -1;
        for (size_t c = 0; c < sheet->columns.size; c++) {
            stream_char(out, ',');
            stream_float(out, sheet_cell(sheet, r, c));
        }
        stream_char(out, '\n');
    }
    return 0;
}

int csv_sheet_write(struct stream *out, const struct sheet *sheet, struct err *err)
{
    struct buf line = {0};
    buf_format(&line, "%s\\%s", sheet->rows.name, sheet->columns.name);
    add_columns(&line, &sheet->columns);
    int failed = text_send(out, &line, err) || write_rows(out, &line, &(struct buf){0}, sheet, err);
    buf_release(&line);
    return failed ? -1 : 0;
}

int csv_table_begin(struct stream *out, const char *names, const struct sheet *sheet,
                    struct err *err)
{
    struct buf line = {0};
    buf_text(&line, names);
    add_columns(&line, &sheet->columns);
    int failed = text_send(out, &line, err);
    buf_release(&line);
    return failed;
}

int csv_table_add(struct stream *out, const struct buf *place, const struct sheet *sheet,
                  struct err *err)
{
    struct buf line = {0};
    int failed = buf_check(place, err) || write_rows(out, &line, place, sheet, err);
    buf_release(&line);
    return failed ? -1 : 0;
}

/* A number, nothing where there is none, or that it is the mean over all. */
static void add_number(struct buf *line, int number, bool mean)
{
    if (mean)
        buf_text(line, "mean");
    else if (number >= 0)
        buf_format(line, "%d", number);
    buf_char(line, ',');
}

void csv_sheet_place(struct buf *line, const struct sheet *sheet)
{
    buf_format(line, "%s,", sheet->tensor);
    add_number(line, sheet->layer, sheet->mean_of_layers);
    add_number(line, sheet->head, sheet->mean_of_heads);
}

bool csv_same_columns(const struct sheet *a, const struct sheet *b)
{
    const struct axis *x = &a->columns;
    const struct axis *y = &b->columns;
    bool same = x->size == y->size;
    for (size_t i = 0; same && x->labels != y->labels && i < x->size; i++)
        same = strcmp(x->labels[i].exact, y->labels[i].exact) == 0;
    return same;
}
