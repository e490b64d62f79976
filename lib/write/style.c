#include "write/style.h"

#include <float.h>
#include <string.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/num.h"

const struct style style_default = {0};

const char *const style_scale_names[] = {"linear", "sqrt", "log", NULL};
const char *const style_range_names[] = {"all", "head", "row", NULL};
const char *const style_view_names[] = {"matrix", "lines", "overlay", NULL};
const char *const style_cells_names[] = {"numbers", "heat", "both", NULL};

/* The place of a name in a list that ends with NULL; -1 with an error that names them all. */
static int find(const char *option, const char *const *list, const char *name, struct err *err)
{
    struct names names = {list, 0, sizeof *list, NULL};
    size_t index = 0;
    while (list[names.count])
        names.count++;
    return names_choose(&index, names, option, name, err) ? -1 : (int)index;
}

int style_read_scale(struct style *style, const char *name, struct err *err)
{
    int found = find("--color-scale", style_scale_names, name, err);
    style->scale = found < 0 ? COLOURS_LINEAR : (enum style_scale)found;
    return found < 0 ? -1 : 0;
}

/* LOW:HIGH, of which colours take 0 for their beginning or their middle. */
static int read_bounds(struct extent *bounds, const char *text, struct err *err)
{
    const char *colon = strchr(text, ':');
    struct buf first = {0};
    double low = 0;
    double high = 0;
    buf_bytes(&first, text, (size_t)(colon - text));
    buf_char(&first, '\0');
    if (buf_check(&first, err)) {
        buf_release(&first);
        return -1;
    }
    bool sound = num_parse_double(first.bytes, -FLT_MAX, 0, &low) &&
                 num_parse_double(colon + 1, 0, FLT_MAX, &high) && (float)high > 0;
    buf_release(&first);
    *bounds = sound ? (struct extent){(float)low, (float)high} : (struct extent){0, 0};
    if (sound)
        return 0;
    return err_usage(err,
                     "--range: expected LOW:HIGH with LOW at most 0 and HIGH above it, "
                     "found '%s'",
                     text);
}

int style_read_range(struct style *style, const char *name, struct err *err)
{
    style->range = RANGE_ALL;
    if (strchr(name, ':'))
        return read_bounds(&style->bounds, name, err);
    static const char *const ranges[] = {"all", "head", "row", "LOW:HIGH", NULL};
    int found = find("--range", ranges, name, err); /* never the last, which has a colon */
    style->range = found < 0 ? RANGE_ALL : (enum style_range)found;
    return found < 0 ? -1 : 0;
}

int style_read_view(struct style *style, const char *name, struct err *err)
{
    int found = find("--view", style_view_names, name, err);
    style->view = found < 0 ? VIEW_MATRIX : (enum style_view)found;
    return found < 0 ? -1 : 0;
}

int style_read_cells(struct style *style, const char *name, struct err *err)
{
    int found = find("--style", style_cells_names, name, err);
    style->cells = (enum style_cells)(found + 1); /* the first has no name */
    return found < 0 ? -1 : 0;
}

int style_read_palette(struct style *style, const char *name, struct err *err)
{
    size_t index = 0;
    if (names_choose(&index, NAMES(palette_rows, palette_count), "--palette", name, err))
        return -1;
    style->palette = &palette_rows[index];
    return 0;
}
