/* sheet.h: the nouns of a result: labels and axes; a sheet, which is a labelled matrix and the
 * input of every writer and picture; a frame, which is a table with typed columns. They know no
 * model. How numbers are written is here, too.
 *
 *     for (size_t r = 0; r < sheet->rows.size; r++)
 *         for (size_t c = 0; c < sheet->columns.size; c++)
 *             if (!sheet_hides(sheet, r, c))
 *                 use(&sheet->rows.labels[r], &sheet->columns.labels[c], sheet_cell(sheet, r, c));
 */
#ifndef ATTN_LENS_SHEET_H
#define ATTN_LENS_SHEET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct buf;

/* One position of an axis, in three forms that live as long as the report. */
struct label {
    const char *text;  /* for people: the visible token `Life`, or a channel's number `17` */
    const char *exact; /* unique on its axis: `0:Life`, or the channel's number */
    const char *plain; /* for data files: the token's own text, 0-terminated, or the number; the
                          visible form of a token that is only part of a character */
};

struct axis {
    const char *name; /* "query", "key", "token", "channel", "dim", "word" */
    size_t size;
    const struct label *labels; /* [size] */
    size_t first;               /* number of the first position: 1 where token 0 is hidden */
    const size_t *numbers;      /* [size] of the positions; NULL: first, first + 1, … */
};

static inline size_t axis_number(const struct axis *axis, size_t index)
{
    return axis->numbers ? axis->numbers[index] : axis->first + index;
}

/* The position with that number; the axis's size, or more: there is none. */
static inline size_t axis_index(const struct axis *axis, size_t number)
{
    size_t index = 0;
    if (!axis->numbers)
        return number < axis->first ? axis->size : number - axis->first;
    while (index < axis->size && axis->numbers[index] != number)
        index++;
    return index;
}

/* Hidden cells (keys that a query cannot attend to: the future, and those that a window, a pattern
 * or a knockout excludes) have values without meaning. */
struct sheet {
    const char *tensor; /* the site's name: "weights" */
    const char *title;  /* name in pictures; NULL: `tensor` */
    int layer;          /* -1: the tensor belongs to no layer, or is the mean over layers */
    int head;           /* -1: the tensor has no heads, or is the mean over them */
    struct axis rows;
    struct axis columns;
    const float *values;        /* [rows, columns], dense */
    const char *const *texts;   /* [rows, columns], read by sheet_text; NULL: numbers */
    const char *beside_texts;   /* name of the numbers below texts; NULL: the same as the texts */
    bool whole;                 /* numbers are whole, and written so on pages and pictures */
    bool running;               /* rows are a text to read, with one number each */
    bool curves;                /* pictures: columns are lines over the rows */
    const char *const *regions; /* [rows] of curves: the region of each row; NULL: none */
    bool fraction;              /* colours range from 0 to 1, as the numbers do */
    bool parts;                 /* numbers are parts of a sum: those farthest from 0 matter */
    bool causal;                /* keys with a higher number than the query are hidden */
    const float *visible;       /* [rows, columns], 0: hidden; NULL: no other cell is hidden */
    bool mean_of_layers;
    bool mean_of_heads;
};

static inline float sheet_cell(const struct sheet *sheet, size_t row, size_t column)
{
    return sheet->values[row * sheet->columns.size + column];
}

/* The text that people read in place of the number; NULL: the number. */
static inline const char *sheet_text(const struct sheet *sheet, size_t row, size_t column)
{
    return sheet->texts ? sheet->texts[row * sheet->columns.size + column] : NULL;
}

static inline bool sheet_hides(const struct sheet *sheet, size_t row, size_t column)
{
    size_t number = axis_number(&sheet->rows, row);
    return (sheet->causal && sheet->columns.first + column > number) ||
           (sheet->visible && sheet->visible[row * sheet->columns.size + column] == 0);
}

#define SHEET_NO_COLUMN SIZE_MAX

/* The layer and head of a cell: the sheet's own, or else those of its row or column; -1: none. With
 * SHEET_NO_COLUMN those of the whole row. */
void sheet_layer_head(const struct sheet *sheet, size_t row, size_t column, int *layer, int *head);

/* True if the positions of an axis are heads, or heads among other parts of a layer. */
bool axis_has_heads(const struct axis *axis);

enum { SHEET_NAME_BYTES = 64 };

/* "weights layer 0 head 0", "weights layer 0 mean of heads", for headings; returns `title`. */
const char *sheet_title(char title[SHEET_NAME_BYTES], const struct sheet *sheet);

/* "weights.l00.h00", "weights.l00.hmean", for file names that sort; returns `stem`. */
const char *sheet_stem(char stem[SHEET_NAME_BYTES], const struct sheet *sheet);

/* --- numbers of one kind ------------------------------------------------------------------------
 *
 * All with the same decimals, or all as 1.23e-05 where decimals would show only zeros or be too
 * wide:
 *
 *     struct numeral numeral = numeral_of(values, count, NUMERAL_DIGITS);
 *     size_t size = numeral_write(text, numeral, values[0]);
 */

enum {
    NUMERAL_DIGITS = 4,     /* decimals, by default */
    NUMERAL_DIGITS_MAX = 9, /* a float32 has no more */
    NUMERAL_BYTES = 64,     /* the longest float32 with that many decimals has 50 */
};

struct numeral {
    int digits;
    bool scientific;
};

/* The lowest and the highest of some numbers as they are written: -0, which has a sign, is below
 * 0. */
struct numeral_range {
    float low; /* above `high` if there is no number */
    float high;
    bool infinite; /* some number is not finite; such numbers are not in the range */
};

struct numeral_range numeral_range_empty(void);
void numeral_range_add(struct numeral_range *range, float value);

/* The form for the numbers of a range, between two finite numbers, or of these numbers. */
struct numeral numeral_of_range(const struct numeral_range *range, int digits);
struct numeral numeral_between(float low, float high, int digits);
struct numeral numeral_of(const float *values, size_t count, int digits);

/* Columns of the widest number that the range may hold. */
size_t numeral_width(const struct numeral_range *range, struct numeral numeral);

/* 0.0386 or 3.86e-02, 0-terminated; returns the length. */
size_t numeral_write(char text[NUMERAL_BYTES], struct numeral numeral, float value);

/* Append a written number in LaTeX's form for mathematics. */
void numeral_latex(struct buf *latex, const char *text);

/* --- tables -------------------------------------------------------------------------------------
 *
 * A frame has a row for each thing that it lists: a token and its scores, a head and its scores, a
 * task of a benchmark. Text, CSV and JSON write it as it is; for arrays and pictures its numbers
 * become a sheet.
 *
 *     const struct column columns[] = {
 *         {"layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = layers},
 *         {"induction", .kind = COLUMN_FLOAT, .digits = 3, .values = scores},
 *     };
 *     const struct frame frame = {"heads", {"head", count, labels, 0}, columns, 2};
 *
 * Or, with memory for values that are filled in afterwards:
 *
 *     enum { LAYER, SCORE };
 *     static const struct column columns[] = {
 *         [LAYER] = {"layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY},
 *         [SCORE] = {"induction", .digits = 3},
 *     };
 *     struct frame frame = {"heads", {"head", count, labels, 0}};
 *     if (frame_columns(&frame, columns, 2, &arena, err)) ...
 *     frame_integers(&frame, LAYER)[row] = 0;
 *     frame_floats(&frame, SCORE)[row] = 0.93;
 */

enum column_kind {
    COLUMN_FLOAT,   /* double, written as float32; NaN: missing */
    COLUMN_INTEGER, /* long long; COLUMN_MISSING: missing */
    COLUMN_TEXT,    /* const char *; NULL: missing */
    COLUMN_LABEL,   /* struct label: its text for people, its plain form in data */
};

#define COLUMN_MISSING LLONG_MIN

enum {
    COLUMN_KEY = 1,       /* identifies the row: arrays and pictures leave it out */
    COLUMN_TEXT_ONLY = 2, /* for people: not in data */
    COLUMN_DATA_ONLY = 4, /* not in text */
    COLUMN_COLOURED = 8,  /* coloured by value in text; pictures show these columns alone */
    COLUMN_RIGHT = 16,    /* text: a column of texts that is aligned right */
    COLUMN_SHRINKS = 32,  /* text: shortened where the line is too long for the page */
    COLUMN_PLAIN = 64,    /* text: small numbers have their decimals, too: 0.000, not 1.2e-05 */
};

struct column {
    const char *name;  /* header in CSV, key in JSON */
    const char *title; /* header in text; NULL: the name; if all are "", there is no header */
    const char *brief; /* header, with one decimal less, where lines are too long; NULL: title */
    const char *unit;  /* in JSON's "units"; NULL: none */
    enum column_kind kind;
    unsigned flags;     /* COLUMN_… */
    int digits;         /* decimals of floats in text */
    bool fraction;      /* colours range from 0 to 1 */
    const void *values; /* [rows] of the kind's type */
};

struct frame {
    const char *name; /* "scores": the table's name in JSON, the tensor's in arrays */
    struct axis rows; /* name of a row's kind ("token"), number of rows, their labels */
    const struct column *columns;
    size_t count;
    unsigned flags;      /* COLUMN_TEXT_ONLY, COLUMN_DATA_ONLY */
    const char *heading; /* text: lines above the table, which is then indented; NULL: none */
    const char *note;    /* text: lines below the table; NULL: none */
    bool curves;         /* pictures: columns are lines over the rows, named by their titles */
    bool running;        /* pictures: rows are a text to read, coloured by the number */
};

static inline double column_float(const struct column *column, size_t row)
{
    return ((const double *)column->values)[row];
}

static inline long long column_integer(const struct column *column, size_t row)
{
    return ((const long long *)column->values)[row];
}

/* A text, or a label's form for people or for data; NULL where it is missing. */
const char *column_text(const struct column *column, size_t row, bool for_people);

/* The number in a row; NaN where it is missing or a text. */
double column_number(const struct column *column, size_t row);

/* True for a column of numbers that are results: neither a key nor for people alone. */
bool column_is_result(const struct column *column);

/* The number in the row's column of that name ("layer"); -1: there is none. */
int frame_key(const struct frame *frame, const char *name, size_t row);

/* The column "model" of a table about several models; NULL: it is about one. */
const struct column *frame_models(const struct frame *frame);

/* Give a frame a copy of these columns, owned by the arena. Values are borrowed; columns without
 * values get memory for them, all 0 (texts: missing). */
int frame_columns(struct frame *frame, const struct column *columns, size_t count,
                  struct arena *arena, struct err *err);

/* Values to be filled in, of a column that frame_columns made memory for. */
double *frame_floats(struct frame *frame, size_t column);
long long *frame_integers(struct frame *frame, size_t column);
const char **frame_texts(struct frame *frame, size_t column);
struct label *frame_labels(struct frame *frame, size_t column);

/* The results as a float32 matrix, rows by columns; for pictures the coloured columns alone, if
 * there are any. Memory is the arena's; labels are the frame's. */
int frame_sheet(struct sheet *sheet, const struct frame *frame, bool for_picture,
                struct arena *arena, struct err *err);

/* --- facts: single values, as a frame with one row ----------------------------------------------
 *
 *     struct facts *facts = facts_new(&arena, err);
 *     if (facts) {
 *         facts_integer(facts, "threads", 2);
 *         report.facts = &facts->frame;
 *     }
 *
 * Texts are borrowed. NaN and NULL are written as null.
 */

enum { FACTS_MAX = 96 };

struct facts {
    struct frame frame;
    struct column columns[FACTS_MAX];
    union {
        double number;
        long long integer;
        const char *text;
    } values[FACTS_MAX];
};

struct facts *facts_new(struct arena *arena, struct err *err);
void facts_float(struct facts *facts, const char *name, double value);
void facts_integer(struct facts *facts, const char *name, long long value);
void facts_text(struct facts *facts, const char *name, const char *text);

/* A row of text for people alone, above the tables of an untitled report; NULL: no row. */
void facts_row(struct facts *facts, const char *name, const char *text);

/* --- the numbers of some sheets that are farthest from 0 ----------------------------------------
 *
 *     struct strongest strongest = {0};
 *     for (size_t i = 0; i < count; i++)
 *         strongest_add(&strongest, &sheets[i]);
 *     strong_cell_name(&text, &strongest.cells[0]);          layer 1 head 2
 */

enum { STRONGEST_MAX = 10 };

struct strong_cell {
    struct sheet sheet;
    size_t row, column;
    float value;
};

/* The farthest first; equal ones in the order in which they were added. */
struct strongest {
    struct strong_cell cells[STRONGEST_MAX];
    size_t count;
};

/* Add the visible, finite cells of a sheet that are not 0. */
void strongest_add(struct strongest *list, const struct sheet *sheet);

/* layer 1 head 2; final bias; layer 1 head 2 from ␣is; layer 0 head 1 ␣cat from ␣the */
void strong_cell_name(struct buf *out, const struct strong_cell *cell);

/* A table of them for people: names, values, and bars of proportional length. */
int strongest_frame(struct frame *frame, const struct strongest *strongest, struct arena *arena,
                    struct err *err);

#endif
