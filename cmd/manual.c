/* manual.c: the pages of the manual, one a command and one of all, from the same tables as the
 * help. */
#include <ctype.h>
#include <string.h>

#include "catalog.h"

/* Text in roff. Escaped: what roff would read or print in another form, and letters that a manual
 * page in the C locale would lose. */
static void write_roff(struct stream *out, const char *text)
{
    static const struct {
        const char *plain, *roff;
    } escapes[] = {{"\\", "\\e"},  {"-", "\\-"},   {"'", "\\(aq"}, {"`", "\\(ga"}, {"^", "\\(ha"},
                   {"~", "\\(ti"}, {"…", "..."},   {"·", "\\(md"}, {"√", "\\(sr"}, {"β", "\\(*b"},
                   {"ε", "\\(*e"}, {"φ", "\\(*f"}, {"₁", "_1"},    {"₂", "_2"}};
    enum { COUNT = sizeof escapes / sizeof *escapes };
    if (*text == '.')
        stream_text(out, "\\&");
    while (*text) {
        size_t i = 0;
        while (i < COUNT && strncmp(text, escapes[i].plain, strlen(escapes[i].plain)) != 0)
            i++;
        if (i < COUNT)
            stream_text(out, escapes[i].roff);
        else
            stream_char(out, *text);
        text += i < COUNT ? strlen(escapes[i].plain) : 1;
    }
}

static void write_capitals(struct stream *out, const char *text)
{
    for (; *text; text++)
        stream_char(out, (char)toupper((unsigned char)*text));
}

static void write_head(struct stream *out, const struct command *command, const char *about)
{
    const char *gap = command ? "-" : "";
    const char *name = command ? command->name : "";
    stream_format(out, ".TH \"ATTN\\-CLI%s", command ? "\\-" : "");
    write_capitals(out, name);
    stream_format(out, "\" 1 \"\" \"attn\\-cli %s\" \"attn\\-cli\"\n", ATTN_VERSION);
    stream_format(out, ".SH NAME\nattn\\-cli%s%s \\- ", *gap ? "\\-" : "", name);
    write_roff(out, about);
    stream_text(out, "\n.SH SYNOPSIS\n.B attn\\-cli");
    if (command)
        stream_format(out, " %s\n[options]%s%s\n", name, *command->operands ? " " : "",
                      command->operands);
    else
        stream_text(out, "\n.I COMMAND\n[options]\n.br\n.B attn\\-cli \\-\\-version\n");
}

static void write_option(struct stream *out, const struct option_row *row)
{
    stream_text(out, ".TP\n");
    if (row->letter)
        stream_format(out, "\\fB\\-%c\\fR, ", row->letter);
    stream_text(out, "\\fB\\-\\-");
    write_roff(out, row->name);
    stream_text(out, "\\fR");
    if (row->argument)
        stream_format(out, " \\fI%s\\fR", row->argument);
    stream_char(out, '\n');
    write_roff(out, row->about);
    stream_char(out, '\n');
}

static void write_options(struct stream *out, const struct command *command)
{
    struct option_walk walk = {.command = command};
    const struct option_row *row = NULL;
    const char *title = NULL;
    stream_text(out, ".SH OPTIONS\n");
    while ((row = option_walk_next(&walk, &title))) {
        if (title)
            stream_format(out, ".SS %s\n", title);
        write_option(out, row);
    }
}

static void write_list(struct stream *out, const struct value_use *use,
                       const struct command *command)
{
    struct value value;
    stream_text(out, ".SH ");
    write_capitals(out, use->list->title);
    stream_char(out, '\n');
    if (use->option || use->list->remark) {
        value_use_title(out, use, command);
        stream_text(out, ".\n");
    }
    for (size_t i = 0; value_at(&value, use->list, i); i++) {
        stream_text(out, ".TP\n\\fB");
        write_roff(out, value.name);
        if (value.argument)
            stream_format(out, "%c%s", value.end, value.argument);
        stream_text(out, "\\fR\n");
        write_roff(out, value.about ? value.about : "");
        stream_text(out, value.about ? "\n" : "");
    }
    if (use->list->note)
        stream_format(out, ".PP\n%s\n", use->list->note);
}

static void write_commands(struct stream *out)
{
    stream_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < command_group_count; i++) {
        stream_format(out, ".SS %s\n", command_groups[i].title);
        for (size_t k = 0; k < command_count; k++)
            if (command_rows[k].bit & command_groups[i].commands) {
                stream_format(out, ".TP\n.B %s\n", command_rows[k].name);
                write_roff(out, command_rows[k].about);
                stream_char(out, '\n');
            }
    }
}

void manual_write(struct stream *out, const struct command *command)
{
    const char *program = "run a GPT-style decoder and show what every head looks at";
    write_head(out, command, command ? command->about : program);
    stream_text(out, ".SH EXAMPLES\n.nf\n");
    write_roff(out, command ? command->examples : command_rows[0].examples);
    stream_text(out, ".fi\n");
    if (command)
        write_options(out, command);
    else
        write_commands(out);
    const struct command *lists = command ? command : command_of(FOR_HELP); /* help's go for all */
    for (const struct value_use *use = NULL; (use = value_use_next(use, lists, NULL));)
        write_list(out, use, lists);
    stream_text(out, ".SH SEE ALSO\n");
    for (size_t i = 0; i < command_count && !command; i++)
        stream_format(out, ".BR attn\\-cli\\-%s (1)%s\n", command_rows[i].name,
                      i + 1 < command_count ? "," : "");
    stream_text(out, command ? ".BR attn\\-cli (1)\n" : "");
}
