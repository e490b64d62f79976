/* completion.h: scripts that complete command lines in a shell. */
#ifndef ATTN_CMD_COMPLETION_H
#define ATTN_CMD_COMPLETION_H

#include "base/stream.h"

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };

void completion_write(struct stream *out, enum shell shell);

#endif
