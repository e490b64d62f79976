/* command_line.h: a command line in this process, as the program would run it.
 *
 *     if (command_line_run("run -q -m m --ids 0,1", &err))
 *         puts(err.text);
 */
#ifndef ATTN_TESTS_COMMAND_LINE_H
#define ATTN_TESTS_COMMAND_LINE_H

#include "base/err.h"

/* The words stand with a blank between two; nothing is quoted. */
int command_line_run(const char *line, struct err *err);

#endif
