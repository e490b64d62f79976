/* program_check.h: what the program prints of a golden sentence, held against the reference. */
#ifndef ATTN_TESTS_PROGRAM_CHECK_H
#define ATTN_TESTS_PROGRAM_CHECK_H

#include "golden.h"

struct tally {
    int passed, failed;
};

/* Count one thing: as passed, or as failed with its message, which is printed and forgotten. */
void tally_judge(struct tally *tally, const char *folder, const char *what, struct err *err);

/* Run `program` on the golden sentence, through a file at `scratch`: the ids and each tensor count
 * one. */
void program_check(struct tally *tally, const char *program, const char *scratch,
                   const struct golden *golden);

#endif
