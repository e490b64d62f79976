/* tally_sheet.h: what a tally holds, as sheets: layers × heads of measures of rows, queries × keys
 * of each head for measures of cells.
 *
 *     struct tally_sheets sheets;
 *     if (tally_sheets_make(&sheets, &tally, MEASURE_ENTROPY, &arena, err)) ...
 *     for (size_t i = 0; i < sheets.count; i++)
 *         use(&sheets.items[i], sheets.counts[i]);
 */
#ifndef ATTN_LENS_TALLY_SHEET_H
#define ATTN_LENS_TALLY_SHEET_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/measured.h"
#include "lens/sheet.h"
#include "lens/tally.h"

struct tally_sheets {
    struct sheet *items;     /* [count], their numbers and labels the arena's */
    const uint64_t **counts; /* [count][rows, columns] of each cell */
    size_t count;
    uint64_t most; /* the largest number of queries or texts that a cell stands for */
};

/* Layers and heads that nothing was counted of have no place; a pair of them of which nothing was
 * is NaN. */
int tally_sheets_make(struct tally_sheets *sheets, const struct tally *tally, enum measure measure,
                      struct arena *arena, struct err *err);

/* All measures of a tally, in the order of their table: fills in the items of `measured`. */
int tally_measure(struct measured *measured, const struct tally *tally, struct arena *arena,
                  struct err *err);

#endif
