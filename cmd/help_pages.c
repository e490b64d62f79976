/* help_pages.c: help pages of commands and topics, and the overview. */
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "help.h"
#include "write/text.h"

/* --- entries and lists ------------------------------------------------------------------------ */

/* Write an entry of a list: a name with its argument, and a line of description. */
static void write_entry(const struct page *page, const char *form, const char *about)
{
    if (strlen(form) > NAME_COLUMNS)
        stream_format(page->out, "  %s\n%*s", form, ABOUT_COLUMN, "");
    else
        stream_format(page->out, "  %-*s  ", NAME_COLUMNS, form);
    text_wrap(page->out, about, ABOUT_COLUMN, ABOUT_COLUMN, page->columns);
}

/* Write the text `first`, then a list of names, and clear the list. If the list is empty, write
 * nothing. */
static void write_names(const struct page *page, struct buf *names, const char *first,
                        size_t column)
{
    if (!buf_check(names, page->err) && names->size) {
        stream_text(page->out, first);
        text_wrap(page->out, names->bytes, column, column, page->columns);
    }
    buf_clear(names);
}

/* Write the name of an option, with its letter and argument, to `form`: "-m, --model MODEL". */
static void name_option(char form[FORM_BYTES], const struct option_row *row)
{
    char letter[] = {'-', row->letter, ',', ' ', '\0'};
    snprintf(form, FORM_BYTES, "%s--%s%s%s", row->letter ? letter : "    ", row->name,
             row->argument ? " " : "", row->argument ? row->argument : "");
}

void page_option(const struct page *page, const struct option_row *row)
{
    char form[FORM_BYTES];
    name_option(form, row);
    write_entry(page, form, row->about);
}

/* Write a list of values with their descriptions. For values that have no description, or that are
 * under a heading, write only their names. */
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

/* Write the list of a command's operands, unless a topic has the list, and lists of values of its
 * options: if `is_full`, all lists that no topic has, else only command->value_groups. */
static void write_lists(const struct page *page, const struct command *command, bool is_full)
{
    const struct value_list *last = command->operand_values;
    if (last && last->title && !help_topic_of(last))
        write_list(page, last);
    if (command->value_groups && !is_full)
        write_list(page, command->value_groups);
    for (const struct option_row *row = command->options; is_full && row->name; row++) {
        const struct value_list *list = row->values;
        if (!list || list == last || !list->title || help_topic_of(list))
            continue;
        write_list(page, list);
        last = list;
    }
}

/* --- the page of what people need first ------------------------------------------------------- */

enum {
    OPTION_COLUMNS = 21, /* width of the names of options on a page that is not full */
    FIRST_EXAMPLES = 4   /* number of examples on a page that is not full */
};

bool used_option_next(struct used_option *used, const struct command *command, const char **at)
{
    const struct option_set set = command_set(command);
    const char *line = *at;
    if (!line || !*line)
        return false;
    size_t bytes = strcspn(line, "\n"), example = strcspn(line, "\t\n"),
           name = strcspn(line, " \t\n");
    *used = (struct used_option){
        .row = line[1] == '-' ? option_find(set, line + 2, name - 2)
                              : option_find_letter(set, line[1]),
        .example = line,
        .example_bytes = example,
    };
    if (example < bytes) {
        used->brief = line + example + 1;
        used->brief_bytes = bytes - example - 1;
    } else if (used->row) {
        used->brief = used->row->about;
        used->brief_bytes = option_brief_bytes(used->row);
    }
    *at = line + bytes + 1;
    return true;
}

bool option_is_most_used(const struct command *command, const struct option_row *row)
{
    struct used_option used;
    for (const char *at = command->most_used; used_option_next(&used, command, &at);)
        if (used.row == row)
            return true;
    return false;
}

/* Write the list "Most used": each option with its brief and an example. */
static void write_most_used(const struct page *page, const struct command *command)
{
    struct used_option used;
    stream_text(page->out, "\nMost used:\n");
    for (const char *at = command->most_used; used_option_next(&used, command, &at);) {
        char form[FORM_BYTES];
        name_option(form, used.row);
        size_t excess = strlen(form) > OPTION_COLUMNS ? strlen(form) - OPTION_COLUMNS : 0;
        size_t padding = used.brief_bytes + excess < BRIEF_COLUMNS
                             ? BRIEF_COLUMNS - used.brief_bytes - excess
                             : 0;
        stream_format(page->out, "  %-*s  %.*s%*s  %.*s\n", OPTION_COLUMNS, form,
                      (int)used.brief_bytes, used.brief, (int)padding, "", (int)used.example_bytes,
                      used.example);
    }
}

/* Write an option and its brief on a line, or on two if the line would be too long. */
static void write_brief(const struct page *page, const struct option_row *row)
{
    char form[FORM_BYTES];
    int size = (int)option_brief_bytes(row);
    name_option(form, row);
    if (2 + strlen(form) + 2 + (size_t)size > page->columns)
        stream_format(page->out, "  %s\n%*s%.*s\n", form, 2 + OPTION_COLUMNS + 2, "", size,
                      row->about);
    else
        stream_format(page->out, "  %-*s  %.*s\n", OPTION_COLUMNS, form, size, row->about);
}

/* Write the options of command->options under their headings, without the most used ones. */
static void write_own_options(const struct page *page, const struct command *command)
{
    const char *heading = "Options", *written = "";
    for (const struct option_row *row = command->options; row && row->name; row++) {
        heading = row->heading ? row->heading : heading;
        if (option_is_most_used(command, row))
            continue;
        if (strcmp(heading, written) != 0)
            stream_format(page->out, "%s%s:\n", *written ? "" : "\n", heading);
        written = heading;
        write_brief(page, row);
    }
}

/* How a page refers to a table of shared options, which `topic` describes: by the word `word`, or,
 * if it is NULL, by up to three of the options in `names`. */
static const struct shared_table {
    const struct option_row *rows;
    const char *topic, *word, *names;
} shared_tables[] = {
    {text_options, "options", "input", NULL},
    {model_options, "options", "model", NULL},
    {output_options, "options", "output", NULL},
    {select_options, "select", NULL, "show layer head query key mean hide-first"},
    {figure_options, "figures", "figures", NULL},
    {mechanism_options, "attention", NULL, "attention scale"},
    {edit_options, "edits", NULL, "edit ablate knockout"},
};

enum { SHARED_TABLES = sizeof shared_tables / sizeof *shared_tables, NAMED_OPTIONS = 3 };

/* Write a text in lines of the page. Each piece of the text ends in a newline and is not divided.
 * All lines but the first are indented. */
static void write_pieces(const struct page *page, const char *text)
{
    size_t column = 0;
    for (size_t size; *text; text += size + 1) {
        size = strcspn(text, "\n");
        const char *gap = column + 1 + size > page->columns ? "\n  " : column ? " " : "";
        stream_format(page->out, "%s%.*s", gap, (int)size, text);
        column = (*gap == '\n' ? 2 : column + strlen(gap)) + size;
    }
    stream_char(page->out, '\n');
}

/* Append the word of a table of shared options if the command has one of the options; if the table
 * has no word, up to three of table->names that the command has. `gap` is written before the first.
 * False: nothing was appended. */
static bool add_shared(struct buf *text, const struct command *command,
                       const struct shared_table *table, const char *gap)
{
    const struct option_set set = command_set(command);
    size_t count = 0;
    for (const struct option_row *row = table->rows; row->name; row++) {
        if (option_find(set, row->name, strlen(row->name)) != row)
            continue;
        if (table->word) {
            buf_format(text, "%s%s", gap, table->word);
            return true;
        }
        if (!name_is_among(table->names, row->name) || option_is_most_used(command, row) ||
            count == NAMED_OPTIONS)
            continue;
        buf_format(text, "%s--%s", count++ ? ",\n" : gap, row->name);
    }
    return count > 0;
}

/* Write where the shared options are described, and how to get the full page. */
static void write_shared(const struct page *page, const struct command *command)
{
    struct buf text = {0};
    const char *topic = NULL;
    for (size_t i = 0; i < SHARED_TABLES; i++) {
        const struct shared_table *table = &shared_tables[i];
        char gap[FORM_BYTES] = "Shared:\n";
        if (topic && strcmp(topic, table->topic) == 0)
            snprintf(gap, sizeof gap, ",\n");
        else if (topic)
            snprintf(gap, sizeof gap, " (help %s);\n", topic);
        if (add_shared(&text, command, table, gap))
            topic = table->topic;
    }
    if (topic)
        buf_format(&text, " (help %s).\n", topic);
    buf_format(&text, "Every\noption\nin\nfull:\nhelp %s --full.\n", command->name);
    stream_char(page->out, '\n');
    if (!buf_check(&text, page->err))
        write_pieces(page, text.bytes);
    buf_release(&text);
}

/* Write at most `most` examples. */
static void write_examples(const struct page *page, const struct command *command, size_t most)
{
    const char *line = command->examples;
    stream_text(page->out, "\nExamples:\n");
    for (size_t i = 0; i < most && *line; i++, line += strcspn(line, "\n") + 1) {
        stream_text(page->out, "  ");
        stream_bytes(page->out, line, strcspn(line, "\n") + 1);
    }
}

/* --- the full page ---------------------------------------------------------------------------- */

/* Write the options of a command with their whole texts. If the command reads texts, its shared
 * options are only listed by name. */
static void write_options(const struct page *page, const struct command *command)
{
    const char *heading = NULL;
    struct buf names = {0};
    bool reads_texts = *command->shared == text_options || command->done;
    for (struct option_walk walk = {.set = command_set(command)}; option_next(&walk);) {
        const char *next = walk.is_shared ? "Other options"
                           : walk.heading ? walk.heading
                                          : "Options";
        if (walk.is_shared && reads_texts) {
            buf_format(&names, "%s--%s", names.size ? ", " : "", walk.row->name);
            continue;
        }
        if (next != heading)
            stream_format(page->out, "\n%s:\n", next);
        heading = next;
        page_option(page, walk.row);
    }
    if (names.size)
        stream_text(page->out, "\nShared options (see 'attn-cli help options', select, attention, "
                               "edits, figures):\n");
    write_names(page, &names, "  ", 2);
    buf_release(&names);
}

/* --- pages ------------------------------------------------------------------------------------ */

void page_of_command(const struct page *page, const struct command *command, bool is_full)
{
    stream_format(page->out, "attn-cli %s: %s\n\nUsage: attn-cli %s [options]%s%s\n", command->name,
                  command->about, command->name, *command->operands ? " " : "", command->operands);
    if (!is_full)
        write_most_used(page, command);
    if (command->note)
        stream_format(page->out, "\n%s\n", command->note);
    write_examples(page, command, is_full ? SIZE_MAX : FIRST_EXAMPLES);
    if (is_full) {
        write_options(page, command);
        write_lists(page, command, is_full);
    } else {
        write_lists(page, command, is_full);
        write_own_options(page, command);
        write_shared(page, command);
    }
}

void page_of_topic(const struct page *page, const struct help_topic *topic)
{
    stream_format(page->out, "attn-cli help %s: %s\n", topic->name, topic->about);
    for (size_t i = 0; i < TOPIC_PARTS && topic->tables[i]; i++)
        for (const struct option_row *row = topic->tables[i]; row->name; row++) {
            if (row->heading)
                stream_format(page->out, "\n%s:\n", row->heading);
            page_option(page, row);
        }
    for (size_t i = 0; i < TOPIC_PARTS && topic->lists[i]; i++)
        write_list(page, topic->lists[i]);
    if (topic->note)
        stream_format(page->out, "\n%s\n", topic->note);
}

/* The headings of the overview, in order. Commands under a heading with `together` are on one line,
 * and `together` describes all of them. */
static const struct overview_heading {
    const char *name, *together;
} overview_headings[] = {{"Look", NULL},
                         {"Explain", NULL},
                         {"Text", NULL},
                         {"Models", "details, new models, training, speed"},
                         {"More", NULL}};

enum { OVERVIEW_HEADINGS = sizeof overview_headings / sizeof *overview_headings };

void page_of_all(const struct page *page)
{
    stream_text(page->out, "attn-cli: what attention heads look at, and why\n\n"
                           "Usage: attn-cli COMMAND [options] [TEXT]...\n"
                           "Try:   attn-cli run \"Life is short, eat dessert first\"\n\n");
    for (size_t k = 0; k < OVERVIEW_HEADINGS; k++) {
        const struct overview_heading *heading = &overview_headings[k];
        size_t count = 0;
        for (size_t i = 0; i < page->all->count; i++) {
            const struct command *command = page->all->items[i];
            if (!command->heading || strcmp(command->heading, heading->name) != 0)
                continue;
            const char *first = count ? "" : heading->name;
            if (heading->together && count)
                stream_format(page->out, ", %s", command->name);
            else if (heading->together)
                stream_format(page->out, "%-8s %s", first, command->name);
            else
                stream_format(page->out, "%-8s %-10s %s\n", first, command->name, command->about);
            count++;
        }
        if (heading->together && count)
            stream_format(page->out, "    %s\n", heading->together);
    }
    stream_text(page->out,
                "Help     help COMMAND, help WORD (search), help options, help topics\n");
}
