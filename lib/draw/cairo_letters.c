/* cairo_letters.c: the font of a picture. */
#include "draw/cairo_canvas.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char fonts[] = "Helvetica, Arial, DejaVu Sans, Noto Sans, sans-serif";

/* Letters stand where their font wants them, not on whole pixels: at sizes of a few points that
 * would tear words apart, and a PDF has no pixels. False: without a single font pango draws boxes
 * in place of letters, and says that it did well. */
static bool open_letters(struct cairo_canvas *to)
{
    const struct cairo_library *lib = to->lib;
    struct _cairo_font_options *options = lib->cairo_font_options_create();
    to->layout = lib->pango_cairo_create_layout(to->cairo);
    struct _PangoContext *context = lib->pango_layout_get_context(to->layout);
    lib->cairo_font_options_set_hint_style(options, CAIRO_HINT_NONE);
    lib->cairo_font_options_set_hint_metrics(options, CAIRO_HINT_NONE);
    lib->pango_cairo_context_set_font_options(context, options);
    lib->pango_context_set_round_glyph_positions(context, false);
    lib->cairo_font_options_destroy(options);
    lib->pango_layout_set_auto_dir(to->layout, false);
    to->font = lib->pango_font_description_new();
    lib->pango_font_description_set_family(to->font, fonts);
    lib->pango_layout_set_font_description(to->layout, to->font);
    lib->pango_layout_set_text(to->layout, "x", 1);
    return lib->pango_layout_get_unknown_glyphs_count(to->layout) == 0;
}

enum { FAMILY_BYTES = 128 };

/* The family that letters of one that is asked for come from, as fontconfig says; "" where it
 * has none. */
static void find_family(char family[FAMILY_BYTES], struct cairo_canvas *to, const char *name)
{
    const struct cairo_library *lib = to->lib;
    struct _PangoContext *context = lib->pango_layout_get_context(to->layout);
    lib->pango_font_description_set_family(to->font, name);
    struct _PangoFont *font = lib->pango_context_load_font(context, to->font);
    struct _PangoFontDescription *found = font ? lib->pango_font_describe(font) : NULL;
    snprintf(family, FAMILY_BYTES, "%s",
             found ? lib->pango_font_description_get_family(found) : "");
    if (found)
        lib->pango_font_description_free(found);
    if (font)
        lib->g_object_unref(font);
}

/* Names that stand for others, Times for Nimbus Roman, will do; what gives the letters that any
 * name gives is not there. */
static int choose_font(struct cairo_canvas *to, const char *name, struct err *err)
{
    static const char *const generic[] = {"sans", "sans-serif", "serif", "monospace"};
    char any[FAMILY_BYTES];
    char its[FAMILY_BYTES];
    char list[FAMILY_BYTES + sizeof fonts];
    find_family(any, to, "no family is called so");
    find_family(its, to, name);
    bool found = strcasecmp(its, any) != 0 || strcasecmp(its, name) == 0;
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++)
        found = found || strcasecmp(name, generic[i]) == 0;
    if (!found)
        return err_output(err,
                          "--font: expected a family of letters that is installed, found '%s': "
                          "'fc-list : family' lists them, svg takes any",
                          name);
    snprintf(list, sizeof list, "%s, %s", name, fonts);
    to->lib->pango_font_description_set_family(to->font, list);
    return 0;
}

int cairo_letters_open(struct cairo_canvas *to, const char *family, struct err *err)
{
    if (!open_letters(to))
        return err_output(err, "png and pdf need a font, and none can be read: install one "
                               "(Debian: fonts-dejavu-core) or write svg");
    return family ? choose_font(to, family, err) : 0;
}
