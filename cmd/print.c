/* print.c: lines on standard error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "command.h"
#include "text/label.h"

static void print_line(const char *kind, const char *text)
{
    struct buf line = {0};
    buf_text(&line, "attn-cli: ");
    buf_text(&line, kind);
    for (const char *part = text; *part;) { /* blanks stay blanks; all else is made visible */
        size_t size = strcspn(part, " ");
        label_visible(&line, part, size);
        part += size;
        for (; *part == ' '; part++)
            buf_char(&line, ' ');
    }
    buf_char(&line, '\n');
    const char *bytes = line.out_of_memory ? text : line.bytes;
    if (write(STDERR_FILENO, bytes, strlen(bytes)) < 0)
        errno = 0; /* there is nobody left to tell */
    buf_release(&line);
}

void print_note(const struct options *options, const char *format, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list args;
    if (options->quiet)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line("note: ", text);
}

void print_failure(const char *text)
{
    print_line("error: ", text);
}
