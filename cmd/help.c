/* help.c: `attn-cli help`: pages of text and of the manual, and completions, from rows of commands
 * and options. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/utf8.h"
#include "command.h"
#include "math/kernel.h"
#include "output.h"
#include "write/text.h"

WORDS(statuses, "Exit status", {"0", "done"}, {"1", "a check failed, or some items failed"},
      {"2", "usage error"}, {"3", "input error"}, {"4", "unsupported model"},
      {"5", "output could not be written"}, {"130", "interrupted"})
WORDS(variables, "Environment", {"ATTN_MODEL", "default model"},
      {"ATTN_MODEL_PATH", "folders to search for models by name, separated by :"},
      {"HF_HUB_CACHE", "cache of the Hugging Face Hub, searched next; default: below HF_HOME, "
                       "XDG_CACHE_HOME/huggingface or ~/.cache/huggingface"},
      {"COLUMNS", "width of text output on a terminal"}, {"NO_COLOR", "if set, no colours"},
      {"LIBXSMM_TARGET", "instruction set of the kernels: generic, snb, hsw, skx"})
WORDS(files, "Files",
      {"share/attn-cli/schemas", "below the installation prefix: JSON schemas; NAME.json "
                                 "describes the format attn-cli/NAME/1"})
WORDS(shells, NULL, {"bash", NULL}, {"zsh", NULL}, {"fish", NULL})
VALUES(commands, NULL, command_count, commands[index]->name, commands[index]->about)

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
    TOPIC_LISTS = 6,
};

/* Pages about more than one command, and the lists of values that they explain. */
static const struct help_topic {
    const char *name, *about;
    const struct value_list *lists[TOPIC_LISTS];
} topics[] = {
    {"options",
     "options shared by the commands that read texts",
     {&values_attention, &values_models}},
    {"edits", "changing values during the pass", {&values_edits}},
    {"formats",
     "output formats, and what they show by default",
     {&values_defaults, &values_formats, &values_palettes, &values_venues}},
    {"sizes", "the sizes of new models", {&values_shapes, &values_keys}},
};

enum { TOPICS = sizeof topics / sizeof *topics };

/* --- text and roff ---------------------------------------------------------------------------- */

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

/* A page of text, or of the manual. */
struct page {
    struct stream *out;
    bool is_manual;
    const char *heading;    /* the last one */
    const char *name_group; /* text: the names on the line follow this one */
    size_t name_column;     /* text: of the next name; 0: the line is empty */
};

/* Names without a meaning are listed after each other. */
static void end_names(struct page *page)
{
    if (page->name_column)
        stream_char(page->out, '\n');
    page->name_group = NULL;
    page->name_column = 0;
}

static void write_name(struct page *page, const char *group, const char *name)
{
    size_t size = strlen(name);
    bool continues = page->name_column && page->name_group == group;
    if (!continues) {
        end_names(page);
        stream_format(page->out, "  %s", group);
        page->name_group = group;
        page->name_column = 2 + strlen(group);
    }
    const char *gap = *group || continues ? " " : "";
    stream_text(page->out, continues ? "," : "");
    page->name_column += continues + strlen(gap);
    if (page->name_column + size + 1 > PAGE_COLUMNS) { /* 1: a comma after it */
        stream_text(page->out, "\n  ");
        page->name_column = 2;
        gap = "";
    }
    stream_format(page->out, "%s%s", gap, name);
    page->name_column += size;
}

/* Begin a part of the page, unless it has begun. */
static void write_heading(struct page *page, const char *heading)
{
    if (page->heading && strcmp(page->heading, heading) == 0)
        return;
    page->heading = heading;
    stream_text(page->out, page->is_manual ? ".SS " : "\n");
    if (page->is_manual)
        write_roff(page->out, heading);
    else
        stream_text(page->out, heading);
    stream_text(page->out, page->is_manual ? "\n" : ":\n");
}

/* A name, what follows it ("" or " N"), and a line about it. */
static void write_entry(struct page *page, const char *name, const char *argument,
                        const char *about)
{
    struct stream *out = page->out;
    char form[FORM_BYTES];
    if (page->is_manual) {
        stream_text(out, ".TP\n\\fB");
        write_roff(out, name);
        stream_text(out, "\\fR");
        stream_format(out, *argument ? " \\fI%s\\fR\n" : "%s\n", argument + (*argument == ' '));
        write_roff(out, about);
        stream_text(out, *about ? "\n" : "");
        return;
    }
    end_names(page);
    snprintf(form, sizeof form, "%s%s", name, argument);
    if (strlen(form) > NAME_COLUMNS)
        stream_format(out, "  %s\n%*s", form, ABOUT_COLUMN, "");
    else
        stream_format(out, "  %-*s  ", NAME_COLUMNS, form);
    text_wrap(out, about, ABOUT_COLUMN, ABOUT_COLUMN, PAGE_COLUMNS);
}

/* --- options ---------------------------------------------------------------------------------- */

static void write_option(struct page *page, const struct option_row *row)
{
    char name[FORM_BYTES];
    char argument[FORM_BYTES] = "";
    char letter[] = {'-', row->letter, ',', ' ', '\0'};
    const char *gap = page->is_manual ? "" : "    ";
    snprintf(name, sizeof name, "%s--%s", row->letter ? letter : gap, row->name);
    if (row->argument)
        snprintf(argument, sizeof argument, " %s", row->argument);
    write_entry(page, name, argument, row->about);
}

/* In text those that 'help options' describes are only named. */
static void write_options(struct page *page, const struct command *command)
{
    bool refers = command->reads_texts && !page->is_manual;
    char name[FORM_BYTES];
    size_t count = 0;
    for (struct option_walk walk = {.set = command_set(command)}; option_next(&walk);)
        count++;
    bool has_headings = count > FEW && !refers;
    for (struct option_walk walk = {.set = command_set(command)}; option_next(&walk);)
        if (!walk.is_shared || !refers) {
            write_heading(page, has_headings && walk.heading ? walk.heading : "Options");
            write_option(page, walk.row);
        }
    for (struct option_walk walk = {.set = command_set(command)}; refers && option_next(&walk);)
        if (walk.is_shared) {
            write_heading(page, "Shared options ('attn-cli help options' describes them)");
            snprintf(name, sizeof name, "--%s", walk.row->name);
            write_name(page, "", name);
        }
    end_names(page);
}

/* --- lists of values -------------------------------------------------------------------------- */

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
        if (has_list(topics[i].lists, TOPIC_LISTS, list))
            return true;
    for (size_t i = 0; i < command_count; i++)
        if (has_list(commands[i]->lists, COMMAND_LISTS, list))
            return true;
    return false;
}

/* Append "Scores (--sort, --map), averaged …": with the options of a command that take the list; of
 * no command the first option of any. */
static void add_title(struct buf *title, const struct value_list *list,
                      const struct command *command)
{
    const char *gap = " (--";
    size_t size = strcspn(list->title, ",;");
    buf_format(title, "%.*s", (int)size, list->title);
    for (size_t i = 0; i < command_count; i++)
        for (struct option_walk walk = {.set = command_set(commands[i])}; option_next(&walk);) {
            if ((command ? command != commands[i] : gap[0] == ',') || walk.row->values != list)
                continue;
            buf_format(title, "%s%s", gap, walk.row->name);
            gap = ", --";
        }
    buf_format(title, "%s%s", gap[0] == ',' ? ")" : "", list->title + size);
}

static void write_list(struct page *page, const struct value_list *list,
                       const struct command *command)
{
    struct value value;
    struct buf title = {0};
    char form[FORM_BYTES];
    add_title(&title, list, command);
    write_heading(page, title.out_of_memory ? list->title : title.bytes);
    for (size_t i = 0; value_at(&value, list, i); i++) {
        snprintf(form, sizeof form, value.argument ? "%s%c%s" : "%s", value.name, value.end,
                 value.argument);
        if (!page->is_manual && (value.heading || !value.about))
            write_name(page, value.heading ? value.heading : "", value.name);
        else
            write_entry(page, form, "", value.about ? value.about : "");
    }
    end_names(page);
    if (list->note)
        stream_format(page->out, page->is_manual ? ".PP\n%s\n" : "  %s\n", list->note);
    page->heading = NULL;
    buf_release(&title);
}

/* Those of a command's own options and operands, and those that its row names. */
static void write_lists(struct page *page, const struct command *command)
{
    enum { LISTS_MAX = 12 };
    const struct value_list *lists[LISTS_MAX] = {command->operand_values};
    size_t count = 1;
    for (struct option_walk walk = {.set = {.command = command}}; option_next(&walk);)
        if (!walk.is_shared && walk.row->values) {
            assert(count < LISTS_MAX);
            lists[count++] = walk.row->values;
        }
    for (size_t i = 0; i < count; i++)
        if (lists[i] && lists[i]->title && !has_list(lists, i, lists[i]) && !is_elsewhere(lists[i]))
            write_list(page, lists[i], command);
    for (size_t i = 0; i < COMMAND_LISTS && command->lists[i]; i++)
        write_list(page, command->lists[i], command);
}

/* --- pages ------------------------------------------------------------------------------------ */

/* It fits on a terminal of 24 lines. */
static void write_overview(struct stream *out)
{
    const char *group = "";
    stream_text(out, "attn-cli: inspect attention in transformer language models\n\n");
    for (size_t i = 0; i < command_count && commands[i]->group; i++) {
        bool begins = strcmp(group, commands[i]->group) != 0;
        group = commands[i]->group;
        stream_format(out, "%-*s  %-*s ", TITLE_COLUMNS, begins ? group : "", COMMAND_COLUMNS,
                      commands[i]->name);
        text_wrap(out, commands[i]->about, COMMAND_COLUMN, COMMAND_COLUMN, PAGE_COLUMNS);
    }
    stream_text(out, "\n'attn-cli help COMMAND' lists its options; 'attn-cli help options' lists "
                     "shared options.\n");
}

static void write_command(struct page *page, const struct command *command)
{
    struct stream *out = page->out;
    stream_format(out, "attn-cli %s: %s\n\nExamples:\n", command->name, command->about);
    for (const char *line = command->examples; *line; line += strcspn(line, "\n") + 1) {
        stream_text(out, "  ");
        stream_bytes(out, line, strcspn(line, "\n") + 1);
    }
    stream_format(out, "\nUsage: attn-cli %s [options]%s%s\n", command->name,
                  *command->operands ? " " : "", command->operands);
    write_options(page, command);
    write_lists(page, command);
}

static void write_topic(struct page *page, const struct help_topic *topic)
{
    stream_format(page->out, "attn-cli help %s: %s\n", topic->name, topic->about);
    for (size_t i = 0; shared_options[i] && topic == topics; i++) /* options */
        for (const struct option_row *row = shared_options[i]; row->name; row++) {
            if (row->heading)
                write_heading(page, row->heading);
            write_option(page, row);
        }
    for (size_t i = 0; i < TOPIC_LISTS && topic->lists[i]; i++)
        write_list(page, topic->lists[i], NULL);
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

/* Of a command, or of the program (NULL). */
static void write_manual(struct page *page, const struct command *command)
{
    struct stream *out = page->out;
    const char *dash = command ? "\\-" : "";
    const char *name = command ? command->name : "";
    stream_format(out, ".TH \"ATTN\\-CLI%s", dash);
    for (const char *letter = name; *letter; letter++)
        stream_char(out, (char)toupper((unsigned char)*letter));
    stream_format(out, "\" 1 \"\" \"attn\\-cli %s\" \"attn\\-cli\"\n", ATTN_VERSION);
    stream_format(out, ".SH NAME\nattn\\-cli%s%s \\- ", dash, name);
    write_roff(out, command ? command->about : "inspect attention in transformer language models");
    stream_format(out, "\n.SH SYNOPSIS\n.B attn\\-cli %s\n", name);
    stream_format(out, command ? "[options] %s\n" : ".I COMMAND\n[options]\n%s",
                  command ? command->operands : ".br\n.B attn\\-cli \\-\\-version\n");
    stream_text(out, ".SH EXAMPLES\n.nf\n");
    write_roff(out, command ? command->examples : command_run.examples);
    stream_format(out, ".fi\n.SH %s\n", command ? "OPTIONS" : "COMMANDS");
    if (command)
        write_options(page, command);
    for (size_t i = 0; i < command_count && commands[i]->group && !command; i++) {
        write_heading(page, commands[i]->group);
        write_entry(page, commands[i]->name, "", commands[i]->about);
    }
    write_lists(page, command ? command : &command_help);
    stream_text(out, ".SH SEE ALSO\n");
    for (size_t i = 0; i < command_count && !command; i++)
        stream_format(out, ".BR attn\\-cli\\-%s (1)%s\n", commands[i]->name,
                      i + 1 < command_count ? "," : "");
    stream_text(out, command ? ".BR attn\\-cli (1)\n" : "");
}

enum page_kind { PAGE_HELP, PAGE_VERSION, PAGE_MANUAL, PAGE_TOPIC };

/* Of a command (NULL: of them all), or of a topic. */
static int write_page(enum page_kind kind, const struct command *command,
                      const struct help_topic *topic, struct err *err)
{
    struct stream out;
    struct page page = {.out = &out, .is_manual = kind == PAGE_MANUAL};
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    if (kind == PAGE_VERSION)
        write_version(&out);
    else if (kind == PAGE_MANUAL)
        write_manual(&page, command);
    else if (kind == PAGE_TOPIC)
        write_topic(&page, topic);
    else if (command)
        write_command(&page, command);
    else
        write_overview(&out);
    return stream_commit(&out, err);
}

int help_of(const struct command *command, struct err *err)
{
    return write_page(PAGE_HELP, command, NULL, err);
}

int help_version(struct err *err)
{
    return write_page(PAGE_VERSION, NULL, NULL, err);
}

/* --- completions ------------------------------------------------------------------------------ */

/* The paths that an argument may be, as help calls it, besides the values of a list. */
static const char *path_kind(const char *argument)
{
    static const char *const words[][2] = {
        {"DIR", "directory"}, {"MODEL", "directory"}, {"FILE", "file"}, {"PATH", "file"}};
    for (size_t i = 0; argument && i < sizeof words / sizeof *words; i++)
        if (strstr(argument, words[i][0]))
            return words[i][1];
    return NULL;
}

/* Fields with tabs between; "-": there is none. The scripts have the rows in quotes. */
static void write_row(struct stream *out, const char *const *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = fields[i] && *fields[i] ? fields[i] : "-";
        stream_text(out, i ? "\t" : "");
        for (; *text; text++)
            if (*text == '\'')
                stream_text(out, "’");
            else
                stream_char(out, *text);
    }
    stream_char(out, '\n');
}

#define ROW(out, ...)                                    \
    write_row((out), (const char *const[]){__VA_ARGS__}, \
              sizeof(const char *const[]){__VA_ARGS__} / sizeof(char *))

/* The rows of a list that was not written yet. */
static void write_list_rows(struct stream *out, const struct value_list *list,
                            const struct value_list **written, size_t *count)
{
    enum { LISTS_MAX = 64 };
    struct value value;
    if (!list || has_list(written, *count, list))
        return;
    assert(*count < LISTS_MAX);
    written[(*count)++] = list;
    for (size_t i = 0; value_at(&value, list, i); i++) {
        char name[FORM_BYTES];
        snprintf(name, sizeof name, "%s%.*s", value.name, value.end != 0, &value.end);
        ROW(out, "value", list->name, name, value.about);
    }
}

/* For each list `value LIST NAME ABOUT`; for each option of a command, and for its operands,
 * `KIND COMMAND NAME LETTER ARGUMENT PATHS LIST JOINTS ABOUT`. */
static void write_rows(struct stream *out)
{
    static const char *const kinds[] = {[OPTION_FLAG] = "flag",
                                        [OPTION_TEXTS] = "options",
                                        [OPTION_TEXT] = "option",
                                        [OPTION_NUMBER] = "option",
                                        [OPTION_REAL] = "option"};
    const struct value_list *written[64];
    size_t count = 0;
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = commands[i];
        const struct value_list *values = command->operand_values;
        const char *paths = path_kind(command->operands);
        for (struct option_walk walk = {.set = command_set(command)}; option_next(&walk);) {
            const struct option_row *row = walk.row;
            char name[FORM_BYTES];
            char letter[] = {'-', row->letter, '\0'};
            snprintf(name, sizeof name, "--%s", row->name);
            write_list_rows(out, row->values, written, &count);
            ROW(out, kinds[row->kind], command->name, name, row->letter ? letter : NULL,
                row->argument, path_kind(row->argument), row->values ? row->values->name : NULL,
                row->joints, row->about);
        }
        write_list_rows(out, values, written, &count);
        if (values || paths)
            ROW(out, "operand", command->name, "operands", NULL, command->operands, paths,
                values ? values->name : NULL, NULL, NULL);
    }
}

extern const unsigned char completion_bash[], completion_zsh[], completion_fish[]; /* embed.sh */

/* The script of a shell, in cmd/completion, with the rows in the place of a mark. */
static int write_completion(const char *shell, struct err *err)
{
    static const char mark[] = "#@ rows\n";
    static const char *const shells[] = {"bash", "zsh", "fish"};
    const unsigned char *const scripts[] = {completion_bash, completion_zsh, completion_fish};
    struct stream out;
    size_t index = 0;
    if (names_choose(&index, NAMES_LIST(shells), "--completion", shell, err) ||
        stream_to(&out, STDOUT_FILENO, err))
        return -1;
    const char *script = (const char *)scripts[index];
    const char *rows = strstr(script, mark);
    stream_bytes(&out, script, (size_t)(rows - script));
    write_rows(&out);
    stream_text(&out, rows + sizeof mark - 1);
    return stream_commit(&out, err);
}

/* --- the command ------------------------------------------------------------------------------ */

int help_command(const struct options *options, struct err *err)
{
    const struct texts *operands = &options->input.operands;
    const struct command *command = NULL;
    size_t topic = 0;
    if (operands->count > 1)
        return err_usage(err, "expected one command, found '%s' as well", operands->items[1]);
    if (operands->count &&
        names_find(&topic, NAMES(topics, TOPICS), operands->items[0], strlen(operands->items[0])))
        return write_page(PAGE_TOPIC, NULL, &topics[topic], err);
    if (operands->count)
        command = command_find(operands->items[0], err);
    if (operands->count && !command)
        return -1;
    if (own(options)->completion)
        return write_completion(own(options)->completion, err);
    return own(options)->man ? write_page(PAGE_MANUAL, command, NULL, err) : help_of(command, err);
}
