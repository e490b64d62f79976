/* errands.h: what the program is asked to write among somebody's own things (belongings.sh): every
 * command that writes, at every kind of place, with every option that says what may be replaced.
 *
 *     for (size_t i = 0; errand_get(&errand, i); i++)
 *         try(&errand);
 */
#ifndef ATTN_TESTS_ERRANDS_H
#define ATTN_TESTS_ERRANDS_H

#include <stdbool.h>
#include <stddef.h>

enum { ERRAND_BYTES = 1024 };

struct errand {
    char before[ERRAND_BYTES]; /* lines of a shell, in `here`, before the things are there: what
                                  the program makes in peace; "": nothing */
    char mixed[ERRAND_BYTES];  /* folders in which things are put beside that */
    char line[ERRAND_BYTES];   /* the command */
    char owns[ERRAND_BYTES];   /* patterns of what it may replace or make: "here/file" */
    char makes[ERRAND_BYTES];  /* and of what it may make where nothing is */
    bool owns_before;          /* and what was made before */
};

/* False when there is none of that number. */
bool errand_get(struct errand *errand, size_t number);

/* Lines of a shell that make what errands read, in `in`. */
extern const char errand_inputs[];

#endif
