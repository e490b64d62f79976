/* sheet.h: the data types of results: labels and axes; the array, and the sheet, a view of one of
 * its matrices, for writers of matrices and figures; the table, which has typed columns; and number
 * formats.
 *
 *     for (size_t r = 0; r < sheet->rows.size; r++)
 *         for (size_t c = 0; c < sheet->columns.size; c++)
 *             if (!sheet_hides(sheet, r, c))
 *                 use(&sheet->rows.labels[r], &sheet->columns.labels[c], sheet_cell(sheet, r, c));
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "base/memory.h"
#include "math/tensor.h"
#include "model/head_name.h"
#include "model/site.h"

struct buf;

/* The label of a position on an axis. The texts live as long as the report. */
struct label {
    const char *text;  /* for people: the visible token `Life`, or a channel number `17` */
    const char *exact; /* for data: with an index, `0:Life`, if tokens may repeat; else the same as
                        * `plain` */
    const char *plain; /* for data: the token itself, or the number; a token that is not valid
                        * UTF-8, or has a byte 0, in visible form */
};

struct axis {
    const char *name; /* name of the axis, such as "query", "key", "token", "head", "layer" or
                       * "channel" */
    size_t size;
    const struct label *labels; /* [size] labels of the positions */
    ptrdiff_t first;            /* number of the first position: 1 if token 0 is hidden; below 0 if
                                 * special tokens, which have no number, precede word 0 */
    const size_t *numbers;      /* [size] numbers of the positions; NULL: first, first + 1, … */
    size_t second;              /* index of the first position that is in a pair's second text; 0:
                                 * all positions are in one text */
    bool joined; /* each position joins several tokens: a row is their mean, a column their sum */
};

/* Return the number of a position; negative: it has none. */
static inline ptrdiff_t axis_number(const struct axis *axis, size_t index)
{
    return axis->numbers ? (ptrdiff_t)axis->numbers[index] : axis->first + (ptrdiff_t)index;
}

/* Return the index of the position with a number; if there is none, the axis's size or more. */
static inline size_t axis_index(const struct axis *axis, size_t number)
{
    size_t index = 0;
    if (!axis->numbers)
        return (ptrdiff_t)number < axis->first ? axis->size : number - (size_t)axis->first;
    while (index < axis->size && axis->numbers[index] != number)
        index++;
    return index;
}

/* How the matrices of an array are displayed. */
struct display {
    const char *title;          /* name in figures; NULL: the array's name */
    const char *const *texts;   /* [rows, columns] texts to show in place of numbers; NULL: none */
    const char *beside_texts;   /* with `texts`: name of the numbers, which are shown as colours;
                                 * NULL: no name */
    bool whole;                 /* numbers are integers */
    bool fraction;              /* values are fractions: by default, colours range from 0 to 1 */
    bool parts;                 /* values are parts of a sum: figures show bars of the largest */
    bool running;               /* rows are tokens of a text, with one value each */
    bool curves;                /* figures: draw columns as lines over the rows */
    bool logarithmic;           /* with `curves`: both axes are logarithmic */
    const char *const *regions; /* [rows] for curves: name of a row's region; NULL: no regions */
};

/* An array of numbers, captured at a site for the selected heads, or computed: one matrix, or one
 * for each head. A captured array without the heads or the layer of its site is the mean over them.
 * Rows and columns without labels have the labels of the site, in the texts of the report. */
struct array {
    const char *name; /* name of a computed array; NULL: the site's name */
    enum site site;
    int layer;         /* the layer of the array; -1: it belongs to no single layer */
    struct axis heads; /* no labels: heads are numbered as in the model; no name: the array has no
                        * heads */
    struct axis rows, columns;
    const float *data;    /* contiguous; NULL: not computed yet */
    const float *visible; /* [queries, keys] 0 for each hidden key; NULL: no keys are hidden, except
                           * by a causal mask */
    size_t visible_step;  /* floats from one head's `visible` to the next; 0: all heads share it */
    size_t shared_by;     /* number of query heads that share each key/value head; 0: heads are
                           * query heads */
    bool bits;            /* the values are entropies in bits, and the name ends in `_bits` */
    const char *gradient; /* name of a gradient at the site, such as "gradient.q"; NULL: the site's
                           * values */
    const char *theirs;   /* the tensor's name in another program, whose order of axes files have;
                           * NULL: our name */
    bool merges_heads;    /* the other program has the heads side by side, [token, head * dim] */
    struct display display;
};

/* True if an axis of a captured array has only selected positions, whose numbers it then lists. */
static inline bool array_selects(const struct array *array, const struct axis *axis)
{
    return !array->name && axis->numbers;
}

/* View an array as a tensor: [heads, rows, columns], or [rows, columns] without heads. */
struct tensor array_tensor(const struct array *array);

/* Return the number of axes of an array in files: 3, or 2 without heads; 2 also for a site with one
 * number for each head and token, [H, T]. */
size_t array_rank(const struct array *array);

/* A labelled matrix of an array. Hidden cells are keys that a query cannot attend to. */
struct sheet {
    const char *name; /* name of the array: "weights" */
    int layer;        /* layer of the matrix; -1: none, or mean over layers */
    int head;         /* head of the matrix; -1: none, or mean over heads */
    bool of_copies;   /* `head` is the number of a copy of the stream */
    size_t shared_by; /* query heads that use each key/value head; 0: heads are query heads */
    struct axis rows;
    struct axis columns;
    const float *values;  /* [rows, columns], contiguous */
    const float *visible; /* [rows, columns] 0 for hidden cells; NULL: only `causal` hides cells */
    bool causal;          /* keys after the query are hidden */
    bool mean_of_layers;
    bool mean_of_heads;
    bool is_named; /* for people: a mark before the head's number */
    struct display display;
};

static inline float sheet_cell(const struct sheet *sheet, size_t row, size_t column)
{
    return sheet->values[row * sheet->columns.size + column];
}

/* Return the text that is displayed in place of the number; NULL: display the number. */
static inline const char *sheet_text(const struct sheet *sheet, size_t row, size_t column)
{
    return sheet->display.texts ? sheet->display.texts[row * sheet->columns.size + column] : NULL;
}

static inline bool sheet_hides(const struct sheet *sheet, size_t row, size_t column)
{
    return (sheet->causal &&
            axis_number(&sheet->columns, column) > axis_number(&sheet->rows, row)) ||
           (sheet->visible && sheet->visible[row * sheet->columns.size + column] == 0);
}

#define SHEET_NO_COLUMN SIZE_MAX

/* Get the layer and head of a cell, from the sheet or from its row and column labels; -1: none. If
 * `column` is SHEET_NO_COLUMN, column labels are ignored. */
void sheet_layer_head(const struct sheet *sheet, size_t row, size_t column, int *layer, int *head);

/* True if positions of an axis are heads, or parts of a layer, some of which are heads. */
bool axis_has_heads(const struct axis *axis);

enum { SHEET_NAME_BYTES = 64 };

/* Return "kv_head" for key/value heads that several query heads share, otherwise "head". */
const char *head_word(size_t shared_by);

/* Return the word for the number of a sheet's head: "head", "kv_head" or "copy". */
const char *sheet_head_word(const struct sheet *sheet);

/* True if a sheet is of one head in one layer, which has a name such as L1H3. */
bool sheet_names_head(const struct sheet *sheet);

/* Write the name of a sheet's head: "L1H3", for shared keys and values "L1KV0"; without a layer
 * "head 3". A copy is called "copy 1". Returns `name`. */
const char *sheet_head_name(char name[HEAD_NAME_BYTES], const struct sheet *sheet,
                            const char *language);

/* Write the query heads that share a key/value head, "L26H0-2"; layer -1: "heads 0-2". */
const char *heads_sharing(char text[SHEET_NAME_BYTES], int layer, size_t kv_head, size_t shared_by);

/* Append to a heading " · shared by L26H0-2", for several sheets " · each kv_head is shared
 * by 3 heads"; nothing if the sheet's head is not shared. */
void sheet_add_sharing(struct buf *out, const struct sheet *sheet, size_t count,
                       const char *language);

/* Append how the tokens of joined positions became one number: "; rows: mean of tokens". */
void sheet_add_joined(struct buf *out, const struct sheet *sheet, const char *language);

/* Write "weights L0H0" or "weights layer 0 mean of heads"; returns `title`. */
const char *sheet_title(char title[SHEET_NAME_BYTES], const struct sheet *sheet);

/* Write "weights.l00.h00" or "weights.l00.hmean" for sortable file names; returns `stem`. */
const char *sheet_stem(char stem[SHEET_NAME_BYTES], const struct sheet *sheet);

/* --- number format: the same decimals for all, or 1.23e-05 if they would be zeros or too wide --
 *
 *     struct numeral numeral = numeral_of(values, count, NUMERAL_DIGITS);
 *     size_t size = numeral_write(text, numeral, values[0]);
 */

enum {
    NUMERAL_DIGITS = 4,     /* default number of decimals */
    NUMERAL_DIGITS_MAX = 9, /* maximum number of decimals; 9 digits identify a float32 */
    NUMERAL_BYTES = 64,     /* the longest float32 with 9 decimals has 50 bytes */
};

struct numeral {
    int digits;
    bool scientific;
};

/* Choose the format for numbers between two bounds, or for the finite numbers of an array. */
struct numeral numeral_between(float low, float high, int digits);
struct numeral numeral_of(const float *values, size_t count, int digits);

/* Write 0.0386 or 3.86e-02 with a final NUL; returns the length. */
size_t numeral_write(char text[NUMERAL_BYTES], struct numeral numeral, float value);

/* Append a number in the syntax of LaTeX's math mode. */
void numeral_latex(struct buf *latex, const char *text);

/* --- tables --------------------------------------------------------------------------------------
 *
 * A table has a row per token, head, step and so on. It is written as a table in text, Markdown,
 * CSV and JSON; in arrays and figures, its numbers become a matrix. */

enum column_kind {
    COLUMN_FLOAT,   /* double, written as float32; NaN: missing */
    COLUMN_INTEGER, /* long long; COLUMN_MISSING: missing */
    COLUMN_TEXT,    /* const char *; NULL: missing */
    COLUMN_LABEL,   /* struct label: `text` for people, `plain` in data */
    COLUMN_VECTOR,  /* `width` floats in each row, or 1 if `width` is 0; NaN: empty */
};

#define COLUMN_MISSING LLONG_MIN

enum {
    COLUMN_KEY = 1,       /* identifies the row; not in arrays and figures */
    COLUMN_TEXT_ONLY = 2, /* only in text output, for people */
    COLUMN_DATA_ONLY = 4, /* only in data formats */
    COLUMN_COLOURED = 8,  /* coloured by value in text output; if a table has such columns, figures
                           * draw only these */
    COLUMN_RIGHT = 16,    /* right-aligned in text output */
    COLUMN_SHRINKS = 32,  /* shortened in text output if lines are too long */
    COLUMN_PLAIN = 64,    /* for people: numbers are never written like 1.2e-05 */
    COLUMN_LEADS = 128,   /* in tidy output, one of the leading columns */
    COLUMN_LITERAL = 256, /* texts that are JSON values, such as 2, and written without quotes */
    COLUMN_HIDDEN = COLUMN_TEXT_ONLY | COLUMN_DATA_ONLY, /* the column only labels the rows */
};

struct column {
    const char *name;  /* header in CSV, key in JSON */
    const char *title; /* header shown to people; NULL: `name`; if it is "" in all columns, no
                        * header line is written */
    const char *brief; /* shorter header in text output if lines are too long; the column then
                        * has one decimal fewer; NULL: use `title` */
    const char *unit;  /* unit of the numbers, in "units" of JSON output; NULL: no unit */
    enum column_kind kind;
    unsigned flags;     /* COLUMN_KEY and other bits */
    int digits;         /* number of decimals of floats in output for people */
    bool fraction;      /* colours, and the bars of vectors, range from 0 to 1 */
    const void *values; /* [rows] values of the type that enum column_kind states */
    size_t width;       /* number of elements of each vector; 0: each value is a single number */
    const float *total; /* [width] totals of vectors, shown below the rows; NULL: none */
};

enum { WORKING_FORMULAS_MAX = 3 };

/* How a table follows from earlier ones, for readers who recompute it: its formulas, one of them
 * with the numbers of a row, and the operands that no earlier table has. Such a table has a name, a
 * heading, perhaps a note, and columns of vectors, of which at most one is wider than 1. */
struct working {
    const struct chapter *chapter; /* chapter of the table; NULL: the table has no working */
    const char *formulas[WORKING_FORMULAS_MAX];
    size_t formula_count;
    const char *worked; /* a formula with the numbers of a row; NULL: none */
    const struct table *operands;
    size_t operand_count;
    bool is_shown;     /* of an operand: the formulas or the table also show its numbers */
    bool is_small;     /* of an operand: shown even in text output that omits large operands */
    bool of_keys;      /* rows are keys; text output may leave out keys with small weights */
    size_t own_row;    /* row to mark, of the query or head; NO_ROW: none */
    const char *total; /* label of the totals below the rows; NULL: none */
};

#define NO_ROW ((size_t)-1)

struct table {
    const char *name; /* name in JSON output, and of the array that table_array makes */
    struct axis rows; /* kind of the rows ("token"), their number and labels */
    const struct column *columns;
    size_t count;
    unsigned flags;      /* COLUMN_TEXT_ONLY or COLUMN_DATA_ONLY; 0: in all outputs */
    const char *heading; /* lines above the table, which text output then indents; NULL: none */
    const char *note;    /* lines below the table; with `curves` also the figure's title;
                          * NULL: none */
    bool curves;         /* figures: draw columns as lines over the rows, named by their titles */
    bool logarithmic;    /* with `curves`: both axes are logarithmic; the x coordinate of a row is
                          * its number */
    const struct table *pictures; /* figures: tables to draw in place of this one; NULL: none */
    size_t picture_count;
    bool running; /* figures: draw the rows as running text, coloured by their numbers */
    struct working working;
};

static inline double column_float(const struct column *column, size_t row)
{
    return ((const double *)column->values)[row];
}

static inline long long column_integer(const struct column *column, size_t row)
{
    return ((const long long *)column->values)[row];
}

static inline const float *column_vector(const struct column *column, size_t row)
{
    return (const float *)column->values + row * (column->width ? column->width : 1);
}

/* Return the text in a row, or a label's form for people or for data; NULL: missing. */
const char *column_text(const struct column *column, size_t row, bool for_people);

/* Return the number in a row; NaN if it is missing or not a number. */
double column_number(const struct column *column, size_t row);

/* True for numbers that are results: not keys, and not only for people. */
bool column_is_result(const struct column *column);

/* Find a column by name; NULL: none. */
const struct column *table_column(const struct table *table, const char *name);

/* Return the integer in column `name`, such as "layer"; -1: there is none. */
int table_key(const struct table *table, const char *name, size_t row);

/* A table that is filled row by row. Every row puts its cells in the same order; the first row
 * defines the columns. The second of two columns of one name is called `attn_…`. The first error
 * stays in `err`, and rows_finish returns -1 for it.
 *
 *     struct table_rows rows = {.most = count, .arena = arena, .err = err};
 *     for (size_t i = 0; i < count; i++, rows_next(&rows)) {
 *         rows_label(&rows, "text", COLUMN_KEY, labels[i]);
 *         rows_float(&rows, (struct column){"logprob", .digits = 4}, logprobs[i]);
 *     }
 *     return rows_finish(&table, &rows, "tokens", "token");
 */
struct table_rows {
    size_t most; /* maximum number of rows */
    struct arena *arena;
    struct err *err;
    struct column *columns;
    size_t count, row, at; /* `count`: number of columns; `row`: index of the current row; `at`:
                            * column of the next cell */
    struct label spare;    /* receives cells after a failure */
};

void rows_float(struct table_rows *rows, struct column column, double value);
void rows_integer(struct table_rows *rows, const char *name, unsigned flags, long long value);
void rows_text(struct table_rows *rows, const char *name, unsigned flags, const char *value);
void rows_label(struct table_rows *rows, const char *name, unsigned flags, struct label value);
void rows_next(struct table_rows *rows);

/* Set the header that text output shows for the column of the last cell. */
void rows_title(struct table_rows *rows, const char *title);

/* Finish the table. The first column of labels labels the rows. */
int rows_finish(struct table *table, const struct table_rows *rows, const char *name,
                const char *row);

/* Keep the rows with indices `rows`, in this order: sorts, filters or shortens a finished table. */
int table_pick(struct table *table, const size_t *rows, size_t count, struct arena *arena,
               struct err *err);

/* Convert the columns of results to an array, rows by columns; for figures (`for_picture`), only
 * coloured columns, if the table has any. The arena owns the values; labels of rows are the
 * table's. */
int table_array(struct array *array, const struct table *table, bool for_picture,
                struct arena *arena, struct err *err);

/* --- facts: single values, as a table with one row; NaN and NULL are missing ------------------ */

enum { FACTS_MAX = 96 };

struct facts {
    struct table table;
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

/* Also show the last fact to people, above the tables of an untitled report, unless the title, or
 * the text of the fact, is NULL. The unit may be "bytes". A fact without a name is only for
 * people. */
void facts_title(struct facts *facts, const char *title, const char *unit);

/* --- values of largest magnitude in some sheets ----------------------------------------------- */

enum { STRONGEST_MAX = 10 };

struct strong_cell {
    struct sheet sheet;
    size_t row, column;
    float value;
};

/* The values farthest from `origin`, farthest first; ties in the order of addition. */
struct strongest {
    float origin; /* reference value, usually 0 */
    struct strong_cell cells[STRONGEST_MAX];
    size_t count;
};

/* Add the visible, finite cells of a sheet that differ from the origin; the list keeps the
 * STRONGEST_MAX cells that are farthest from it. */
void strongest_add(struct strongest *list, const struct sheet *sheet);

/* Append the name of a cell, such as "L1H2", "L1.mlp", "final bias", "cross L1H2 from ␣is",
 * "L0H1 → L1H2.q" or "L0H1 ␣cat from ␣the". */
void strong_cell_name(struct buf *out, const struct strong_cell *cell);

/* Append the name of a cell in data: "layer 1 head 2", "layer 1 mlp", "layer 0 head 1 ␣cat". */
void strong_cell_plain_name(struct buf *out, const struct strong_cell *cell);

/* Return a bar of up to 24 columns for a share from -1 to 1, of █ or, below 0, of ░; it is empty if
 * the share is not finite. NULL with `err`. */
const char *bar_text(double share, struct arena *arena, struct err *err);

/* Make a table for text output with the name, the value and a bar of each cell of a list. */
int strongest_table(struct table *table, const struct strongest *strongest, struct arena *arena,
                    struct err *err);
