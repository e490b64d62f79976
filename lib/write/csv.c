/* csv.c: csv and tidy. csv writes a table as it is. A matrix has keys as columns and queries as
 * rows; several matrices with the same columns, such as those of all heads, become one table, in
 * which tensor, layer and head precede each row:
 *
 *     query\key,0:Life,1:is             tensor,layer,head,row,0:Life,1:is
 *     0:Life,1,0                         weights,0,0,0:Life,1,0
 *     1:is,0.25,0.75                     weights,0,0,1:is,0.25,0.75
 *                                        weights,0,1,0:Life,1,0
 *
 * One matrix is such a table, too, if its stream has columns of the input, which precede these.
 *
 * In pandas, one head is `t[(t.layer == 0) & (t["head"] == 3)].set_index("row").iloc[:, 3:]`; in
 * gnuplot, with commas as separator, `plot "< grep -e ^tensor -e ^weights,0,3, heads.csv |
 * cut -d, -f4-" matrix rowheaders columnheaders with image`.
 *
 * tidy has a line for each number of a table, and for each visible cell of a matrix. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "write/format.h"
#include "write/text.h"

/* Append a text as it is, but with controls as \xNN, except white space, and with U+FFFD for bytes
 * that are not UTF-8. Terminals (base/stream.h) escape other invisible characters. */
static void append_safe(struct buf *out, const char *text, size_t size)
{
    char sign[TERMINAL_SIGN_BYTES];
    uint32_t c = 0;
    for (size_t at = 0, length; at < size; at += length) {
        length = utf8_decode(&c, text + at, size - at);
        if (!length) {
            buf_text(out, "\xef\xbf\xbd"); /* U+FFFD */
            length = 1;
        } else if ((c < 0x20 || (c >= 0x7f && c < 0xa0)) && utf8_class(c) != UTF8_SPACE) {
            terminal_sign(sign, text + at, length);
            buf_text(out, sign);
        } else {
            buf_bytes(out, text + at, length);
        }
    }
}

void csv_field(struct buf *out, const char *text)
{
    char *end;
    strtod(text, &end);
    bool formula = *end && strchr("=+-@\t", *text); /* a spreadsheet would evaluate it */
    bool quoted = formula || text[strcspn(text, ",\"\r\n")];
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

/* Append a field and a comma; nothing before it for NULL. */
static void add_field(struct buf *line, const char *text)
{
    csv_field(line, text ? text : "");
    buf_char(line, ',');
}

/* The number of settings and columns of the input before the cells of a matrix or, with the text of
 * the item, of a table. */
static size_t leading_count(const struct writer *writer)
{
    bool has_tables = writer->format->begin == csv_begin && report_has_tables(writer->report);
    return writer->report->identity.extra_count +
           (has_tables ? writer->report->identity.text_count : 0);
}

/* Append the cells that identify a report in its stream, each with a comma: the leading columns,
 * the model, the sentence. */
static void add_identity(struct writer *writer)
{
    const struct identity *identity = &writer->report->identity;
    struct buf *line = &writer->line;
    for (size_t i = 0; i < leading_count(writer); i++)
        add_field(line, identity->extras[i].value);
    if (identity->model)
        add_field(line, identity->model);
    if (identity_sentences(identity) > 1)
        buf_format(line, "%zu,", identity_sentence(identity));
}

/* Append the name of a column, and a comma. It is changed if a column of the input has it: a
 * leading one or, unless it is one of these (`leads`), one that a table has itself. */
static void add_name(struct writer *writer, const char *name, bool leads, struct err *err)
{
    const struct report *report = writer->report;
    size_t count = leading_count(writer), index;
    bool taken = true;
    while (name && taken) {
        const struct column *own =
            report->table_count && !leads ? table_column(report->tables, name) : NULL;
        taken = (own && own->flags & COLUMN_LEADS) ||
                (count && names_find(&index, NAMES(writer->report->identity.extras, count), name,
                                     strlen(name)));
        name = taken ? arena_format(&writer->arena, err, "attn_%s", name) : name;
    }
    add_field(&writer->line, name);
}

/* Append the names of the columns of add_identity. */
static void add_identity_names(struct writer *writer, struct err *err)
{
    const struct identity *identity = &writer->report->identity;
    for (size_t i = 0; i < leading_count(writer); i++)
        add_field(&writer->line, identity->extras[i].name);
    if (identity->model)
        add_name(writer, "model", false, err);
    if (identity_sentences(identity) > 1)
        add_name(writer, "sentence", false, err);
}

/* Write a number of a matrix; nothing for NaN. */
static void put_float(struct stream *out, float value)
{
    if (!isnan(value))
        stream_float(out, value);
}

static int send(struct writer *writer, struct err *err)
{
    int failed = err->kind ? -1 : text_send(writer->out, &writer->line, err);
    buf_clear(&writer->line);
    return failed;
}

/* End a line of cells that each have a comma, and send it. */
static int send_cells(struct writer *writer, struct err *err)
{
    struct buf *line = &writer->line;
    line->size -= line->size > 0;
    buf_char(line, '\n');
    return send(writer, err);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Append a cell and a comma; a missing value is empty. */
static void add_cell(struct buf *line, const struct column *column, size_t row)
{
    char digits[NUM_FLOAT_BYTES];
    double number = column_number(column, row);
    if (column_is_text(column)) {
        add_field(line, column_text(column, row, false));
        return;
    }
    if (!isnan(number) && column->kind == COLUMN_INTEGER)
        buf_format(line, "%lld", column_integer(column, row));
    else if (!isnan(number))
        buf_bytes(line, digits, num_float(digits, (float)number));
    buf_char(line, ',');
}

/* Write the first table of the report. All reports of a stream share one header. */
static int write_table(struct writer *writer, const struct table *table, struct err *err)
{
    struct buf *line = &writer->line;
    for (size_t i = writer->report->identity.index > 0; i <= table->rows.size; i++) {
        if (i)
            add_identity(writer);
        else
            add_identity_names(writer, err);
        for (size_t c = 0; c < table->count; c++) {
            const struct column *column = &table->columns[c];
            if (column->flags & COLUMN_TEXT_ONLY)
                continue;
            if (!i)
                add_name(writer, column->name, column->flags & COLUMN_LEADS, err);
            else
                add_cell(line, column, i - 1);
        }
        if (send_cells(writer, err))
            return -1;
    }
    return 0;
}

/* Append an index (none if negative) or "mean", and a comma. */
static void add_index(struct buf *line, int number, bool mean)
{
    if (mean)
        buf_text(line, "mean");
    else if (number >= 0)
        buf_format(line, "%d", number);
    buf_char(line, ',');
}

/* Write the results of a table for tidy, a line for each. */
static int write_results(struct writer *writer, const struct table *table, struct err *err)
{
    struct buf *line = &writer->line;
    for (size_t row = 0; row < table->rows.size; row++)
        for (size_t i = 0, at = 0; i < table->count; i++) {
            if (!column_is_result(&table->columns[i]))
                continue;
            add_identity(writer);
            for (size_t c = 0; c < table->count; c++)
                if (table->columns[c].flags & COLUMN_LEADS)
                    add_cell(line, &table->columns[c], row);
            buf_format(line, "%s,", table->name);
            add_index(line, table_key(table, "layer", row), false);
            add_index(line, table_key(table, "head", row), false);
            int position = table_key(table, "position", row); /* in tables by layer and token */
            buf_format(line, "%td,", position >= 0 ? position : axis_number(&table->rows, row));
            add_field(line, table->rows.labels[row].plain);
            if (writer->report->identity.of_pairs)
                add_index(line, table_key(table, "segment", row), false);
            buf_format(line, "%zu,%s,%s", at++, table->columns[i].name,
                       writer->report->identity.of_pairs ? "," : "");
            add_cell(line, &table->columns[i], row);
            if (send_cells(writer, err))
                return -1;
        }
    return 0;
}

/* --- csv: one matrix, or several as one table ------------------------------------------------- */

/* True if a table has keys or values, whose heads are in a column of their own. */
static bool has_kv_heads(const struct report *report)
{
    for (size_t i = 0; i < report->array_count && !report_has_tables(report); i++)
        if (report->arrays[i].shared_by)
            return true;
    return false;
}

enum { SHEET_NAMES = 5, CELL_NAMES = 11 }; /* columns of add_sheet and the row's label; of tidy */

/* Append the names of the first `count` columns of tidy. */
static void add_cell_names(struct writer *writer, size_t count, struct err *err)
{
    static const char *const names[CELL_NAMES] = {
        "tensor",      "layer",  "head",         "kv_head",        "row",  "row_token",
        "row_segment", "column", "column_token", "column_segment", "value"};
    for (size_t i = 0; i < count; i++)
        if ((strcmp(names[i], "kv_head") != 0 || has_kv_heads(writer->report)) &&
            (!strstr(names[i], "segment") || writer->report->identity.of_pairs))
            add_name(writer, names[i], false, err);
}

/* Append the tensor, layer and head of a cell or row, such as "weights,0,1,"; "mean" for a mean. */
static void add_sheet(struct writer *writer, const struct sheet *sheet, size_t row, size_t column)
{
    struct buf *line = &writer->line;
    int layer, head;
    sheet_layer_head(sheet, row, column, &layer, &head);
    buf_format(line, "%s,", sheet->name);
    add_index(line, layer, sheet->mean_of_layers);
    bool of_queries = sheet->shared_by <= 1; /* one key/value head for each query head, or none */
    add_index(line, of_queries ? head : -1, of_queries && sheet->mean_of_heads);
    if (has_kv_heads(writer->report))
        add_index(line, sheet->shared_by ? head : -1, sheet->shared_by && sheet->mean_of_heads);
}

/* Refuse matrices that do not fit into one table. */
static int check_columns(const struct report *report, struct err *err)
{
    struct sheet first = array_matrix(report, &report->arrays[0], 0);
    for (size_t i = 1; i < report->array_count; i++) {
        struct sheet other = array_matrix(report, &report->arrays[i], 0);
        const struct axis *x = &first.columns, *y = &other.columns;
        bool same = x->size == y->size;
        for (size_t c = 0; same && x->labels != y->labels && c < x->size; c++)
            same = strcmp(x->labels[c].exact, y->labels[c].exact) == 0;
        if (!same)
            return err_usage(
                err,
                "--format csv: expected the same columns in all matrices of a table, "
                "found %zu %ss of '%s', %zu %ss of '%s': use --format tidy or a folder (-o DIR/)",
                first.columns.size, first.columns.name, first.name, other.columns.size,
                other.columns.name, other.name);
    }
    /* all sentences share a source, but not their tokens or words */
    const struct tokenized *text = report_text_of(report, &first.columns);
    bool of_own = text == &report->sentence ||
                  (strcmp(first.columns.name, "key") == 0 && text != &report->source);
    if (identity_sentences(&report->identity) > 1 && of_own)
        return err_usage(
            err,
            "--format csv: expected the same columns in all matrices of a table, found "
            "'%s' of %zu sentences, each with its own %ss: use --format tidy or a folder (-o DIR/)",
            first.name, identity_sentences(&report->identity), first.columns.name);
    return 0;
}

/* True if several matrices share the stream, or rows begin with columns of the input. */
static bool has_leading(const struct writer *writer)
{
    const struct report *report = writer->report;
    return report->array_count > 1 || array_matrix_count(report->arrays) > 1 ||
           writer->report->identity.count > 1 || writer->report->identity.extra_count;
}

int csv_begin(struct writer *writer, struct err *err)
{
    const struct report *report = writer->report;
    for (size_t i = 0; i < report->table_count; i++)
        if (!(report->tables[i].flags & COLUMN_TEXT_ONLY))
            return write_table(writer, &report->tables[i], err);
    if (!report->array_count)
        return 0;
    if (check_columns(report, err))
        return -1;
    if (has_leading(writer) && writer->report->identity.index > 0)
        return 0;
    struct sheet first = array_matrix(report, &report->arrays[0], 0);
    if (has_leading(writer)) {
        add_identity_names(writer, err);
        add_cell_names(writer, SHEET_NAMES, err);
    } else {
        buf_format(&writer->line, "%s\\%s,", first.rows.name, first.columns.name);
    }
    for (size_t c = 0; c < first.columns.size; c++)
        add_name(writer, first.columns.labels[c].exact, false, err);
    return send_cells(writer, err);
}

int csv_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    struct stream *out = writer->out;
    bool table = has_leading(writer);
    for (size_t r = 0; r < sheet->rows.size; r++) {
        if (table) {
            add_identity(writer);
            add_sheet(writer, sheet, r, SHEET_NO_COLUMN);
        }
        csv_field(&writer->line, sheet->rows.labels[r].exact);
        if (send(writer, err))
            return -1;
        for (size_t c = 0; c < sheet->columns.size; c++) {
            stream_char(out, ',');
            put_float(out, sheet_cell(sheet, r, c));
        }
        stream_char(out, '\n');
    }
    return 0;
}

/* --- tidy: a line for each cell ------------------------------------------------------------------
 *
 * A line is joined from parts that are formatted once: for the row, such as "weights,0,1,3,the,",
 * and for each column, such as "0,Life,". `columns` holds the latter, each with a final NUL. */

int tidy_begin(struct writer *writer, struct err *err)
{
    const struct report *report = writer->report;
    if (writer->report->identity.index == 0) {
        add_identity_names(writer, err);
        for (size_t i = 0; i < (report->table_count ? report->tables->count : 0); i++)
            if (report->tables->columns[i].flags & COLUMN_LEADS)
                add_name(writer, report->tables->columns[i].name, true, err);
        add_cell_names(writer, CELL_NAMES, err);
        if (send_cells(writer, err))
            return -1;
    }
    for (size_t i = 0; i < report->table_count; i++)
        if (!(report->tables[i].flags & COLUMN_TEXT_ONLY) &&
            write_results(writer, &report->tables[i], err))
            return -1;
    return 0;
}

/* Append the number and the label of a position, and in pairs the text of its token. */
static void add_position(struct buf *part, size_t index, const struct axis *axis,
                         const struct writer *writer)
{
    static const char *const of_tokens[] = {"query", "key", "token"};
    const struct tokenized *text = &writer->report->sentence;
    ptrdiff_t at = axis_number(axis, index);
    size_t kind;
    add_index(part, (int)at, false);
    add_field(part, axis->labels[index].plain);
    if (!writer->report->identity.of_pairs)
        return;
    at += (ptrdiff_t)(text->words ? text->words_before : 0);
    bool is_token = at >= 0 && !(text->words && (size_t)at >= text->word_count) &&
                    names_find(&kind, NAMES_LIST(of_tokens), axis->name, strlen(axis->name));
    size_t token = is_token && text->words ? text->words[at].first : (size_t)at;
    add_index(part, !is_token ? -1 : text->second && token >= text->second, false);
}

static int write_cells(struct writer *writer, const struct sheet *sheet, size_t row,
                       struct err *err)
{
    struct buf *line = &writer->line;
    const char *column = writer->columns.bytes;
    bool made = false;
    for (size_t c = 0; c < sheet->columns.size; c++, column += strlen(column) + 1) {
        if (sheet_hides(sheet, row, c))
            continue;
        if (!made || axis_has_heads(&sheet->columns)) {
            buf_clear(line);
            add_identity(writer);
            add_sheet(writer, sheet, row, c);
            add_position(line, row, &sheet->rows, writer);
            if (buf_check(line, err))
                return -1;
            made = true;
        }
        stream_bytes(writer->out, line->bytes, line->size);
        stream_text(writer->out, column);
        put_float(writer->out, sheet_cell(sheet, row, c));
        stream_char(writer->out, '\n');
    }
    return 0;
}

int tidy_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    struct buf *columns = &writer->columns;
    buf_clear(columns);
    for (size_t c = 0; c < sheet->columns.size; c++) {
        add_position(columns, c, &sheet->columns, writer);
        buf_char(columns, '\0');
    }
    int failed = buf_check(columns, err);
    for (size_t row = 0; row < sheet->rows.size && !failed; row++)
        failed = write_cells(writer, sheet, row, err);
    return failed;
}
