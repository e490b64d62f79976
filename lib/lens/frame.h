/* frame.h: a table with typed columns and a row for each thing that it lists: a token and its
 * scores, a head and its scores, a task of a benchmark. Text, CSV and JSON write it as it is; for
 * arrays and pictures its numbers become a sheet.
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
#ifndef ATTN_LENS_FRAME_H
#define ATTN_LENS_FRAME_H

#include <limits.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/sheet.h"

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
    const char
        *brief;       /* header, with one decimal less, where lines are too long; NULL: the title */
    const char *unit; /* in JSON's "units"; NULL: none */
    enum column_kind kind;
    unsigned flags;     /* COLUMN_… */
    int digits;         /* decimals of floats in text */
    bool fraction;      /* colours range from 0 to 1 */
    const void *values; /* [rows] of the kind's type */
};

struct frame {
    const char *name; /* "scores": the table's name in JSON, the tensor's in arrays */
    struct axis rows; /* what a row is ("token"), how many there are, and their labels */
    const struct column *columns;
    size_t count;
    unsigned flags;      /* COLUMN_TEXT_ONLY, COLUMN_DATA_ONLY */
    const char *heading; /* text: lines above the table, which is then indented; NULL: none */
    const char *note;    /* text: lines below the table; NULL: none */
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

/* Give a frame a copy of these columns, which is the arena's. Values are borrowed; columns without
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

#endif
