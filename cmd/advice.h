/* advice.h: the way out of an error that the library cannot know, because it leads through other
 * commands. */
#ifndef ATTN_CMD_ADVICE_H
#define ATTN_CMD_ADVICE_H

#include "base/err.h"
#include "options.h"

/* Put it after the message of a command that failed, where there is one. */
void advice_append(struct err *err, const struct options *options);

#endif
