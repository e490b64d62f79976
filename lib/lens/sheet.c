#include "lens/sheet.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/language.h"
#include "base/names.h"

bool sheet_names_head(const struct sheet *sheet)
{
    return sheet->layer >= 0 && sheet->head >= 0 && !sheet->of_copies;
}

const char *sheet_head_name(char name[HEAD_NAME_BYTES], const struct sheet *sheet,
                            const char *language)
{
    if (!sheet_names_head(sheet))
        snprintf(name, HEAD_NAME_BYTES, "%s %d", say(language, sheet_head_word(sheet)),
                 sheet->head);
    else
        (sheet->shared_by > 1 ? kv_head_name : head_name)(name, (size_t)sheet->layer,
                                                          (size_t)sheet->head);
    return name;
}

const char *sheet_title(char title[SHEET_NAME_BYTES], const struct sheet *sheet)
{
    char layer[32] = "", head[HEAD_NAME_BYTES] = "";
    if (sheet->mean_of_layers)
        snprintf(layer, sizeof layer, " mean of layers");
    else if (sheet->layer >= 0 && !sheet_names_head(sheet))
        snprintf(layer, sizeof layer, " layer %d", sheet->layer);
    if (sheet->mean_of_heads)
        snprintf(head, sizeof head, "mean of %ss", head_word(sheet->shared_by));
    else if (sheet->head >= 0)
        sheet_head_name(head, sheet, NULL);
    snprintf(title, SHEET_NAME_BYTES, "%s%s%s%s", sheet->name, layer, *head ? " " : "", head);
    return title;
}

/* The number of the sheet's layer and of its head, or "mean", follow the tensor's name, if the
 * sheet has a layer or a head. */
const char *sheet_stem(char stem[SHEET_NAME_BYTES], const struct sheet *sheet)
{
    static const char *const layers[] = {".l%02d", ".lmean"};
    static const char *const heads[][2] = {
        {".h%02d", ".hmean"}, {".kv%02d", ".kvmean"}, {".c%02d", ""}};
    size_t size = (size_t)snprintf(stem, SHEET_NAME_BYTES, "%s", sheet->name);
    if (sheet->mean_of_layers || sheet->layer >= 0)
        size += (size_t)snprintf(stem + size, SHEET_NAME_BYTES - size,
                                 layers[sheet->mean_of_layers], sheet->layer);
    if (sheet->mean_of_heads || sheet->head >= 0)
        snprintf(stem + size, SHEET_NAME_BYTES - size,
                 heads[sheet->of_copies ? 2 : sheet->shared_by > 1][sheet->mean_of_heads],
                 sheet->head);
    return stem;
}

const char *head_word(size_t shared_by)
{
    return shared_by > 1 ? "kv_head" : "head";
}

const char *sheet_head_word(const struct sheet *sheet)
{
    return sheet->of_copies ? "copy" : head_word(sheet->shared_by);
}

const char *heads_sharing(char text[SHEET_NAME_BYTES], int layer, size_t kv_head, size_t shared_by)
{
    size_t first = kv_head * shared_by;
    size_t last = first + shared_by - 1;
    char name[HEAD_NAME_BYTES];
    if (layer < 0)
        snprintf(text, SHEET_NAME_BYTES, "heads %zu-%zu", first, last);
    else
        snprintf(text, SHEET_NAME_BYTES, "%s-%zu", head_name(name, (size_t)layer, first), last);
    return text;
}

void sheet_add_sharing(struct buf *out, const struct sheet *sheet, size_t count,
                       const char *language)
{
    char heads[SHEET_NAME_BYTES];
    if (sheet->head < 0 || sheet->shared_by <= 1)
        return;
    if (count > 1)
        buf_format(out, say(language, " · each kv_head is shared by %zu heads"), sheet->shared_by);
    else
        buf_format(out, say(language, " · shared by %s"),
                   heads_sharing(heads, sheet->layer, (size_t)sheet->head, sheet->shared_by));
}

void sheet_add_joined(struct buf *out, const struct sheet *sheet, const char *language)
{
    if (sheet->rows.joined)
        buf_text(out, say(language, "; rows: mean of tokens"));
    if (sheet->columns.joined)
        buf_text(out, say(language, "; columns: sum of tokens"));
}

bool axis_has_heads(const struct axis *axis)
{
    return strcmp(axis->name, "head") == 0 || strcmp(axis->name, "kv_head") == 0 ||
           strcmp(axis->name, "part") == 0;
}

/* Parse the label of a layer (3) or a head (3 or L0H3); for other labels, such as "embed", do
 * nothing. */
static void parse_label(const struct axis *axis, size_t index, int *layer, int *head)
{
    const char *label = axis->labels[index].plain;
    bool is_number = label[0] && label[strspn(label, "0123456789")] == '\0';
    if (strcmp(axis->name, "layer") == 0 && is_number)
        *layer = atoi(label);
    else if (axis_has_heads(axis) && is_number)
        *head = atoi(label);
    else if (axis_has_heads(axis))
        sscanf(label, "L%dH%d", layer, head);
}

void sheet_layer_head(const struct sheet *sheet, size_t row, size_t column, int *layer, int *head)
{
    *layer = *head = -1;
    parse_label(&sheet->rows, row, layer, head);
    if (column != SHEET_NO_COLUMN)
        parse_label(&sheet->columns, column, layer, head);
    *layer = sheet->layer >= 0 ? sheet->layer : *layer;
    *head = sheet->head >= 0 ? sheet->head : *layer >= 0 ? *head : -1;
}

/* --- number format ---------------------------------------------------------------------------- */

/* A number that rounds to 0 gets no sign. */
size_t numeral_write(char text[NUMERAL_BYTES], struct numeral numeral, float value)
{
    int digits = numeral.digits;
    if (numeral.scientific)
        digits = digits > 2 ? digits - 2 : 1;
    int size = snprintf(text, NUMERAL_BYTES, numeral.scientific ? "%.*e" : "%.*f", digits,
                        value == 0 ? 0 : (double)value);
    if (size > 0 && *text == '-' && text[strspn(text, "-0.")] == '\0')
        memmove(text, text + 1, (size_t)size--);
    return size > 0 ? (size_t)size : 0;
}

struct numeral numeral_between(float low, float high, int digits)
{
    enum {
        BEFORE_DECIMALS = 5
    }; /* maximum number of characters of the sign, integer part and
                                   * point */
    char text[NUMERAL_BYTES];
    struct numeral numeral = {.digits = digits};
    assert(digits >= 0 && digits <= NUMERAL_DIGITS_MAX);
    float largest = fmaxf(-low, high);
    float smallest = (float)pow(10, -(digits > 2 ? digits - 1 : digits));
    size_t most = (size_t)(BEFORE_DECIMALS + digits);
    /* below `smallest`, decimals would be mostly zeros */
    numeral.scientific = (largest > 0 && largest < smallest) ||
                         numeral_write(text, numeral, low) > most ||
                         numeral_write(text, numeral, high) > most;
    return numeral;
}

struct numeral numeral_of(const float *values, size_t count, int digits)
{
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        low = isfinite(values[i]) ? fminf(low, values[i]) : low;
        high = isfinite(values[i]) ? fmaxf(high, values[i]) : high;
    }
    return low > high ? numeral_between(0, 0, digits) : numeral_between(low, high, digits);
}

void numeral_latex(struct buf *latex, const char *text)
{
    const char *exponent = strchr(text, 'e');
    const char *infinity = strstr(text, "inf");
    if (infinity)
        buf_format(latex, "%.*s\\infty", (int)(infinity - text), text);
    else if (exponent)
        buf_format(latex, "%.*s\\mathrm{e}{%s}", (int)(exponent - text), text, exponent + 1);
    else
        buf_text(latex, text);
}

/* --- tables ----------------------------------------------------------------------------------- */

double column_number(const struct column *column, size_t row)
{
    if (column->kind == COLUMN_FLOAT)
        return column_float(column, row);
    bool has_number =
        column->kind == COLUMN_INTEGER && column_integer(column, row) != COLUMN_MISSING;
    return has_number ? (double)column_integer(column, row) : (double)NAN;
}

const char *column_text(const struct column *column, size_t row, bool for_people)
{
    if (column->kind == COLUMN_TEXT)
        return ((const char *const *)column->values)[row];
    const struct label *label = &((const struct label *)column->values)[row];
    return for_people ? label->text : label->plain;
}

bool column_is_result(const struct column *column)
{
    bool is_number = column->kind == COLUMN_FLOAT || column->kind == COLUMN_INTEGER;
    return is_number && !(column->flags & (COLUMN_KEY | COLUMN_TEXT_ONLY));
}

const struct column *table_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    return NULL;
}

int table_key(const struct table *table, const char *name, size_t row)
{
    const struct column *column = table_column(table, name);
    double number = column ? column_number(column, row) : (double)NAN;
    return isnan(number) ? -1 : (int)number;
}

static const size_t cell_bytes[] = {[COLUMN_FLOAT] = sizeof(double),
                                    [COLUMN_INTEGER] = sizeof(long long),
                                    [COLUMN_TEXT] = sizeof(const char *),
                                    [COLUMN_LABEL] = sizeof(struct label)};

void rows_next(struct table_rows *rows)
{
    rows->row++;
    rows->at = 0;
}

static void *next_cell(struct table_rows *rows, struct column column)
{
    size_t size = cell_bytes[column.kind];
    if (rows->row == 0 && !rows->err->kind) {
        const struct names taken = {(const char *const *)rows->columns, rows->count, sizeof column};
        column.name = names_unused(column.name, taken, rows->arena, rows->err);
        column.values = arena_alloc(rows->arena, rows->most, size, rows->err);
        struct column *columns =
            arena_grow(rows->arena, rows->columns, rows->count, sizeof column, rows->err);
        rows->columns = columns ? columns : rows->columns;
        if (columns)
            columns[rows->count++] = column;
    }
    if (rows->err->kind)
        return &rows->spare;
    return (char *)rows->columns[rows->at++].values + rows->row * size;
}

void rows_float(struct table_rows *rows, struct column column, double value)
{
    *(double *)next_cell(rows, column) = value;
}

void rows_integer(struct table_rows *rows, const char *name, unsigned flags, long long value)
{
    struct column column = {name, .kind = COLUMN_INTEGER, .flags = flags};
    *(long long *)next_cell(rows, column) = value;
}

void rows_text(struct table_rows *rows, const char *name, unsigned flags, const char *value)
{
    struct column column = {name, .kind = COLUMN_TEXT, .flags = flags};
    *(const char **)next_cell(rows, column) = value;
    if (value && !(flags & COLUMN_LITERAL) && !rows->err->kind)
        rows->columns[rows->at - 1].flags &= ~(unsigned)COLUMN_LITERAL;
}

void rows_label(struct table_rows *rows, const char *name, unsigned flags, struct label value)
{
    struct column column = {name, .kind = COLUMN_LABEL, .flags = flags};
    *(struct label *)next_cell(rows, column) = value;
}

void rows_title(struct table_rows *rows, const char *title)
{
    if (!rows->err->kind)
        rows->columns[rows->at - 1].title = title;
}

int rows_finish(struct table *table, const struct table_rows *rows, const char *name,
                const char *row)
{
    *table = (struct table){name, {row, rows->row, NULL, 0}, rows->columns, rows->count};
    for (size_t i = 0; i < rows->count && !table->rows.labels; i++)
        if (rows->columns[i].kind == COLUMN_LABEL)
            table->rows.labels = rows->columns[i].values;
    return err_if(rows->err->kind);
}

int table_pick(struct table *table, const size_t *rows, size_t count, struct arena *arena,
               struct err *err)
{
    struct column *columns = arena_alloc(arena, table->count, sizeof *columns, err);
    for (size_t i = 0; i < table->count; i++) {
        size_t size = cell_bytes[table->columns[i].kind];
        const char *from = table->columns[i].values;
        char *values = arena_alloc(arena, count, size, err);
        if (!columns || !values)
            return -1;
        for (size_t row = 0; row < count; row++)
            memcpy(values + row * size, from + rows[row] * size, size);
        columns[i] = table->columns[i];
        columns[i].values = values;
        if (table->columns[i].values == table->rows.labels)
            table->rows.labels = columns[i].values;
    }
    table->columns = columns;
    table->rows.size = count;
    return 0;
}

/* Return the label of a column in pictures: the unit is in parentheses, not a part of the name, as
 * in "surprisal (bits)". */
static const char *picture_label(const struct column *column, struct arena *arena, struct err *err)
{
    size_t unit = column->unit ? strlen(column->unit) : 0;
    size_t size = strlen(column->name);
    if (!unit || size <= unit || column->name[size - unit - 1] != '_' ||
        strcmp(column->name + size - unit, column->unit) != 0)
        return column->name;
    return arena_format(arena, err, "%.*s (%s)", (int)(size - unit - 1), column->name,
                        column->unit);
}

static bool is_shown(const struct column *column, bool coloured)
{
    return column_is_result(column) && (!coloured || column->flags & COLUMN_COLOURED);
}

int table_array(struct array *array, const struct table *table, bool for_picture,
                struct arena *arena, struct err *err)
{
    size_t rows = table->rows.size;
    size_t count = 0;
    bool coloured = false, fraction = true;
    bool curves = table->curves && for_picture;
    for (size_t i = 0; i < table->count; i++)
        coloured |= for_picture && table->columns[i].flags & COLUMN_COLOURED;
    for (size_t i = 0; i < table->count; i++)
        count += is_shown(&table->columns[i], coloured);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    float *values = arena_alloc(arena, rows, count * sizeof *values, err);
    if (!labels || !values)
        return -1;
    for (size_t i = 0, at = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!is_shown(column, coloured))
            continue;
        const char *label = curves ? column->title : column->name;
        const char *shown = for_picture && !curves ? picture_label(column, arena, err) : label;
        if (!shown)
            return -1;
        labels[at] = (struct label){shown, label, label};
        fraction = fraction && column->fraction;
        for (size_t row = 0; row < rows; row++)
            values[row * count + at] = (float)column_number(column, row);
        at++;
    }
    const struct column whole = {
        .name = table->name, .unit = table->count ? table->columns[table->count - 1].unit : NULL};
    const char *name = curves ? picture_label(&whole, arena, err)
                       : coloured && count == 1 && !table->running ? labels->text
                                                                   : table->name;
    if (!name)
        return -1;
    const struct column *region = table->curves ? table_column(table, "region") : NULL;
    *array = (struct array){
        .name = name,
        .layer = -1,
        .data = values,
        .rows = table->rows,
        .columns = {"value", count, labels, 0},
        .display = {.title = curves ? table->note : NULL,
                    .fraction = fraction,
                    .running = table->running && for_picture && count == 1,
                    .curves = table->curves,
                    .logarithmic = table->logarithmic,
                    .regions = region ? region->values : NULL},
    };
    return 0;
}

struct facts *facts_new(struct arena *arena, struct err *err)
{
    static const struct label label = {"", "", ""};
    struct facts *facts = arena_alloc(arena, 1, sizeof *facts, err);
    if (facts)
        facts->table = (struct table){"facts", {"", 1, &label, 0}, facts->columns, .count = 0};
    return facts;
}

static size_t add_fact(struct facts *facts, const char *name, enum column_kind kind)
{
    size_t index = facts->table.count++;
    assert(index < FACTS_MAX);
    facts->columns[index] =
        (struct column){.name = name, .kind = kind, .values = &facts->values[index]};
    return index;
}

void facts_float(struct facts *facts, const char *name, double value)
{
    facts->values[add_fact(facts, name, COLUMN_FLOAT)].number = value;
}

void facts_integer(struct facts *facts, const char *name, long long value)
{
    facts->values[add_fact(facts, name, COLUMN_INTEGER)].integer = value;
}

void facts_text(struct facts *facts, const char *name, const char *text)
{
    facts->values[add_fact(facts, name, COLUMN_TEXT)].text = text;
}

void facts_title(struct facts *facts, const char *title, const char *unit)
{
    struct column *last = &facts->columns[facts->table.count - 1];
    last->title = title;
    last->unit = unit;
    last->flags = last->name ? 0 : COLUMN_TEXT_ONLY;
}

/* --- values of largest magnitude -------------------------------------------------------------- */

static float distance(const struct strongest *list, const struct strong_cell *cell)
{
    return fabsf(cell->value - list->origin);
}

void strongest_add(struct strongest *list, const struct sheet *sheet)
{
    struct strong_cell one = {.sheet = *sheet};
    for (one.row = 0; one.row < sheet->rows.size; one.row++)
        for (one.column = 0; one.column < sheet->columns.size; one.column++) {
            one.value = sheet_cell(sheet, one.row, one.column);
            size_t at = list->count;
            while (at > 0 && distance(list, &list->cells[at - 1]) < distance(list, &one))
                at--;
            if (!isfinite(one.value) || one.value == list->origin || at == STRONGEST_MAX ||
                sheet_hides(sheet, one.row, one.column))
                continue;
            list->count += list->count < STRONGEST_MAX;
            memmove(&list->cells[at + 1], &list->cells[at],
                    (list->count - at - 1) * sizeof *list->cells);
            list->cells[at] = one;
        }
}

/* Append the label of a position. If the label is a number, the name of its axis precedes it; on
 * the axis "part", numbers are heads. */
static void add_label(struct buf *out, const struct axis *axis, size_t index)
{
    const char *text = axis->labels[index].text;
    const char *before = "";
    if (strcmp(axis->name, "key") == 0)
        before = "from";
    else if (strcmp(axis->name, "reader") == 0)
        before = "→";
    else if (text[strspn(text, "0123456789")] == '\0')
        before = strcmp(axis->name, "part") == 0 ? "head" : axis->name;
    buf_format(out, "%s%s%s%s", out->size ? " " : "", before, *before ? " " : "", text);
}

void strong_cell_name(struct buf *out, const struct strong_cell *cell)
{
    const struct sheet *sheet = &cell->sheet;
    const struct axis *rows = &sheet->rows, *columns = &sheet->columns;
    const bool crosses = strncmp(sheet->name, "cross_", strlen("cross_")) == 0;
    const bool mixes = strncmp(sheet->name, "mix_", strlen("mix_")) == 0;
    struct sheet place = *sheet; /* with the layer and the head of the cell's labels */
    char name[HEAD_NAME_BYTES];
    sheet_layer_head(sheet, cell->row, cell->column, &place.layer, &place.head);
    const bool has_head = sheet_names_head(&place), has_layer = place.layer >= 0 && !has_head;
    const char *column = columns->labels[cell->column].text;
    const bool has_part =
        has_layer &&
        (strcmp(columns->name, "part") == 0 ||
         (strcmp(columns->name, "feature") == 0 && column[strspn(column, "0123456789")] != '\0'));
    place.shared_by = strcmp(columns->name, "kv_head") == 0 ? 2 : place.shared_by;
    if (has_layer)
        buf_format(out, has_part ? "L%d." : "layer %d", place.layer);
    if (crosses || mixes)
        buf_format(out, "%s%s", out->size ? " " : "", crosses ? "cross" : "mixer");
    if (has_head || sheet->head >= 0)
        buf_format(out, "%s%s", out->size ? " " : "",
                   sheet_head_name(name, has_head ? &place : sheet, NULL));
    if (place.layer < 0 ||
        !(strcmp(rows->name, "layer") == 0 || (has_head && axis_has_heads(rows))))
        add_label(out, rows, cell->row);
    if (has_part)
        buf_text(out, column);
    else if (!(has_head && axis_has_heads(columns)))
        add_label(out, columns, cell->column);
}

void strong_cell_plain_name(struct buf *out, const struct strong_cell *cell)
{
    const struct sheet *sheet = &cell->sheet;
    if (sheet->layer >= 0)
        buf_format(out, "layer %d", sheet->layer);
    if (sheet->head >= 0)
        buf_format(out, "%shead %d", out->size ? " " : "", sheet->head);
    add_label(out, &sheet->rows, cell->row);
    add_label(out, &sheet->columns, cell->column);
}

const char *bar_text(double share, struct arena *arena, struct err *err)
{
    enum { BAR_COLUMNS = 24 };
    struct buf bar = {0};
    for (long n = isfinite(share) ? lround(fmin(fabs(share), 1) * BAR_COLUMNS) : 0; n > 0; n--)
        buf_text(&bar, share > 0 ? "█" : "░");
    return buf_keep(&bar, arena, err);
}

int strongest_table(struct table *table, const struct strongest *strongest, struct arena *arena,
                    struct err *err)
{
    struct table_rows rows = {.most = strongest->count, .arena = arena, .err = err};
    for (size_t i = 0; i < strongest->count; i++, rows_next(&rows)) {
        const struct strong_cell *cell = &strongest->cells[i];
        struct buf name = {0};
        strong_cell_name(&name, cell);
        float part = distance(strongest, cell) / distance(strongest, strongest->cells);
        rows_label(&rows, "part", COLUMN_KEY, (struct label){buf_keep(&name, arena, err)});
        rows_title(&rows, "");
        rows_float(&rows, (struct column){"value", "", .digits = 4}, (double)cell->value);
        rows_text(&rows, "bar", 0,
                  bar_text((double)(cell->value > strongest->origin ? part : -part), arena, err));
        rows_title(&rows, "");
    }
    int failed = rows_finish(table, &rows, "strongest", "part");
    table->flags = COLUMN_TEXT_ONLY;
    return failed;
}
