/* strongest.h: the numbers of some sheets that are farthest from 0, and what they are called.
 *
 *     struct strongest strongest = {0};
 *     for (size_t i = 0; i < count; i++)
 *         strongest_add(&strongest, &sheets[i]);
 *     strong_cell_name(&text, &strongest.cells[0]);          layer 1 head 2
 */
#ifndef ATTN_LENS_STRONGEST_H
#define ATTN_LENS_STRONGEST_H

#include "base/arena.h"
#include "lens/sheet.h"

struct frame;

enum { STRONGEST_MAX = 10 };

struct strong_cell {
    struct sheet sheet;
    size_t row, column;
    float value;
};

/* The farthest first; of equal ones those that were added first. */
struct strongest {
    struct strong_cell cells[STRONGEST_MAX];
    size_t count;
};

/* Of what the sheet does not hide, and is a number but 0. */
void strongest_add(struct strongest *list, const struct sheet *sheet);

/* layer 1 head 2; final bias; layer 1 head 2 from ␣is; layer 0 head 1 ␣cat from ␣the */
void strong_cell_name(struct buf *out, const struct strong_cell *cell);

/* For people, a table of them: names, values, and bars as long as they are large. */
int strongest_frame(struct frame *frame, const struct strongest *strongest, struct arena *arena,
                    struct err *err);

#endif
