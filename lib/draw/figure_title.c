/* figure_title.c: the title of a figure, in a few lines where it is longer than the figure wide. */
#include <math.h>
#include <string.h>

#include "draw/figure.h"
#include "text/label.h"

static const double BOLD = 1.16; /* wider than the letters that widths are known of */

static bool has_title(const struct style *style)
{
    return style->title && *style->title;
}

/* The model's name, before a title that is not given. */
static const char *model_name(const struct report *report)
{
    const char *slash = strrchr(report->model, '/'); /* a folder's own name is enough */
    return slash && slash[1] ? slash + 1 : report->model;
}

/* What all is about is not cut from the title: the text, after it, may be where the page ends. Nor
 * is the second of two texts, up to a usual page's width. */
double figure_title_width(const struct report *report, const struct style *style, const char *title)
{
    static const char gap[] = " ·  · …";
    if ((!report->about && !report->source.count) || style->title)
        return 0;
    double size = type_size(&style->form, TYPE_TITLE);
    double least = letters_width(model_name(report), size) + letters_width(gap, size) +
                   (report->about ? letters_width(report->about, size) : 0);
    double whole = 1 + letters_width(title, size); /* room for rounding */
    return fmax(2 * FIGURE_MARGIN + BOLD * least,
                fmin(2 * FIGURE_MARGIN + BOLD * whole, FIGURE_WIDEST));
}

void figure_title(struct buf *out, const struct report *report, const struct style *style)
{
    const char *name = has_title(style) ? style->title : model_name(report);
    label_line(out, name, strlen(name));
    if (has_title(style))
        return;
    if (report->about)
        buf_format(out, " · %s", report->about);
    if (!report->sentence.count) /* it is about the model alone */
        return;
    buf_text(out, report->corrupt ? " · clean: " : " · ");
    tokenized_visible(out, &report->sentence);
    if (report->corrupt) {
        buf_text(out, " · corrupt: ");
        tokenized_visible(out, report->corrupt);
    } else if (report->source.count) {
        buf_text(out, " · source: ");
        tokenized_visible(out, &report->source);
    }
}

/* The bytes of a text up to a blank that are no wider than `room`; without such a blank all of it,
 * as where all of it has room. */
static size_t line_bytes(const char *text, double room, double size, struct arena *arena,
                         struct err *err)
{
    char *line = arena_room(arena, strlen(text) + 1, 1, err);
    size_t fits = 0;
    if (!line)
        return 0;
    for (const char *end = text; end; end = strchr(end + 1, ' ')) {
        size_t bytes = (size_t)(end - text);
        memcpy(line, text, bytes);
        line[bytes] = '\0';
        if (letters_width(line, size) > room)
            return fits ? fits : strlen(text);
        fits = bytes;
    }
    return letters_width(text, size) <= room || !fits ? strlen(text) : fits;
}

int figure_place_title(struct figure *figure, const struct style *style, struct arena *arena,
                       struct err *err)
{
    const char *rest = figure->title;
    double size = type_size(figure->form, TYPE_TITLE);
    double room = (figure->width - 2 * figure->margin) / BOLD;
    if (style_is_untitled(style))
        return 0;
    while (*rest && figure->title_count < FIGURE_TITLE_LINES) {
        bool last = figure->title_count + 1 == FIGURE_TITLE_LINES;
        size_t bytes = last ? strlen(rest) : line_bytes(rest, room, size, arena, err);
        const char *line = arena_text(arena, rest, bytes, err);
        if (!bytes || !line)
            return -1;
        figure->title_lines[figure->title_count++] = line;
        rest += bytes + (rest[bytes] == ' ');
    }
    double height = (double)figure->title_count * type_line(figure->form, TYPE_TITLE);
    for (size_t i = 0; i < figure->section_count; i++)
        figure->sections[i].at.y += height;
    figure->height += height;
    return 0;
}

int figure_draw_title(const struct figure *figure, struct canvas *canvas, struct err *err)
{
    const struct lettering letters = {.size = type_size(figure->form, TYPE_TITLE), .bold = true};
    struct point at = {figure->margin, figure->margin + letters.size - 1};
    double room = (figure->width - 2 * figure->margin) / BOLD;
    for (size_t i = 0; i < figure->title_count; i++) {
        if (canvas_text_fit(canvas, at, figure->title_lines[i], room, &letters, err))
            return -1;
        at.y += type_line(figure->form, TYPE_TITLE);
    }
    return 0;
}
