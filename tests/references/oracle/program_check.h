/* program_check.h: compares the output of the program for a golden sentence with the reference. */
#pragma once

#include "golden.h"

struct tally {
    int passed, failed;
};

/* Count a check as passed, or as failed if `err` has a message, which is printed and cleared. */
void tally_judge(struct tally *tally, const char *folder, const char *what, struct err *err);

/* How the program is run. */
struct question {
    const char *program;
    const struct tolerance *tolerance; /* also names the precision */
    const char *path;                  /* file for the output */
};

/* Run the program on the golden sentence; ids, each tensor and the continuation are checks. */
void program_check(struct tally *tally, const struct question *question,
                   const struct golden *golden);
