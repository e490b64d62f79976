/* help_completion.c: completion scripts of shells, with rows for commands, options and values. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "help.h"
#include "output.h"
#include "write/text.h"

VALUES(commands, NULL, all->count, all->items[index]->name, all->items[index]->about)
WORDS_(, shells, NULL, {"bash", NULL}, {"zsh", NULL}, {"fish", NULL})

/* The kind of path that an argument accepts, found by the argument's name; NULL: the argument is
 * not a path. */
static const char *path_kind(const char *argument)
{
    static const char *const words[][2] = {
        {"DIR", "directory"}, {"MODEL", "model"}, {"FILE", "file"}, {"PATH", "file"}};
    for (size_t i = 0; argument && i < sizeof words / sizeof *words; i++)
        if (strstr(argument, words[i][0]))
            return words[i][1];
    return NULL;
}

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

/* Append a row `value LIST NAME ABOUT` for each value of a list, unless the list was appended
 * before. */
static void add_values(struct buf *rows, const struct value_list *list,
                       const struct command_list *all)
{
    char key[FORM_BYTES];
    struct value value;
    snprintf(key, sizeof key, "value\t%s\t", list ? list->name : "");
    if (!list || rows->out_of_memory || strstr(rows->bytes, key))
        return;
    for (size_t i = 0; list->at(&value, i, all); i++)
        buf_format(rows, "%s%s%.*s\t%s\n", key, value.name, value.end != 0, &value.end,
                   or_dash(value.about));
}

/* Append the row of an option: `KIND COMMAND NAME LETTER ARGUMENT PATHS LIST JOINTS BRIEF`, with
 * tabs between the fields; before it the values of its list. */
static void add_option(struct buf *rows, const struct command *command,
                       const struct option_row *row, const struct command_list *all)
{
    char letter[] = {'-', row->letter, '\0'};
    const char *kind = row->kind == OPTION_FLAG    ? "flag"
                       : row->kind == OPTION_TEXTS ? "options"
                                                   : "option";
    add_values(rows, row->values, all);
    buf_format(rows, "%s\t%s\t--%s\t%s\t%s\t%s\t%s\t%s\t%.*s\n", kind, command->name, row->name,
               letter, or_dash(row->argument), or_dash(path_kind(row->argument)),
               row->values ? row->values->name : "-", or_dash(row->joints),
               (int)option_brief_bytes(row), row->about);
}

/* Append the rows of a command's options, the most used first, and of its operands. */
static void add_command(struct buf *rows, const struct command *command,
                        const struct command_list *all)
{
    const struct value_list *list = command->operand_values;
    struct used_option used;
    for (const char *at = command->most_used; used_option_next(&used, command, &at);)
        add_option(rows, command, used.row, all);
    for (struct option_walk walk = {.set = command_set(command)}; option_next(&walk);)
        if (!option_is_most_used(command, walk.row))
            add_option(rows, command, walk.row, all);
    add_values(rows, list, all);
    if (list || path_kind(command->operands))
        buf_format(rows, "operand\t%s\toperands\t-\t%s\t%s\t%s\t-\t-\n", command->name,
                   command->operands, or_dash(path_kind(command->operands)),
                   list ? list->name : "-");
}

/* the completion scripts, which embed.sh turns into arrays */
extern const unsigned char completion_bash[], completion_zsh[], completion_fish[];

/* In the script, rows for commands, options and values replace the line `mark`. */
int help_completion(const char *shell, const struct command_list *all, struct err *err)
{
    static const char mark[] = "#@ rows\n";
    const unsigned char *const scripts[] = {completion_bash, completion_zsh, completion_fish};
    struct stream out;
    struct buf rows = {0};
    size_t index = 0;
    if (names_choose(&index, (struct names){*shells_words, 3, sizeof *shells_words}, "--completion",
                     shell, err) ||
        stream_to(&out, STDOUT_FILENO, err))
        return -1;
    const char *script = (const char *)scripts[index];
    const char *rest = strstr(script, mark);
    buf_bytes(&rows, script, (size_t)(rest - script));
    size_t begin = rows.size;
    add_values(&rows, &values_commands, all);
    add_values(&rows, &values_endings, all); /* file name endings that --output accepts */
    add_values(&rows, &values_endings_of_people, all);
    for (size_t i = 0; i < all->count; i++)
        add_command(&rows, all->items[i], all);
    for (size_t i = begin; i < rows.size; i++)
        if (rows.bytes[i] == '\'')
            rows.bytes[i] = '"'; /* a single quote would end the script's string of rows */
    buf_text(&rows, rest + sizeof mark - 1);
    int failed = text_send(&out, &rows, err);
    buf_release(&rows);
    return stream_end(&out, failed, err);
}
