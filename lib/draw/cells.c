#include "draw/cells.h"

#include <stdlib.h>

#include "lens/sheet.h"
#include "write/palette.h"
#include "write/style.h"
#include "write/tone.h"

size_t cells_step(size_t size, size_t room)
{
    return room ? (size + room - 1) / room : size;
}

size_t cells_count(size_t size, size_t step)
{
    return step ? (size + step - 1) / step : 0;
}

/* The one of two levels that is farther from the ramp's quiet end: its start, or its middle. */
static unsigned char louder(unsigned a, unsigned b, bool two_sided)
{
    int quiet = two_sided ? RAMP_LEVELS / 2 : 1;
    if (a == 0 || b == 0)
        return (unsigned char)(a | b);
    return (unsigned char)(abs((int)b - quiet) > abs((int)a - quiet) ? b : a);
}

static void add_row(struct cells *cells, const struct sheet *sheet, size_t row,
                    const struct tone *tone)
{
    unsigned char *levels = cells->levels + row / cells->row_step * cells->columns;
    for (size_t c = 0; c < sheet->columns.size && !sheet_hides(sheet, row, c); c++) {
        unsigned char *level = &levels[c / cells->column_step];
        *level = louder(*level, tone_level(tone, sheet_cell(sheet, row, c)), tone->two_sided);
    }
}

int cells_make(struct cells *cells, const struct sheet *sheet, const struct tones *tones,
               struct cell_room room, struct arena *arena, struct err *err)
{
    struct tone tone = tone_of_sheet(tones, sheet);
    *cells = (struct cells){
        .row_step = cells_step(sheet->rows.size, room.rows),
        .column_step = cells_step(sheet->columns.size, room.columns),
    };
    cells->rows = cells_count(sheet->rows.size, cells->row_step);
    cells->columns = cells_count(sheet->columns.size, cells->column_step);
    cells->levels = arena_alloc(arena, cells->rows, cells->columns, err);
    if (!cells->levels)
        return -1;
    for (size_t row = 0; row < sheet->rows.size; row++) {
        if (tones->range == RANGE_ROW)
            tone = tone_of_row(tones, sheet, row);
        add_row(cells, sheet, row, &tone);
    }
    return 0;
}
