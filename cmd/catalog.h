/* catalog.h: commands, options and their values in the order in which people look for them; help,
 * the manual and the completions walk these rows.
 *
 *     struct option_walk walk = {.command = command};
 *     const char *title;
 *     for (const struct option_row *row; (row = option_walk_next(&walk, &title));)
 *         ... title, where another group begins; row ...
 *
 *     const struct value_use *use = value_use_find("show", command);
 *     struct value value;
 *     for (size_t i = 0; use && value_at(&value, use->list, i); i++)
 *         ... value.name, value.about ...
 */
#ifndef ATTN_CMD_CATALOG_H
#define ATTN_CMD_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/stream.h"
#include "command.h"
#include "options.h"

/* Commands by what somebody wants to do; a command stands in one group. */
struct command_group {
    const char *title; /* one word, that fits into the overview's margin */
    int commands;      /* FOR_… */
};

extern const struct command_group command_groups[];
extern const size_t command_group_count;

/* The row of a command that there is, by its FOR_…. */
const struct command *command_of(int bit);

/* --- options under headings ------------------------------------------------------------------- */

struct option_walk {
    const struct command *command;
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

/* The value at a place of a list; false after the last. */
bool value_at(struct value *value, const struct value_list *list, size_t index);

/* What an option of a command (NULL: its operand) takes its values from; NULL: they are free. */
const struct value_use *value_use_find(const char *option, const struct command *command);

/* True when the command has the option, or the operand, that the row is about. */
bool value_use_serves(const struct value_use *use, const struct command *command);

/* True for the first row of a list that the command's help tells of, under one heading. */
bool value_use_opens(const struct value_use *use, const struct command *command);

/* Write that heading, with the options that take the values: "Scores (--sort, --map)". */
void value_use_title(struct stream *out, const struct value_use *use,
                     const struct command *command);

/* What an argument, as help calls it, may be beside the values of a list. */
enum value_paths { PATHS_NONE, PATHS_FILES, PATHS_FOLDERS };
enum value_paths value_paths(const char *argument);

/* Write every list once: `write` is called for the first row that uses it. */
void value_lists_write(struct stream *out,
                       void (*write)(struct stream *out, const struct value_list *list));

/* For lists: make what is said of a value, in its own room. */
void value_tell(struct value *value, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* That of --sweep: options of one item, whose own values follow. */
extern const struct value_list value_settings;

/* That of --show; what is shown without it; and of which layers where only --layer is missing. */
extern const struct value_list value_tensors, value_defaults, value_layer_defaults;

/* --- what is made of it: a page of the manual in roff, of a command or of them all (NULL); the
 * completion scripts of the shells, each in the file of its name ------------------------------- */

void manual_write(struct stream *out, const struct command *command);
void completion_bash_write(struct stream *out);
void completion_zsh_write(struct stream *out);
void completion_fish_write(struct stream *out);

#endif
