/* output.h: where results go, and how: standard output, a file or a folder, in one format.
 *
 *     struct output output = {0};
 *     if (output_choose(&output, options, err)) ...
 *     ... compute ...
 *     if (output_open(&output, err) || output_write(&output, &report, &place, err) ||
 *         output_commit(&output, err)) ...
 *     output_discard(&output);          (does nothing after a commit)
 */
#ifndef ATTN_CMD_OUTPUT_H
#define ATTN_CMD_OUTPUT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/stream.h"
#include "base/target_folder.h"
#include "lens/derive.h"
#include "lens/selection.h"
#include "options.h"
#include "write/format.h"

struct output {
    const char *path; /* NULL or "-": standard output */
    const struct format *format;
    bool to_stdout;
    bool to_folder;
    bool replaces;        /* files in a folder */
    struct stream stream; /* of anything but a folder … */
    struct target_folder folder;
};

/* --format, else the ending of -o, else text for people. A folder that holds anything is refused
 * without --force. */
int output_choose(struct output *output, const struct options *options, struct err *err);

/* What to show, and of which layers: what was asked for, else what the format is for (NULL: what is
 * not shown, but counted). A mean over layers is one over all. */
const char *output_show(const struct format *format, const struct options *options,
                        const struct config *config);
const char *output_layer(const struct format *format, const struct options *options,
                         const struct derivation *how);

/* What was asked for must have a place in the format. */
int output_check_selection(const struct output *output, const struct selection *selection,
                           struct err *err);

/* Begin, if that is not done yet; write reports; finish, so that the file is there under its name;
 * or give up, so that it is not. */
int output_open(struct output *output, struct err *err);
int output_write(struct output *output, const struct report *report, const struct place *place,
                 struct err *err);
int output_commit(struct output *output, struct err *err);
void output_discard(struct output *output);

#endif
