#include "catalog.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "math/kernel.h"
#include "write/text_line.h"
#include "output.h"

#ifdef __clang__
#define COMPILER __VERSION__ /* names clang itself */
#else
#define COMPILER "gcc " __VERSION__
#endif

enum {
    NAME_COLUMNS = 22, /* of the left column of lists */
    ABOUT_COLUMN = 2 + NAME_COLUMNS + 2,
    PAGE_COLUMNS = 80,
    FORM_BYTES = 80,
    TITLE_COLUMNS = 8, /* of groups of commands */
    COMMAND_COLUMNS = 10,
    COMMAND_COLUMN = TITLE_COLUMNS + 2 + COMMAND_COLUMNS + 1,
};

static void write_row(struct stream *out, const char *name, const char *about)
{
    if (strlen(name) > NAME_COLUMNS)
        stream_format(out, "  %s\n%*s", name, ABOUT_COLUMN, "");
    else
        stream_format(out, "  %-*s  ", NAME_COLUMNS, name);
    text_wrap(out, about, ABOUT_COLUMN, ABOUT_COLUMN, PAGE_COLUMNS);
}

static void write_options(struct stream *out, const struct command *command, enum option_part part)
{
    struct option_walk walk = {.command = command, .part = part};
    const struct option_row *row = NULL;
    const char *title = NULL;
    char form[FORM_BYTES];
    while ((row = option_walk_next(&walk, &title))) {
        char letter[8] = "    "; /* "-s, --sentence TEXT" */
        if (title)
            stream_format(out, "\n%s:\n", title);
        if (row->letter)
            snprintf(letter, sizeof letter, "-%c, ", row->letter);
        snprintf(form, sizeof form, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        write_row(out, form, row->about);
    }
}

/* --- lists of values -------------------------------------------------------------------------- */

/* Names below each other's heading, as a text: where the next one goes. */
struct name_line {
    const char *heading; /* that they stand under; NULL: none yet */
    size_t column;       /* 0: no name stands on a line */
};

static void end_names(struct stream *out, struct name_line *names)
{
    if (names->column)
        stream_char(out, '\n');
    *names = (struct name_line){0};
}

static void write_name(struct stream *out, struct name_line *names, const char *heading,
                       const char *name)
{
    size_t size = strlen(name);
    bool goes_on = names->column && names->heading == heading;
    if (!goes_on) {
        end_names(out, names);
        stream_format(out, "  %s", heading);
        names->heading = heading;
        names->column = 2 + strlen(heading);
    }
    const char *gap = *heading || goes_on ? " " : "";
    stream_text(out, goes_on ? "," : "");
    names->column += goes_on + strlen(gap);
    if (names->column + size + 1 > PAGE_COLUMNS) { /* 1: a comma after it */
        stream_text(out, "\n  ");
        names->column = 2;
        gap = "";
    }
    stream_format(out, "%s%s", gap, name);
    names->column += size;
}

static void write_value(struct stream *out, struct name_line *names, const struct value *value)
{
    if (value->heading || !value->about) {
        write_name(out, names, value->heading ? value->heading : "", value->name);
        return;
    }
    char form[FORM_BYTES];
    end_names(out, names);
    snprintf(form, sizeof form, value->argument ? "%s%c%s" : "%s", value->name, value->end,
             value->argument);
    write_row(out, form, value->about);
}

static void write_list(struct stream *out, const struct value_use *use,
                       const struct command *command)
{
    struct value value;
    struct name_line names = {0};
    stream_char(out, '\n');
    value_use_title(out, use, command);
    stream_text(out, ":\n");
    for (size_t i = 0; value_at(&value, use->list, i); i++)
        write_value(out, &names, &value);
    end_names(out, &names);
    if (use->list->note)
        stream_format(out, "  %s\n", use->list->note);
}

/* The names alone: 'help options' describes them. */
static void write_shared_names(struct stream *out, const struct command *command)
{
    struct option_walk walk = {.command = command, .part = OPTIONS_SHARED};
    const struct option_row *row = NULL;
    const char *title = NULL;
    struct name_line names = {0};
    char form[FORM_BYTES];
    while ((row = option_walk_next(&walk, &title))) {
        if (!names.column)
            stream_text(out, "\nShared options ('attn-cli help options' describes them):\n");
        snprintf(form, sizeof form, "--%s", row->name);
        write_name(out, &names, "", form);
    }
    end_names(out, &names);
}

static void write_lists(struct stream *out, const struct command *command, const char *topic)
{
    for (const struct value_use *use = NULL; (use = value_use_next(use, command, topic));)
        write_list(out, use, command);
}

/* --- pages ------------------------------------------------------------------------------------ */

static void write_commands(struct stream *out, const struct command_group *group)
{
    const char *title = group->title;
    for (size_t i = 0; i < command_count; i++) {
        if (!(command_rows[i].bit & group->commands))
            continue;
        stream_format(out, "%-*s  %-*s ", TITLE_COLUMNS, title, COMMAND_COLUMNS,
                      command_rows[i].name);
        text_wrap(out, command_rows[i].about, COMMAND_COLUMN, COMMAND_COLUMN, PAGE_COLUMNS);
        title = "";
    }
}

/* It fits on a terminal of 24 lines. */
static void overview(struct stream *out)
{
    stream_text(out, "attn-cli: inspect attention in transformer language models\n\n");
    for (size_t i = 0; i < command_group_count; i++)
        write_commands(out, &command_groups[i]);
    stream_text(out, "\n'attn-cli help COMMAND' lists its options; 'attn-cli help options' lists "
                     "shared options.\n");
}

static void help_command_write(struct stream *out, const struct command *command)
{
    stream_format(out, "attn-cli %s: %s\n\nExamples:\n", command->name, command->about);
    for (const char *line = command->examples; *line; line += strcspn(line, "\n") + 1) {
        stream_text(out, "  ");
        stream_bytes(out, line, strcspn(line, "\n") + 1);
    }
    stream_format(out, "\nUsage: attn-cli %s [options]%s%s\n", command->name,
                  *command->operands ? " " : "", command->operands);
    write_options(out, command, OPTIONS_OWN);
    write_shared_names(out, command);
    write_lists(out, command, NULL);
}

static void topic_write(struct stream *out, const struct help_topic *topic)
{
    stream_format(out, "attn-cli help %s: %s\n", topic->name, topic->about);
    if (strcmp(topic->name, "options") == 0)
        write_options(out, NULL, OPTIONS_SHARED);
    write_lists(out, NULL, topic->name);
}

static void version(struct stream *out)
{
    struct kernels *kernels = NULL;
    const char *library = kernels_library();
    stream_text(out, "attn-cli " ATTN_VERSION "\n");
    if (kernels_open(&kernels, NULL) == 0)
        stream_format(out, "kernels: %s%s%s\n", kernels_target(kernels), library ? ", " : "",
                      library ? library : "");
    kernels_free(kernels);
    stream_format(out, "unicode: %s\n", unicode_version);
    stream_text(out, "built:   " COMPILER "\n");
}

enum page { PAGE_HELP, PAGE_VERSION, PAGE_MANUAL };

/* Of all but the version `command` may be NULL: the page of them all. */
static int write_page(enum page page, const struct command *command, struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    if (page == PAGE_VERSION)
        version(&out);
    else if (page == PAGE_MANUAL)
        manual_write(&out, command);
    else if (command)
        help_command_write(&out, command);
    else
        overview(&out);
    return stream_commit(&out, err);
}

int help_of(const struct command *command, struct err *err)
{
    return write_page(PAGE_HELP, command, err);
}

static int help_of_topic(const struct help_topic *topic, struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    topic_write(&out, topic);
    return stream_commit(&out, err);
}

int help_version(struct err *err)
{
    return write_page(PAGE_VERSION, NULL, err);
}

static int write_completion(const char *shell, struct err *err)
{
    static const char *const shells[] = {"bash", "zsh", "fish"}; /* by enum shell */
    struct stream out;
    size_t index = 0;
    if (names_choose(&index, NAMES_LIST(shells), "--completion", shell, err) ||
        stream_to(&out, STDOUT_FILENO, err))
        return -1;
    completion_write(&out, (enum shell)index);
    return stream_commit(&out, err);
}

int help_command(const struct options *options, struct err *err)
{
    const struct texts *operands = &options->input.operands;
    const struct command *command = NULL;
    size_t topic = 0;
    if (operands->count > 1)
        return err_usage(err, "expected one command, found '%s' as well", operands->items[1]);
    if (operands->count && names_find(&topic, NAMES(help_topics, help_topic_count),
                                      operands->items[0], strlen(operands->items[0])))
        return help_of_topic(&help_topics[topic], err);
    if (operands->count)
        command = command_find(operands->items[0], err);
    if (operands->count && !command)
        return -1;
    if (options->learn.completion)
        return write_completion(options->learn.completion, err);
    return options->learn.man ? write_page(PAGE_MANUAL, command, err) : help_of(command, err);
}
