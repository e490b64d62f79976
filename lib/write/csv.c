#include "write/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/utf8.h"
#include "write/frame_write.h"
#include "write/text_line.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Of what labels show as \xNN, white space stays as it is: the text of a token is data here. */
static void append_safe(struct buf *out, const char *text, size_t size)
{
    char sign[TERMINAL_SIGN_BYTES];
    uint32_t c = 0;
    for (size_t at = 0, length; at < size; at += length) {
        length = utf8_decode(&c, text + at, size - at);
        if (!length) {
            buf_text(out, replacement);
            length = 1;
        } else if (utf8_is_visible(c) || utf8_class(c) == UTF8_SPACE) {
            buf_bytes(out, text + at, length);
        } else {
            terminal_sign(sign, text + at, length);
            buf_text(out, sign);
        }
    }
}

/* Would a spreadsheet take it for a formula? */
static bool is_formula(const char *text)
{
    char *end;
    strtod(text, &end);
    return *end && strchr("=+-@\t", *text);
}

void csv_field(struct buf *out, const char *text)
{
    bool quoted = text[strcspn(text, ",\"\r\n")] || is_formula(text);
    if (quoted)
        buf_char(out, '"');
    for (;;) {
        size_t size = strcspn(text, "\"");
        append_safe(out, text, size);
        if (text[size] == '\0')
            break;
        buf_text(out, "\"\"");
        text += size + 1;
    }
    if (quoted)
        buf_char(out, '"');
}

static void add_columns(struct buf *line, const struct axis *columns)
{
    for (size_t c = 0; c < columns->size; c++) {
        buf_char(line, ',');
        csv_field(line, columns->labels[c].exact);
    }
    buf_char(line, '\n');
}

/* In a table (`place` is not NULL) rows begin with what they are of. */
static int write_rows(struct stream *out, struct buf *line, const struct place *place,
                      const struct sheet *sheet, struct err *err)
{
    for (size_t r = 0; r < sheet->rows.size; r++) {
        buf_clear(line);
        if (place) {
            csv_report_place(line, place, false);
            csv_sheet_place(line, sheet, r, SHEET_NO_COLUMN);
        }
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

static int write_sheet(struct stream *out, const struct sheet *sheet, struct err *err)
{
    struct buf line = {0};
    buf_format(&line, "%s\\%s", sheet->rows.name, sheet->columns.name);
    add_columns(&line, &sheet->columns);
    int failed = text_send(out, &line, err) || write_rows(out, &line, NULL, sheet, err);
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

void csv_sheet_place(struct buf *line, const struct sheet *sheet, size_t row, size_t column)
{
    int layer, head;
    sheet_layer_head(sheet, row, column, &layer, &head);
    buf_format(line, "%s,", sheet->tensor);
    add_number(line, layer, sheet->mean_of_layers);
    add_number(line, head, sheet->mean_of_heads);
}

void csv_report_place(struct buf *line, const struct place *place, bool names)
{
    if (place->model) {
        csv_field(line, names ? "model" : place->model);
        buf_char(line, ',');
    }
    if (place_sentences(place) > 1 && names)
        buf_text(line, "sentence,");
    else if (place_sentences(place) > 1)
        buf_format(line, "%zu,", place_sentence(place));
}

/* Whether two sheets can be rows of one table. */
static bool same_columns(const struct sheet *a, const struct sheet *b)
{
    const struct axis *x = &a->columns;
    const struct axis *y = &b->columns;
    bool same = x->size == y->size;
    for (size_t i = 0; same && x->labels != y->labels && i < x->size; i++)
        same = strcmp(x->labels[i].exact, y->labels[i].exact) == 0;
    return same;
}

static int check_columns(const struct report *report, const struct place *place, struct err *err)
{
    struct sheet first = report_sheet(report, 0);
    for (size_t i = 1; i < report_sheet_count(report); i++) {
        struct sheet other = report_sheet(report, i);
        if (!same_columns(&first, &other))
            return err_usage(err,
                             "--format csv: expected the same columns in all of one table, found "
                             "%zu %ss of '%s', %zu %ss of '%s': give --format tidy, or a folder "
                             "(-o DIR/)",
                             first.columns.size, first.columns.name, first.tensor,
                             other.columns.size, other.columns.name, other.tensor);
    }
    /* a source is the same for all sentences; their own words are not */
    const struct tokenized *source = &report->source;
    const struct label *labels = first.columns.labels;
    bool of_source = labels >= source->labels && labels < source->labels + source->count;
    bool of_own =
        (strcmp(first.columns.name, "key") == 0 && !of_source) || labels == report->sentence.labels;
    if (place_sentences(place) > 1 && of_own)
        return err_usage(err,
                         "--format csv: expected the same columns in all of one table, found %ss "
                         "of '%s' in %zu sentences: give --format tidy, or a folder (-o DIR/)",
                         first.columns.name, first.tensor, place_sentences(place));
    return 0;
}

static int write_table(struct stream *out, const struct report *report, const struct place *place,
                       struct err *err)
{
    struct sheet first = report_sheet(report, 0);
    struct buf line = {0};
    int failed = 0;
    if (place->index == 0) {
        csv_report_place(&line, place, true);
        buf_text(&line, "tensor,layer,head,row");
        add_columns(&line, &first.columns);
        failed = text_send(out, &line, err);
    }
    for (size_t i = 0; i < report_sheet_count(report) && !failed; i++) {
        struct sheet sheet = report_sheet(report, i);
        failed = write_rows(out, &line, place, &sheet, err);
    }
    buf_release(&line);
    return failed ? -1 : 0;
}

int csv_write(struct stream *out, const struct report *report, const struct place *place,
              struct err *err)
{
    for (size_t i = 0; i < report->frame_count; i++) /* one stream holds one table: the first */
        if (!(report->frames[i].flags & COLUMN_TEXT_ONLY))
            return frame_csv_write(out, &report->frames[i], place, err);
    size_t count = report_sheet_count(report);
    if (count == 0)
        return 0;
    if (check_columns(report, place, err))
        return -1;
    if (count > 1 || place->count > 1)
        return write_table(out, report, place, err);
    struct sheet sheet = report_sheet(report, 0);
    return write_sheet(out, &sheet, err);
}
