/* help_json.c: what help tells, as JSON: commands, their options, and what these take. */
#include "catalog.h"

#include <string.h>

#include "format/json_writer.h"

static void put_option(struct json_writer *json, const struct option_row *row, const char *group,
                       const struct command *command)
{
    static const char *const kinds[] = {[OPTION_FLAG] = "flag",
                                        [OPTION_TEXT] = "text",
                                        [OPTION_TEXTS] = "texts",
                                        [OPTION_NUMBER] = "integer",
                                        [OPTION_REAL] = "number"};
    const struct value_use *use = value_use_find(row->name, command);
    const char letter[] = {row->letter, '\0'};
    json_put_open(json, "\n    ", '{');
    json_put_text(json, "name", row->name);
    json_put_text(json, "letter", row->letter ? letter : NULL);
    json_put_text(json, "kind", kinds[row->kind]);
    json_put_text(json, "argument", row->argument);
    json_put_text(json, "group", group);
    json_put_text(json, "values", use ? use->list->name : NULL);
    json_put_text(json, "about", row->about);
    json_put_close(json, '}');
}

static void put_examples(struct json_writer *json, const char *examples)
{
    json_put_open(json, "\n   examples", '[');
    for (size_t size; *examples; examples += size + (examples[size] == '\n')) {
        size = strcspn(examples, "\n");
        json_put_bytes(json, NULL, examples, size);
    }
    json_put_close(json, ']');
}

static void put_command(struct json_writer *json, const struct command *command)
{
    struct option_walk walk = {.command = command};
    const char *title = NULL;
    const char *group = NULL;
    json_put_open(json, "\n  ", '{');
    json_put_text(json, "name", command->name);
    json_put_text(json, "about", command->about);
    json_put_text(json, "operands", command->operands);
    put_examples(json, command->examples);
    json_put_open(json, "\n   options", '[');
    for (const struct option_row *row; (row = option_walk_next(&walk, &title));) {
        group = title ? title : group;
        put_option(json, row, group, command);
    }
    json_put_close(json, ']');
    json_put_close(json, '}');
}

/* Whether a command takes values of that list, or its help tells of them; NULL: any does. */
static bool has_list(const struct value_use *use, const struct command *command)
{
    int commands = command ? command->bit : FOR_ALL;
    if (use->option && command && !option_has_name(command->bit, use->option))
        return false;
    return use->commands & commands;
}

static void put_list(struct json_writer *json, const struct value_list *list)
{
    struct value value;
    json_put_gap(json, "\n  ");
    json_put_open(json, list->name, '[');
    for (size_t i = 0; value_at(&value, list, i); i++) {
        json_put_open(json, "\n   ", '{');
        json_put_text(json, "name", value.name);
        json_put_text(json, "argument", value.argument);
        json_put_text(json, "about", value.about);
        json_put_close(json, '}');
    }
    json_put_close(json, ']');
}

static void put_lists(struct json_writer *json, const struct command *command)
{
    json_put_open(json, "\n values", '{');
    for (size_t i = 0; i < value_use_count; i++) {
        size_t first = 0;
        while (value_uses[first].list != value_uses[i].list ||
               !has_list(&value_uses[first], command))
            if (first++ == i)
                break;
        if (first == i)
            put_list(json, value_uses[i].list);
    }
    json_put_close(json, '}');
}

void help_json_write(struct stream *out, const struct command *command)
{
    struct json_writer json = {.stream = out};
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("help"));
    json_put_text(&json, "version", ATTN_VERSION);
    json_put_open(&json, "\n commands", '[');
    for (size_t i = 0; i < command_count; i++)
        if (!command || command == &command_rows[i])
            put_command(&json, &command_rows[i]);
    json_put_close(&json, ']');
    put_lists(&json, command);
    json_put_close(&json, '}');
    stream_char(out, '\n');
}
