/* verdict.h: checks the output and the files of a command after a fault.
 *
 * The command ends with a status that the fault allows, or with the signal that was sent. An error
 * is one line. Each file that it may write is complete, or unchanged, or kept by a batch for
 * --resume; only SIGKILL leaves temporary files. All other files are unchanged. After status 0 all
 * files are complete.
 */
#pragma once

#include "fault.h"
#include "tree.h"

struct trial {
    const struct fault *fault; /* NULL: none */
    const char *command;       /* its first word */
    const char *owns;          /* patterns of the paths that it may write */
    int status;                /* from waitpid */
    bool is_repeated;          /* it was run again without a fault */
    struct tree before, whole, after;
};

/* A violated rule, or NULL; `path` is set to the file concerned, or to "". */
const char *verdict_on(const struct trial *trial, const char **path);

/* The same for the run without a fault, whose files are `whole`. */
const char *verdict_on_whole(const struct trial *trial, const char **path);

/* Whether a batch has ended with failed items, so that running it again changes nothing. */
bool verdict_items_failed(const struct trial *trial);
