#include "output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "base/platform.h"
#include "base/terminal.h"
#include "base/transfer.h"
#include "command.h"

enum {
    PAGE_COLUMNS = 80, /* where no option says otherwise */
    PAGE_LINES = 24,
    NARROWEST = 20,
    WIDEST = 100000,
    BLOCK = 4096,
    FIRST_FREE = 3,     /* a descriptor above the standard ones */
    NOT_EXECUTED = 126, /* of a shell: the command did not begin … */
    NOT_FOUND = 127,    /* … or is not there */
};

/* While standard output is a page: the terminal that it was, and the page; else -1. */
static int tty = -1;
static int page = -1;

static int page_terminal(void)
{
    return tty >= 0 ? tty : STDOUT_FILENO;
}

size_t page_columns(const struct looks_options *options)
{
    struct winsize window;
    long long columns = 0;
    const char *environment = getenv("COLUMNS");
    if (options->full)
        return 0;
    if (options->width)
        return (size_t)options->width;
    if (isatty(page_terminal()) && environment &&
        num_parse_integer(environment, NARROWEST, WIDEST, &columns))
        return (size_t)columns;
    if (ioctl(page_terminal(), TIOCGWINSZ, &window) == 0 && window.ws_col >= NARROWEST)
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
    return !options->output.path && isatty(page_terminal()) && !(refused && *refused) && terminal &&
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
    if (options->looks.color && names_choose(&when, names, "--color", options->looks.color, err))
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
        .title = options->looks.title,
        .hide_first = options->select.hide_first,
        .dark = ground && strcmp(ground, ";7") != 0 && strcmp(ground, ";15") != 0,
        .any_ground = !ground,
    };
    const struct style_words words = {options->looks.color_scale, options->looks.range,
                                      options->looks.view, options->looks.cells,
                                      options->looks.palette};
    if (style_read(style, &words, err) ||
        figure_options_read(&style->form, &options->looks.figure, style->view, err))
        return -1;
    return read_colour(style, options, err);
}

/* Of a format for which so much has an effect. */
static void note_idle(const struct looks_options *options, const struct format *format,
                      unsigned looks)
{
    static const struct {
        const char *name;
        unsigned looks;
    } rows[] = {{"view", LOOKS_VIEW},           {"style", LOOKS_CELLS},
                {"color-scale", LOOKS_COLOURS}, {"range", LOOKS_COLOURS},
                {"palette", LOOKS_COLOURS},     {"title", LOOKS_TITLE},
                {"figure-width", LOOKS_FIGURE}, {"font", LOOKS_FONT},
                {"font-size", LOOKS_FIGURE},    {"dpi", LOOKS_PIXELS},
                {"panel-labels", LOOKS_FIGURE}, {"token-range", LOOKS_FIGURE},
                {"mask", LOOKS_FIGURE},         {"mark", LOOKS_FIGURE},
                {"top", LOOKS_FIGURE},          {"color", LOOKS_TERMINAL},
                {"width", LOOKS_TERMINAL}};
    const struct options none = OPTIONS_DEFAULT;
    const struct options given = {.looks = *options};
    struct buf idle = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct option_row *row = option_find(FOR_ALL, rows[i].name, strlen(rows[i].name));
        assert(row);
        bool is_moot = looks & rows[i].looks || settings_same(row, &given, &none);
        if (is_moot || (strcmp(row->name, "color") == 0 && strcmp(options->color, "always") != 0))
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

/* --- the pager -------------------------------------------------------------------------------- */

/* The shell's command; NULL: there shall be none. Nothing is said where less is not installed. */
static const char *find_command(void)
{
    const char *type = getenv("TERM");
    const char *command = getenv("ATTN_PAGER");
    if (!command)
        command = getenv("PAGER");
    if (!type || strcmp(type, "dumb") == 0)
        return NULL;
    if (!command)
        return "command -v less >/dev/null 2>&1 || exit 127; exec less";
    return command[strspn(command, " ")] && strcmp(command, "cat") != 0 ? command : NULL;
}

static void close_page(void)
{
    close(page);
    page = -1;
}

void pager_begin(void)
{
    if (!find_command() || !isatty(STDOUT_FILENO))
        return;
    page = platform_memory_file("page");
    if (page < 0)
        return;
    tty = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (tty >= 0 && dup2(page, STDOUT_FILENO) >= 0) {
        terminal_stands_in(STDOUT_FILENO);
        return;
    }
    if (tty >= 0)
        close(tty);
    tty = -1;
    close_page();
}

struct measure {
    size_t columns; /* of the terminal */
    size_t lines, column;
    bool escaped; /* within what sets a colour */
};

static void measure_byte(struct measure *measure, unsigned char byte)
{
    bool goes_on = (byte & 0xc0) == 0x80; /* within a character of several bytes */
    if (byte == '\n') {
        measure->lines += 1 + (measure->column ? (measure->column - 1) / measure->columns : 0);
        measure->column = 0;
    } else if (measure->escaped) {
        measure->escaped = byte == '[' || byte == ';' || (byte >= '0' && byte <= '9');
    } else if (byte == '\x1b') {
        measure->escaped = true;
    } else if (!goes_on) {
        measure->column++;
    }
}

/* A prompt wants a line, too. */
static bool is_long(void)
{
    struct winsize window = {0};
    unsigned char bytes[BLOCK];
    ssize_t size = 0;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
    struct measure measure = {.columns = window.ws_col ? window.ws_col : PAGE_COLUMNS};
    for (off_t at = 0; (size = pread(page, bytes, sizeof bytes, at)) > 0; at += size)
        for (ssize_t i = 0; i < size; i++)
            measure_byte(&measure, bytes[i]);
    return measure.lines >= (window.ws_row ? window.ws_row : (size_t)PAGE_LINES);
}

/* False where the pager did not begin. It reads the page as its standard input, to the end or not:
 * there is no pipe that it could close too early. */
static bool show_by(const char *command)
{
    int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (input < 0)
        return false;
    bool begun = false;
    if (setenv("LESS", "FRX", 0) == 0 && lseek(page, 0, SEEK_SET) == 0 &&
        dup2(page, STDIN_FILENO) >= 0) {
        int status = system(command);
        bool ended = status != -1 && WIFEXITED(status);
        begun =
            status != -1 &&
            !(ended && (WEXITSTATUS(status) == NOT_EXECUTED || WEXITSTATUS(status) == NOT_FOUND));
        dup2(input, STDIN_FILENO);
    }
    close(input);
    return begun;
}

/* Not by a stream, which has made all of it fit for a terminal when it wrote the page. */
static int show_plainly(struct err *err)
{
    char bytes[BLOCK];
    ssize_t size = 0;
    for (off_t at = 0; (size = pread(page, bytes, sizeof bytes, at)) > 0; at += size)
        if (transfer_write(STDOUT_FILENO, bytes, (size_t)size))
            return err_output(err, "cannot write 'standard output': %s", strerror(errno));
    return 0;
}

int pager_end(int failed, struct err *err)
{
    struct err ignored;
    if (page < 0)
        return failed;
    dup2(tty, STDOUT_FILENO);
    close(tty);
    tty = -1;
    terminal_stands_in(-1);
    if (!(is_long() && show_by(find_command())) && show_plainly(failed ? &ignored : err))
        failed = -1;
    close_page();
    return failed;
}
