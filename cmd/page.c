#include "page.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/num.h"
#include "pager.h"

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
