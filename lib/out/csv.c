/* csv.c: matrices as people load them into pandas, R and gnuplot: keys on top, queries at the left.
 *
 * One matrix stands alone. Several, or several sentences, are blocks with a `#` line above and two
 * blank lines between them, which is what gnuplot counts as `index`. It takes column headers from
 * the first block only; for a later one say `index 3 matrix rowheaders every :::1`.
 */
#include "out/csv_field.h"
#include "out/format.h"

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

static int write_sheet(struct stream *out, struct buf *line, const struct sheet *sheet,
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

/* # sentence 0: Life is short */
static int write_sentence(struct stream *out, struct buf *line, const struct report *report,
                          const struct place *place, struct err *err)
{
    if (place->index > 0)
        stream_text(out, "\n\n");
    buf_format(line, "# sentence %zu: ", place->index);
    reading_visible(line, &report->sentence);
    buf_char(line, '\n');
    if (buf_check(line, err))
        return -1;
    put_line(out, line);
    return 0;
}

int csv_write(struct stream *out, const struct report *report, const struct place *place,
              struct err *err)
{
    struct buf line = {0};
    size_t count = report_sheet_count(report);
    bool several = place->count > 1;
    int failed = several ? write_sentence(out, &line, report, place, err) : 0;
    for (size_t i = 0; i < count && !failed; i++) {
        struct sheet sheet = report_sheet(report, i);
        char title[SHEET_NAME_BYTES];
        if (i > 0)
            stream_text(out, "\n\n");
        if (several || count > 1)
            stream_format(out, "# %s\n", sheet_title(title, &sheet));
        failed = write_sheet(out, &line, &sheet, err);
    }
    buf_release(&line);
    return failed;
}
