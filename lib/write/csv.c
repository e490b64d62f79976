/* csv.c: csv, excel and tidy. csv writes a table as it is. A matrix has keys as columns and queries
 * as rows; several matrices with the same columns, such as all heads of a site, become one table,
 * in which tensor, layer and head precede each row:
 *
 *     query\key,0:Life,1:is             tensor,layer,head,row,0:Life,1:is
 *     0:Life,1,0                         weights,0,0,0:Life,1,0
 *     1:is,0.25,0.75                     weights,0,0,1:is,0.25,0.75
 *                                        weights,0,1,0:Life,1,0
 *
 * If columns of the input are copied to the output, they come before tensor, and even a single
 * matrix is written as such a table.
 *
 * In pandas, one head is `t[(t.layer == 0) & (t["head"] == 3)].set_index("row").iloc[:, 3:]`; in
 * gnuplot, with commas as separator, `plot "< grep -e ^tensor -e ^weights,0,3, heads.csv |
 * cut -d, -f4-" matrix rowheaders columnheaders with image`.
 *
 * tidy writes a line for each result in a table, and for each visible cell of a matrix. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "format/csv_read.h"
#include "write/format.h"
#include "write/text.h"

/* Append a text. Control characters other than white space become \xNN, and bytes that are not
 * UTF-8 become U+FFFD. On a terminal, base/stream.h also escapes other invisible characters. */
static void append_safe(struct buf *out, const char *text, size_t size)
{
    char sign[TERMINAL_SIGN_BYTES];
    uint32_t c = 0;
    for (size_t at = 0, length; at < size; at += length) {
        length = utf8_step(&c, text + at, size - at);
        if (c == UTF8_REPLACEMENT) {
            buf_text(out, "\xef\xbf\xbd"); /* the character U+FFFD in UTF-8 */
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
    bool formula = *end && strchr("=+-@\t", *text); /* a spreadsheet would evaluate the text */
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

/* --- excel: what spreadsheets of a locale open ------------------------------------------------ */

/* Languages that write 0,5 with a comma, and locales of these languages that write 0.5 with a
 * point. */
static const char decimal_commas[] =
    "af az be bg bs ca cs da de el es et eu fi fr gl hr hu hy id is it ka kk ky lt lv mk nb nl nn "
    "no pl pt ro ru sk sl sq sr sv tr uk uz vi";
static const char decimal_points[] =
    "de_CH de_LI es_DO es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_SV es_US it_CH";

enum { LANGUAGE_BYTES = 3, LOCALE_BYTES = 6 };

bool locale_is_valid(const char *name)
{
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz"), end = size;
    if (name[size] == '_')
        end += 1 + strspn(name + size + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0 ||
           ((size == 2 || size == LANGUAGE_BYTES) && (end == size || end == size + 3) &&
            (!name[end] || strchr(".@", name[end])));
}

static void set_locale(struct writer *writer)
{
    static const char *const variables[] = {"LC_ALL", "LC_NUMERIC", "LANG"};
    const char *name = writer->layout->locale;
    char language[LANGUAGE_BYTES + 1] = "", place[LOCALE_BYTES + 1] = "";
    for (size_t i = 0; i < sizeof variables / sizeof *variables && (!name || !*name); i++)
        name = getenv(variables[i]);
    name = name ? name : "C";
    size_t size = strcspn(name, "_.@"), whole = strcspn(name, ".@");
    memcpy(language, name, num_min(size, LANGUAGE_BYTES));
    memcpy(place, name, num_min(whole, LOCALE_BYTES));
    bool has_comma = name_is_among(decimal_commas, language);
    bool has_point = name_is_among(decimal_points, place);
    writer->decimal = has_comma && !has_point ? ',' : '.';
    writer->separator =
        writer->decimal == ',' || (has_point && strcmp(language, "es") != 0) ? ';' : ',';
}

/* Convert a line of CSV for a spreadsheet: numbers and separators as in the locale, and an
 * apostrophe before texts that a spreadsheet would evaluate. */
static void convert_line(struct writer *writer, struct buf *line, struct err *err)
{
    struct arena arena = {0};
    struct csv_record record;
    struct csv_reader reader = {line->bytes, line->bytes + line->size, 1, ','};
    const char special[] = {writer->separator, '"', '\r', '\n', 0};
    csv_read(&reader, &record, &arena, err);
    buf_clear(line);
    for (size_t i = 0; i < record.count; i++) {
        const char *field = record.fields[i];
        char *rest;
        strtod(field, &rest);
        const bool is_number = *field && !*rest;
        const char *quote = field[strcspn(field, special)] ? "\"" : "";
        buf_bytes(line, &writer->separator, i > 0);
        buf_text(line, quote);
        buf_text(line, !is_number && *field && strchr("=+-@\t", *field) ? "'" : "");
        for (; *field; field++) {
            buf_text(line, *field == '"' ? "\"" : "");
            buf_char(line, is_number && *field == '.' ? writer->decimal : *field);
        }
        buf_text(line, quote);
    }
    buf_text(line, "\r\n");
    arena_release(&arena);
}

/* --- cells ------------------------------------------------------------------------------------ */

/* A line of CSV that is being built, or a part of a line. If `is_header`, the functions below
 * append names of columns; otherwise they append cells. */
struct csv_line {
    struct writer *writer;
    struct buf *out;
    bool is_header;
    struct err *err;
};

/* The number of leading columns: settings of a sweep, columns copied from the input and, in tables
 * of csv and excel, the text of the item. The columns `model` and `sentence`, if any, follow; they
 * are not counted. */
static size_t leading_count(const struct writer *writer)
{
    bool has_tables = writer->format != &format_tidy && report_has_tables(writer->report);
    return writer->report->identity.extra_count +
           (has_tables ? writer->report->identity.text_count : 0);
}

static void add_field(struct buf *out, const char *text)
{
    csv_field(out, text ? text : "");
    buf_char(out, ',');
}

/* Append the name of a column. It gets the prefix attn_ if a leading column of the input has the
 * same name or, unless this column is itself a leading column (`leads`), if a leading column of the
 * table has it. */
static void add_name(struct csv_line *line, const char *name, bool leads)
{
    struct writer *writer = line->writer;
    const struct report *report = writer->report;
    size_t count = leading_count(writer), index;
    bool taken = true;
    while (name && taken) {
        const struct column *own =
            report->table_count && !leads ? table_column(report->tables, name) : NULL;
        taken = (own && own->flags & COLUMN_LEADS) ||
                (count &&
                 names_find(&index, NAMES(report->identity.extras, count), name, strlen(name)));
        name = taken ? arena_format(&writer->arena, line->err, "attn_%s", name) : name;
    }
    add_field(line->out, name);
}

static void add_text(struct csv_line *line, const char *name, const char *text)
{
    if (line->is_header)
        add_name(line, name, false);
    else
        add_field(line->out, text);
}

/* Append an index as a cell: "mean" if `mean`, an empty cell if the index is negative. In the
 * header, append `name`. */
static void add_index(struct csv_line *line, const char *name, ptrdiff_t index, bool mean)
{
    if (line->is_header || mean || index < 0)
        add_text(line, name, mean ? "mean" : "");
    else
        buf_format(line->out, "%td,", index);
}

/* Append a cell of a table, which is empty if its value is missing. In the header, append the
 * column's name. */
static void add_cell(struct csv_line *line, const struct column *column, size_t row)
{
    char digits[NUM_FLOAT_BYTES];
    double number = column_number(column, row);
    if (line->is_header) {
        add_name(line, column->name, column->flags & COLUMN_LEADS);
        return;
    }
    if (column_is_text(column)) {
        add_field(line->out, column_text(column, row, false));
        return;
    }
    if (!isnan(number) && column->kind == COLUMN_INTEGER)
        buf_format(line->out, "%lld", column_integer(column, row));
    else if (!isnan(number))
        buf_bytes(line->out, digits, num_float(digits, (float)number));
    buf_char(line->out, ',');
}

/* Append the cells that identify a report in the output: the leading columns and, if the output has
 * such columns, the name of the model and the number of the text. */
static void add_identity(struct csv_line *line)
{
    const struct identity *identity = &line->writer->report->identity;
    for (size_t i = 0; i < leading_count(line->writer); i++)
        add_field(line->out,
                  line->is_header ? identity->extras[i].name : identity->extras[i].value);
    if (identity->model)
        add_text(line, "model", identity->model);
    if (identity_texts(identity) > 1)
        add_index(line, "sentence", (ptrdiff_t)identity_text(identity), false);
}

/* Append the tensor, layer and head of a cell or row, such as "weights,0,1,"; "mean" stands for a
 * mean. If the report has key/value heads or copies of the residual stream, their numbers are in
 * columns of their own. */
static void add_sheet(struct csv_line *line, const struct sheet *sheet, size_t row, size_t column)
{
    const struct report *report = line->writer->report;
    int layer = -1, head = -1;
    if (!line->is_header)
        sheet_layer_head(sheet, row, column, &layer, &head);
    add_text(line, "tensor", sheet->name);
    add_index(line, "layer", layer, sheet->mean_of_layers);
    /* true if heads are query heads, not shared key/value heads or copies of the residual stream */
    bool of_queries = sheet->shared_by <= 1 && !sheet->of_copies;
    bool has_kv_heads = false, has_copies = false;
    add_index(line, "head", of_queries ? head : -1, of_queries && sheet->mean_of_heads);
    for (size_t i = 0; i < report->array_count && !report_has_tables(report); i++) {
        has_kv_heads |= report->arrays[i].shared_by > 0;
        has_copies |= array_is_of_copies(&report->arrays[i]);
    }
    if (has_kv_heads)
        add_index(line, "kv_head", sheet->shared_by ? head : -1,
                  sheet->shared_by && sheet->mean_of_heads);
    if (has_copies)
        add_index(line, "copy", sheet->of_copies ? head : -1, false);
}

static int send(struct csv_line *line)
{
    if (line->writer->separator && !line->err->kind && !buf_check(line->out, line->err))
        convert_line(line->writer, line->out, line->err);
    int failed = line->err->kind ? -1 : text_send(line->writer->out, line->out, line->err);
    buf_clear(line->out);
    return failed;
}

/* Write a line of cells, without the comma after the last cell. */
static int send_cells(struct csv_line *line)
{
    line->out->size -= line->out->size > 0;
    buf_char(line->out, '\n');
    return send(line);
}

/* Append a number of a matrix; nothing for NaN. */
static void add_float(struct buf *out, float value)
{
    char digits[NUM_FLOAT_BYTES];
    if (!isnan(value))
        buf_bytes(out, digits, num_float(digits, value));
}

/* --- csv: a table, one matrix, or several matrices as one table ------------------------------- */

/* Refuse matrices with different columns, which do not fit into one table. */
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
    /* true if each text has columns of its own; if the columns belong to a source that all texts
     * share, they are the same for all texts */
    const struct tokenized *text = report_text_of(report, &first.columns);
    bool of_own = !first.columns.joined && /* joined columns have the same names in all texts */
                  (text == &report->text ||
                   (strcmp(first.columns.name, "key") == 0 && text != &report->source));
    if (identity_texts(&report->identity) > 1 && of_own)
        return err_usage(
            err,
            "--format csv: expected the same columns in all matrices of a table, found "
            "'%s' of %zu sentences, each with its own %ss: use --format tidy or a folder (-o DIR/)",
            first.name, identity_texts(&report->identity), first.columns.name);
    return 0;
}

/* True if rows need leading columns: several matrices are in one table, or the output has columns
 * of a sweep's settings or of the input. */
static bool has_leading(const struct writer *writer)
{
    const struct report *report = writer->report;
    return report->array_count > 1 || array_matrix_count(report->arrays) > 1 ||
           report->identity.count > 1 || report->identity.extra_count;
}

/* Write the first table, or the header of the matrices. All reports in an output share one
 * header. */
static int csv_begin(struct writer *writer, struct err *err)
{
    const struct report *report = writer->report;
    struct csv_line line = {writer, &writer->line, report->identity.index == 0, err};
    const struct table *table = report->tables, *end = table + report->table_count;
    while (table < end && table->flags & COLUMN_TEXT_ONLY)
        table++;
    for (size_t i = !line.is_header; table < end && i <= table->rows.size; i++) {
        line.is_header = i == 0;
        add_identity(&line);
        for (size_t c = 0; c < table->count; c++)
            if (!(table->columns[c].flags & COLUMN_TEXT_ONLY))
                add_cell(&line, &table->columns[c], i - !line.is_header);
        if (send_cells(&line))
            return -1;
    }
    if (table < end || !report->array_count)
        return 0;
    if (check_columns(report, err))
        return -1;
    bool leads = has_leading(writer);
    if (leads && !line.is_header)
        return 0;
    line.is_header = true;
    struct sheet first = array_matrix(report, &report->arrays[0], 0);
    if (leads) {
        add_identity(&line);
        add_sheet(&line, &first, 0, SHEET_NO_COLUMN);
        add_text(&line, "row", NULL);
    } else {
        buf_format(line.out, "%s\\%s,", first.rows.name, first.columns.name);
    }
    for (size_t c = 0; c < first.columns.size; c++)
        add_text(&line, first.columns.labels[c].exact, NULL);
    return send_cells(&line);
}

static int csv_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    struct csv_line line = {writer, &writer->line, false, err};
    bool leads = has_leading(writer);
    for (size_t r = 0; r < sheet->rows.size; r++) {
        if (leads) {
            add_identity(&line);
            add_sheet(&line, sheet, r, SHEET_NO_COLUMN);
        }
        csv_field(line.out, sheet->rows.labels[r].exact);
        for (size_t c = 0; c < sheet->columns.size; c++) {
            buf_char(line.out, ',');
            add_float(line.out, sheet_cell(sheet, r, c));
        }
        buf_char(line.out, '\n');
        if (send(&line))
            return -1;
    }
    return 0;
}

FORMAT_ROW(csv, ".csv", "a labelled matrix or a table", UNIT_SHEET, .has_tables = true,
           .cell_bytes = 8, .begin = csv_begin, .sheet = csv_sheet)

static int excel_begin(struct writer *writer, struct err *err)
{
    set_locale(writer);
    if (!writer->report->identity.index)
        stream_text(writer->out, "\xef\xbb\xbf"); /* write a byte order mark */
    return csv_begin(writer, err);
}

const struct format format_excel = {
    "excel",           "csv",
    ".excel.csv",      "CSV that Excel opens: separator and decimal mark of the locale",
    UNIT_SHEET,        .has_tables = true,
    .cell_bytes = 8,   .begin = excel_begin,
    .sheet = csv_sheet};

/* --- tidy: a line for each cell ------------------------------------------------------------------
 *
 * A line is joined from parts that are formatted once: for the row, such as "weights,0,1,3,the,",
 * and for each column, such as "0,Life,". writer->columns contains the parts for the columns, each
 * terminated by a NUL. */

static const char *const row_names[] = {"row", "row_token", "row_segment"};
static const char *const column_names[] = {"column", "column_token", "column_segment"};

/* Append the number and the label of a position of an axis and, if some text is a pair, the number
 * of the text that has the position's token: 0 or 1. In the header, append `names`. */
static void add_position(struct csv_line *line, const char *const names[3], size_t index,
                         const struct axis *axis)
{
    static const char *const of_tokens[] = {"query", "key", "token"};
    const struct tokenized *text = &line->writer->report->text;
    ptrdiff_t at = line->is_header ? -1 : axis_number(axis, index);
    size_t kind;
    add_index(line, names[0], at, false);
    add_text(line, names[1], line->is_header ? NULL : axis->labels[index].plain);
    if (!line->writer->report->identity.of_pairs)
        return;
    at += (ptrdiff_t)text->words_before;
    bool is_token = at >= 0 && !(text->words && (size_t)at >= text->word_count) &&
                    names_find(&kind, NAMES_LIST(of_tokens), axis->name, strlen(axis->name));
    size_t token = is_token && text->words ? text->words[at].first : (size_t)at;
    add_index(line, names[2], !is_token ? -1 : text->second && token >= text->second, false);
}

/* Write one line for each result in a table. */
static int write_results(struct csv_line *line, const struct table *table)
{
    bool of_pairs = line->writer->report->identity.of_pairs;
    for (size_t row = 0; row < table->rows.size; row++)
        for (size_t i = 0, at = 0; i < table->count; i++) {
            if (!column_is_result(&table->columns[i]))
                continue;
            add_identity(line);
            for (size_t c = 0; c < table->count; c++)
                if (table->columns[c].flags & COLUMN_LEADS)
                    add_cell(line, &table->columns[c], row);
            add_field(line->out, table->name);
            add_index(line, NULL, table_key(table, "layer", row), false);
            add_index(line, NULL, table_key(table, "head", row), false);
            /* the token's position: the column `position` or, without this column, the row's
             * number */
            int position = table_key(table, "position", row);
            buf_format(line->out, "%td,",
                       position >= 0 ? position : axis_number(&table->rows, row));
            add_field(line->out, table->rows.labels[row].plain);
            if (of_pairs)
                add_index(line, NULL, table_key(table, "segment", row), false);
            buf_format(line->out, "%zu,%s,%s", at++, table->columns[i].name, of_pairs ? "," : "");
            add_cell(line, &table->columns[i], row);
            if (send_cells(line))
                return -1;
        }
    return 0;
}

static int tidy_begin(struct writer *writer, struct err *err)
{
    static const struct sheet none = {.rows.name = "", .columns.name = ""};
    const struct report *report = writer->report;
    struct csv_line line = {writer, &writer->line, report->identity.index == 0, err};
    if (line.is_header) {
        add_identity(&line);
        for (size_t i = 0; i < (report->table_count ? report->tables->count : 0); i++)
            if (report->tables->columns[i].flags & COLUMN_LEADS)
                add_cell(&line, &report->tables->columns[i], 0);
        add_sheet(&line, &none, 0, 0);
        add_position(&line, row_names, 0, &none.rows);
        add_position(&line, column_names, 0, &none.columns);
        add_text(&line, "value", NULL);
        if (send_cells(&line))
            return -1;
    }
    line.is_header = false;
    for (size_t i = 0; i < report->table_count; i++)
        if (!(report->tables[i].flags & COLUMN_TEXT_ONLY) &&
            write_results(&line, &report->tables[i]))
            return -1;
    return 0;
}

static int tidy_sheet(struct writer *writer, const struct sheet *sheet, struct err *err)
{
    struct csv_line line = {writer, &writer->line, false, err};
    struct csv_line columns = {writer, &writer->columns, false, err};
    buf_clear(columns.out);
    for (size_t c = 0; c < sheet->columns.size; c++) {
        add_position(&columns, column_names, c, &sheet->columns);
        buf_char(columns.out, '\0');
    }
    if (buf_check(columns.out, err))
        return -1;
    for (size_t row = 0; row < sheet->rows.size; row++) {
        const char *column = columns.out->bytes;
        buf_clear(line.out);
        for (size_t c = 0; c < sheet->columns.size; c++, column += strlen(column) + 1) {
            if (sheet_hides(sheet, row, c))
                continue;
            if (!line.out->size || axis_has_heads(&sheet->columns)) {
                buf_clear(line.out);
                add_identity(&line);
                add_sheet(&line, sheet, row, c);
                add_position(&line, row_names, row, &sheet->rows);
                if (buf_check(line.out, err))
                    return -1;
            }
            stream_bytes(writer->out, line.out->bytes, line.out->size);
            stream_text(writer->out, column);
            float value = sheet_cell(sheet, row, c);
            if (!isnan(value))
                stream_float(writer->out, value);
            stream_char(writer->out, '\n');
        }
    }
    return 0;
}

FORMAT_ROW(tidy, ".tidy.csv", "CSV with one row per cell (long format), for pandas and R",
           UNIT_TEXT, .has_tables = true, .cell_bytes = 20, .begin = tidy_begin,
           .sheet = tidy_sheet)
