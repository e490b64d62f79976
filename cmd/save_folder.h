/* save_folder.h: the files of a new model, or of a vocabulary, into the directory of -o or --save.
 *
 *     if (target_folder_check(options->output, options->force, err)) ...  before anything else
 *     if (save_folder(&folder, options->output, options, err)) ...
 */
#ifndef ATTN_CMD_SAVE_FOLDER_H
#define ATTN_CMD_SAVE_FOLDER_H

#include "base/folder.h"
#include "options.h"

/* Write the files, and show how far it is; target_folder.h says what may be in their way, and so
 * are files of another tokenizer. */
int save_folder(const struct folder *folder, const char *path, const struct options *options,
                struct err *err);

#endif
