#include "looks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "pager.h"

static bool contains(const char *text, const char *part)
{
    return text && strstr(text, part);
}

/* What the terminal says of itself. */
static enum style_depth depth_of_terminal(void)
{
    const char *terminal = getenv("TERM");
    const char *colours = getenv("COLORTERM");
    if (contains(colours, "truecolor") || contains(colours, "24bit") ||
        contains(terminal, "-direct"))
        return DEPTH_FULL;
    return contains(terminal, "256color") ? DEPTH_256 : DEPTH_16;
}

/* https://no-color.org: any value but none. */
static bool wants_colour(const struct options *options)
{
    const char *terminal = getenv("TERM");
    const char *refused = getenv("NO_COLOR");
    return !options->output && isatty(pager_terminal()) && !(refused && *refused) && terminal &&
           *terminal && strcmp(terminal, "dumb") != 0;
}

/* The terminal's ground: COLORFGBG ends in its colour, of which 7 and 15 are white. Most are dark.
 */
static bool is_dark(void)
{
    const char *colours = getenv("COLORFGBG");
    const char *ground = colours ? strrchr(colours, ';') : NULL;
    return !ground || (strcmp(ground, ";7") != 0 && strcmp(ground, ";15") != 0);
}

static int read_colour(struct style *style, const struct options *options, struct err *err)
{
    enum { AUTO, ALWAYS, NEVER };
    static const char *const times[] = {[AUTO] = "auto", [ALWAYS] = "always", [NEVER] = "never"};
    size_t when = AUTO;
    if (options->color && names_choose(&when, NAMES_LIST(times), "--color", options->color, err))
        return -1;
    bool coloured = when == ALWAYS || (when == AUTO && wants_colour(options));
    style->depth = coloured ? depth_of_terminal() : DEPTH_NONE;
    return 0;
}

int looks_read(struct style *style, const struct options *options, struct err *err)
{
    *style = (struct style){
        .title = options->title,
        .hide_first = options->hide_first,
        .dark = is_dark(),
    };
    if (options->color_scale && style_read_scale(style, options->color_scale, err))
        return -1;
    if (options->range && style_read_range(style, options->range, err))
        return -1;
    if (options->view && style_read_view(style, options->view, err))
        return -1;
    if (options->cells && style_read_cells(style, options->cells, err))
        return -1;
    if (options->palette && style_read_palette(style, options->palette, err))
        return -1;
    return read_colour(style, options, err);
}
