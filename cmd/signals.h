/* signals.h: what signals do: no half-written file stays behind, and what has no other way to be
 * told than by a signal becomes a message and a status.
 *
 *     signals_set();      (first thing in main)
 */
#ifndef ATTN_CMD_SIGNALS_H
#define ATTN_CMD_SIGNALS_H

#include <stdbool.h>

void signals_set(void);

/* What an interrupted program says before it ends: a line that lives until another, or NULL, takes
 * its place. */
void signals_hint(const char *line);

/* Whoever started us ignores it (nohup, or a script for its jobs in the background): then it is not
 * meant for us, either. */
bool signals_is_ignored(int signal_number);

#endif
