/* running_text.c: a text to be read, every token on the colour of its number. */
#include "draw/figure.h"

#include <string.h>

static const double PAD = 1.5; /* of colour on either side of a token */
static const double WORD_GAP = 2;
static const char blank[] = "␣";

struct word {
    const char *text;
    double x, width;
    size_t line;
};

/* After the one before it; one that begins with a blank at a distance; or on the next line. */
static struct word word_after(const struct word *before, const struct section *section, size_t row,
                              double room)
{
    const struct sheet *sheet = section->what.sheets;
    double size = type_size(&section->style->form, TYPE_TEXT);
    const char *text = sheet->rows.labels[row].text;
    bool has_blank = strncmp(text, blank, sizeof blank - 1) == 0 && text[sizeof blank - 1];
    bool is_apart = has_blank || strcmp(sheet->rows.name, "word") == 0;
    struct word word = {.text = text + (has_blank ? sizeof blank - 1 : 0), .line = before->line};
    word.x = before->x + before->width + (is_apart && row ? WORD_GAP : 0);
    word.width = letters_width(word.text, size) + 2 * PAD;
    if (word.x > 0 && word.x + word.width > room) {
        word.x = 0;
        word.line++;
    }
    return word;
}

double running_text_height(const struct section *section, double room)
{
    struct word word = {.line = 0};
    for (size_t row = 0; row < section->what.sheets->rows.size; row++)
        word = word_after(&word, section, row, room);
    return section_line(section, TYPE_TEXT) * (double)(word.line + 1);
}

void running_text_draw(const struct section *section, struct canvas *canvas, struct point corner)
{
    const struct sheet *sheet = section->what.sheets;
    const double line = section_line(section, TYPE_TEXT);
    struct tone tone = tone_of_sheet(&section->tones, sheet);
    struct word word = {.line = 0};
    for (size_t row = 0; row < sheet->rows.size; row++) {
        struct lettering lettering = section_letters(section, TYPE_TEXT, 0);
        unsigned level = tone_level(&tone, sheet_cell(sheet, row, 0));
        word = word_after(&word, section, row, section->area.width);
        double y = corner.y + line * (double)word.line;
        if (level) {
            canvas_rect(canvas, (struct box){corner.x + word.x, y, word.width, line - 2},
                        section->ramp.colours[level]);
            lettering.colour = colour_ink(section->ramp.colours[level]);
        }
        canvas_text(canvas, (struct point){corner.x + word.x + PAD, y + line - 5}, word.text,
                    &lettering);
    }
}
