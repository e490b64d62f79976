/* help.h: what the program says of itself, all of it from the tables of commands, options and
 * values. */
#ifndef ATTN_CMD_HELP_H
#define ATTN_CMD_HELP_H

#include "base/err.h"
#include "base/stream.h"
#include "command.h"

/* All about a command, or the overview (NULL); by a pager where it is longer than the terminal. */
int help_of(const struct command *command, struct err *err);
int help_version(struct err *err);

/* A page of the manual in roff: that of a command, or the one of them all (NULL). */
void manual_write(struct stream *out, const struct command *command);

#define ATTN_VERSION "0.1.0"

#endif
