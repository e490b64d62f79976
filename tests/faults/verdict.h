/* verdict.h: what is wrong with what a command said and left behind.
 *
 * It ends with a status that the fault allows, or with its signal where one was sent. What it
 * refuses it says in one line. Every file that is its own is whole, or what it was before, or what
 * a batch keeps for --resume; temporary files are left by SIGKILL alone. All other files are
 * exactly what they were. After status 0 everything is there.
 */
#ifndef ATTN_TESTS_VERDICT_H
#define ATTN_TESTS_VERDICT_H

#include "fault.h"
#include "tree.h"

struct trial {
    const struct fault *fault; /* NULL: none */
    const char *command;       /* its first word */
    const char *owns;          /* patterns of the paths that it may write */
    int status;                /* as waitpid has it */
    bool is_repeated;          /* and has done it once more without a fault */
    struct tree before, whole, after;
};

/* NULL: nothing. `path` is set to the file that it is about, or to "". */
const char *verdict_on(const struct trial *trial, const char **path);

/* The same for the run without a fault, whose files are `whole`. */
const char *verdict_on_whole(const struct trial *trial, const char **path);

/* Whether a batch is done, though items of it failed: running it again changes nothing. */
bool verdict_items_failed(const struct trial *trial);

#endif
