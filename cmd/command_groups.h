/* command_groups.h: the commands by what somebody wants to do, for the overview and its page of the
 * manual. A command stands in one group.
 *
 *     for (size_t i = 0; i < command_group_count; i++)
 *         for (size_t k = 0; k < command_count; k++)
 *             if (command_rows[k].bit & command_groups[i].commands)
 *                 ... command_groups[i].title, command_rows[k] ...
 */
#ifndef ATTN_CMD_COMMAND_GROUPS_H
#define ATTN_CMD_COMMAND_GROUPS_H

#include <stddef.h>

#include "command.h"

struct command_group {
    const char *title; /* one word, that fits into the overview's margin */
    int commands;      /* FOR_… */
};

extern const struct command_group command_groups[];
extern const size_t command_group_count;

#endif
