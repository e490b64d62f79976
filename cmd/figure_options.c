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

int figure_options_read(struct figure_form *form, const struct figure_options *options,
                        struct err *err)
{
    *form = (struct figure_form){
        .font_size = options->font_size,
        .font = options->font,
        .dpi = options->dpi,
        .untitled = options->untitled,
        .transparent = options->transparent,
        .row_title = options->row_title,
        .column_title = options->column_title,
        .bar_title = options->bar_title,
    };
    return (options->font && check_font(options->font, err)) ||
                   (options->width && figure_form_read_width(form, options->width, err))
               ? -1
               : 0;
}
