/* recorded_command.h: the command line that a journal or a manifest has kept, as options again.
 *
 *     struct options options;
 *     if (recorded_command(&options, shard.lines[1], &arena, err)) ...
 */
#ifndef ATTN_CMD_RECORDED_COMMAND_H
#define ATTN_CMD_RECORDED_COMMAND_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "../options.h"

/* Whether a line is the one of the command. */
bool recorded_command_is(const char *line, size_t size);

/* Read the line, without or with its end; texts are the arena's. Refused is what is never kept:
 * where results go, which part of them a process makes, and whether it may replace others. */
int recorded_command(struct options *options, const char *line, size_t size, struct arena *arena,
                     struct err *err);

#endif
