/* program_check.h: what the program prints of a golden sentence, held against the reference. */
#ifndef ATTN_TESTS_PROGRAM_CHECK_H
#define ATTN_TESTS_PROGRAM_CHECK_H

#include "golden.h"

struct tally {
    int passed, failed;
};

/* Count one thing: as passed, or as failed with its message, which is printed and forgotten. */
void tally_judge(struct tally *tally, const char *folder, const char *what, struct err *err);

/* What is asked, and of which program. */
struct question {
    const char *program;
    const struct tolerance *tolerance; /* of the precision that is asked for */
    const char *path;                  /* of the file that is to hold the answer */
};

/* Run the program on the golden sentence: the ids, each tensor and how it goes on count one. */
void program_check(struct tally *tally, const struct question *question,
                   const struct golden *golden);

#endif
