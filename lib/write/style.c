#include "write/style.h"

#include <float.h>
#include <string.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/num.h"

const struct style style_default = {0};

const char *const style_scale_names[] = {"linear", "sqrt", "log", NULL};
const char *const style_range_names[] = {"all", "head", "row", NULL};
const char *const style_view_names[] = {"matrix", "lines", "overlay", "bars", NULL};
const char *const style_cells_names[] = {"numbers", "heat", "both", NULL};

/* The place of a name in a list that ends with NULL; 0 where none is given. */
static int find(size_t *index, const char *option, const char *const *list, const char *name,
                struct err *err)
{
    struct names names = {list, 0, sizeof *list};
    *index = 0;
    while (list[names.count])
        names.count++;
    return name ? names_choose(index, names, option, name, err) : 0;
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

int style_read(struct style *style, const struct style_words *words, struct err *err)
{
    static const char *const ranges[] = {"all", "head", "row", "LOW:HIGH", NULL};
    bool bounds = words->range && strchr(words->range, ':');
    size_t scale, range, view, cells;
    size_t palette = 0;
    if (find(&scale, "--color-scale", style_scale_names, words->scale, err) ||
        find(&range, "--range", ranges, bounds ? NULL : words->range, err) ||
        (bounds && read_bounds(&style->bounds, words->range, err)) ||
        find(&view, "--view", style_view_names, words->view, err) ||
        find(&cells, "--cells", style_cells_names, words->cells, err) ||
        (words->palette && names_choose(&palette, NAMES(palette_rows, palette_count), "--palette",
                                        words->palette, err)))
        return -1;
    style->scale = (enum style_scale)scale;
    style->range = (enum style_range)range; /* never LOW:HIGH, which has a colon */
    style->range_given = words->range;
    style->view = words->view ? (enum style_view)(view + 1) : VIEW_FIT;
    style->cells = words->cells ? (enum style_cells)(cells + 1) : CELLS_FIT;
    style->palette = words->palette ? &palette_rows[palette] : NULL;
    return 0;
}
