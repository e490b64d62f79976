#include "lens/frame_mean.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"

/* What a row has of a column: a key, or the sum of a result. */
struct mean_cell {
    long long integer;
    struct label label; /* of a key that is no integer */
    double sum;
    size_t count; /* of numbers that are not missing */
};

struct mean_row {
    struct mean_cell *cells; /* [like.count] */
    size_t count;            /* of rows */
};

bool column_is_averaged(const struct column *column, const struct derivation *how)
{
    return column->flags & COLUMN_KEY &&
           ((how->mean_of_heads && strcmp(column->name, "head") == 0) ||
            (how->mean_of_layers && strcmp(column->name, "layer") == 0));
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Of the first table's columns, keys stay keys, results become numbers with decimals, and all
 * others texts, which have no mean. */
static int begin(struct frame_mean *mean, const struct frame *frame, struct arena *arena,
                 struct err *err)
{
    static const char *const places[] = {"model", "layer", "head", "position"};
    struct column *column = arena_alloc(arena, frame->count, sizeof *column, err);
    bool has_position = false;
    size_t index = 0;
    mean->like = *frame;
    mean->like.columns = column;
    mean->wanted = arena_alloc(arena, frame->count, sizeof *mean->wanted, err);
    for (size_t i = 0; i < frame->count; i++)
        has_position |= strcmp(frame->columns[i].name, "position") == 0;
    for (size_t i = 0; i < frame->count && !err->kind; i++, column++) {
        *column = frame->columns[i];
        if (column_is_result(column)) {
            column->kind = COLUMN_FLOAT;
            column->digits = column->digits ? column->digits : NUMERAL_DIGITS;
        } else if (!(column->flags & COLUMN_KEY) || column_is_averaged(column, &mean->how) ||
                   (mean->how.mean_of_texts && has_position &&
                    !names_find(&index, NAMES_LIST(places), column->name, strlen(column->name)))) {
            column->kind = COLUMN_TEXT;
            column->flags = 0;
        }
        const char *title = column->title ? column->title : column->name;
        column->title = arena_text(arena, title, strlen(title), err);
        column->name = arena_text(arena, column->name, strlen(column->name), err);
    }
    return err_if(err->kind);
}

/* Read the keys of a row; false if one is missing. */
static bool read_keys(struct frame_mean *mean, const struct frame *frame, size_t row)
{
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        struct mean_cell *cell = &mean->wanted[i];
        if (!(mean->like.columns[i].flags & COLUMN_KEY))
            continue;
        *cell = column->kind == COLUMN_INTEGER
                    ? (struct mean_cell){.integer = column_integer(column, row)}
                    : (struct mean_cell){.label = {.text = column_text(column, row, true),
                                                   .plain = column_text(column, row, false)}};
        if (column->kind == COLUMN_INTEGER ? cell->integer == COLUMN_MISSING : !cell->label.plain)
            return false;
    }
    return true;
}

static bool is_wanted(const struct frame_mean *mean, const struct mean_row *row)
{
    size_t i = 0;
    for (; i < mean->like.count; i++) {
        const struct mean_cell *one = &row->cells[i], *other = &mean->wanted[i];
        if (one->integer != other->integer ||
            (other->label.plain && strcmp(one->label.plain, other->label.plain) != 0))
            break;
    }
    return i == mean->like.count;
}

/* The row with the wanted keys, among `known` ones from `*at` on; a new one is put there. NULL with
 * `err`. */
static struct mean_row *find_row(struct frame_mean *mean, size_t *at, size_t known,
                                 struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < known; i++) {
        size_t index = (*at + i) % known;
        if (is_wanted(mean, &mean->rows[index])) {
            *at = index;
            return &mean->rows[index];
        }
    }
    struct mean_row row = {arena_alloc(arena, mean->like.count, sizeof *row.cells, err), 0};
    mean->rows = arena_grow(arena, mean->rows, mean->count, sizeof row, err);
    for (size_t i = 0; i < mean->like.count && !err->kind; i++) {
        row.cells[i] = mean->wanted[i];
        row.cells[i].label = label_keep(&mean->wanted[i].label, arena, err);
    }
    if (err->kind)
        return NULL;
    memmove(&mean->rows[*at + 1], &mean->rows[*at], (mean->count++ - *at) * sizeof row);
    mean->rows[*at] = row;
    return &mean->rows[*at];
}

int frame_mean_add(struct frame_mean *mean, const struct frame *frame, struct arena *arena,
                   struct err *err)
{
    if (!mean->like.columns && begin(mean, frame, arena, err))
        return -1;
    for (size_t i = 0; i < mean->like.count; i++)
        if (i >= frame->count || strcmp(frame->columns[i].name, mean->like.columns[i].name) != 0)
            return err_usage(err, "--mean: expected the column '%s' for all texts as for the first",
                             mean->like.columns[i].name);
    assert(frame->count == mean->like.count);
    bool all_differ = mean->how.mean_of_texts && !mean->count; /* rows of a first text */
    for (size_t row = 0, at = 0; row < frame->rows.size; row++) {
        struct mean_row *to = NULL;
        if (!read_keys(mean, frame, row))
            continue;
        if (!(to = find_row(mean, &at, all_differ ? 0 : mean->count, arena, err)))
            return -1;
        at++;
        to->count++;
        for (size_t i = 0; i < frame->count; i++) {
            double value = column_number(&frame->columns[i], row);
            to->cells[i].sum += isnan(value) ? 0 : value;
            to->cells[i].count += !isnan(value);
        }
    }
    return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

/* A row, which its last key labels. */
static void put_row(struct frame_rows *rows, struct label *label, const struct frame_mean *mean,
                    const struct mean_row *row)
{
    bool counts = mean->how.mean_of_texts;
    for (size_t i = 0; i < mean->like.count; i++) {
        const struct column *column = &mean->like.columns[i];
        const struct mean_cell *cell = &row->cells[i];
        if (column_is_result(column)) {
            if (counts)
                rows_integer(rows, "texts", COLUMN_KEY, (long long)row->count);
            counts = false;
            rows_float(rows, *column, cell->count ? cell->sum / (double)cell->count : (double)NAN);
        } else if (column->flags & COLUMN_KEY && column->kind == COLUMN_INTEGER) {
            label->text = label->plain =
                arena_format(rows->arena, rows->err, "%lld", cell->integer);
            rows_integer(rows, column->name, column->flags, cell->integer);
            rows_title(rows, column->title);
        } else if (column->flags & COLUMN_KEY) {
            *label = cell->label;
            rows_label(rows, column->name, column->flags, *label);
        }
    }
    label->exact = label->plain;
}

int frame_mean_make(struct frame *frame, const struct frame_mean *mean, struct arena *arena,
                    struct err *err)
{
    const struct frame *like = &mean->like;
    const struct mean_row none = {mean->wanted, 0}; /* for the columns */
    struct frame_rows rows = {.most = num_max(mean->count, 1), .arena = arena, .err = err};
    struct label *labels = arena_alloc(arena, rows.most, sizeof *labels, err);
    const char *name = "mean";
    for (; rows.row < rows.most && !err->kind; rows_next(&rows)) {
        labels[rows.row] = (struct label){"mean", "mean", "mean"};
        put_row(&rows, &labels[rows.row], mean, mean->count ? &mean->rows[rows.row] : &none);
    }
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
