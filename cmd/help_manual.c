/* help_manual.c: manual pages in roff, made from the help pages. */
#include <string.h>

#include "help.h"

enum { MANUAL_COLUMNS = 72 /* columns of a manual page; man indents it by 7 more */ };

/* Write a line of text in roff. A line that is not indented and ends in a colon is a heading.
 * Characters that roff would change, or that the C locale cannot show, are escaped. */
static void write_roff(struct stream *out, const char *line, size_t size)
{
    static const char *const escapes[][2] = {
        {"\\", "\\e"},  {"-", "\\-"},   {"'", "\\(aq"}, {"`", "\\(ga"}, {"^", "\\(ha"},
        {"~", "\\(ti"}, {"…", "..."},   {"·", "\\(md"}, {"√", "\\(sr"}, {"β", "\\(*b"},
        {"ε", "\\(*e"}, {"φ", "\\(*f"}, {"₁", "_1"},    {"₂", "_2"}};
    enum { COUNT = sizeof escapes / sizeof *escapes };
    bool is_heading = size && line[0] != ' ' && line[size - 1] == ':';
    stream_text(out, is_heading ? ".fi\n.SH " : *line == '.' ? "\\&" : "");
    for (const char *at = line; at < line + size - is_heading;) {
        size_t i = 0;
        while (i < COUNT && strncmp(at, escapes[i][0], strlen(escapes[i][0])) != 0)
            i++;
        if (i < COUNT)
            stream_text(out, escapes[i][1]);
        else
            stream_char(out, *at);
        at += i < COUNT ? strlen(escapes[i][0]) : 1;
    }
    stream_text(out, is_heading ? "\n.nf\n" : "\n");
}

void help_manual(struct stream *out, const struct command_list *all, const struct command *command,
                 struct err *err)
{
    struct buf text = {0};
    struct stream memory;
    const struct page page = {&memory, MANUAL_COLUMNS, all, err};
    if (stream_to_memory(&memory, &text, err))
        return;
    if (command)
        page_of_command(&page, command, true);
    else
        page_of_all(&page);
    for (size_t i = 0; i < help_topic_count && !command; i++)
        stream_text(&memory, "\n"), page_of_topic(&page, &help_topics[i]);
    stream_char(&memory, '\0');
    if (stream_end(&memory, err->kind, err) || buf_check(&text, err)) {
        buf_release(&text);
        return;
    }
    const char *line = strchr(text.bytes, ':') + 2; /* the text after "attn-cli run: " */
    const char *about_end = strchr(line, '\n') + 1;
    stream_format(out, ".TH \"attn\\-cli%s%s\" 1 \"\" \"attn\\-cli %s\" \"attn\\-cli\"\n",
                  command ? "\\-" : "", command ? command->name : "", ATTN_VERSION);
    stream_format(out, ".SH NAME\nattn\\-cli%s%s \\- ", command ? "\\-" : "",
                  command ? command->name : "");
    for (size_t size = 0; *line; line += size + 1) {
        size = strcspn(line, "\n");
        if (strncmp(line, "Usage: ", 7) != 0)
            write_roff(out, line, size);
        if (line + size + 1 != about_end)
            continue;
        stream_text(out, ".SH SYNOPSIS\n.B attn\\-cli ");
        if (command)
            stream_format(out, "%s\n[options] %s\n%s", command->name, command->operands,
                          command->note ? ".SH DESCRIPTION\n" : "");
        else
            stream_text(out, "\\fICOMMAND\\fP\n[options] [TEXT]...\n.SH DESCRIPTION\n.nf\n");
    }
    stream_text(out, ".fi\n.SH SEE ALSO\n");
    for (size_t i = 0; i < all->count && !command; i++)
        stream_format(out, ".BR attn\\-cli\\-%s (1)%s\n", all->items[i]->name,
                      i + 1 < all->count ? "," : "");
    stream_text(out, command ? ".BR attn\\-cli (1)\n" : "");
    buf_release(&text);
}
