/* chore.h: what the program is asked to write while the machine is against it: every command that
 * writes, in every format.
 *
 *     for (size_t i = 0; i < chore_count; i++)
 *         run(chores[i].line, chores[i].output);
 */
#ifndef ATTN_TESTS_CHORE_H
#define ATTN_TESTS_CHORE_H

#include <stdbool.h>
#include <stddef.h>

enum { CHORE_STEPS_MAX = 2 };

struct chore {
    const char *name;
    const char *line;   /* as a shell takes it; -o and the output are put behind it */
    const char *output; /* a file or a folder in `disk`; NULL: to standard output alone */
    bool prints;        /* without -o it goes to standard output */
    bool in_place;      /* the line names its place by itself */
    bool types;         /* it prints even where it writes a file */
    bool saves;         /* interrupted, it saves how far it came under the same names */
    bool converts;      /* what it makes on the way may be larger than the result */
    bool goes_on;       /* what it leaves there is for --resume, and no result yet */
    const char *again;  /* put behind the line when it is run once more */
    const char *before[CHORE_STEPS_MAX]; /* lines that are run first, in peace */
};

extern const struct chore chores[];
extern const size_t chore_count;

/* Lines that make what the chores read, in the working directory, once. */
extern const char *const chore_inputs[];
extern const size_t chore_input_count;

#endif
