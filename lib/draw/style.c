#include "draw/style.h"

#include <string.h>

#include "base/buf.h"

const struct style style_default = {0};

const char *const style_scale_names[] = {"linear", "sqrt", "log", NULL};
const char *const style_range_names[] = {"all", "head", "row", NULL};
const char *const style_view_names[] = {"matrix", "lines", "overlay", NULL};
const char *const style_cells_names[] = {"numbers", "heat", "both", NULL};

/* The place of a name in a list; -1 with an error that names them all. */
static int find(const char *option, const char *const *names, const char *name, struct err *err)
{
    struct buf known = {0};
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            buf_release(&known);
            return i;
        }
        buf_format(&known, "%s%s", i ? ", " : "", names[i]);
    }
    err_usage(err, "--%s: expected one of %s, found '%s'", option, known.bytes ? known.bytes : "",
              name);
    buf_release(&known);
    return -1;
}

int style_read_scale(struct style *style, const char *name, struct err *err)
{
    int found = find("color-scale", style_scale_names, name, err);
    style->scale = found < 0 ? COLOURS_LINEAR : (enum style_scale)found;
    return found < 0 ? -1 : 0;
}

int style_read_range(struct style *style, const char *name, struct err *err)
{
    int found = find("range", style_range_names, name, err);
    style->range = found < 0 ? RANGE_ALL : (enum style_range)found;
    return found < 0 ? -1 : 0;
}

int style_read_view(struct style *style, const char *name, struct err *err)
{
    int found = find("view", style_view_names, name, err);
    style->view = found < 0 ? VIEW_MATRIX : (enum style_view)found;
    return found < 0 ? -1 : 0;
}

int style_read_cells(struct style *style, const char *name, struct err *err)
{
    int found = find("style", style_cells_names, name, err);
    style->cells = (enum style_cells)(found + 1); /* the first has no name */
    return found < 0 ? -1 : 0;
}

int style_read_palette(struct style *style, const char *name, struct err *err)
{
    struct buf known = {0};
    style->palette = palette_find(name);
    if (style->palette)
        return 0;
    for (size_t i = 0; i < palette_count; i++)
        buf_format(&known, "%s%s", i ? ", " : "", palette_rows[i].name);
    err_usage(err, "--palette: expected one of %s, found '%s'", known.bytes ? known.bytes : "",
              name);
    buf_release(&known);
    return -1;
}
