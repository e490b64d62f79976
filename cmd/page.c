#include "page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/num.h"
#include "command.h"

enum {
    PAGE_COLUMNS = 80, /* where nobody says otherwise */
    PAGE_LINES = 24,
    NARROWEST = 20,
    WIDEST = 100000,
};

size_t page_columns(const struct options *options)
{
    struct winsize window;
    long long columns = 0;
    const char *environment = getenv("COLUMNS");
    if (options->full)
        return 0;
    if (options->width)
        return (size_t)options->width;
    if (isatty(pager_terminal()) && environment &&
        num_parse_integer(environment, NARROWEST, WIDEST, &columns))
        return (size_t)columns;
    if (ioctl(pager_terminal(), TIOCGWINSZ, &window) == 0 && window.ws_col >= NARROWEST)
        return window.ws_col;
    return PAGE_COLUMNS;
}

size_t page_lines(const struct options *options)
{
    return options->full ? 0 : PAGE_LINES;
}

struct place page_place(const struct options *options, const struct style *style)
{
    return (struct place){
        .count = 1,
        .columns = page_columns(options),
        .lines = page_lines(options),
        .style = style,
    };
}

/* --- colours ---------------------------------------------------------------------------------- */

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

static int read_colour(struct style *style, const struct options *options, struct err *err)
{
    enum { AUTO, ALWAYS, NEVER };
    static const char *const times[] = {[AUTO] = "auto", [ALWAYS] = "always", [NEVER] = "never"};
    static const struct synonym synonyms[] = {{"on", "always"}, {"yes", "always"}, {"off", "never"},
                                              {"no", "never"},  {"none", "never"}, {NULL, NULL}};
    struct names names = NAMES_LIST(times);
    size_t when = AUTO;
    names.synonyms = synonyms;
    if (options->color && names_choose(&when, names, "--color", options->color, err))
        return -1;
    bool coloured = when == ALWAYS || (when == AUTO && wants_colour(options));
    style->depth = coloured ? depth_of_terminal() : DEPTH_NONE;
    return 0;
}

int looks_read(struct style *style, const struct options *options, struct err *err)
{
    const char *colours = getenv("COLORFGBG"); /* it ends in the ground's: 7 and 15 are white */
    const char *ground = colours ? strrchr(colours, ';') : NULL;
    *style = (struct style){
        .title = options->title,
        .hide_first = options->hide_first,
        .dark = !ground || (strcmp(ground, ";7") != 0 && strcmp(ground, ";15") != 0),
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

void looks_note(const struct options *options, const struct format *format)
{
    const struct {
        const char *name;
        bool given;
        unsigned looks;
    } rows[] = {
        {"view", options->view, LOOKS_VIEW},
        {"style", options->cells, LOOKS_CELLS},
        {"color-scale", options->color_scale, LOOKS_COLOURS},
        {"range", options->range, LOOKS_COLOURS},
        {"palette", options->palette, LOOKS_COLOURS},
        {"title", options->title, LOOKS_TITLE},
        {"color", options->color && strcmp(options->color, "always") == 0, LOOKS_TERMINAL},
        {"width", options->width > 0, LOOKS_TERMINAL},
    };
    struct buf idle = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].given || format->looks & rows[i].looks)
            continue;
        const char *gap = "";
        buf_format(&idle, "%s--%s (for ", idle.size ? ", " : "", rows[i].name);
        for (size_t k = 0; k < format_count; k++) {
            if (!(format_rows[k].looks & rows[i].looks))
                continue;
            buf_format(&idle, "%s%s", gap, format_rows[k].name);
            gap = ", ";
        }
        buf_char(&idle, ')');
    }
    if (idle.size && !idle.out_of_memory)
        print_note(options, "no effect on --format %s: %s", format->name, idle.bytes);
    buf_release(&idle);
}
