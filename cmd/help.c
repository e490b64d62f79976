/* help.c: `attn-cli help`: help pages, manual pages and completions, made from the tables of
 * commands and options. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/names.h"
#include "base/utf8.h"
#include "command.h"
#include "math/kernel.h"
#include "output.h"
#include "write/text.h"

WORDS(statuses, "Exit status", {"0", "done"}, {"1", "some items failed"}, {"2", "usage error"},
      {"3", "input error"}, {"4", "unsupported model"}, {"5", "output cannot be written"},
      {"130", "interrupted (SIGINT)"}, {"143", "terminated (SIGTERM)"})
WORDS(variables, "Environment", {"ATTN_MODEL", "default model"},
      {"ATTN_MODEL_PATH", "folders that hold models by name, separated by :"},
      {"HF_HUB_CACHE", "cache of the Hugging Face Hub, searched next; default: below HF_HOME, "
                       "XDG_CACHE_HOME/huggingface or ~/.cache/huggingface"},
      {"COLUMNS", "width of text output on a terminal"}, {"NO_COLOR", "if set, no colours"},
      {"LIBXSMM_TARGET", "instruction set of the kernels: generic, snb, hsw, skx"})
WORDS(
    files, "Files",
    {"share/attn-cli/schemas",
     "JSON schemas, below the installation prefix; NAME.json describes the format attn-cli/NAME/1"})
WORDS(shells, NULL, {"bash", NULL}, {"zsh", NULL}, {"fish", NULL})
VALUES(commands, NULL, all->count, all->items[index]->name, all->items[index]->about)

enum { TOPIC_PARTS = 7 };

/* Pages about several commands: tables of options, and lists of values. */
static const struct help_topic {
    const char *name, *about;
    const struct option_row *tables[TOPIC_PARTS];
    const struct value_list *lists[TOPIC_PARTS];
    const char *note;
} topics[] = {
    {"options",
     "options shared by the commands that read texts",
     {text_options, model_options, select_options, output_options, terminal_options,
      running_options},
     {&values_models},
     "If an option that is not repeatable is given twice, the last value counts."},
    {"tensors",
     "tensors, and which ones --show selects by default",
     {0},
     {&values_tensors, &values_defaults}},
    {"edits",
     "interventions: change values during the forward pass",
     {edit_options},
     {&values_edits}},
    {"attention",
     "replace or modify the attention mechanism",
     {mechanism_options},
     {&values_attention}},
    {"formats", "output formats", {0}, {&values_formats, &values_endings}},
    {"figures",
     "size, colours and labels of figures",
     {figure_options},
     {&values_palettes, &values_venues}},
    {"sizes", "sizes of new models", {0}, {&values_shapes, &values_keys}},
    {"environment",
     "environment variables, files and exit status",
     {0},
     {&values_variables, &values_files, &values_statuses}},
};

enum { TOPICS = sizeof topics / sizeof *topics };

VALUES(pages, NULL, all->count + TOPICS,
       index < all->count ? all->items[index]->name : topics[index - all->count].name,
       index < all->count ? all->items[index]->about : topics[index - all->count].about)

struct own_options {
    const char *completion;
    bool man;
};

static const struct option_row own_options[] = {
    FLAG("man", 0, OWN(man), "print a manual page (roff)"),
    STRING("completion", 0, "SHELL", OWN(completion),
           "print a completion script for bash, zsh or fish", .values = &values_shells),
    {0},
};

static command_verb help_command;

const struct command command_help = {
    .name = "help",
    .about = "list commands, options and values",
    .operands = "[COMMAND|TOPIC|WORD]",
    .examples = "attn-cli help run\n"
                "attn-cli help options\n"
                "attn-cli help induction\n"
                "attn-cli help --man run | man -l -\n"
                "eval \"$(attn-cli help --completion bash)\"\n",
    .run = help_command,
    .options = own_options,
    .without = "threads quiet verbose",
    .operand_values = &values_pages,
};

#ifdef __clang__
#define COMPILER __VERSION__ /* Clang's version contains its name */
#else
#define COMPILER "gcc " __VERSION__
#endif

enum {
    NAME_COLUMNS = 22, /* width of the names in lists, in columns */
    ABOUT_COLUMN = 2 + NAME_COLUMNS + 2,
    PAGE_COLUMNS = 80,
    MANUAL_COLUMNS = 72, /* columns of a manual page; man indents it by 7 more */
    FORM_BYTES = 80,
    COMMAND_COLUMN = 21, /* column at which the overview has descriptions */
};

/* --- parts of a page -------------------------------------------------------------------------- */

struct page {
    struct stream *out;
    size_t columns;
    const struct command_list *all;
    struct err *err; /* set if memory ran out: the page is incomplete */
};

/* Write an entry of a list: a name with its argument, and a line of description. */
static void write_entry(const struct page *page, const char *form, const char *about)
{
    if (strlen(form) > NAME_COLUMNS)
        stream_format(page->out, "  %s\n%*s", form, ABOUT_COLUMN, "");
    else
        stream_format(page->out, "  %-*s  ", NAME_COLUMNS, form);
    text_wrap(page->out, about, ABOUT_COLUMN, ABOUT_COLUMN, page->columns);
}

/* Write the text `first`, then a list of names, and clear the list. Write nothing if the list is
 * empty. */
static void write_names(const struct page *page, struct buf *names, const char *first,
                        size_t column)
{
    if (!buf_check(names, page->err) && names->size) {
        stream_text(page->out, first);
        text_wrap(page->out, names->bytes, column, column, page->columns);
    }
    buf_clear(names);
}

static void write_option(const struct page *page, const struct option_row *row)
{
    char form[FORM_BYTES];
    char letter[] = {'-', row->letter, ',', ' ', '\0'};
    snprintf(form, sizeof form, "%s--%s%s%s", row->letter ? letter : "    ", row->name,
             row->argument ? " " : "", row->argument ? row->argument : "");
    write_entry(page, form, row->about);
}

/* Write a list of values. Without a description, or under a heading, only the name is listed. */
static void write_list(const struct page *page, const struct value_list *list)
{
    struct value value;
    struct buf names = {0};
    const char *heading = "";
    stream_format(page->out, "\n%s:\n", list->title);
    for (size_t i = 0; list->at(&value, i, page->all); i++) {
        char form[FORM_BYTES];
        const char *next = value.heading ? value.heading : "";
        if (next != heading)
            write_names(page, &names, "  ", 2);
        heading = next;
        snprintf(form, sizeof form, value.argument ? "%s%c%s" : "%s", value.name, value.end,
                 value.argument);
        if (*heading || !value.about)
            buf_format(&names, "%s%s%s", names.size ? ", " : heading,
                       names.size || !*heading ? "" : " ", value.name);
        else
            write_entry(page, form, value.about);
    }
    write_names(page, &names, "  ", 2);
    buf_release(&names);
}

static bool is_in_topic(const struct value_list *list)
{
    for (size_t i = 0; i < TOPICS; i++)
        for (size_t k = 0; k < TOPIC_PARTS; k++)
            if (topics[i].lists[k] == list)
                return true;
    return false;
}

/* Write the options of a command. If the command reads texts, its shared options are only listed by
 * name. */
static void write_options(const struct page *page, const struct command *command)
{
    const char *heading = NULL;
    struct buf names = {0};
    bool reads_texts = *command->shared == text_options || command->done;
    for (struct option_walk walk = {.set = command_set(command)}; option_next(&walk);) {
        const char *next = reads_texts      ? "Options"
                           : walk.is_shared ? "Other options"
                           : walk.heading   ? walk.heading
                                            : "Options";
        if (walk.is_shared && reads_texts) {
            buf_format(&names, "%s--%s", names.size ? ", " : "", walk.row->name);
            continue;
        }
        if (next != heading)
            stream_format(page->out, "\n%s:\n", next);
        heading = next;
        write_option(page, walk.row);
    }
    if (names.size)
        stream_text(page->out, "\nShared options (see 'attn-cli help options', attention, edits "
                               "and figures):\n");
    write_names(page, &names, "  ", 2);
    buf_release(&names);
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Write the overview. It must fit on a terminal of 24 lines. */
static void write_overview(const struct page *page)
{
    const char *heading = "";
    struct buf help = {0};
    stream_text(page->out, "attn-cli: inspect attention in transformer language models\n");
    for (size_t i = 0; i < page->all->count && page->all->items[i]->heading; i++) {
        const struct command *command = page->all->items[i];
        bool begins = strcmp(heading, command->heading) != 0;
        heading = command->heading;
        stream_format(page->out, "%-9s %-10s ", begins ? heading : "", command->name);
        text_wrap(page->out, command->about, COMMAND_COLUMN, COMMAND_COLUMN, page->columns);
    }
    buf_text(&help, "help COMMAND");
    for (size_t i = 0; i < TOPICS; i++)
        buf_format(&help, ", help %s", topics[i].name);
    write_names(page, &help, "Help      ", 10);
    buf_release(&help);
}

/* Write the help page of a command, without lists of values that have a page of their own. */
static void write_command(const struct page *page, const struct command *command)
{
    struct stream *out = page->out;
    const struct value_list *last = command->operand_values;
    stream_format(out, "attn-cli %s: %s\n\nExamples:\n", command->name, command->about);
    for (const char *line = command->examples; *line; line += strcspn(line, "\n") + 1) {
        stream_text(out, "  ");
        stream_bytes(out, line, strcspn(line, "\n") + 1);
    }
    stream_format(out, "\nUsage: attn-cli %s [options]%s%s\n", command->name,
                  *command->operands ? " " : "", command->operands);
    write_options(page, command);
    if (last && last->title && !is_in_topic(last))
        write_list(page, last);
    for (const struct option_row *row = command->options; row && row->name; row++) {
        const struct value_list *list = row->values;
        if (!list || !list->title || list == last || is_in_topic(list))
            continue;
        write_list(page, list);
        last = list;
    }
}

static void write_topic(const struct page *page, const struct help_topic *topic)
{
    stream_format(page->out, "attn-cli help %s: %s\n", topic->name, topic->about);
    for (size_t i = 0; i < TOPIC_PARTS && topic->tables[i]; i++)
        for (const struct option_row *row = topic->tables[i]; row->name; row++) {
            if (row->heading)
                stream_format(page->out, "\n%s:\n", row->heading);
            write_option(page, row);
        }
    for (size_t i = 0; i < TOPIC_PARTS && topic->lists[i]; i++)
        write_list(page, topic->lists[i]);
    if (topic->note)
        stream_format(page->out, "\n%s\n", topic->note);
}

/* --- manual pages ----------------------------------------------------------------------------- */

/* Write a line of text in roff. A line that is not indented and ends in a colon is a heading.
 * Characters that roff would change, or that the C locale cannot show, are escaped. */
static void write_roff(struct stream *out, const char *line, size_t size)
{
    static const char *const escapes[][2] = {
        {"\\", "\\e"},  {"-", "\\-"},   {"'", "\\(aq"}, {"`", "\\(ga"}, {"^", "\\(ha"},
        {"~", "\\(ti"}, {"…", "..."},   {"·", "\\(md"}, {"√", "\\(sr"}, {"β", "\\(*b"},
        {"ε", "\\(*e"}, {"φ", "\\(*f"}, {"₁", "_1"},    {"₂", "_2"}};
    enum { COUNT = sizeof escapes / sizeof *escapes };
    bool is_heading = size && line[0] != ' ' && line[size - 1] == ':';
    stream_text(out, is_heading ? ".fi\n.SH " : *line == '.' ? "\\&" : "");
    for (const char *at = line; at < line + size - is_heading;) {
        size_t i = 0;
        while (i < COUNT && strncmp(at, escapes[i][0], strlen(escapes[i][0])) != 0)
            i++;
        if (i < COUNT)
            stream_text(out, escapes[i][1]);
        else
            stream_char(out, *at);
        at += i < COUNT ? strlen(escapes[i][0]) : 1;
    }
    stream_text(out, is_heading ? "\n.nf\n" : "\n");
}

/* Write the manual page of a command; if `command` is NULL, of the program: the overview and all
 * topics. */
static void write_manual(struct stream *out, const struct command_list *all,
                         const struct command *command, struct err *err)
{
    struct buf text = {0};
    struct stream memory;
    const struct page page = {&memory, MANUAL_COLUMNS, all, err};
    if (stream_to_memory(&memory, &text, err))
        return;
    if (command)
        write_command(&page, command);
    else
        write_overview(&page);
    for (size_t i = 0; i < TOPICS && !command; i++)
        stream_text(&memory, "\n"), write_topic(&page, &topics[i]);
    stream_char(&memory, '\0');
    if (stream_end(&memory, err->kind, err) || buf_check(&text, err)) {
        buf_release(&text);
        return;
    }
    const char *line = strchr(text.bytes, ':') + 2; /* the text after "attn-cli run: " */
    const char *about_end = strchr(line, '\n') + 1;
    stream_format(out, ".TH \"attn\\-cli%s%s\" 1 \"\" \"attn\\-cli %s\" \"attn\\-cli\"\n",
                  command ? "\\-" : "", command ? command->name : "", ATTN_VERSION);
    stream_format(out, ".SH NAME\nattn\\-cli%s%s \\- ", command ? "\\-" : "",
                  command ? command->name : "");
    for (size_t size = 0; *line; line += size + 1) {
        size = strcspn(line, "\n");
        if (strncmp(line, "Usage: ", 7) != 0)
            write_roff(out, line, size);
        if (line + size + 1 != about_end)
            continue;
        stream_text(out, ".SH SYNOPSIS\n.B attn\\-cli ");
        if (command)
            stream_format(out, "%s\n[options] %s\n", command->name, command->operands);
        else
            stream_text(out, "\\fICOMMAND\\fP\n[options] [TEXT]...\n.SH DESCRIPTION\n.nf\n");
    }
    stream_text(out, ".fi\n.SH SEE ALSO\n");
    for (size_t i = 0; i < all->count && !command; i++)
        stream_format(out, ".BR attn\\-cli\\-%s (1)%s\n", all->items[i]->name,
                      i + 1 < all->count ? "," : "");
    stream_text(out, command ? ".BR attn\\-cli (1)\n" : "");
    buf_release(&text);
}

/* --- completions ------------------------------------------------------------------------------ */

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

/* Append the rows of a command's options: `KIND COMMAND NAME LETTER ARGUMENT PATHS LIST JOINTS
 * ABOUT`, with tabs between the fields; and the values of the lists in these rows. */
static void add_command(struct buf *rows, const struct command *command,
                        const struct command_list *all)
{
    const struct value_list *list = command->operand_values;
    for (struct option_walk walk = {.set = command_set(command)}; option_next(&walk);) {
        const struct option_row *row = walk.row;
        char letter[] = {'-', row->letter, '\0'};
        const char *kind = row->kind == OPTION_FLAG    ? "flag"
                           : row->kind == OPTION_TEXTS ? "options"
                                                       : "option";
        add_values(rows, row->values, all);
        buf_format(rows, "%s\t%s\t--%s\t%s\t%s\t%s\t%s\t%s\t%s\n", kind, command->name, row->name,
                   letter, or_dash(row->argument), or_dash(path_kind(row->argument)),
                   row->values ? row->values->name : "-", or_dash(row->joints), row->about);
    }
    add_values(rows, list, all);
    if (list || path_kind(command->operands))
        buf_format(rows, "operand\t%s\toperands\t-\t%s\t%s\t%s\t-\t-\n", command->name,
                   command->operands, or_dash(path_kind(command->operands)),
                   list ? list->name : "-");
}

/* the completion scripts, which embed.sh turns into arrays */
extern const unsigned char completion_bash[], completion_zsh[], completion_fish[];

/* Print the completion script of a shell, with rows for all commands and options in place of the
 * mark in the script. */
static int write_completion(const char *shell, const struct command_list *all, struct err *err)
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

/* --- search ----------------------------------------------------------------------------------- */

/* A search for pages that mention a word in the names of options and values, or in their
 * descriptions. */
struct help_search {
    const struct command_list *all;
    const char *word;
    size_t size;
    bool in_names;
    bool has_name;    /* some option or value has exactly this name */
    const char *page; /* name of the last page that was found */
    struct buf found; /* a line for each page: "help score", a tab, "--bits, --words" */
};

static bool mentions(struct help_search *search, const char *name, const char *about)
{
    const char *text = search->in_names ? name : about;
    for (const char *at = text; at && *at; at++)
        if ((at == text || !isalpha((unsigned char)at[-1])) &&
            strncasecmp(at, search->word, search->size) == 0) {
            search->has_name |= search->in_names && strcasecmp(name, search->word) == 0;
            return true;
        }
    return false;
}

static void add_mention(struct help_search *search, const char *page, const char *dashes,
                        const char *name)
{
    if (page == search->page)
        buf_format(&search->found, ", %s%s", dashes, name);
    else
        buf_format(&search->found, "%shelp %s\t%s%s", search->found.size ? "\n" : "", page, dashes,
                   name);
    search->page = page;
}

/* Find options that mention the word in their names, lines of help or values, except in values that
 * a topic lists. */
static void search_rows(struct help_search *search, const char *page, const struct option_row *rows)
{
    struct value value;
    for (const struct option_row *row = rows; row && row->name; row++) {
        const struct value_list *list = is_in_topic(row->values) ? NULL : row->values;
        bool found = mentions(search, row->name, row->about);
        for (size_t i = 0; !found && list && list->title && list->at(&value, i, search->all); i++)
            found = mentions(search, value.name, value.about);
        if (found)
            add_mention(search, page, "--", row->name);
    }
}

static void search_pages(struct help_search *search)
{
    struct value value;
    for (const struct help_topic *topic = topics; topic < topics + TOPICS; topic++) {
        for (size_t i = 0; i < TOPIC_PARTS; i++)
            search_rows(search, topic->name, topic->tables[i]);
        for (size_t i = 0; i < TOPIC_PARTS && topic->lists[i]; i++)
            for (size_t k = 0; topic->lists[i]->at(&value, k, search->all); k++)
                if (mentions(search, value.name, value.about))
                    add_mention(search, topic->name, "", value.name);
    }
    for (size_t i = 0; i < search->all->count; i++) {
        const struct command *command = search->all->items[i];
        if (!search->in_names && mentions(search, command->name, command->about))
            add_mention(search, command->name, "", command->name);
        search_rows(search, command->name, command->options);
    }
}

/* Print the pages that were found. This changes search->found. */
static int write_found(struct help_search *search, struct err *err)
{
    struct stream out;
    const struct page page = {&out, PAGE_COLUMNS, search->all, err};
    if (buf_check(&search->found, err) || stream_to(&out, STDOUT_FILENO, err))
        return -1;
    stream_format(&out, "attn-cli help: pages with '%s'\n\n", search->word);
    for (char *line = search->found.bytes, *next; *line; line = next) {
        char *names = line + strcspn(line, "\t");
        next = line + strcspn(line, "\n");
        *names++ = '\0';
        if (*next)
            *next++ = '\0';
        write_entry(&page, line, names);
    }
    return stream_end(&out, err->kind, err);
}

/* Search the pages for a word that is not the name of a page, and print the pages that mention the
 * word. Refuse the word if no page mentions it, or if a page has a similar name, which was probably
 * meant, unless an option or a value has exactly this name. */
static int search_help(const char *word, const struct command_list *all, struct err *err)
{
    char guess[NAMES_GUESS_BYTES];
    struct nearest nearest;
    struct help_search search = {all, word, strlen(word), .in_names = true};
    nearest_begin(&nearest, word, search.size);
    for (size_t i = 0; i < all->count; i++)
        nearest_offer(&nearest, all->items[i]->name);
    for (size_t i = 0; i < TOPICS; i++)
        nearest_offer(&nearest, topics[i].name);
    bool is_plural = search.size > 3 && word[search.size - 1] == 's';
    search.size -= is_plural;
    if (search.size > 2)
        search_pages(&search);
    search.in_names = false;
    if (!nearest.name && search.size > 2 && !search.found.size)
        search_pages(&search);
    if (search.found.size && (search.has_name || !nearest.name))
        write_found(&search, err);
    else
        err_usage(err, "unknown command or topic '%s'%s", word,
                  nearest.name ? names_guess(guess, nearest.name) : ": 'attn-cli help' lists them");
    buf_release(&search.found);
    return err_if(err->kind);
}

/* --- the command ------------------------------------------------------------------------------ */

int help_version(struct err *err)
{
    struct kernels *kernels = NULL;
    const char *library = kernels_library();
    struct stream out;
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    stream_text(&out, "attn-cli " ATTN_VERSION "\n");
    if (kernels_open(&kernels, NULL) == 0)
        stream_format(&out, "kernels: %s%s%s\n", kernels_target(kernels), library ? ", " : "",
                      library ? library : "");
    kernels_free(kernels);
    stream_format(&out, "unicode: %s\nbuilt:   " COMPILER "\n", unicode_version);
    return stream_commit(&out, err);
}

/* Print the help page of a topic or of a command. If both are NULL, print the overview. */
static int print_page(const struct help_topic *topic, const struct command *command,
                      const struct command_list *all, bool man, struct err *err)
{
    struct stream out;
    const struct page page = {&out, PAGE_COLUMNS, all, err};
    if (stream_to(&out, STDOUT_FILENO, err))
        return -1;
    if (topic)
        write_topic(&page, topic);
    else if (man)
        write_manual(&out, all, command, err);
    else if (command)
        write_command(&page, command);
    else
        write_overview(&page);
    return stream_end(&out, err->kind, err);
}

int help_of(const struct option_set *set, struct err *err)
{
    return print_page(NULL, set->command, set->all, false, err);
}

static int help_command(const struct options *options, struct err *err)
{
    const struct texts *operands = &options->input.operands;
    const struct command *command = NULL;
    const struct help_topic *topic = NULL;
    const char *word = operands->count ? operands->items[0] : NULL;
    size_t index = 0;
    if (operands->count > 1)
        return err_usage(err, "expected one command or topic, found '%s' as well",
                         operands->items[1]);
    if (options_own(options)->completion)
        return write_completion(options_own(options)->completion, options->set.all, err);
    if (word)
        command = command_find(options->set.all, word, NULL);
    if (word && names_find(&index, NAMES(topics, TOPICS), word, strlen(word)))
        topic = &topics[index];
    if (word && !command && !topic)
        return search_help(word, options->set.all, err);
    return print_page(topic, command, options->set.all, options_own(options)->man, err);
}
