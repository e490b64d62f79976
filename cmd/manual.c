/* manual.c: the manual page, from the same tables as the help. */
#include <string.h>

#include "bench/task.h"
#include "lens/measure.h"
#include "help.h"
#include "model/bundled.h"
#include "model/config_edit.h"
#include "model/mechanism_text.h"
#include "model/shape.h"
#include "model/site.h"
#include "out/explain_format.h"
#include "out/format.h"

/* Text in roff: backslashes and hyphens escaped, no line that begins with a request. */
static void write_roff(struct stream *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        stream_text(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            stream_text(out, "\\e");
        else if (*text == '-')
            stream_text(out, "\\-");
        else
            stream_char(out, *text);
    }
}

static void write_item(struct stream *out, const char *name, const char *about)
{
    stream_text(out, ".TP\n.B ");
    write_roff(out, name);
    stream_char(out, '\n');
    write_roff(out, about);
    stream_char(out, '\n');
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

static void write_command(struct stream *out, const struct command *command)
{
    stream_format(out, ".SS attn\\-cli %s%s%s\n", command->name, *command->operands ? " " : "",
                  command->operands);
    write_roff(out, command->about);
    stream_text(out, "\n.PP\n.nf\n");
    write_roff(out, command->examples);
    stream_text(out, ".fi\n");
    for (size_t i = 0; i < option_count; i++)
        if (option_serves(&option_rows[i], command->bit))
            write_option(out, &option_rows[i]);
}

static void write_models(struct stream *out)
{
    stream_text(out, ".SH BUNDLED MODELS\n");
    for (size_t i = 0; i < bundled_count; i++) {
        stream_text(out, i ? ",\n" : "");
        write_roff(out, bundled_models[i].path);
        stream_text(out, i ? "" : " (the default)");
    }
    stream_text(out, "\n.PP\nA folder of that name is reached by a path: ./tiny\n");
}

static void write_tables(struct stream *out)
{
    stream_text(out, ".SH TENSORS\n");
    write_item(out, "tokens", "the table of tokens, in a text page");
    for (int site = 0; site < SITE_COUNT; site++)
        write_item(out, site_rows[site].name, site_rows[site].about);
    stream_text(out, ".SH ATTENTION\n");
    for (size_t i = 0; i < attention_kind_row_count; i++) {
        struct buf name = {0};
        attention_kind_row_write(&name, &attention_kind_rows[i]);
        write_item(out, name.bytes ? name.bytes : "", attention_kind_rows[i].about);
        buf_release(&name);
    }
    stream_text(out, ".SH FORMATS\n");
    for (size_t i = 0; i < format_count; i++)
        write_item(out, format_rows[i].name, format_rows[i].about);
    stream_text(out, ".SH FORMATS OF EXPLAIN\n");
    for (size_t i = 0; i < explain_format_count; i++)
        write_item(out, explain_formats[i].name, explain_formats[i].about);
    stream_text(out, ".SH REDUCTIONS\n");
    for (int measure = 0; measure < MEASURE_COUNT; measure++)
        write_item(out, measure_rows[measure].name, measure_rows[measure].about);
    stream_text(out, ".SH MEASUREMENTS\n");
    for (int kind = 0; kind < TASK_KINDS; kind++)
        write_item(out, task_rows[kind].name, task_rows[kind].about);
    stream_text(out, ".SH SETTINGS\n");
    for (size_t i = 0; i < config_key_count; i++)
        write_item(out, config_keys[i].name, config_keys[i].about);
    stream_text(out, ".SH SHAPES\n");
    for (size_t i = 0; i < shape_count; i++) {
        stream_text(out, i ? ",\n" : "");
        write_roff(out, shape_rows[i].name);
    }
    stream_char(out, '\n');
}

void manual_write(struct stream *out)
{
    stream_text(out, ".TH ATTN-CLI 1 \"\" \"attn-cli " ATTN_VERSION "\"\n"
                     ".SH NAME\n"
                     "attn\\-cli \\- run a GPT-style decoder and show what every head looks at\n"
                     ".SH SYNOPSIS\n.B attn\\-cli\n.I COMMAND\n[options]\n"
                     ".br\n.B attn\\-cli \\-\\-version\n.SH COMMANDS\n");
    for (size_t i = 0; i < command_count; i++)
        write_command(out, &command_rows[i]);
    write_tables(out);
    write_models(out);
    stream_text(out, ".SH ENVIRONMENT\n"
                     ".TP\n.B ATTN_MODEL\nthe model, where \\fB\\-\\-model\\fR names none\n"
                     ".TP\n.B COLUMNS\nthe width of a text page on a terminal\n"
                     ".TP\n.B LIBXSMM_TARGET\nan older instruction set for the kernels: generic, "
                     "snb, hsw, skx\n"
                     ".SH EXIT STATUS\n"
                     "0 done, 1 a check said no, 2 wrong usage, 3 bad input, 4 a model that is not "
                     "supported, 5 a result could not be written, 130 interrupted.\n");
}
