/* removal.h: files and folders removed by name below a folder, and never through a link.
 *
 * Every component of a name is opened as a folder that is no link; what is removed is a regular
 * file, or a folder that is empty by then. Whatever else has the name is someone else's and stays,
 * what is not there is no error, a file that may not be replaced (replacement.h) is one.
 *
 *     if (removal_is_below(name) && removal_file("out", "0002/weights.csv", err)) ...
 */
#ifndef ATTN_BASE_REMOVAL_H
#define ATTN_BASE_REMOVAL_H

#include <stdbool.h>

#include "base/err.h"

/* Whether a name leads to something below a folder: not an absolute one, and without components
 * that are empty, "." or "..". */
bool removal_is_below(const char *name);

/* Remove a file, and then those of its folders below `folder` that are empty. */
int removal_file(const char *folder, const char *name, struct err *err);

/* Remove a folder with its files and those of the folders in it, but no deeper ones. */
int removal_folder(const char *folder, const char *name, struct err *err);

#endif
