/* completion_fish.c: the script for fish: a function a list, and a line an option. */
#include "catalog.h"

#include <string.h>

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

static void write_list(struct stream *out, const struct value_list *list)
{
    struct value value;
    stream_format(out, "function __attn_cli_%s\n    printf '%%s\\t%%s\\n' \\\n", list->name);
    for (size_t i = 0; value_at(&value, list, i); i++) {
        stream_format(out, "        %s", value.name);
        if (value.end)
            stream_char(out, value.end);
        stream_char(out, ' ');
        write_quoted(out, value.about ? value.about : "");
        stream_text(out, " \\\n");
    }
    stream_text(out, "\nend\n\n");
}

/* -a '(what may follow)', and files or none. */
static void write_taken(struct stream *out, const struct value_use *use, const char *argument)
{
    enum value_paths paths = value_paths(argument);
    stream_text(out, paths == PATHS_FILES ? " -F" : " -f");
    if (!use && paths != PATHS_FOLDERS)
        return;
    stream_text(out, " -k -a '");
    if (use && use->list == &value_settings)
        stream_text(out, "(__attn_cli_sweep)");
    else if (use && use->joints)
        stream_format(out, "(__attn_cli_joined %s __attn_cli_%s)", use->joints, use->list->name);
    else if (use)
        stream_format(out, "(__attn_cli_%s)", use->list->name);
    if (paths == PATHS_FOLDERS)
        stream_format(out, "%s(__fish_complete_directories (__attn_cli_typed))", use ? " " : "");
    stream_char(out, '\'');
}

static void write_option(struct stream *out, const struct command *command,
                         const struct option_row *row)
{
    stream_format(out, "complete -c attn-cli -n '__attn_cli_is %s' -l %s", command->name,
                  row->name);
    if (row->letter)
        stream_format(out, " -s %c", row->letter);
    if (row->kind != OPTION_FLAG) {
        stream_text(out, " -r");
        write_taken(out, value_use_find(row->name, command), row->argument);
    }
    stream_text(out, " -d ");
    write_quoted(out, row->about);
    stream_char(out, '\n');
}

static void write_command(struct stream *out, const struct command *command)
{
    stream_format(out, "complete -c attn-cli -n __attn_cli_is_first -a %s -d ", command->name);
    write_quoted(out, command->about);
    stream_char(out, '\n');
    if (*command->operands) {
        stream_format(out, "complete -c attn-cli -n '__attn_cli_is %s'", command->name);
        write_taken(out, value_use_find(NULL, command), command->operands);
        stream_char(out, '\n');
    }
    for (size_t k = 0; k < option_count; k++)
        if (option_serves(&option_rows[k], command->bit))
            write_option(out, command, &option_rows[k]);
}

static void write_sweep(struct stream *out)
{
    struct value value;
    const struct command *command = command_of(FOR_BATCH);
    stream_text(out, "function __attn_cli_sweep\n"
                     "    set -l name (string replace -r '=.*' '=' -- (__attn_cli_typed))\n"
                     "    switch $name\n");
    for (size_t i = 0; value_at(&value, &value_settings, i); i++) {
        const struct value_use *use = value_use_find(value.name, command);
        if (use)
            stream_format(out,
                          "        case '%s='\n            __attn_cli_joined ,= __attn_cli_%s\n",
                          value.name, use->list->name);
    }
    stream_text(out, "        case '*'\n            __attn_cli_settings\n    end\nend\n\n");
}

void completion_fish_write(struct stream *out)
{
    stream_text(
        out, "# fish completion for attn-cli, by `attn-cli help --completion fish`\n\n"
             "function __attn_cli_is -d 'the command is that one'\n"
             "    set -l words (commandline -opc)\n"
             "    test (count $words) -gt 1; and test $words[2] = $argv[1]\nend\n\n"
             "function __attn_cli_is_first -d 'a command is still to be named'\n"
             "    test (count (commandline -opc)) -eq 1\nend\n\n"
             "function __attn_cli_typed -d 'the value so far'\n"
             "    string replace -r -- '^--[a-z-]+=' '' (commandline -ct)\nend\n\n"
             "function __attn_cli_joined -d 'JOINTS LIST: what may come after those so far'\n"
             "    set -l kept (string match -r -- \"^.*[$argv[1]]\" (__attn_cli_typed))\n"
             "    set -l named (string split -- , (string replace -ra -- \"[$argv[1]]\" , $kept))\n"
             "    for value in ($argv[2])\n"
             "        contains -- (string split -- \\t $value)[1] $named\n"
             "        or echo -- $kept$value\n"
             "    end\nend\n\n");
    value_lists_write(out, write_list);
    write_sweep(out);
    stream_text(out,
                "complete -c attn-cli -f\n"
                "complete -c attn-cli -n __attn_cli_is_first -l help -s h -d 'the commands'\n"
                "complete -c attn-cli -n __attn_cli_is_first -l version -s V -d 'the version'\n");
    for (size_t i = 0; i < command_count; i++)
        write_command(out, &command_rows[i]);
}
