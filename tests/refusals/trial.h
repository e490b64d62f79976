/* trial.h: run the program once and collect its output, status and peak memory.
 *
 *     struct trial trial = {.program = program};
 *     if (trial_run(&trial, "run -m m -s 'Life is'", &err)) ...
 *     printf("%d, %ld KiB\n", trial.status, trial.peak_kib);
 *     trial_release(&trial);
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct trial {
    const char *program;
    struct buf out, complaints; /* standard output and standard error */
    int status;                 /* 128 + N if signal N ended it */
    long peak_kib;              /* peak memory */
};

/* Run it in the working directory. Standard input is the file `stdin` there, or empty. Words of the
 * command line may be in single quotes. Fails only if the program cannot be run. */
int trial_run(struct trial *trial, const char *command, struct err *err);

void trial_release(struct trial *trial);
