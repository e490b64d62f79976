/* option_groups.h: options in the order in which people look for them, under headings.
 *
 *     struct option_walk walk = {.command = command};
 *     const char *title;
 *     for (const struct option_row *row; (row = option_walk_next(&walk, &title));)
 *         ... title, where another group begins; row ...
 *
 * A command of few options has one heading alone.
 */
#ifndef ATTN_CMD_OPTION_GROUPS_H
#define ATTN_CMD_OPTION_GROUPS_H

#include <stddef.h>

#include "command.h"
#include "options.h"

struct option_walk {
    const struct command *command;
    size_t group, place; /* of the next name to look at */
    const char *title;   /* of the group that was walked through last */
};

/* The next option of the command, NULL after the last; `*title` is its group's when that begins
 * with it, else NULL. */
const struct option_row *option_walk_next(struct option_walk *walk, const char **title);

#endif
