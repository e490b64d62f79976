/* figure_options.c: the options of figures for papers. */
#include "output.h"

#include <string.h>

static int check_font(const char *font, struct err *err)
{
    if (*font && !strpbrk(font, "'\"\\,"))
        return 0;
    return err_usage(err, "--font: expected the name of a family, as 'DejaVu Serif', found '%s'",
                     font);
}

static int check_lines(const struct figure_options *options, enum style_view view, struct err *err)
{
    if (!options->top || view == VIEW_LINES || view == VIEW_OVERLAY)
        return 0;
    return err_usage(err, "--top: expected --view lines or overlay: it is for lines");
}

int figure_options_read(struct figure_form *form, const struct figure_options *options,
                        enum style_view view, struct err *err)
{
    *form = (struct figure_form){
        .font_size = options->font_size,
        .font = options->font,
        .dpi = options->dpi,
        .top = options->top,
    };
    for (size_t i = 0; i < options->marks.count; i++)
        if (figure_form_read_marks(form, options->marks.items[i], err))
            return -1;
    if ((options->font && check_font(options->font, err)) ||
        (options->width && figure_form_read_width(form, options->width, err)) ||
        (options->panel_labels && figure_form_read_labels(form, options->panel_labels, err)) ||
        (options->mask && figure_form_read_mask(form, options->mask, err)) ||
        (options->tokens && figure_form_read_tokens(form, options->tokens, err)))
        return -1;
    return check_lines(options, view, err);
}
