/* sheet.h: a labelled matrix: what every writer and every picture takes.
 *
 * A sheet has seen no model: it has a name, two axes with labels, and numbers. `hidden` cells (the
 * future, under a causal mask) exist in the numbers but have nothing to say.
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
    int layer;          /* -1: the tensor belongs to no layer, or is the mean over layers */
    int head;           /* -1: the tensor has no heads, or is the mean over them */
    struct axis rows;
    struct axis columns;
    const float *values; /* [rows, columns], dense */
    bool causal;         /* cells right of the diagonal are hidden */
    bool mean_of_layers;
    bool mean_of_heads;
};

static inline float sheet_cell(const struct sheet *sheet, size_t row, size_t column)
{
    return sheet->values[row * sheet->columns.size + column];
}

static inline bool sheet_hides(const struct sheet *sheet, size_t row, size_t column)
{
    return sheet->causal && column > row;
}

enum { SHEET_NAME_BYTES = 64 };

/* "weights layer 0 head 0", "weights layer 0 mean of heads", for headings; returns `title`. */
const char *sheet_title(char title[SHEET_NAME_BYTES], const struct sheet *sheet);

/* "weights.l00.h00", "weights.l00.hmean", for file names: as long as there are at most 100 layers
 * and 100 heads their order by name is their order; returns `stem`. */
const char *sheet_stem(char stem[SHEET_NAME_BYTES], const struct sheet *sheet);

#endif
