/* sheet.h: a labelled matrix, what every writer and every picture takes; and how its numbers are
 * written. It knows no model. Cells that it hides (keys that a query cannot attend to: the future,
 * and those that a window, a pattern or a knockout excludes) have values but nothing to say.
 *
 *     for (size_t r = 0; r < sheet->rows.size; r++)
 *         for (size_t c = 0; c < sheet->columns.size; c++)
 *             if (!sheet_hides(sheet, r, c))
 *                 use(&sheet->rows.labels[r], &sheet->columns.labels[c], sheet_cell(sheet, r, c));
 */
#ifndef ATTN_LENS_SHEET_H
#define ATTN_LENS_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* One thing on an axis, in three forms that live as long as the report. */
struct label {
    const char *text;  /* what people read: the visible token `Life`, or a channel's number `17` */
    const char *exact; /* never twice on one axis: `0:Life`, or the channel's number again */
    const char *plain; /* for data files: the token's own text, 0-terminated, or the number; what is
                          seen of a token that is no text, a part of a character */
};

struct axis {
    const char *name; /* "query", "key", "token", "channel", "dim", "word" */
    size_t size;
    const struct label *labels; /* [size] */
    size_t first;               /* the number of the first place: 1 where token 0 is hidden */
};

struct sheet {
    const char *tensor; /* the site's name: "weights" */
    const char *title;  /* what pictures call it; NULL: by that name */
    int layer;          /* -1: the tensor belongs to no layer, or is the mean over layers */
    int head;           /* -1: the tensor has no heads, or is the mean over them */
    struct axis rows;
    struct axis columns;
    const float *values;      /* [rows, columns], dense */
    const char *const *texts; /* [rows, columns], read by sheet_text; NULL: numbers */
    const char *beside_texts; /* what the numbers under texts are; NULL: what texts say */
    bool whole;               /* numbers are, and written so on pages and pictures */
    bool running;             /* rows are a text to be read, with a number each */
    bool fraction;            /* numbers are from 0 to 1, which is then the range of colours */
    bool parts;               /* numbers are parts of a sum: those farthest from 0 tell most */
    bool causal;              /* cells right of the diagonal are hidden */
    const float *visible; /* [rows, columns] and so are those with 0 here; NULL: no others are */
    bool mean_of_layers;
    bool mean_of_heads;
};

static inline float sheet_cell(const struct sheet *sheet, size_t row, size_t column)
{
    return sheet->values[row * sheet->columns.size + column];
}

/* What people read there in place of the number; NULL: the number. */
static inline const char *sheet_text(const struct sheet *sheet, size_t row, size_t column)
{
    return sheet->texts ? sheet->texts[row * sheet->columns.size + column] : NULL;
}

static inline bool sheet_hides(const struct sheet *sheet, size_t row, size_t column)
{
    return (sheet->causal && column > row) ||
           (sheet->visible && sheet->visible[row * sheet->columns.size + column] == 0);
}

#define SHEET_NO_COLUMN SIZE_MAX

/* The layer and head of a cell: those of the sheet, or else of its row or column; -1: none. With
 * SHEET_NO_COLUMN those of the whole row. */
void sheet_layer_head(const struct sheet *sheet, size_t row, size_t column, int *layer, int *head);

/* Whether the places of an axis are heads, or heads among other parts of a layer. */
bool axis_has_heads(const struct axis *axis);

enum { SHEET_NAME_BYTES = 64 };

/* "weights layer 0 head 0", "weights layer 0 mean of heads", for headings; returns `title`. */
const char *sheet_title(char title[SHEET_NAME_BYTES], const struct sheet *sheet);

/* "weights.l00.h00", "weights.l00.hmean", for file names that sort; returns `stem`. */
const char *sheet_stem(char stem[SHEET_NAME_BYTES], const struct sheet *sheet);

/* --- numbers of one kind (numeral.c) ------------------------------------------------------------
 *
 * All with so many decimals, or all as 1.23e-05 where decimals would show nothing but zeros or take
 * too much room:
 *
 *     struct numeral numeral = numeral_of(values, count, NUMERAL_DIGITS);
 *     size_t size = numeral_write(text, numeral, values[0]);
 */

enum {
    NUMERAL_DIGITS = 4,     /* decimals unless others are asked for */
    NUMERAL_DIGITS_MAX = 9, /* a float32 has no more to tell */
    NUMERAL_BYTES = 64,     /* the longest float32 with so many decimals has 50 */
};

struct numeral {
    int digits;
    bool scientific;
};

/* The lowest and the highest of some numbers as they are written: -0, which has a sign, is below 0.
 */
struct numeral_range {
    float low; /* above `high` while there is no number */
    float high;
    bool infinite; /* some number is not finite */
};

struct numeral_range numeral_range_empty(void);
void numeral_range_add(struct numeral_range *range, float value);

/* For the numbers of a range; between two finite ones; for these, where what is not finite does not
 * count. */
struct numeral numeral_of_range(const struct numeral_range *range, int digits);
struct numeral numeral_between(float low, float high, int digits);
struct numeral numeral_of(const float *values, size_t count, int digits);

/* The columns of the widest number that the range may hold. */
size_t numeral_width(const struct numeral_range *range, struct numeral numeral);

/* 0.0386 or 3.86e-02, 0-terminated; returns the length. */
size_t numeral_write(char text[NUMERAL_BYTES], struct numeral numeral, float value);

/* Append what was written as LaTeX has it in mathematics. */
void numeral_latex(struct buf *latex, const char *text);

#endif
