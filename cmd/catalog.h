/* catalog.h: commands, options and their values in the order in which people look for them; help,
 * the manual and the completions walk these rows.
 *
 *     struct option_walk walk = {.command = command};
 *     for (const struct option_row *row; (row = option_walk_next(&walk, &title));)
 *         ... title, where another group begins; row ...
 *
 *     const struct value_use *use = value_use_find("show", command);
 *     for (size_t i = 0; use && value_at(&value, use->list, i); i++)
 *         ... value.name, value.about ...
 */
#ifndef ATTN_CMD_CATALOG_H
#define ATTN_CMD_CATALOG_H

#include "base/stream.h"
#include "command.h"
#include "draw/page_facts.h"

/* Commands by what somebody wants to do; a command stands in one group. */
struct command_group {
    const char *title; /* one word, that fits into the overview's margin */
    int commands;      /* FOR_… */
};

extern const struct command_group command_groups[];
extern const size_t command_group_count;

/* The row of a command that there is, by its FOR_…. */
const struct command *command_of(int bit);

/* All options of a command; those that its page describes; those that 'help options' describes. */
enum option_part { OPTIONS_ALL, OPTIONS_OWN, OPTIONS_SHARED };

struct option_walk {
    const struct command *command; /* NULL: any that reads texts, of OPTIONS_SHARED */
    enum option_part part;
    size_t group, place; /* of the next name to look at */
    const char *title;   /* of the group that was walked through last */
};

/* The next option of the command, NULL after the last; `*title` is its group's when that begins
 * with it, else NULL. A command of few options has one heading alone. */
const struct option_row *option_walk_next(struct option_walk *walk, const char **title);

/* --- values of options and operands ----------------------------------------------------------- */

enum { VALUE_TEXT_BYTES = 192 };

struct value {
    const char *name;     /* as it is typed */
    char end;             /* what must follow it, ':' or '='; 0: nothing */
    const char *argument; /* what help calls that which follows: "W"; NULL: help does not say */
    const char *about;    /* a line for help; NULL: the name says all */
    const char *heading;  /* help lists it by its name alone, among others that begin so; or NULL */
    char text[VALUE_TEXT_BYTES]; /* room for what is made; `name` or `about` may stand in it */
};

struct value_list {
    const char *name;   /* for scripts: one word */
    const char *title;  /* of its part of the help; NULL: options say what there is to say */
    const char *remark; /* after the title; NULL: none */
    const char *note;   /* below the values; NULL: none */
    bool (*at)(struct value *value, size_t index);
};

struct value_use {
    const char *option; /* its long name; NULL: the operand */
    int commands;       /* FOR_… */
    const struct value_list *list;
    const char *joints; /* what stands between several values: any of these; NULL: one value */
    bool only_help;     /* it explains the option, but is not what it takes */
};

/* In the order in which help tells of them. */
extern const struct value_use value_uses[];
extern const size_t value_use_count;

/* That of --sweep: options of one item, whose own values follow. */
extern const struct value_list value_settings;

/* The value at a place of a list; false after the last. */
bool value_at(struct value *value, const struct value_list *list, size_t index);

/* What an option of a command (NULL: its operand) takes its values from; NULL: they are free. */
const struct value_use *value_use_find(const char *option, const struct command *command);

/* Pages about more than one command: 'help options'. */
struct help_topic {
    const char *name, *about;
};

extern const struct help_topic help_topics[];
extern const size_t help_topic_count;

/* The next of the rows after `use` (NULL: the first) whose lists the page of a command, or with no
 * command of a topic, explains, each list once; NULL after the last. Its heading names the options
 * that take it: "Scores (--sort, --map)". */
const struct value_use *value_use_next(const struct value_use *use, const struct command *command,
                                       const char *topic);
void value_use_title(struct stream *out, const struct value_use *use,
                     const struct command *command);

/* What an argument, as help calls it, may be beside the values of a list. */
enum value_paths { PATHS_NONE, PATHS_FILES, PATHS_FOLDERS };
enum value_paths value_paths(const char *argument);

/* --- what is made of it ----------------------------------------------------------------------- */

/* A page of the manual in roff, of a command or of them all (NULL). */
void manual_write(struct stream *out, const struct command *command);

/* The completion script of a shell. */
enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };
void completion_write(struct stream *out, enum shell shell);

/* --- the guided tour: a row a step ------------------------------------------------------------ */

/* Numbers with decimals in what is said must stand in the command's output: a test compares. */
extern const struct page_lesson lesson_rows[];
extern const size_t lesson_count;

/* The last step of a page: the way of a text through any model. */
extern const struct page_lesson lesson_walk;

#endif
