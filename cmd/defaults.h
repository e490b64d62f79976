/* defaults.h: options that a user always gives, from a file: $ATTN_CONFIG, else attn-cli/config in
 * $XDG_CONFIG_HOME or ~/.config.
 *
 *     # an option a line, as on a command line, but without quotes
 *     --model gpt2
 *     -t 4
 *     [run]                           from here on for this command alone
 *     --palette greys
 *
 * The command line comes before it, and --model, as ATTN_MODEL does, after all that names a model.
 */
#ifndef ATTN_CMD_DEFAULTS_H
#define ATTN_CMD_DEFAULTS_H

#include "command.h"

struct defaults {
    const char *path;    /* of the file that was read; NULL: none */
    const char **names;  /* long names of options that were taken from it … */
    const size_t *lines; /* … and the lines that they stand in */
    size_t count;
};

/* Set what the file says of the command and `options`, read from the command line, do not. Texts
 * are the arena's. */
int defaults_apply(struct defaults *defaults, struct options *options,
                   const struct command *command, struct arena *arena, struct err *err);

/* Where the file gave an option that a usage error names, say so. Returns -1. */
int defaults_blame(const struct defaults *defaults, struct err *err);

#endif
