/* help.h: what the program says of itself, all of it from the tables of commands, options, sites
 * and formats. */
#ifndef ATTN_CMD_HELP_H
#define ATTN_CMD_HELP_H

#include "base/err.h"
#include "base/stream.h"
#include "command.h"

int help_of(const struct command *command, struct err *err);
int help_version(struct err *err);

/* The manual page in roff; a completion script for "bash", "zsh" or "fish". */
void manual_write(struct stream *out);
int completion_write(struct stream *out, const char *shell, struct err *err);

#define ATTN_VERSION "0.1.0"

#endif
