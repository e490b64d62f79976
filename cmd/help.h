/* help.h: what the program says of itself, all of it from the tables of commands, options, sites
 * and formats. */
#ifndef ATTN_CMD_HELP_H
#define ATTN_CMD_HELP_H

#include "base/err.h"
#include "base/stream.h"
#include "command.h"

int help_of(const struct command *command, struct err *err);
int help_version(struct err *err);

/* The manual page in roff. */
void manual_write(struct stream *out);

#define ATTN_VERSION "0.1.0"

#endif
