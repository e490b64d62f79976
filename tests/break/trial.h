/* trial.h: run the program once, and judge how it ended.
 *
 *     struct trial trial = {.program = program};
 *     if (trial_run(&trial, "run -m m -s 'Life is'", &err)) ...
 *     printf("%d, %ld KiB\n", trial.status, trial.peak_kib);
 *     trial_release(&trial);
 */
#ifndef ATTN_TESTS_TRIAL_H
#define ATTN_TESTS_TRIAL_H

#include "base/buf.h"
#include "base/err.h"

struct trial {
    const char *program;
    struct buf out, complaints; /* what it wrote to its two streams */
    int status;                 /* 128 and a signal's number where one ended it */
    long peak_kib;              /* the most memory it held at one time */
};

/* Run it in the working directory. Standard input is the file `stdin` there, else empty. A word of
 * the command line may stand in single quotes. Errors are those of the machine. */
int trial_run(struct trial *trial, const char *command, struct err *err);

void trial_release(struct trial *trial);

#endif
