#include "lens/frame_mean.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"

/* What a row has of a column: a key, or the sum of a result. */
struct mean_cell {
    long long integer;
    struct label label;
    double sum;
    size_t count; /* of numbers that are not missing */
};

struct mean_row {
    struct mean_cell *cells; /* [like.count] */
    size_t count;            /* of rows */
};

static bool is_averaged(const struct column *column, const struct derivation *how)
{
    return column->flags & COLUMN_KEY &&
           ((how->mean_of_heads && strcmp(column->name, "head") == 0) ||
            (how->mean_of_layers && strcmp(column->name, "layer") == 0));
}

bool frame_has_mean(const struct frame *frame, const struct derivation *how)
{
    for (size_t i = 0; i < frame->count; i++)
        if (is_averaged(&frame->columns[i], how))
            return true;
    return false;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* A copy that lives as long as the arena; NULL is empty. */
static const char *keep(const char *text, struct arena *arena, struct err *err)
{
    return arena_text(arena, text ? text : "", text ? strlen(text) : 0, err);
}

/* Of the first table's columns, keys stay keys, results become numbers with decimals, and all
 * others texts, which have no mean. */
static int begin(struct frame_mean *mean, const struct frame *frame, struct arena *arena,
                 struct err *err)
{
    static const char *const places[] = {"model", "layer", "head", "position"};
    struct column *columns = arena_alloc(arena, frame->count, sizeof *columns, err);
    bool has_position = false;
    size_t index = 0;
    mean->like = *frame;
    mean->like.columns = columns;
    for (size_t i = 0; i < frame->count; i++)
        has_position |= strcmp(frame->columns[i].name, "position") == 0;
    for (size_t i = 0; i < frame->count && columns; i++) {
        const char *name = frame->columns[i].name;
        struct column *column = &columns[i];
        *column = frame->columns[i];
        column->name = keep(name, arena, err);
        column->title = column->title ? keep(column->title, arena, err) : column->name;
        if (column_is_result(column)) {
            column->kind = COLUMN_FLOAT;
            column->digits = column->digits ? column->digits : NUMERAL_DIGITS;
        } else if (!(column->flags & COLUMN_KEY) || is_averaged(column, &mean->how) ||
                   (mean->how.mean_of_texts && has_position &&
                    !names_find(&index, NAMES_LIST(places), name, strlen(name)))) {
            column->kind = COLUMN_TEXT;
            column->flags = 0;
        }
    }
    return err_if(err->kind);
}

static const char *plain_of(const struct column *column, size_t row)
{
    const char *text = column_text(column, row, false);
    return text ? text : "";
}

static bool is_same(const struct frame_mean *mean, const struct mean_row *found,
                    const struct frame *frame, size_t row)
{
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        if (mean->like.columns[i].flags & COLUMN_KEY &&
            (column->kind == COLUMN_INTEGER
                 ? column_integer(column, row) != found->cells[i].integer
                 : strcmp(plain_of(column, row), found->cells[i].label.plain) != 0))
            return false;
    }
    return true;
}

/* The row of a mean with the keys of a table's row; a new one follows the row before it. NULL with
 * `err`. */
static struct mean_row *find_row(struct frame_mean *mean, size_t *at, const struct frame *frame,
                                 size_t row, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < mean->count; i++) {
        size_t index = (*at + i) % mean->count;
        if (is_same(mean, &mean->rows[index], frame, row)) {
            *at = index + 1;
            return &mean->rows[index];
        }
    }
    struct mean_row new = {arena_alloc(arena, frame->count, sizeof *new.cells, err), 0};
    mean->rows = arena_grow(arena, mean->rows, mean->count, sizeof new, err);
    for (size_t i = 0; i < frame->count && !err->kind; i++) {
        const struct column *column = &frame->columns[i];
        struct mean_cell *cell = &new.cells[i];
        if (column->kind == COLUMN_INTEGER)
            cell->integer = column_integer(column, row);
        else if (mean->like.columns[i].flags & COLUMN_KEY)
            cell->label = (struct label){.text = keep(column_text(column, row, true), arena, err),
                                         .plain = keep(plain_of(column, row), arena, err)};
    }
    if (err->kind)
        return NULL;
    memmove(&mean->rows[*at + 1], &mean->rows[*at], (mean->count++ - *at) * sizeof new);
    mean->rows[*at] = new;
    return &mean->rows[(*at)++];
}

static int add_row(struct frame_mean *mean, size_t *at, const struct frame *frame, size_t row,
                   struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < frame->count; i++)
        if (mean->like.columns[i].flags & COLUMN_KEY && frame->columns[i].kind == COLUMN_INTEGER &&
            column_integer(&frame->columns[i], row) == COLUMN_MISSING)
            return 0;
    struct mean_row *to = find_row(mean, at, frame, row, arena, err);
    if (!to)
        return -1;
    to->count++;
    for (size_t i = 0; i < frame->count; i++) {
        double value = column_number(&frame->columns[i], row);
        to->cells[i].sum += isnan(value) ? 0 : value;
        to->cells[i].count += !isnan(value);
    }
    return 0;
}

int frame_mean_add(struct frame_mean *mean, const struct frame *frame, struct arena *arena,
                   struct err *err)
{
    if (!mean->like.columns && begin(mean, frame, arena, err))
        return -1;
    for (size_t i = 0; i < mean->like.count; i++) {
        const char *name = mean->like.columns[i].name;
        if (i >= frame->count || strcmp(frame->columns[i].name, name) != 0)
            return err_usage(err, "--mean: expected the column '%s' for all texts as for the first",
                             name);
    }
    assert(frame->count == mean->like.count);
    for (size_t row = 0, at = 0; row < frame->rows.size; row++)
        if (add_row(mean, &at, frame, row, arena, err))
            return -1;
    return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

/* A row, which its last key labels. */
static void put_row(struct frame_rows *rows, struct label *label, const struct frame_mean *mean,
                    const struct mean_row *row)
{
    bool counts = mean->how.mean_of_texts;
    *label = (struct label){"mean", "mean", "mean"};
    for (size_t i = 0; i < mean->like.count; i++) {
        const struct column *column = &mean->like.columns[i];
        const struct mean_cell *cell = &row->cells[i];
        if (column_is_result(column)) {
            if (counts)
                rows_integer(rows, "texts", COLUMN_KEY, (long long)row->count);
            counts = false;
            rows_float(rows, *column, cell->count ? cell->sum / (double)cell->count : (double)NAN);
        } else if (column->flags & COLUMN_KEY && column->kind == COLUMN_INTEGER) {
            const char *text = arena_format(rows->arena, rows->err, "%lld", cell->integer);
            *label = (struct label){text, text, text};
            rows_integer(rows, column->name, column->flags, cell->integer);
            rows_title(rows, column->title);
        } else if (column->flags & COLUMN_KEY) {
            *label = (struct label){cell->label.text, cell->label.plain, cell->label.plain};
            rows_label(rows, column->name, column->flags, *label);
        }
    }
}

int frame_mean_make(struct frame *frame, const struct frame_mean *mean, struct arena *arena,
                    struct err *err)
{
    const struct frame *like = &mean->like;
    struct mean_row none = {arena_alloc(arena, like->count, sizeof *none.cells, err), 0};
    struct frame_rows rows = {.most = num_max(mean->count, 1), .arena = arena, .err = err};
    struct label *labels = arena_alloc(arena, rows.most, sizeof *labels, err);
    const char *name = "mean";
    for (; rows.row < rows.most && !err->kind; rows_next(&rows))
        put_row(&rows, &labels[rows.row], mean, mean->count ? &mean->rows[rows.row] : &none);
    if (rows_finish(frame, &rows, like->name, ""))
        return -1;
    for (size_t i = 0; i < like->count; i++)
        name = like->columns[i].flags & COLUMN_KEY ? like->columns[i].name : name;
    frame->rows = (struct axis){name, mean->count, labels, 0, NULL};
    frame->note = mean->how.mean_of_texts ? NULL : like->note; /* that of a text */
    frame->flags = mean->how.mean_of_texts ? like->flags : 0;
    frame->curves = like->curves || like->running; /* positions are no text */
    return 0;
}
