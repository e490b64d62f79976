/* help.c: `attn-cli help`: pages of text and manual pages, from the rows of commands and options.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/utf8.h"
#include "command.h"
#include "completion.h"
#include "math/kernel.h"
#include "output.h"
#include "write/text_line.h"

WORDS_AT(statuses, {"0", "done"}, {"1", "a check failed, or some items failed"},
         {"2", "usage error"}, {"3", "input error"}, {"4", "unsupported model"},
         {"5", "output could not be written"}, {"130", "interrupted"})
static const struct value_list values_statuses = {"statuses", "Exit status", statuses_at, NULL};

WORDS_AT(variables, {"ATTN_MODEL", "default model"},
         {"ATTN_MODEL_PATH", "folders to search for models by name, separated by :"},
         {"HF_HUB_CACHE", "cache of the Hugging Face Hub, searched next; default: below HF_HOME, "
                          "XDG_CACHE_HOME/huggingface or ~/.cache/huggingface"},
         {"COLUMNS", "width of text output on a terminal"}, {"NO_COLOR", "if set, no colours"},
         {"LIBXSMM_TARGET", "instruction set of the kernels: generic, snb, hsw, skx"})
static const struct value_list values_variables = {"variables", "Environment", variables_at, NULL};

WORDS_AT(files, {"share/attn-cli/schemas", "below the installation prefix: JSON schemas; NAME.json "
                                           "describes the format attn-cli/NAME/1"})
static const struct value_list values_files = {"files", "Files", files_at, NULL};

WORDS_AT(shells, {"bash", NULL}, {"zsh", NULL}, {"fish", NULL})
static const struct value_list values_shells = {"shells", NULL, shells_at, NULL};

VALUES_AT(commands, command_count, commands[index]->name, commands[index]->about)
static const struct value_list values_commands = {"commands", NULL, commands_at, NULL};

struct help_options {
    const char *completion;
    bool man;
};

static const struct help_options *own(const struct options *options)
{
    return (const void *)options->own;
}

static const struct option_row own_options[] = {
    FLAG("man", 0, OWN(struct help_options, man), "print a manual page, for man"),
    STRING("completion", 0, "SHELL", OWN(struct help_options, completion),
           "print a completion script for bash, zsh or fish", .values = &values_shells),
    {0},
};

const struct command command_help = {
    .name = "help",
    .about = "list commands or options",
    .operands = "[COMMAND|TOPIC]",
    .examples = "attn-cli help run\n"
                "attn-cli help options\n"
                "attn-cli help --man run | man -l -\n"
                "eval \"$(attn-cli help --completion bash)\"\n",
    .run = help_command,
    .options = own_options,
    .shared = {{running_options, "threads quiet verbose"}},
    .operand_values = &values_commands,
    .lists = {&values_variables, &values_files, &values_statuses},
};

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
    FEW = 9, /* options of a command that needs no headings */
};

/* Pages about more than one command, and the lists of values that they explain. */
static const struct help_topic {
    const char *name, *about;
    const struct value_list *lists[6];
} topics[] = {
    {"options",
     "options shared by the commands that read texts",
     {&values_attention, &values_models}},
    {"edits", "changing values during the pass", {&values_edits}},
    {"formats",
     "output formats, and what they show by default",
     {&values_defaults, &values_layer_defaults, &values_formats, &values_palettes, &values_venues}},
    {"sizes", "the sizes of new models", {&values_shapes, &values_keys}},
};

enum { TOPICS = sizeof topics / sizeof *topics };

/* --- which lists a page explains -------------------------------------------------------------- */

static bool has_list(const struct value_list *const *lists, size_t count,
                     const struct value_list *list)
{
    for (size_t i = 0; i < count; i++)
        if (lists[i] == list)
            return true;
    return false;
}

/* A topic explains it, or the page of one command for all. */
static bool is_elsewhere(const struct value_list *list)
{
    for (size_t i = 0; i < TOPICS; i++)
        if (has_list(topics[i].lists, sizeof topics[i].lists / sizeof *topics[i].lists, list))
            return true;
    for (size_t i = 0; i < command_count; i++)
        if (has_list(commands[i]->lists, COMMAND_LISTS, list))
            return true;
    return false;
}

enum { LISTS_MAX = 12 };

static void add_list(const struct value_list *lists[LISTS_MAX], size_t *count,
                     const struct value_list *list)
{
    if (list && list->title && *count < LISTS_MAX && !has_list(lists, *count, list))
        lists[(*count)++] = list;
}

/* Those of a command's own options and operands, and those that its row names. */
static size_t find_lists(const struct value_list *lists[LISTS_MAX], const struct command *command)
{
    struct option_walk walk = {.set = {.command = command}};
    size_t count = 0;
    while (option_next(&walk))
        if (!walk.is_shared && !(walk.row->values && is_elsewhere(walk.row->values)))
            add_list(lists, &count, walk.row->values);
    if (command->operand_values && !is_elsewhere(command->operand_values))
        add_list(lists, &count, command->operand_values);
    for (size_t i = 0; i < COMMAND_LISTS; i++)
        add_list(lists, &count, command->lists[i]);
    return count;
}

/* "Scores (--sort, --map), averaged …": the options of a command that take the list; of no command
 * the first option of any. */
static void write_title(struct stream *out, const struct value_list *list,
                        const struct command *command)
{
    const char *gap = " (--";
    size_t size = strcspn(list->title, ",;");
    stream_bytes(out, list->title, size);
    for (size_t i = 0; i < command_count; i++) {
        struct option_walk walk = {.set = command_set(commands[i])};
        while (option_next(&walk)) {
            if ((command ? command != commands[i] : gap[0] == ',') || walk.row->values != list)
                continue;
            stream_format(out, "%s%s", gap, walk.row->name);
            gap = ", --";
        }
    }
    stream_format(out, "%s%s", gap[0] == ',' ? ")" : "", list->title + size);
}

/* --- text: options ---------------------------------------------------------------------------- */

static void write_row(struct stream *out, const char *name, const char *about)
{
    if (strlen(name) > NAME_COLUMNS)
        stream_format(out, "  %s\n%*s", name, ABOUT_COLUMN, "");
    else
        stream_format(out, "  %-*s  ", NAME_COLUMNS, name);
    text_wrap(out, about, ABOUT_COLUMN, ABOUT_COLUMN, PAGE_COLUMNS);
}

static void write_option(struct stream *out, const struct option_row *row)
{
    char form[FORM_BYTES];
    char letter[8] = "    "; /* "-s, --sentence TEXT" */
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(form, sizeof form, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
             row->argument ? row->argument : "");
    write_row(out, form, row->about);
}

static bool needs_headings(const struct command *command)
{
    struct option_walk walk = {.set = command_set(command)};
    size_t count = 0;
    while (option_next(&walk))
        count++;
    return count > FEW;
}

/* The heading that an option begins, NULL where it goes on; `heading` is the last one. */
static const char *next_heading(const char **heading, const char *next)
{
    if (*heading && strcmp(*heading, next) == 0)
        return NULL;
    *heading = next;
    return next;
}

/* Those that 'help options' does not describe. */
static void write_own_options(struct stream *out, const struct command *command)
{
    struct option_walk walk = {.set = command_set(command)};
    bool has_headings = !command->reads_texts && needs_headings(command);
    const char *heading = NULL;
    while (option_next(&walk)) {
        if (walk.is_shared && command->reads_texts)
            continue;
        const char *title = has_headings && walk.heading ? walk.heading : "Options";
        if (next_heading(&heading, title))
            stream_format(out, "\n%s:\n", title);
        write_option(out, walk.row);
    }
}

static void write_shared_options(struct stream *out)
{
    const char *heading = NULL;
    for (size_t i = 0; shared_options[i]; i++)
        for (const struct option_row *row = shared_options[i]; row->name; row++) {
            if (row->heading && next_heading(&heading, row->heading))
                stream_format(out, "\n%s:\n", heading);
            write_option(out, row);
        }
}

/* --- text: lists of values -------------------------------------------------------------------- */

/* Names after a heading, wrapped as a text. */
struct name_line {
    const char *heading; /* before them; NULL: none yet */
    size_t column;       /* of the next one; 0: the line is empty */
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

static void write_list(struct stream *out, const struct value_list *list,
                       const struct command *command)
{
    struct value value;
    struct name_line names = {0};
    stream_char(out, '\n');
    write_title(out, list, command);
    stream_text(out, ":\n");
    for (size_t i = 0; value_at(&value, list, i); i++)
        write_value(out, &names, &value);
    end_names(out, &names);
    if (list->note)
        stream_format(out, "  %s\n", list->note);
}

/* The names alone: 'help options' describes them. */
static void write_shared_names(struct stream *out, const struct command *command)
{
    struct option_walk walk = {.set = command_set(command)};
    struct name_line names = {0};
    char form[FORM_BYTES];
    while (command->reads_texts && option_next(&walk)) {
        if (!walk.is_shared)
            continue;
        if (!names.column)
            stream_text(out, "\nShared options ('attn-cli help options' describes them):\n");
        snprintf(form, sizeof form, "--%s", walk.row->name);
        write_name(out, &names, "", form);
    }
    end_names(out, &names);
}

/* --- text: pages ------------------------------------------------------------------------------ */

/* It fits on a terminal of 24 lines. */
static void write_overview(struct stream *out)
{
    const char *group = NULL;
    stream_text(out, "attn-cli: inspect attention in transformer language models\n\n");
    for (size_t i = 0; i < command_count; i++) {
        if (!commands[i]->group)
            continue;
        const char *title = next_heading(&group, commands[i]->group);
        stream_format(out, "%-*s  %-*s ", TITLE_COLUMNS, title ? title : "", COMMAND_COLUMNS,
                      commands[i]->name);
        text_wrap(out, commands[i]->about, COMMAND_COLUMN, COMMAND_COLUMN, PAGE_COLUMNS);
    }
    stream_text(out, "\n'attn-cli help COMMAND' lists its options; 'attn-cli help options' lists "
                     "shared options.\n");
}

static void write_command(struct stream *out, const struct command *command)
{
    const struct value_list *lists[LISTS_MAX];
    size_t count = find_lists(lists, command);
    stream_format(out, "attn-cli %s: %s\n\nExamples:\n", command->name, command->about);
    for (const char *line = command->examples; *line; line += strcspn(line, "\n") + 1) {
        stream_text(out, "  ");
        stream_bytes(out, line, strcspn(line, "\n") + 1);
    }
    stream_format(out, "\nUsage: attn-cli %s [options]%s%s\n", command->name,
                  *command->operands ? " " : "", command->operands);
    write_own_options(out, command);
    write_shared_names(out, command);
    for (size_t i = 0; i < count; i++)
        write_list(out, lists[i], command);
}

static void write_topic(struct stream *out, const struct help_topic *topic)
{
    stream_format(out, "attn-cli help %s: %s\n", topic->name, topic->about);
    if (strcmp(topic->name, "options") == 0)
        write_shared_options(out);
    for (size_t i = 0; i < sizeof topic->lists / sizeof *topic->lists && topic->lists[i]; i++)
        write_list(out, topic->lists[i], NULL);
}

static void write_version(struct stream *out)
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

/* --- manual pages in roff --------------------------------------------------------------------- */

/* Text in roff. Escaped: what roff would read or print in another form, and letters that a manual
 * page in the C locale would lose. */
static void write_roff(struct stream *out, const char *text)
{
    static const struct {
        const char *plain, *roff;
    } escapes[] = {{"\\", "\\e"},  {"-", "\\-"},   {"'", "\\(aq"}, {"`", "\\(ga"}, {"^", "\\(ha"},
                   {"~", "\\(ti"}, {"…", "..."},   {"·", "\\(md"}, {"√", "\\(sr"}, {"β", "\\(*b"},
                   {"ε", "\\(*e"}, {"φ", "\\(*f"}, {"₁", "_1"},    {"₂", "_2"}};
    enum { COUNT = sizeof escapes / sizeof *escapes };
    if (*text == '.')
        stream_text(out, "\\&");
    while (*text) {
        size_t i = 0;
        while (i < COUNT && strncmp(text, escapes[i].plain, strlen(escapes[i].plain)) != 0)
            i++;
        if (i < COUNT)
            stream_text(out, escapes[i].roff);
        else
            stream_char(out, *text);
        text += i < COUNT ? strlen(escapes[i].plain) : 1;
    }
}

static void write_capitals(struct stream *out, const char *text)
{
    for (; *text; text++)
        stream_char(out, (char)toupper((unsigned char)*text));
}

static void write_head(struct stream *out, const struct command *command, const char *about)
{
    const char *gap = command ? "-" : "";
    const char *name = command ? command->name : "";
    stream_format(out, ".TH \"ATTN\\-CLI%s", command ? "\\-" : "");
    write_capitals(out, name);
    stream_format(out, "\" 1 \"\" \"attn\\-cli %s\" \"attn\\-cli\"\n", ATTN_VERSION);
    stream_format(out, ".SH NAME\nattn\\-cli%s%s \\- ", *gap ? "\\-" : "", name);
    write_roff(out, about);
    stream_text(out, "\n.SH SYNOPSIS\n.B attn\\-cli");
    if (command)
        stream_format(out, " %s\n[options]%s%s\n", name, *command->operands ? " " : "",
                      command->operands);
    else
        stream_text(out, "\n.I COMMAND\n[options]\n.br\n.B attn\\-cli \\-\\-version\n");
}

static void write_roff_option(struct stream *out, const struct option_row *row)
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

static void write_roff_options(struct stream *out, const struct command *command)
{
    struct option_walk walk = {.set = command_set(command)};
    bool has_headings = needs_headings(command);
    const char *heading = NULL;
    stream_text(out, ".SH OPTIONS\n");
    while (option_next(&walk)) {
        const char *title = has_headings && walk.heading ? walk.heading : "Options";
        if (next_heading(&heading, title))
            stream_format(out, ".SS %s\n", title);
        write_roff_option(out, walk.row);
    }
}

static void write_roff_list(struct stream *out, const struct value_list *list,
                            const struct command *command)
{
    struct value value;
    char title[FORM_BYTES];
    snprintf(title, sizeof title, "%.*s", (int)strcspn(list->title, ",;"), list->title);
    stream_text(out, ".SH ");
    write_capitals(out, title);
    stream_char(out, '\n');
    write_title(out, list, command);
    stream_text(out, ".\n");
    for (size_t i = 0; value_at(&value, list, i); i++) {
        stream_text(out, ".TP\n\\fB");
        write_roff(out, value.name);
        if (value.argument)
            stream_format(out, "%c%s", value.end, value.argument);
        stream_text(out, "\\fR\n");
        write_roff(out, value.about ? value.about : "");
        stream_text(out, value.about ? "\n" : "");
    }
    if (list->note)
        stream_format(out, ".PP\n%s\n", list->note);
}

static void write_roff_commands(struct stream *out)
{
    const char *group = NULL;
    stream_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < command_count; i++) {
        if (!commands[i]->group)
            continue;
        if (next_heading(&group, commands[i]->group))
            stream_format(out, ".SS %s\n", group);
        stream_format(out, ".TP\n.B %s\n", commands[i]->name);
        write_roff(out, commands[i]->about);
        stream_char(out, '\n');
    }
}

/* Of a command, or of the program (NULL). */
static void write_manual(struct stream *out, const struct command *command)
{
    const struct value_list *lists[LISTS_MAX];
    const struct command *listing = command ? command : &command_help;
    size_t count = find_lists(lists, listing);
    write_head(out, command,
               command ? command->about : "inspect attention in transformer language models");
    stream_text(out, ".SH EXAMPLES\n.nf\n");
    write_roff(out, command ? command->examples : command_run.examples);
    stream_text(out, ".fi\n");
    if (command)
        write_roff_options(out, command);
    else
        write_roff_commands(out);
    for (size_t i = 0; i < count; i++)
        write_roff_list(out, lists[i], listing);
    stream_text(out, ".SH SEE ALSO\n");
    for (size_t i = 0; i < command_count && !command; i++)
        stream_format(out, ".BR attn\\-cli\\-%s (1)%s\n", commands[i]->name,
                      i + 1 < command_count ? "," : "");
    stream_text(out, command ? ".BR attn\\-cli (1)\n" : "");
}

/* --- the command ------------------------------------------------------------------------------ */

enum page { PAGE_HELP, PAGE_VERSION, PAGE_MANUAL };

/* Of all but the version `command` may be NULL: the page of them all. */
static int write_page(enum page page, const struct command *command, struct err *err)
{
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    if (page == PAGE_VERSION)
        write_version(&out);
    else if (page == PAGE_MANUAL)
        write_manual(&out, command);
    else if (command)
        write_command(&out, command);
    else
        write_overview(&out);
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
    write_topic(&out, topic);
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
    if (operands->count &&
        names_find(&topic, NAMES(topics, TOPICS), operands->items[0], strlen(operands->items[0])))
        return help_of_topic(&topics[topic], err);
    if (operands->count)
        command = command_find(operands->items[0], err);
    if (operands->count && !command)
        return -1;
    if (own(options)->completion)
        return write_completion(own(options)->completion, err);
    return own(options)->man ? write_page(PAGE_MANUAL, command, err) : help_of(command, err);
}
