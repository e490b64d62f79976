/* completion_zsh.c: the script for zsh: a function a list, and the options of every command as
 * _arguments reads them, with what is said of each. */
#include "catalog.h"

#include <string.h>

/* Text within single quotes; a backslash before each of `escaped`. */
static void write_text(struct stream *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (strchr(escaped, *text))
            stream_char(out, '\\');
        if (*text == '\'')
            stream_text(out, "'\\'");
        stream_char(out, *text);
    }
}

/* _attn_cli_tensors ',': several of them, joined by any of these. */
static void write_list(struct stream *out, const struct value_list *list)
{
    struct value value;
    stream_format(out,
                  "(( $+functions[_attn_cli_%s] )) ||\n_attn_cli_%s() {\n  local -a values=(\n",
                  list->name, list->name);
    for (size_t i = 0; value_at(&value, list, i); i++) {
        stream_text(out, "    '");
        write_text(out, value.name, "");
        if (value.end)
            stream_format(out, value.end == ':' ? "\\:" : "%c", value.end);
        if (value.about) {
            stream_char(out, ':');
            write_text(out, value.about, "");
        }
        stream_text(out, "'\n");
    }
    stream_format(out, "  )\n  _attn_cli_offer '%s' \"$@\"\n}\n\n", list->name);
}

static void write_action(struct stream *out, const struct value_use *use, const char *argument)
{
    static const char *const paths[] = {
        [PATHS_NONE] = " ", [PATHS_FILES] = "_files", [PATHS_FOLDERS] = "_files -/"};
    const char *path = paths[value_paths(argument)];
    if (!use)
        stream_text(out, path);
    else if (use->list == &value_settings)
        stream_text(out, " _attn_cli_sweep");
    else if (value_paths(argument))
        stream_format(out, " _alternative \"%s\\:%s\\: _attn_cli_%s\" \"paths\\:%s\\:%s\"",
                      use->list->name, use->list->name, use->list->name, "path", path);
    else
        stream_format(out, " _attn_cli_%s \"%s\"", use->list->name, use->joints ? use->joints : "");
}

/* '(-m --model)'{-m+,--model=}'[what it is]:DIR|NAME:what may follow' */
static void write_option(struct stream *out, const struct option_row *row,
                         const struct command *command)
{
    bool is_flag = row->kind == OPTION_FLAG;
    stream_text(out, "    ");
    if (row->kind == OPTION_TEXTS)
        stream_text(out, "'*'");
    else if (row->letter)
        stream_format(out, "'(-%c --%s)'", row->letter, row->name);
    if (row->letter)
        stream_format(out, "{-%c%s,", row->letter, is_flag ? "" : "+");
    stream_format(out, "--%s%s%s'[", row->name, is_flag ? "" : "=", row->letter ? "}" : "");
    write_text(out, row->about, "[]\\");
    stream_char(out, ']');
    if (!is_flag) {
        stream_format(out, ":%s:", row->argument);
        write_action(out, value_use_find(row->name, command), row->argument);
    }
    stream_text(out, "' \\\n");
}

static void write_command(struct stream *out, const struct command *command)
{
    stream_format(out, "  (%s) _arguments -s -S \\\n", command->name);
    for (size_t i = 0; i < option_count; i++)
        if (option_serves(&option_rows[i], command->bit))
            write_option(out, &option_rows[i], command);
    if (*command->operands) {
        bool several = strstr(command->operands, "...");
        stream_text(out, several ? "    '*:" : "    '1:");
        write_text(out, command->operands, "[]\\");
        stream_char(out, ':');
        write_action(out, value_use_find(NULL, command), command->operands);
        stream_text(out, "' \\\n");
    }
    stream_text(out, "    && return 0 ;;\n");
}

/* _attn_cli_value head: what follows --head of `run`, for --sweep head=. */
static void write_settings(struct stream *out)
{
    struct value value;
    const struct command *command = command_of(FOR_BATCH);
    stream_text(out, "_attn_cli_sweep() {\n  compset -P '*=' || { _attn_cli_settings; return }\n"
                     "  case $IPREFIX in\n");
    for (size_t i = 0; value_at(&value, &value_settings, i); i++) {
        const struct value_use *use = value_use_find(value.name, command);
        if (use)
            stream_format(out, "  (%s=|*=%s=) _attn_cli_%s , ;;\n", value.name, value.name,
                          use->list->name);
    }
    stream_text(out, "  esac\n}\n\n");
}

void completion_zsh_write(struct stream *out)
{
    stream_text(out, "#compdef attn-cli\n"
                     "# zsh completion for attn-cli, by `attn-cli help --completion zsh`\n\n"
                     "# LIST [JOINTS]: the array `values`, each a name and what it is.\n"
                     "_attn_cli_offer() {\n"
                     "  local list=$1 joints=$2 kept= value\n"
                     "  local -a ending\n"
                     "  if [[ -n $joints ]]; then\n"
                     "    compset -P \"*[$joints]\" && kept=${IPREFIX//[$joints=]/,}\n"
                     "    ending=(-S '')\n"
                     "  fi\n"
                     "  [[ $list == (keys|settings) ]] && ending=(-S '')\n");
    stream_text(out, "  for value in $values; do\n"
                     "    [[ ,$kept == *,${value%%:*},* ]] && values=(\"${(@)values:#$value}\")\n"
                     "  done\n"
                     "  _describe -V -t $list ${list//_/ } values \"${ending[@]}\"\n"
                     "}\n\n");
    value_lists_write(out, write_list);
    write_settings(out);
    stream_text(out, "_attn-cli() {\n"
                     "  local curcontext=$curcontext state\n"
                     "  local -a line\n"
                     "  _arguments -C \\\n"
                     "    '(- *)'{-h,--help}'[the commands]' \\\n"
                     "    '(- *)'{-V,--version}'[the version]' \\\n"
                     "    '1:command: _attn_cli_commands' \\\n"
                     "    '*::argument:->rest' && return 0\n"
                     "  [[ $state == rest ]] || return 1\n"
                     "  case $line[1] in\n");
    for (size_t i = 0; i < command_count; i++)
        write_command(out, &command_rows[i]);
    stream_text(out, "  esac\n}\n\n"
                     "if [[ $funcstack[1] == _attn-cli ]]; then\n  _attn-cli \"$@\"\nelse\n"
                     "  compdef _attn-cli attn-cli\nfi\n");
}
