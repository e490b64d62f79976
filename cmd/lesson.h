/* lesson.h: the steps of the guided tour: one row a step.
 *
 * A step is a command line that readers can repeat, run as it stands when the step is shown; what
 * stands before it says what it does, what stands after it says where to look. Numbers with
 * decimals in that text must stand in the command's output too: a test compares them.
 */
#ifndef ATTN_CMD_LESSON_H
#define ATTN_CMD_LESSON_H

#include <stddef.h>

struct lesson_row {
    const char *title;
    const char *before;
    const char *command; /* attn-cli …; words in double quotes stay together */
    const char *look;
};

extern const struct lesson_row lesson_rows[];
extern const size_t lesson_count;

#endif
