/* completion.c: what completes command lines in bash, zsh and fish: the scripts of cmd/completion/,
 * with the tables of options and values where a line of them is a mark, as "#@ lists". */
#include "completion.h"

#include <string.h>

#include "command.h"

/* How a shell writes the rows of tables. */
struct shell_form {
    const unsigned char *script; /* one text, to a zero */
    const char *list, *list_end; /* around the values of a list: %1$s is its name */
    const char *setting;         /* of --sweep: %1$s takes its values from the list %2$s */
    void (*value)(struct stream *out, const struct value *value);
    void (*command)(struct stream *out, const struct command *command); /* before its options */
    void (*option)(struct stream *out, const struct option_row *row, const struct command *command);
    void (*operands)(struct stream *out, const struct command *command); /* after them */
};

/* Paths that an argument may be, as help calls it, besides the values of a list. */
enum value_paths { PATHS_NONE, PATHS_FILES, PATHS_FOLDERS };

static enum value_paths value_paths(const char *argument)
{
    static const struct {
        const char *word;
        enum value_paths paths;
    } rows[] = {{"DIR", PATHS_FOLDERS},
                {"MODEL", PATHS_FOLDERS},
                {"FILE", PATHS_FILES},
                {"PATH", PATHS_FILES}};
    for (size_t i = 0; argument && i < sizeof rows / sizeof *rows; i++)
        if (strstr(argument, rows[i].word))
            return rows[i].paths;
    return PATHS_NONE;
}

/* As an option without a name. */
static struct option_row operands_of(const struct command *command)
{
    return (struct option_row){.argument = command->operands, .values = command->operand_values};
}

/* Text in single quotes: what stands before a quote, and a backslash before each of `escaped`. */
static void write_text(struct stream *out, const char *text, const char *quote, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            stream_text(out, quote);
        else if (strchr(escaped, *text))
            stream_char(out, '\\');
        stream_char(out, *text);
    }
}

/* --- bash ------------------------------------------------------------------------------------- */

static void bash_value(struct stream *out, const struct value *value)
{
    stream_format(out, "%s%.*s", value->name, value->end != 0, &value->end);
}

static void bash_taken(struct stream *out, const struct option_row *row)
{
    const struct value_list *list = row->values;
    static const char *const paths[] = {
        [PATHS_NONE] = "", [PATHS_FILES] = " paths=file", [PATHS_FOLDERS] = " paths=directory"};
    stream_char(out, ')');
    if (list)
        stream_format(out, " words=$%s joints='%s'", list->name, row->joints ? row->joints : "");
    stream_format(out, "%s ;;\n", paths[value_paths(row->argument)]);
}

static void bash_option(struct stream *out, const struct option_row *row,
                        const struct command *command)
{
    if (row->kind == OPTION_FLAG)
        return;
    stream_format(out, "    '%s --%s'", command->name, row->name);
    if (row->letter)
        stream_format(out, " | '%s -%c'", command->name, row->letter);
    bash_taken(out, row);
}

static void bash_operands(struct stream *out, const struct command *command)
{
    const struct option_row operands = operands_of(command);
    if (!command->operand_values && value_paths(command->operands) == PATHS_NONE)
        return; /* then options may as well be offered */
    stream_format(out, "    '%s'", command->name);
    bash_taken(out, &operands);
}

/* --- zsh -------------------------------------------------------------------------------------- */

static void zsh_text(struct stream *out, const char *text)
{
    write_text(out, text, "'\\'", "[]\\");
}

static void zsh_value(struct stream *out, const struct value *value)
{
    stream_format(out, "    '%s", value->name);
    if (value->end)
        stream_format(out, value->end == ':' ? "\\:" : "%c", value->end);
    if (value->about) {
        stream_char(out, ':');
        write_text(out, value->about, "'\\'", "");
    }
    stream_text(out, "'\n");
}

static void zsh_taken(struct stream *out, const struct option_row *row)
{
    const struct value_list *list = row->values;
    static const char *const paths[] = {
        [PATHS_NONE] = " ", [PATHS_FILES] = "_files", [PATHS_FOLDERS] = "_files -/"};
    const char *path = paths[value_paths(row->argument)];
    if (!list)
        stream_text(out, path);
    else if (list == &values_settings)
        stream_text(out, " _attn_cli_sweep");
    else if (value_paths(row->argument))
        stream_format(out, " _alternative \"%s\\:%s\\: _attn_cli_%s\" \"paths\\:%s\\:%s\"",
                      list->name, list->name, list->name, "path", path);
    else
        stream_format(out, " _attn_cli_%s \"%s\"", list->name, row->joints ? row->joints : "");
}

static void zsh_command(struct stream *out, const struct command *command)
{
    stream_format(out, "  (%s) _arguments -s -S \\\n", command->name);
}

/* '(-m --model)'{-m+,--model=}'[what it is]:DIR|NAME:what may follow' */
static void zsh_option(struct stream *out, const struct option_row *row,
                       const struct command *command)
{
    (void)command;
    bool is_flag = row->kind == OPTION_FLAG;
    stream_text(out, row->kind == OPTION_TEXTS ? "    '*'" : "    ");
    if (row->letter && row->kind != OPTION_TEXTS)
        stream_format(out, "'(-%c --%s)'", row->letter, row->name);
    if (row->letter)
        stream_format(out, "{-%c%s,", row->letter, is_flag ? "" : "+");
    stream_format(out, "--%s%s%s'[", row->name, is_flag ? "" : "=", row->letter ? "}" : "");
    zsh_text(out, row->about);
    stream_char(out, ']');
    if (!is_flag) {
        stream_format(out, ":%s:", row->argument);
        zsh_taken(out, row);
    }
    stream_text(out, "' \\\n");
}

static void zsh_operands(struct stream *out, const struct command *command)
{
    const struct option_row operands = operands_of(command);
    if (*command->operands) {
        stream_text(out, strstr(command->operands, "...") ? "    '*:" : "    '1:");
        zsh_text(out, command->operands);
        stream_char(out, ':');
        zsh_taken(out, &operands);
        stream_text(out, "' \\\n");
    }
    stream_text(out, "    && return 0 ;;\n");
}

/* --- fish ------------------------------------------------------------------------------------- */

static void fish_text(struct stream *out, const char *text)
{
    stream_char(out, '\'');
    write_text(out, text, "\\", "\\");
    stream_char(out, '\'');
}

static void fish_value(struct stream *out, const struct value *value)
{
    stream_format(out, "        %s%.*s ", value->name, value->end != 0, &value->end);
    fish_text(out, value->about ? value->about : "");
    stream_text(out, " \\\n");
}

/* -a '(what may follow)', and files or none. */
static void fish_taken(struct stream *out, const struct option_row *row)
{
    const struct value_list *list = row->values;
    enum value_paths paths = value_paths(row->argument);
    stream_text(out, paths == PATHS_FILES ? " -F" : " -f");
    if (!list && paths != PATHS_FOLDERS)
        return;
    stream_text(out, " -k -a '");
    if (list == &values_settings)
        stream_text(out, "(__attn_cli_sweep)");
    else if (list && row->joints)
        stream_format(out, "(__attn_cli_joined %s __attn_cli_%s)", row->joints, list->name);
    else if (list)
        stream_format(out, "(__attn_cli_%s)", list->name);
    if (paths == PATHS_FOLDERS)
        stream_format(out, "%s(__fish_complete_directories (__attn_cli_typed))", list ? " " : "");
    stream_char(out, '\'');
}

static void fish_command(struct stream *out, const struct command *command)
{
    const struct option_row operands = operands_of(command);
    stream_format(out, "complete -c attn-cli -n __attn_cli_is_first -a %s -d ", command->name);
    fish_text(out, command->about);
    stream_char(out, '\n');
    if (!*command->operands)
        return;
    stream_format(out, "complete -c attn-cli -n '__attn_cli_is %s'", command->name);
    fish_taken(out, &operands);
    stream_char(out, '\n');
}

static void fish_option(struct stream *out, const struct option_row *row,
                        const struct command *command)
{
    stream_format(out, "complete -c attn-cli -n '__attn_cli_is %s' -l %s", command->name,
                  row->name);
    if (row->letter)
        stream_format(out, " -s %c", row->letter);
    if (row->kind != OPTION_FLAG) {
        stream_text(out, " -r");
        fish_taken(out, row);
    }
    stream_text(out, " -d ");
    fish_text(out, row->about);
    stream_char(out, '\n');
}

/* --- the walk --------------------------------------------------------------------------------- */

extern const unsigned char completion_bash[], completion_zsh[], completion_fish[]; /* embed.sh */

static const struct shell_form forms[] = {
    [SHELL_BASH] = {completion_bash, "    local %1$s='", "'\n", NULL, bash_value, NULL, bash_option,
                    bash_operands},
    [SHELL_ZSH] =
        {completion_zsh,
         "(( $+functions[_attn_cli_%1$s] )) ||\n_attn_cli_%1$s() {\n  local -a values=(\n",
         "  )\n  _attn_cli_offer '%1$s' \"$@\"\n}\n\n", "  (%1$s=|*=%1$s=) _attn_cli_%2$s , ;;\n",
         zsh_value, zsh_command, zsh_option, zsh_operands},
    [SHELL_FISH] = {completion_fish, "function __attn_cli_%1$s\n    printf '%%s\\t%%s\\n' \\\n",
                    "\nend\n\n",
                    "        case '%1$s='\n            __attn_cli_joined ,= __attn_cli_%2$s\n",
                    fish_value, fish_command, fish_option, NULL},
};

static void write_list(struct stream *out, const struct shell_form *form,
                       const struct value_list *list)
{
    struct value value;
    stream_format(out, form->list, list->name);
    for (size_t k = 0; value_at(&value, list, k); k++) {
        if (k && form->value == bash_value)
            stream_char(out, ' ');
        form->value(out, &value);
    }
    stream_format(out, form->list_end, list->name);
}

enum { LISTS_MAX = 64 };

static void add_list(const struct value_list *lists[LISTS_MAX], size_t *count,
                     const struct value_list *list)
{
    size_t i = 0;
    while (i < *count && lists[i] != list)
        i++;
    if (list && i == *count && i < LISTS_MAX)
        lists[(*count)++] = list;
}

/* Each list once, in the order of the options that take it. */
static void write_lists(struct stream *out, const struct shell_form *form)
{
    const struct value_list *lists[LISTS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < command_count; i++) {
        struct option_walk walk = {.set = command_set(commands[i])};
        while (option_next(&walk))
            add_list(lists, &count, walk.row->values);
        add_list(lists, &count, commands[i]->operand_values);
    }
    for (size_t i = 0; i < count; i++)
        write_list(out, form, lists[i]);
}

/* Values that follow --sweep head=: those of --head of a batch. */
static void write_settings(struct stream *out, const struct shell_form *form)
{
    struct option_walk walk = {.set = command_set(&command_batch)};
    while (option_next(&walk))
        if (settings_may_vary(walk.row) && walk.row->values)
            stream_format(out, form->setting, walk.row->name, walk.row->values->name);
}

static void write_commands(struct stream *out, const struct shell_form *form)
{
    for (size_t i = 0; i < command_count; i++) {
        struct option_walk walk = {.set = command_set(commands[i])};
        if (form->command)
            form->command(out, commands[i]);
        while (option_next(&walk))
            form->option(out, walk.row, commands[i]);
        if (form->operands)
            form->operands(out, commands[i]);
    }
}

/* Of bash: the options of each command, and the commands. */
static void write_words(struct stream *out, const struct shell_form *form)
{
    (void)form;
    for (size_t i = 0; i < command_count; i++) {
        struct option_walk walk = {.set = command_set(commands[i])};
        stream_format(out, "    %s) words='", commands[i]->name);
        while (option_next(&walk))
            stream_format(out, "--%s ", walk.row->name);
        stream_text(out, "' ;;\n");
    }
    stream_text(out, "    '') words='");
    for (size_t i = 0; i < command_count; i++)
        stream_format(out, "%s ", commands[i]->name);
    stream_text(out, "--help --version' ;;\n");
}

void completion_write(struct stream *out, enum shell shell)
{
    static const struct {
        const char *mark;
        void (*write)(struct stream *out, const struct shell_form *form);
    } parts[] = {{"#@ lists\n", write_lists},
                 {"#@ settings\n", write_settings},
                 {"#@ commands\n", write_commands},
                 {"#@ words\n", write_words}};
    enum { PARTS = sizeof parts / sizeof *parts };
    const char *line = (const char *)forms[shell].script;
    while (*line) {
        size_t size = strcspn(line, "\n") + 1;
        size_t part = 0;
        while (part < PARTS && strncmp(line, parts[part].mark, size) != 0)
            part++;
        if (part < PARTS)
            parts[part].write(out, &forms[shell]);
        else
            stream_bytes(out, line, size);
        line += size;
    }
}
