/* tidy.c: CSV with a line for every cell, for data frames: what dplyr, ggplot and SQL like best.
 * Cells that a sheet hides are left out. */
#include "base/heap.h"
#include "write/csv.h"
#include "write/frame_write.h"
#include "write/text_line.h"

/* A line is put together from parts that are made once: what a sheet, a row or a column always
 * says. */
struct parts {
    struct buf row;      /* weights,0,1,3,the, */
    struct buf columns;  /* 0,Life,1,is,…: the parts of all columns, one after the other */
    size_t *column_ends; /* where each of them ends */
};

static void add_place(struct buf *part, size_t index, const struct axis *axis)
{
    buf_format(part, "%zu,", axis->first + index);
    csv_field(part, axis->labels[index].plain);
    buf_char(part, ',');
}

static int make_columns(struct parts *parts, const struct axis *columns, struct err *err)
{
    heap_free(parts->column_ends);
    parts->column_ends = heap_alloc(columns->size, sizeof *parts->column_ends, err);
    if (!parts->column_ends)
        return -1;
    buf_clear(&parts->columns);
    for (size_t c = 0; c < columns->size; c++) {
        add_place(&parts->columns, c, columns);
        parts->column_ends[c] = parts->columns.size;
    }
    return buf_check(&parts->columns, err);
}

static int make_row(struct parts *parts, const struct place *place, const struct sheet *sheet,
                    size_t row, size_t column, struct err *err)
{
    struct buf *part = &parts->row;
    buf_clear(part);
    csv_report_place(part, place, false);
    csv_sheet_place(part, sheet, row, column);
    add_place(part, row, &sheet->rows);
    return buf_check(part, err);
}

static int write_row(struct stream *out, struct parts *parts, const struct place *place,
                     const struct sheet *sheet, size_t row, struct err *err)
{
    bool made = false;
    for (size_t c = 0; c < sheet->columns.size; c++) {
        size_t start = c ? parts->column_ends[c - 1] : 0;
        if (sheet_hides(sheet, row, c))
            continue;
        if ((!made || axis_has_heads(&sheet->columns)) &&
            make_row(parts, place, sheet, row, c, err))
            return -1;
        made = true;
        stream_bytes(out, parts->row.bytes, parts->row.size);
        stream_bytes(out, parts->columns.bytes + start, parts->column_ends[c] - start);
        stream_float(out, sheet_cell(sheet, row, c));
        stream_char(out, '\n');
    }
    return 0;
}

int tidy_write(struct stream *out, const struct report *report, const struct place *place,
               struct err *err)
{
    struct parts parts = {0};
    int failed = 0;
    if (place->index == 0) {
        csv_report_place(&parts.row, place, true);
        if (report->frame_count && frame_models(&report->frames[0]))
            buf_text(&parts.row, "model,");
        buf_text(&parts.row, "tensor,layer,head,row,row_token,column,column_token,value\n");
        failed = text_send(out, &parts.row, err);
    }
    for (size_t i = 0; i < report->frame_count && !failed; i++)
        if (!(report->frames[i].flags & COLUMN_TEXT_ONLY))
            failed = frame_tidy_write(out, &report->frames[i], place, err);
    size_t sheets = report_has_tables(report) ? 0 : report_sheet_count(report);
    for (size_t i = 0; i < sheets && !failed; i++) {
        struct sheet sheet = report_sheet(report, i);
        failed = make_columns(&parts, &sheet.columns, err);
        for (size_t row = 0; row < sheet.rows.size && !failed; row++)
            failed = write_row(out, &parts, place, &sheet, row, err);
    }
    buf_release(&parts.row);
    buf_release(&parts.columns);
    heap_free(parts.column_ends);
    return failed;
}
