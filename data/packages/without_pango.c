/* without_pango.c: the static program's cairo_library.c: what loads no libraries has neither pango
 * nor cairo. */
#include "draw/cairo_library.h"

const struct cairo_library *cairo_library_load(struct err *err)
{
    err_output(err, "png and pdf are drawn by pango and cairo, and a static program loads no "
                    "libraries: write svg, or use an attn-cli that `make` has built");
    return NULL;
}

int cairo_library_check(struct err *err)
{
    (void)err;
    return 0;
}
