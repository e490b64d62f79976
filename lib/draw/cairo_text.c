#include "draw/cairo_text.h"

#include <string.h>

static void set_colour(struct cairo_canvas *to, struct colour colour)
{
    to->lib->cairo_set_source_rgba(to->cairo, colour.red / 255.0, colour.green / 255.0,
                                   colour.blue / 255.0, 1);
}

static void choose_font(struct cairo_canvas *to, const struct lettering *lettering)
{
    const struct cairo_library *lib = to->lib;
    lib->pango_font_description_set_absolute_size(to->font, lettering->size * PANGO_UNITS);
    lib->pango_font_description_set_weight(to->font, lettering->bold ? PANGO_BOLD : 400);
    lib->pango_layout_set_font_description(to->layout, to->font);
}

/* The layout's base line goes through the point. */
static void show_line(struct cairo_canvas *to, struct point at, const struct lettering *lettering)
{
    static const double before[] = {[ANCHOR_MIDDLE] = 0.5, [ANCHOR_END] = 1};
    const struct cairo_library *lib = to->lib;
    int width = 0;
    int height = 0;
    lib->pango_layout_get_size(to->layout, &width, &height);
    lib->cairo_save(to->cairo);
    lib->cairo_translate(to->cairo, at.x, at.y);
    lib->cairo_rotate(to->cairo, lettering->turn * 3.14159265358979 / 180);
    lib->cairo_move_to(to->cairo, -before[lettering->anchor] * width / PANGO_UNITS,
                       -(double)lib->pango_layout_get_baseline(to->layout) / PANGO_UNITS);
    set_colour(to, lettering->colour);
    lib->pango_cairo_show_layout(to->cairo, to->layout);
    lib->cairo_restore(to->cairo);
}

void cairo_text(struct cairo_canvas *to, struct point at, const char *text,
                const struct lettering *lettering)
{
    choose_font(to, lettering);
    to->lib->pango_layout_set_text(to->layout, text, (int)strlen(text));
    show_line(to, at, lettering);
}

/* --- markup ----------------------------------------------------------------------------------- */

static void set_markup(struct cairo_canvas *to, const char *markup,
                       const struct lettering *lettering)
{
    choose_font(to, lettering);
    to->lib->pango_layout_set_markup(to->layout, markup, (int)strlen(markup));
}

/* What markup leaves would go for plain texts, too. */
static void forget_markup(struct cairo_canvas *to)
{
    to->lib->pango_layout_set_markup(to->layout, "", 0);
    to->lib->pango_layout_set_width(to->layout, -1);
}

void cairo_text_markup(struct cairo_canvas *to, struct point at, const char *markup,
                       const struct lettering *lettering)
{
    set_markup(to, markup, lettering);
    show_line(to, at, lettering);
    forget_markup(to);
}

double cairo_text_height(struct cairo_canvas *to, const char *markup, double width,
                         const struct lettering *lettering)
{
    int across = 0;
    int down = 0;
    set_markup(to, markup, lettering);
    to->lib->pango_layout_set_width(to->layout, (int)(width * PANGO_UNITS));
    to->lib->pango_layout_get_size(to->layout, &across, &down);
    forget_markup(to);
    return (double)down / PANGO_UNITS;
}

void cairo_text_paragraph(struct cairo_canvas *to, struct point at, const char *markup,
                          double width, const struct lettering *lettering)
{
    set_markup(to, markup, lettering);
    to->lib->pango_layout_set_width(to->layout, (int)(width * PANGO_UNITS));
    to->lib->cairo_move_to(to->cairo, at.x, at.y);
    set_colour(to, lettering->colour);
    to->lib->pango_cairo_show_layout(to->cairo, to->layout);
    forget_markup(to);
}
