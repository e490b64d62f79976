#include "draw/heat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/letters.h"

enum { NUMBER_BYTES = 64 }; /* the longest float32 with its decimals has 45 */

static const double NUMBER_SIZE = 6;
static const double HATCHED = 60; /* in smaller pictures a hatching would be all one sees */
static const uint32_t EMPTY = 0xececec;
static const double CAP = 0.36; /* half the height of a digit, of its size */

static void write_number(char text[NUMBER_BYTES], float value, int decimals)
{
    snprintf(text, NUMBER_BYTES, "%.*f", decimals, (double)value);
}

/* The widest number is the lowest or the highest. */
static bool fits(const struct section *section, int decimals)
{
    char low[NUMBER_BYTES];
    char high[NUMBER_BYTES];
    struct extent extent = section->tones.found;
    write_number(low, extent.low, decimals);
    write_number(high, extent.high, decimals);
    double width = fmax(letters_width(low, NUMBER_SIZE), letters_width(high, NUMBER_SIZE));
    return width + 2.5 <= section->columns.pitch && NUMBER_SIZE + 3 <= section->rows.pitch;
}

/* Two decimals, fewer of large numbers; none where they do not fit or would all look like 0. */
bool heat_has_numbers(const struct section *section, int *decimals)
{
    struct extent extent = section->tones.found;
    float largest = fmaxf(-extent.low, extent.high);
    bool single = section->rows.step == 1 && section->columns.step == 1;
    *decimals = largest < 10 ? 2 : largest < 100 ? 1 : 0;
    return single && section->style->cells != CELLS_HEAT && extent.low <= extent.high &&
           (largest >= 0.1f || largest == 0) && fits(section, *decimals);
}

static void draw_numbers(const struct section *section, const struct sheet *sheet,
                         const struct cells *cells, struct canvas *canvas, struct box area,
                         int decimals)
{
    struct lettering lettering = {.size = NUMBER_SIZE, .anchor = ANCHOR_MIDDLE};
    bool heat = section->style->cells != CELLS_NUMBERS;
    char text[NUMBER_BYTES];
    for (size_t r = 0; r < sheet->rows.size; r++) {
        for (size_t c = 0; c < sheet->columns.size && !sheet_hides(sheet, r, c); c++) {
            unsigned level = cells->levels[r * cells->columns + c];
            struct point at = {area.x + section->columns.pitch * ((double)c + 0.5),
                               area.y + section->rows.pitch * ((double)r + 0.5) +
                                   CAP * NUMBER_SIZE};
            if (level == 0)
                continue;
            lettering.colour =
                colour_ink(heat ? section->ramp.colours[level] : colour_of_hex(0xffffff));
            write_number(text, sheet_cell(sheet, r, c), decimals);
            canvas_text(canvas, at, text, &lettering);
        }
    }
}

int heat_draw(const struct section *section, const struct sheet *sheet, struct canvas *canvas,
              struct box area, struct err *err)
{
    struct arena arena = {0};
    struct cells cells;
    int decimals = 0;
    struct cell_room room = {section->rows.cells, section->columns.cells};
    bool numbers = heat_has_numbers(section, &decimals);
    if (cells_make(&cells, sheet, &section->tones, room, &arena, err)) {
        arena_release(&arena);
        return -1;
    }
    if (section->style->cells != CELLS_NUMBERS || !numbers) {
        if (fmin(area.width, area.height) < HATCHED)
            canvas_rect(canvas, area, colour_of_hex(EMPTY));
        else
            canvas_hatch(canvas, area);
        canvas_cells(canvas, area, &cells, &section->ramp);
    }
    if (numbers)
        draw_numbers(section, sheet, &cells, canvas, area, decimals);
    arena_release(&arena);
    return 0;
}
