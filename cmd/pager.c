#include "page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/transfer.h"

enum {
    LINES = 24, /* of a terminal that does not say */
    COLUMNS = 80,
    BLOCK = 4096,
    FIRST_FREE = 3, /* a descriptor above the standard ones */
    NOT_EXECUTED =
        126,         /* of a shell: this status and the next say that the command did not begin */
    NOT_FOUND = 127, /* … or this one */
};

/* While standard output is a page: the terminal that it was, and the page; else -1. */
static int terminal = -1;
static int page = -1;

int pager_terminal(void)
{
    return terminal >= 0 ? terminal : STDOUT_FILENO;
}

/* The shell's command; NULL: there shall be none. That less is not
 * installed is no fault: nothing is said of it. */
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
    page = memfd_create("page", MFD_CLOEXEC);
    if (page < 0)
        return;
    terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (terminal >= 0 && dup2(page, STDOUT_FILENO) >= 0) {
        terminal_stands_in(STDOUT_FILENO);
        return;
    }
    if (terminal >= 0)
        close(terminal);
    terminal = -1;
    close_page();
}

/* --- the page's length ------------------------------------------------------------------------ */

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
    struct measure measure = {.columns = window.ws_col ? window.ws_col : COLUMNS};
    for (off_t at = 0; (size = pread(page, bytes, sizeof bytes, at)) > 0; at += size)
        for (ssize_t i = 0; i < size; i++)
            measure_byte(&measure, bytes[i]);
    return measure.lines >= (window.ws_row ? window.ws_row : (size_t)LINES);
}

/* --- showing it ------------------------------------------------------------------------------- */

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
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    terminal = -1;
    terminal_stands_in(-1);
    if (!(is_long() && show_by(find_command())) && show_plainly(failed ? &ignored : err))
        failed = -1;
    close_page();
    return failed;
}
