/* looks.c: how results look: columns, colours and figures, by options and the terminal. */
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/num.h"
#include "command.h"

enum {
    PAGE_COLUMNS = 80, /* where no option says otherwise */
    PAGE_LINES = 24,
    NARROWEST = 20,
    WIDEST = 100000,
};

size_t page_columns(const struct looks_options *options)
{
    struct winsize window;
    long long columns = 0;
    const char *environment = getenv("COLUMNS");
    if (options->full)
        return 0;
    if (options->width)
        return (size_t)options->width;
    if (isatty(STDOUT_FILENO) && environment &&
        num_parse_integer(environment, NARROWEST, WIDEST, &columns))
        return (size_t)columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col >= NARROWEST)
        return window.ws_col;
    return PAGE_COLUMNS;
}

size_t page_lines(const struct looks_options *options)
{
    return options->full ? 0 : PAGE_LINES;
}

struct place page_place(const struct looks_options *options, const struct style *style)
{
    return (struct place){
        .count = 1,
        .columns = page_columns(options),
        .lines = page_lines(options),
        .style = style,
        .provenance = provenance_here(),
    };
}

/* --- colours ---------------------------------------------------------------------------------- */

static bool contains(const char *text, const char *part)
{
    return text && strstr(text, part);
}

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
    return !options->output.path && isatty(STDOUT_FILENO) && !(refused && *refused) && terminal &&
           *terminal && strcmp(terminal, "dumb") != 0;
}

static int read_colour(struct style *style, const struct options *options, struct err *err)
{
    enum { AUTO, ALWAYS, NEVER };
    static const char *const times[] = {[AUTO] = "auto", [ALWAYS] = "always", [NEVER] = "never"};
    size_t when = AUTO;
    if (options->looks.color &&
        names_choose(&when, NAMES_LIST(times), "--color", options->looks.color, err))
        return -1;
    bool coloured = when == ALWAYS || (when == AUTO && wants_colour(options));
    style->depth = coloured ? depth_of_terminal() : DEPTH_NONE;
    return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

int looks_read(struct style *style, const struct options *options, struct err *err)
{
    const char *colours = getenv("COLORFGBG"); /* it ends in the ground's: 7 and 15 are white */
    const char *ground = colours ? strrchr(colours, ';') : NULL;
    *style = (struct style){
        .title = options->looks.title,
        .hide_first = options->select.hide_first,
        .dark = ground && strcmp(ground, ";7") != 0 && strcmp(ground, ";15") != 0,
        .any_ground = !ground,
        .form = {.font_size = options->looks.figure.font_size, .dpi = options->looks.figure.dpi},
    };
    const struct looks_options *looks = &options->looks;
    const struct figure_options *figure = &looks->figure;
    const struct style_words words = {
        .scale = looks->color_scale,
        .range = looks->range,
        .view = looks->view,
        .cells = looks->cells,
        .palette = looks->palette,
        .width = figure->width,
        .font = figure->font,
        .panel_labels = figure->panel_labels,
        .mask = figure->mask,
        .tokens = figure->tokens,
        .marks = figure->marks.items,
        .mark_count = figure->marks.count,
    };
    return style_read(style, &words, err) || read_colour(style, options, err) ? -1 : 0;
}

/* "--view (for svg, png)" */
static void add_idle(struct buf *idle, const struct option_row *row)
{
    const char *gap = "";
    buf_format(idle, "%s--%s (for ", idle->size ? ", " : "", row->name);
    for (size_t i = 0; i < format_count; i++) {
        if (!(format_rows[i].looks & row->looks))
            continue;
        buf_format(idle, "%s%s", gap, format_rows[i].name);
        gap = ", ";
    }
    buf_char(idle, ')');
}

/* Name the options given that have no effect on a format, which has these LOOKS_…. */
static void note_idle(const struct looks_options *options, const struct format *format,
                      unsigned looks)
{
    static const struct option_row *const tables[] = {terminal_options, figure_options};
    static const char none[sizeof(long long)] = {0}; /* of fields that have no preset */
    const struct options given = {.looks = *options};
    struct buf idle = {0};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct option_row *row = tables[i]; row->name; row++)
            if (row->looks && !(row->looks & looks) &&
                memcmp((const char *)&given + row->offset, none,
                       row->kind == OPTION_FLAG ? sizeof(bool) : sizeof none) != 0 &&
                !(row->offset == IN(looks.color) && strcmp(options->color, "always") != 0))
                add_idle(&idle, row);
    if (idle.size && !idle.out_of_memory)
        print_note("no effect on --format %s: %s", format->name, idle.bytes);
    buf_release(&idle);
}

void looks_note(const struct looks_options *options, const struct format *format)
{
    note_idle(options, format, format->looks);
}

void looks_note_pictures(const struct looks_options *options, const struct format *format)
{
    bool is_page = format_is(format, "html");
    note_idle(options, format, is_page ? format_find("svg")->looks : format->looks);
}
