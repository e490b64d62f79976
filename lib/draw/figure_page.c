/* figure_page.c: pictures on a page for browsers, each with its numbers as tables below: for
 * screen readers, and for copying. */
#include "draw/figure.h"

#include <math.h>

#include "draw/page_values.h"
#include "write/format.h"

static void begin_html(struct stream *out, const char *title)
{
    static const char head[] = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                               "<meta name=\"viewport\" content=\"width=device-width\">\n"
                               "<title>";
    static const char look[] = "</title>\n"
                               "<style>svg { display: block; max-width: 100%; margin: 0 auto }\n"
                               "details { margin: 1em; overflow: auto; font: 14px sans-serif }\n"
                               "caption, th, td { padding: 1px 7px; text-align: right }\n"
                               "caption { text-align: left }</style>\n";
    stream_text(out, head);
    page_put_text(out, title);
    stream_text(out, look);
}

static void put_heading(struct stream *out, const char *scope, const char *text)
{
    stream_format(out, "<th scope=\"%s\">", scope);
    page_put_text(out, text);
}

static void put_bars(struct stream *out, const struct section *section)
{
    stream_text(out, "<table>\n");
    for (size_t i = 0; i < section->strongest->count; i++) {
        stream_text(out, "<tr>");
        put_heading(out, "row", section->strong_names[i]);
        stream_text(out, "<td>");
        stream_float(out, section->strongest->cells[i].value);
        stream_char(out, '\n');
    }
    stream_text(out, "</table>\n");
}

static void put_cell(struct stream *out, const struct sheet *sheet, size_t row, size_t column)
{
    float value = sheet_cell(sheet, row, column);
    stream_text(out, "<td>");
    if (!sheet_hides(sheet, row, column) && !isnan(value))
        stream_float(out, value);
}

static void put_sheet(struct stream *out, const struct sheet *sheet, bool alone)
{
    char title[SHEET_NAME_BYTES];
    stream_text(out, "<table>");
    if (!alone)
        stream_format(out, "<caption>%s</caption>", sheet_title(title, sheet));
    stream_text(out, "\n<tr><td>");
    for (size_t i = 0; i < sheet->columns.size; i++)
        put_heading(out, "col", sheet->columns.labels[i].text);
    for (size_t row = 0; row < sheet->rows.size; row++) {
        stream_text(out, "\n<tr>");
        put_heading(out, "row", sheet->rows.labels[row].text);
        for (size_t column = 0; column < sheet->columns.size; column++)
            put_cell(out, sheet, row, column);
    }
    stream_text(out, "\n</table>\n");
}

static void put_numbers(struct stream *out, const struct section *section)
{
    size_t sheets = section->what.layers * section->what.heads;
    stream_text(out, "<details><summary>");
    page_put_text(out, section->subtitle);
    stream_text(out, "</summary>\n");
    if (section->kind == KIND_BARS)
        put_bars(out, section);
    else
        for (size_t i = 0; i < sheets; i++)
            put_sheet(out, &section->what.sheets[i], sheets == 1);
    stream_text(out, "</details>\n");
}

/* "tiny · Life is short · fraction", or "tiny · score of 12 texts"; the user's own as it is. */
static int begin_page(struct stream *out, const struct figure *figure, const struct report *report,
                      const struct place *place, struct arena *arena, struct err *err)
{
    const char *own = place->style ? place->style->title : NULL;
    const char *what = report->tensor_count ? report->tensors->made->tensor : "pictures";
    const char *title =
        own && *own ? own : arena_format(arena, err, "%s · %s", figure->title, what);
    if (place->count > 1 && !(own && *own))
        title = arena_format(arena, err, "%s · %s of %zu texts", report->model, what, place->count);
    if (title)
        begin_html(out, title);
    return title ? 0 : -1;
}

int figure_write_page(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    const struct style *style = place->style ? place->style : &style_default;
    int failed = figure_plan(&figure, report, style, &arena, err) ||
                 (place->index == 0 && begin_page(out, &figure, report, place, &arena, err)) ||
                 figure_write(out, DRAWING_SVG, &figure, err);
    for (size_t i = 0; !failed && i < figure.section_count; i++)
        put_numbers(out, &figure.sections[i]);
    arena_release(&arena);
    return failed ? -1 : 0;
}
