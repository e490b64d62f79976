/* completion.c: completion scripts for bash, zsh and fish, from the same tables as the help. */
#include <string.h>

#include "base/names.h"
#include "bench/comparison_format.h"
#include "bench/task.h"
#include "draw/style.h"
#include "help.h"
#include "lens/measure.h"
#include "model/bundled.h"
#include "model/mechanism_text.h"
#include "model/shape.h"
#include "model/site.h"
#include "out/explain_format.h"
#include "out/format.h"

static void write_commands(struct stream *out)
{
    for (size_t i = 0; i < command_count; i++)
        stream_format(out, "%s%s", i ? " " : "", command_rows[i].name);
}

static void write_options(struct stream *out, int bit)
{
    const char *blank = "";
    for (size_t i = 0; i < option_count; i++) {
        if (!option_serves(&option_rows[i], bit))
            continue;
        stream_format(out, "%s--%s", blank, option_rows[i].name);
        blank = " ";
    }
}

static void write_models(struct stream *out)
{
    for (size_t i = 0; i < bundled_count; i++)
        stream_format(out, "%s%s", i ? " " : "", bundled_models[i].path);
}

/* What may stand without an option, behind `gap`, where that is a short list. */
static void write_operands(struct stream *out, const struct command *command, const char *gap)
{
    if (command->bit & (FOR_INFO | FOR_BENCH)) {
        stream_text(out, gap);
        write_models(out);
    } else if (command->bit == FOR_HELP) {
        stream_text(out, gap);
        write_commands(out);
    }
}

static void write_formats(struct stream *out)
{
    for (size_t i = 0; i < format_count; i++)
        stream_format(out, "%s%s", i ? " " : "", format_rows[i].name);
}

static void write_explain_formats(struct stream *out)
{
    for (size_t i = 0; i < explain_format_count; i++)
        stream_format(out, "%s%s", i ? " " : "", explain_formats[i].name);
}

static void write_comparison_formats(struct stream *out)
{
    for (size_t i = 0; i < comparison_format_count; i++)
        stream_format(out, "%s%s", i ? " " : "", comparison_formats[i].name);
}

static void write_sites(struct stream *out)
{
    stream_text(out, "all tokens");
    for (int site = 0; site < SITE_COUNT; site++)
        stream_format(out, " %s", site_rows[site].name);
}

static void write_shells(struct stream *out)
{
    stream_text(out, "bash zsh fish");
}

static void write_shapes(struct stream *out)
{
    for (size_t i = 0; i < shape_count; i++)
        stream_format(out, "%s%s", i ? " " : "", shape_rows[i].name);
}

static void write_tasks(struct stream *out)
{
    for (int kind = 0; kind < TASK_KINDS; kind++)
        stream_format(out, "%s%s", kind ? " " : "", task_rows[kind].name);
}

static void write_precisions(struct stream *out)
{
    for (int i = 0; i < PRECISIONS; i++)
        stream_format(out, "%s%s", i ? " " : "", precision_name((enum precision)i));
}

static void write_measures(struct stream *out)
{
    for (int measure = 0; measure < MEASURE_COUNT; measure++)
        stream_format(out, "%s%s", measure ? " " : "", measure_rows[measure].name);
}

static void write_attention(struct stream *out)
{
    for (size_t i = 0; i < attention_kind_row_count; i++)
        stream_format(out, "%s%s%s", i ? " " : "", attention_kind_rows[i].name,
                      attention_kind_rows[i].numbers ? ":" : "");
}

static void write_mask_methods(struct stream *out)
{
    stream_text(out, "before renormalise");
}

static void write_scales(struct stream *out)
{
    stream_text(out, "none sqrt");
}

static void write_block_parts(struct stream *out)
{
    for (int part = 0; part < BLOCK_PARTS; part++)
        stream_format(out, "%s%s", part ? " " : "", block_part_name((enum block_part)part));
}

static void write_kinds_of_input(struct stream *out)
{
    stream_text(out, "lines jsonl csv");
}

static void write_means(struct stream *out)
{
    stream_text(out, "heads layers heads,layers");
}

static void write_palettes(struct stream *out)
{
    for (size_t i = 0; i < palette_count; i++)
        stream_format(out, "%s%s", i ? " " : "", palette_rows[i].name);
}

static void write_names(struct stream *out, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        stream_format(out, "%s%s", i ? " " : "", names[i]);
}

static void write_views(struct stream *out)
{
    write_names(out, style_view_names);
}

static void write_styles(struct stream *out)
{
    write_names(out, style_cells_names);
}

static void write_color_scales(struct stream *out)
{
    write_names(out, style_scale_names);
}

static void write_ranges(struct stream *out)
{
    write_names(out, style_range_names);
}

static void write_times(struct stream *out)
{
    stream_text(out, "auto always never");
}

static void write_page_formats(struct stream *out)
{
    stream_text(out, "text json");
}

static void write_bench_formats(struct stream *out)
{
    stream_text(out, "text json svg png pdf");
}

static void write_ways(struct stream *out)
{
    stream_text(out, "rand linear");
}

/* What may follow an option, where that is a short list. */
static const struct value_row {
    const char *option;
    int commands;
    void (*write)(struct stream *out);
} value_rows[] = {
    {"model", FOR_ALL, write_models},
    {"format", FOR_RUN | FOR_GENERATE | FOR_BATCH, write_formats},
    {"format", FOR_EXPLAIN, write_explain_formats},
    {"format", FOR_COMPARE, write_comparison_formats},
    {"format", FOR_TOKENIZE | FOR_INFO, write_page_formats},
    {"format", FOR_BENCH, write_bench_formats},
    {"precision", FOR_ALL, write_precisions},
    {"attention", FOR_ALL, write_attention},
    {"mask-method", FOR_ALL, write_mask_methods},
    {"scale", FOR_ALL, write_scales},
    {"without", FOR_ALL, write_block_parts},
    {"shape", FOR_BENCH | FOR_INIT, write_shapes},
    {"like", FOR_INIT, write_models},
    {"draw", FOR_INIT, write_ways},
    {"only", FOR_BENCH, write_tasks},
    {"show", FOR_RUN | FOR_GENERATE | FOR_BATCH, write_sites},
    {"reduce", FOR_BATCH, write_measures},
    {"input", FOR_BATCH, write_kinds_of_input},
    {"mean", FOR_RUN | FOR_GENERATE, write_means},
    {"view", FOR_RUN | FOR_GENERATE, write_views},
    {"style", FOR_RUN | FOR_GENERATE, write_styles},
    {"color-scale", FOR_RUN | FOR_GENERATE, write_color_scales},
    {"range", FOR_RUN | FOR_GENERATE, write_ranges},
    {"palette", FOR_RUN | FOR_GENERATE, write_palettes},
    {"color", FOR_RUN | FOR_GENERATE, write_times},
    {"completion", FOR_HELP, write_shells},
};

/* The list for an option of a command; NULL where there is none. */
static const struct value_row *values_of(const struct option_row *option,
                                         const struct command *command)
{
    for (size_t i = 0; i < sizeof value_rows / sizeof *value_rows; i++)
        if (option->kind != OPTION_FLAG && option_serves(option, command->bit) &&
            value_rows[i].commands & command->bit &&
            strcmp(value_rows[i].option, option->name) == 0)
            return &value_rows[i];
    return NULL;
}

/* "run --model" | "run -m") words='…' ;; */
static void write_bash_values(struct stream *out, const struct command *command)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *option = &option_rows[i];
        const struct value_row *values = values_of(option, command);
        if (!values)
            continue;
        stream_format(out, "    '%s --%s'", command->name, option->name);
        if (option->letter)
            stream_format(out, " | '%s -%c'", command->name, option->letter);
        stream_text(out, ") words='");
        values->write(out);
        stream_text(out, "' ;;\n");
    }
}

static void write_bash_command(struct stream *out, const struct command *command)
{
    write_bash_values(out, command);
    stream_format(out, "    '%s '*) words='", command->name);
    write_options(out, command->bit);
    write_operands(out, command, " ");
    stream_text(out, "' ;;\n");
}

static void write_bash(struct stream *out)
{
    stream_text(out, "_attn_cli()\n{\n    local word=${COMP_WORDS[COMP_CWORD]}\n"
                     "    local before=${COMP_WORDS[COMP_CWORD-1]}\n    local words=\n"
                     "    case \"${COMP_WORDS[1]} $before\" in\n");
    for (size_t i = 0; i < command_count; i++)
        write_bash_command(out, &command_rows[i]);
    stream_text(out, "    esac\n"
                     "    [ \"$COMP_CWORD\" -eq 1 ] && words='");
    write_commands(out);
    stream_text(out, " --help --version'\n"
                     "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
                     "complete -o default -F _attn_cli attn-cli\n");
}

/* zsh reads bash's script through its own emulation. */
static void write_zsh(struct stream *out)
{
    stream_text(out, "#compdef attn-cli\nautoload -U +X bashcompinit && bashcompinit\n");
    write_bash(out);
}

/* Text within single quotes of fish. */
static void write_quoted(struct stream *out, const char *text)
{
    stream_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            stream_char(out, '\\');
        stream_char(out, *text);
    }
    stream_char(out, '\'');
}

static void write_fish_option(struct stream *out, const struct command *command,
                              const struct option_row *row)
{
    stream_format(out, "complete -c attn-cli -n '__fish_seen_subcommand_from %s' -l %s",
                  command->name, row->name);
    if (row->letter)
        stream_format(out, " -s %c", row->letter);
    if (row->kind != OPTION_FLAG)
        stream_text(out, " -r");
    const struct value_row *values = values_of(row, command);
    if (values) {
        stream_text(out, " -a '");
        values->write(out);
        stream_char(out, '\'');
    }
    stream_text(out, " -d ");
    write_quoted(out, row->about);
    stream_char(out, '\n');
}

static void write_fish_operands(struct stream *out, const struct command *command)
{
    if (!(command->bit & (FOR_INFO | FOR_BENCH | FOR_HELP)))
        return;
    stream_format(out, "complete -c attn-cli -n '__fish_seen_subcommand_from %s' -a '",
                  command->name);
    write_operands(out, command, "");
    stream_text(out, "'\n");
}

static void write_fish(struct stream *out)
{
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = &command_rows[i];
        stream_format(out, "complete -c attn-cli -n __fish_use_subcommand -a %s -d ",
                      command->name);
        write_quoted(out, command->about);
        stream_char(out, '\n');
        write_fish_operands(out, command);
        for (size_t k = 0; k < option_count; k++)
            if (option_serves(&option_rows[k], command->bit))
                write_fish_option(out, command, &option_rows[k]);
    }
}

int completion_write(struct stream *out, const char *shell, struct err *err)
{
    static const struct shell_row {
        const char *name;
        void (*write)(struct stream *out);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    size_t index = 0;
    struct names names = NAMES(shells, sizeof shells / sizeof *shells);
    if (names_choose(&index, names, "--completion", shell, err))
        return -1;
    shells[index].write(out);
    return 0;
}
