/* section_notes.c: what must be said of a section besides, in lines below its scale. */
#include "draw/figure.h"

#include <math.h>
#include <string.h>

/* The bytes of the words that have room in a line, at least one of them. */
static size_t line_size(const char *text, double room, double size, struct buf *line)
{
    size_t fitting = 0;
    for (const char *end = text; *end;) {
        end += strspn(end, " ");
        end += strcspn(end, " ");
        buf_clear(line);
        buf_bytes(line, text, (size_t)(end - text));
        buf_char(line, '\0');
        if (fitting && (line->out_of_memory || letters_width(line->bytes, size) > room))
            break;
        fitting = (size_t)(end - text);
    }
    return fitting;
}

/* In one line where it determines how wide the picture is, in several where that is given. */
static int add_note(struct section *section, const char *text, struct arena *arena, struct err *err)
{
    double size = type_size(&section->style->form, TYPE_NUMBER);
    double room = section_is_printed(section) ? section->room : INFINITY;
    struct buf line = {0};
    int failed = !text;
    while (!failed && *text && section->note_count < SECTION_NOTES_MAX) {
        size_t bytes = line_size(text, room, size, &line);
        const char *kept = arena_text(arena, text, bytes, err);
        failed = !kept || buf_check(&line, err);
        section->notes[section->note_count++] = kept;
        text += bytes;
        text += strspn(text, " ");
    }
    buf_release(&line);
    return failed ? -1 : 0;
}

int section_notes_make(struct section *section, struct arena *arena, struct err *err)
{
    size_t rows = section->rows.step;
    size_t columns = section->columns.step;
    bool lines = section->kind == KIND_LINES || section->kind == KIND_OVERLAY;
    bool wanted = section->style->cells == CELLS_NUMBERS || section->style->cells == CELLS_BOTH;
    const struct figure_form *form = &section->style->form;
    int decimals = 0;
    int failed = 0;
    if (section->style->range == RANGE_HEAD && section->panels > 1)
        failed |= add_note(section, "every head has its own range", arena, err);
    if (section->style->range == RANGE_ROW)
        failed |= add_note(section, "every row has its own range", arena, err);
    if (rows > 1 || columns > 1)
        failed |=
            add_note(section,
                     arena_format(arena, err, "a %s stands for the largest of %zu × %zu numbers",
                                  lines ? "line" : "cell", rows, columns),
                     arena, err);
    if (section->kind == KIND_MATRIX && section->what.sheets->beside_texts &&
        section->style->cells != CELLS_HEAT && !panel_has_numbers(section, &decimals))
        failed |= add_note(section,
                           "the cells have no room for the tokens: --token-range A-B shows fewer",
                           arena, err);
    else if (wanted && !lines && !panel_has_numbers(section, &decimals))
        failed |= add_note(section, "the cells have no room for numbers", arena, err);
    if (lines)
        failed |= add_note(
            section,
            arena_format(arena, err, "no line below %.0f %% of the scale", 100 * PANEL_LINES_LEAST),
            arena, err);
    if (lines && form->top)
        failed |= add_note(
            section, arena_format(arena, err, "the %lld strongest lines of a head", form->top),
            arena, err);
    if (section->what.cropped)
        failed |= add_note(
            section,
            arena_format(arena, err, "tokens %zu to %zu", form->first_token, form->last_token),
            arena, err);
    if (section->what.first_hidden)
        failed |= add_note(section, "the first token is hidden", arena, err);
    return failed ? -1 : 0;
}

double section_notes_height(const struct section *section)
{
    return section_line(section, TYPE_NUMBER) * (double)section->note_count;
}

void section_notes_draw(const struct section *section, struct canvas *canvas, struct point corner)
{
    const struct lettering letters = section_letters(section, TYPE_NUMBER, 0x666666);
    double line = section_line(section, TYPE_NUMBER);
    for (size_t i = 0; i < section->note_count; i++)
        canvas_text(canvas, (struct point){corner.x, corner.y + line * (double)(i + 1)},
                    section->notes[i], &letters);
}
