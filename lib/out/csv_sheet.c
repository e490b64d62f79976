#include "out/csv_sheet.h"

#include "out/csv_field.h"

/* query\key,0:Life,1:is,… */
static void add_header(struct buf *line, const struct sheet *sheet)
{
    buf_format(line, "%s\\%s", sheet->rows.name, sheet->columns.name);
    for (size_t c = 0; c < sheet->columns.size; c++) {
        buf_char(line, ',');
        csv_field(line, sheet->columns.labels[c].exact);
    }
}

static void put_line(struct stream *out, struct buf *line)
{
    stream_bytes(out, line->bytes, line->size);
    buf_clear(line);
}

static int write_lines(struct stream *out, struct buf *line, const struct sheet *sheet,
                       struct err *err)
{
    add_header(line, sheet);
    if (buf_check(line, err))
        return -1;
    put_line(out, line);
    stream_char(out, '\n');
    for (size_t r = 0; r < sheet->rows.size; r++) {
        csv_field(line, sheet->rows.labels[r].exact);
        if (buf_check(line, err))
            return -1;
        put_line(out, line);
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
    int failed = write_lines(out, &line, sheet, err);
    buf_release(&line);
    return failed;
}
