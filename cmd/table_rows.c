#include "table_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "format/json.h"
#include "items.h"

static int read_record(struct row *row, const struct items *items, struct csv_reader *reader,
                       struct arena *arena, struct err *err)
{
    struct csv_record record;
    int failed = csv_read(reader, &record, arena, err);
    size_t filled = 0;
    row->line = record.line;
    row->cells = arena_alloc(arena, items->header_count, sizeof *row->cells, err);
    if (failed || !record.line || !row->cells)
        return err_if(err->kind);
    while (filled < record.count && !*record.fields[filled])
        filled++;
    row->is_blank = filled == record.count;
    for (; row->count < num_min(record.count, items->header_count); row->count++) {
        const char *value = record.fields[row->count];
        row->cells[row->count].field = items->field_of_column[row->count];
        row->cells[row->count].value = *value ? value : NULL;
    }
    if (record.count == items->header_count)
        return 0;
    return err_set(err, "expected %zu fields as in the header, found %zu%s", items->header_count,
                   record.count,
                   record.count < items->header_count ? ""
                   : items->reader.separator == ','   ? ": a text with commas needs quotes"
                   : items->reader.separator == ';'   ? ": a text with semicolons needs quotes"
                                                      : ": a text with tabs needs quotes");
}

/* Append a value of JSON, which may be an item of a list, as text. Set `*literal` if it is not a
 * text. Returns false for a list or an object. */
static bool put_value(struct buf *out, const struct json *value, bool *literal)
{
    char digits[NUM_DOUBLE_BYTES];
    const char *text = "";
    double number = 0;
    bool truth = false;
    *literal = !json_get_text(value, &text);
    if (json_get_bool(value, &truth)) {
        text = truth ? "true" : "false";
    } else if (json_get_number(value, &number)) {
        *literal = isfinite(number);
        text = digits;
        num_double(digits, number);
        if (fabs(number) < 0x1p53 && number == (double)(long long)number)
            snprintf(digits, sizeof digits, "%lld", (long long)number);
    } else if (*literal)
        return false;
    buf_text(out, text);
    return true;
}

/* Add the cells of a member of an object: one cell, or one for each text of a list under
 * `continue`. Ids of a list have commas between them; another list or an object is copied as it is
 * written. The cell of a null, or of an empty list of ids or continuations, has no value. */
static int read_member(struct row *row, const struct items *items, row_field_of *field_of,
                       const struct json *member, struct json_span written, struct arena *arena,
                       struct err *err)
{
    char digits[NUM_DOUBLE_BYTES];
    const char *name = json_key(member), *own = arena_text(arena, name, strlen(name), err);
    const size_t field = field_of(items, name);
    const bool is_list = json_is_array(member) && (field == ITEM_IDS || field == ITEM_CONTINUE);
    const bool is_copied =
        (json_is_array(member) || json_is_object(member)) && field >= ITEM_FIELDS;
    const struct json *part = is_list ? json_first(member) : member;
    struct buf text = {0};
    do {
        struct row_cell cell = {own, field, NULL, true};
        const bool is_part = part && !is_copied && !json_is_null(member);
        if (is_part && !put_value(&text, part, &cell.literal)) {
            buf_release(&text);
            return err_set(err, "field '%s': expected a text, a number, true or false%s, found %s",
                           name, is_list ? " in a list" : "",
                           json_describe(part, digits, sizeof digits));
        }
        part = part && is_list ? json_next(part) : NULL;
        if (part && field == ITEM_IDS) {
            buf_char(&text, ',');
            continue;
        }
        cell.value = is_part     ? buf_keep(&text, arena, err)
                     : is_copied ? arena_text(arena, written.bytes, written.size, err)
                                 : NULL;
        struct row_cell *cells = arena_grow(arena, row->cells, row->count, sizeof cell, err);
        if (err->kind)
            return -1; /* the row keeps the cells that were read so far */
        row->cells = cells;
        cells[row->count++] = cell;
    } while (part);
    return 0;
}

/* Read an object. If a member is refused, still read the later members. */
static int read_object(struct row *row, const struct items *items, row_field_of *field_of,
                       struct arena *arena, struct err *err)
{
    char found[NUM_DOUBLE_BYTES];
    struct json *root = NULL;
    struct json_cursor cursor = json_cursor_at((struct json_span){row->at, row->size});
    if (json_parse(&root, row->at, row->size, err))
        return -1;
    if (!json_is_object(root))
        err_set(err, "expected an object such as {\"text\": \"…\"}, found %s",
                json_describe(root, found, sizeof found));
    else {
        json_unique_keys(root, err);
        json_cursor_skip_blanks(&cursor);
        json_cursor_enter(&cursor);
    }
    for (const struct json *next = json_is_object(root) ? json_first(root) : NULL; next;
         next = json_next(next)) {
        struct err other = {0};
        json_cursor_next(&cursor);
        json_cursor_name(&cursor);
        if (read_member(row, items, field_of, next, json_cursor_value(&cursor), arena, &other))
            err_adopt(err, &other);
    }
    json_free(root);
    return err_if(err->kind);
}

int row_read(struct row *row, const struct items *items, row_field_of *field_of,
             struct csv_reader *reader, struct arena *arena, struct err *err)
{
    const char *at = reader->at, *newline = memchr(at, '\n', (size_t)(reader->end - at));
    const char *end = newline ? newline : reader->end;
    *row = (struct row){.at = at};
    if (items->kind == ITEMS_CSV)
        return read_record(row, items, reader, arena, err);
    row->line = at < reader->end ? reader->line++ : 0;
    row->size = (size_t)(end - at);
    row->size -= row->size && end[-1] == '\r';
    row->is_blank = json_blanks_end(at, at + row->size) == at + row->size;
    reader->at = newline ? newline + 1 : end;
    return items->kind == ITEMS_LINES || row->is_blank
               ? 0
               : read_object(row, items, field_of, arena, err);
}
