#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "value_lists.h"

void value_tell(struct value *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(value->text, sizeof value->text, format, args);
    va_end(args);
    assert(size >= 0 && (size_t)size < sizeof value->text); /* the tables are ours */
    (void)size;
    value->about = value->text;
}

bool value_at(struct value *value, const struct value_list *list, size_t index)
{
    *value = (struct value){0};
    return list->at(value, index);
}

static bool takes_values(const struct command *command, const char *option)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_rows[i].kind != OPTION_FLAG && strcmp(option_rows[i].name, option) == 0 &&
            option_serves(&option_rows[i], command->bit))
            return true;
    return false;
}

bool value_use_serves(const struct value_use *use, const struct command *command)
{
    if (!(use->commands & command->bit))
        return false;
    return use->option ? takes_values(command, use->option) : *command->operands != 0;
}

static bool is_about(const struct value_use *use, const char *option)
{
    return option && use->option ? strcmp(option, use->option) == 0 : option == use->option;
}

const struct value_use *value_use_find(const char *option, const struct command *command)
{
    for (size_t i = 0; i < value_use_count; i++)
        if (is_about(&value_uses[i], option) && !value_uses[i].only_help &&
            value_use_serves(&value_uses[i], command))
            return &value_uses[i];
    return NULL;
}

enum value_paths value_paths(const char *argument)
{
    static const struct {
        const char *word;
        enum value_paths paths;
    } rows[] = {{"DIR", PATHS_FOLDERS},
                {"MODEL", PATHS_FOLDERS},
                {"FILE", PATHS_FILES},
                {"PATH", PATHS_FILES},
                {"GRAMMAR", PATHS_FILES}};
    for (size_t i = 0; argument && i < sizeof rows / sizeof *rows; i++)
        if (strstr(argument, rows[i].word))
            return rows[i].paths;
    return PATHS_NONE;
}

static bool is_told_of(const struct value_use *use, const struct command *command)
{
    return use->list->title && value_use_serves(use, command);
}

bool value_use_opens(const struct value_use *use, const struct command *command)
{
    for (const struct value_use *earlier = value_uses; earlier < use; earlier++)
        if (earlier->list == use->list && is_told_of(earlier, command))
            return false;
    return is_told_of(use, command);
}

void value_use_title(struct stream *out, const struct value_use *use, const struct command *command)
{
    const char *gap = " (--";
    stream_text(out, use->list->title);
    for (size_t i = 0; i < value_use_count; i++) {
        const struct value_use *other = &value_uses[i];
        if (other->list != use->list || !other->option || other->only_help ||
            !value_use_serves(other, command))
            continue;
        stream_format(out, "%s%s", gap, other->option);
        gap = ", --";
    }
    stream_format(out, "%s%s", gap[0] == ',' ? ")" : "",
                  use->list->remark ? use->list->remark : "");
}
