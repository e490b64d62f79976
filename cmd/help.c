#include "help.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "bench/comparison_format.h"
#include "bench/task.h"
#include "draw/palette.h"
#include "lens/measure.h"
#include "math/kernel.h"
#include "model/bundled.h"
#include "model/config_edit.h"
#include "model/mechanism_text.h"
#include "model/shape.h"
#include "model/site.h"
#include "out/explain_format.h"
#include "out/format.h"
#include "out/text_line.h"

#ifdef __clang__
#define COMPILER __VERSION__ /* names clang itself */
#else
#define COMPILER "gcc " __VERSION__
#endif

enum {
    NAME_COLUMNS = 22, /* of the left column of lists */
    ABOUT_COLUMN = 2 + NAME_COLUMNS + 2,
    PAGE_COLUMNS = 80,
};

/* "-s, --sentence TEXT" */
static const char *option_form(char form[80], const struct option_row *row)
{
    char letter[8] = "    ";
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(form, 80, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
             row->argument ? row->argument : "");
    return form;
}

static void write_row(struct stream *out, const char *name, const char *about)
{
    stream_format(out, "  %-*s  ", NAME_COLUMNS, name);
    text_wrap(out, about, ABOUT_COLUMN, ABOUT_COLUMN, PAGE_COLUMNS);
}

static void write_indented(struct stream *out, const char *lines)
{
    for (const char *line = lines; *line;) {
        size_t size = strcspn(line, "\n") + 1;
        stream_text(out, "  ");
        stream_bytes(out, line, size);
        line += size;
    }
}

static void write_options(struct stream *out, const struct command *command)
{
    char form[80];
    stream_text(out, "\nOptions:\n");
    for (size_t i = 0; i < option_count; i++)
        if (option_serves(&option_rows[i], command->bit))
            write_row(out, option_form(form, &option_rows[i]), option_rows[i].about);
}

static void write_formats(struct stream *out)
{
    stream_text(out, "\nFormats (--format):\n");
    for (size_t i = 0; i < format_count; i++)
        write_row(out, format_rows[i].name, format_rows[i].about);
}

static void write_explain_formats(struct stream *out)
{
    stream_text(out, "\nFormats (--format):\n");
    for (size_t i = 0; i < explain_format_count; i++)
        write_row(out, explain_formats[i].name, explain_formats[i].about);
}

static void write_comparison_formats(struct stream *out)
{
    stream_text(out, "\nFormats (--format):\n");
    for (size_t i = 0; i < comparison_format_count; i++)
        write_row(out, comparison_formats[i].name, comparison_formats[i].about);
}

static void write_palettes(struct stream *out)
{
    stream_text(out, "\nPalettes (--palette):\n");
    for (size_t i = 0; i < palette_count; i++)
        write_row(out, palette_rows[i].name, palette_rows[i].about);
}

/* The names of what is like something that has been told of. */
static void write_likes(struct stream *out, enum site_part part, const char *about)
{
    struct buf names = {0};
    const char *gap = "";
    buf_text(&names, about);
    for (int site = 0; site < SITE_COUNT; site++) {
        if (site_rows[site].part != part || site == SITE_SOURCE_EMBEDDING)
            continue;
        buf_format(&names, "%s %s", gap, site_rows[site].name);
        gap = ",";
    }
    stream_text(out, "  ");
    text_wrap(out, names.bytes ? names.bytes : about, 2, 2, PAGE_COLUMNS);
    buf_release(&names);
}

static void write_sites(struct stream *out, bool of_sources)
{
    stream_text(out, "\nTensors (--show), in the order of the forward pass:\n");
    write_row(out, "tokens", "the table of tokens, in a text page");
    for (int site = 0; site < SITE_COUNT; site++)
        if (site_rows[site].part == PART_SENTENCE || (of_sources && site == SITE_SOURCE_EMBEDDING))
            write_row(out, site_rows[site].name, site_rows[site].about);
    if (!of_sources)
        return;
    write_likes(out, PART_SOURCE, "In an encoder, of the source:");
    write_likes(out, PART_CROSS, "In its decoder, as the sentence looks at the source:");
}

static void write_models(struct stream *out, const char *option)
{
    struct buf names = {0};
    for (size_t i = 0; i < bundled_count; i++)
        buf_format(&names, "%s%s%s", i ? ", " : "", bundled_models[i].path,
                   i ? "" : " (the default)");
    stream_format(out, "\nBundled models (%s):\n  ", option);
    text_wrap(out, names.bytes ? names.bytes : "", 2, 2, PAGE_COLUMNS);
    stream_text(out, "  A folder of that name is reached by a path: ./tiny\n");
    buf_release(&names);
}

static void write_tasks(struct stream *out)
{
    stream_text(out, "\nMeasurements (--only), medians of all rounds:\n");
    for (int kind = 0; kind < TASK_KINDS; kind++)
        write_row(out, task_rows[kind].name, task_rows[kind].about);
}

static void write_attention(struct stream *out)
{
    stream_text(out, "\nAttention (--attention); + joins those of which every query sees some "
                     "keys:\n");
    for (size_t i = 0; i < attention_kind_row_count; i++) {
        struct buf name = {0};
        attention_kind_row_write(&name, &attention_kind_rows[i]);
        write_row(out, name.bytes ? name.bytes : "", attention_kind_rows[i].about);
        buf_release(&name);
    }
}

static void write_measures(struct stream *out)
{
    stream_text(out, "\nReductions (--reduce), of each head over all texts:\n");
    for (int measure = 0; measure < MEASURE_COUNT; measure++)
        write_row(out, measure_rows[measure].name, measure_rows[measure].about);
}

static void write_shapes(struct stream *out)
{
    stream_text(out, "\nShapes (--shape):\n ");
    for (size_t i = 0; i < shape_count; i++)
        stream_format(out, "%s %s", i ? "," : "", shape_rows[i].name);
    stream_char(out, '\n');
}

static void write_settings(struct stream *out)
{
    stream_text(out, "\nSettings (--set), as far as the type of the model has them:\n");
    for (size_t i = 0; i < config_key_count; i++)
        write_row(out, config_keys[i].name, config_keys[i].about);
}

static void overview(struct stream *out)
{
    stream_text(out, "attn-cli runs a GPT-style decoder and shows what every attention head looks "
                     "at.\n\nExamples:\n");
    write_indented(out, command_rows[0].examples);
    stream_text(out, "\nUsage: attn-cli COMMAND [options], attn-cli --version\n"
                     "\nCommands ('attn-cli help COMMAND' tells all about one):\n");
    for (size_t i = 0; i < command_count; i++)
        write_row(out, command_rows[i].name, command_rows[i].about);
    write_models(out, "--model");
    stream_char(out, '\n');
    text_wrap(out,
              "Exit status: 0 done, 1 a check said no, 2 wrong usage, 3 bad input, 4 a model "
              "that is not supported, 5 a result could not be written, 130 interrupted.",
              0, 0, PAGE_COLUMNS);
}

static void help_command_write(struct stream *out, const struct command *command)
{
    stream_format(out, "attn-cli %s: %s\n\nExamples:\n", command->name, command->about);
    write_indented(out, command->examples);
    stream_format(out, "\nUsage: attn-cli %s [options]%s%s\n", command->name,
                  *command->operands ? " " : "", command->operands);
    write_options(out, command);
    if (command->bit & (FOR_RUN | FOR_EXPLAIN | FOR_GENERATE | FOR_BATCH | FOR_COMPARE | FOR_BENCH))
        write_attention(out);
    if (command->bit & (FOR_RUN | FOR_GENERATE | FOR_BATCH)) {
        write_sites(out, command->bit != FOR_GENERATE); /* a text that grows has no source */
        write_formats(out);
        write_palettes(out);
    }
    if (command->bit == FOR_BATCH)
        write_measures(out);
    if (command->bit == FOR_EXPLAIN)
        write_explain_formats(out);
    if (command->bit == FOR_COMPARE)
        write_comparison_formats(out);
    if (command->bit == FOR_BENCH)
        write_tasks(out);
    if (command->bit & (FOR_BENCH | FOR_INIT))
        write_shapes(out);
    if (command->bit == FOR_INIT)
        write_settings(out);
    if (!(command->bit & (FOR_HELP | FOR_LESSON | FOR_MERGE)))
        write_models(out, command->bit == FOR_INIT ? "--like" : "--model");
}

static void version(struct stream *out)
{
    struct kernels *kernels = NULL;
    stream_text(out, "attn-cli " ATTN_VERSION "\n");
    if (kernels_open(&kernels, NULL) == 0)
        stream_format(out, "kernels: %s, %s\n", kernels_target(kernels), kernels_library());
    kernels_free(kernels);
    stream_format(out, "unicode: %s\n", utf8_unicode_version());
    stream_text(out, "built:   " COMPILER "\n");
}

static int help_overview(struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    overview(&out);
    return stream_commit(&out, err);
}

int help_of(const struct command *command, struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    help_command_write(&out, command);
    return stream_commit(&out, err);
}

int help_version(struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    version(&out);
    return stream_commit(&out, err);
}

/* The manual or a completion script on standard output. */
static int write_generated(const struct options *options, struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    if (options->man)
        manual_write(&out);
    else if (completion_write(&out, options->completion, err)) {
        stream_discard(&out);
        return -1;
    }
    return stream_commit(&out, err);
}

int help_command(const struct options *options, struct err *err)
{
    if (options->man || options->completion)
        return write_generated(options, err);
    if (options->operands.count > 1)
        return err_usage(err, "expected one command, found '%s' as well",
                         options->operands.items[1]);
    if (!options->operands.count)
        return help_overview(err);
    const struct command *command = command_find(options->operands.items[0], err);
    return command ? help_of(command, err) : -1;
}
