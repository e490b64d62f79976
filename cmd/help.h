/* help.h: the parts of `attn-cli help`: pages of commands and topics (help_pages.c), topics
 * (help_topics.c), manual pages (help_manual.c), completions (help_completion.c) and the search
 * (help_search.c). All read the tables of commands and options.
 *
 *     const struct page page = {&out, PAGE_COLUMNS, all, err};
 *     page_of_command(&page, &command_run, false);   the page of `attn-cli help run`
 *     page_of_command(&page, &command_run, true);    the page of `attn-cli help run --full` */
#pragma once

#include "base/stream.h"
#include "command.h"

/* --- topics ----------------------------------------------------------------------------------- */

enum { TOPIC_PARTS = 7 };

/* A page about several commands: tables of options, then lists of values, then a note. */
struct help_topic {
    const char *name, *about;
    const struct option_row *tables[TOPIC_PARTS];
    const struct value_list *lists[TOPIC_PARTS];
    const char *note; /* the last paragraph of the page; NULL: none */
};

extern const struct help_topic help_topics[];
extern const size_t help_topic_count;

/* Find the topic whose page has a list of values. NULL: no topic has the list. */
const struct help_topic *help_topic_of(const struct value_list *list);

/* Names of the pages, for completions: commands, then topics. */
extern const struct value_list values_pages;

/* --- pages ------------------------------------------------------------------------------------ */

enum {
    NAME_COLUMNS = 22, /* width of the names in lists, in columns */
    ABOUT_COLUMN = 2 + NAME_COLUMNS + 2,
    PAGE_COLUMNS = 80,
    BRIEF_COLUMNS = 33, /* width of the briefs under "Most used" */
    FORM_BYTES = 80,    /* maximum length of "-m, --model MODEL", plus a zero */
};

struct page {
    struct stream *out;
    size_t columns;
    const struct command_list *all;
    struct err *err; /* set if memory ran out: the page is incomplete */
};

/* Write the overview, the page of a topic, or the page of a command. The page of a command begins
 * with its most used options, and describes options by their briefs. If `is_full`, it has all
 * examples, all values and the whole text of each option. */
void page_of_all(const struct page *page);
void page_of_topic(const struct page *page, const struct help_topic *topic);
void page_of_command(const struct page *page, const struct command *command, bool is_full);

/* Write the name of an option and its whole text, not only its brief. */
void page_option(const struct page *page, const struct option_row *row);

/* A line of "Most used" in help. Its texts do not end in a zero. */
struct used_option {
    const struct option_row *row; /* NULL: the command has no such option */
    const char *example, *brief;
    size_t example_bytes, brief_bytes;
};

/* Read a line of command->most_used and move `*at` to the next line. `*at` is command->most_used at
 * first. Returns false after the last line. */
bool used_option_next(struct used_option *used, const struct command *command, const char **at);

/* True if command->most_used has an example of the option. */
bool option_is_most_used(const struct command *command, const struct option_row *row);

/* --- manual pages, completions and the search ------------------------------------------------- */

/* Write the manual page of a command, in roff. If `command` is NULL, write the manual page of the
 * program: the overview and all topics. */
void help_manual(struct stream *out, const struct command_list *all, const struct command *command,
                 struct err *err);

extern const struct value_list values_shells;

/* Print the completion script of a shell: bash, zsh or fish. */
int help_completion(const char *shell, const struct command_list *all, struct err *err);

/* Print the options, values, commands, topics and headings of guides that mention a word; unless
 * `is_full`, at most ten options and values. An option whose name is the word, with or without two
 * hyphens, is printed with its whole text. Return -1 with a usage error if nothing mentions it. */
int help_search(const char *word, bool is_full, const struct command_list *all, struct err *err);
