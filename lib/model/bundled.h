/* bundled.h: the models in the binary, so that the program shows something before anything is
 * downloaded, and the textbooks' examples are at hand by name.
 *
 * Their files are those of models/ in the source tree, put into a table of C by models/embed.sh.
 *
 *     const struct folder *folder = bundled_find("life");
 *     if (!folder)
 *         ... a directory, then ...
 */
#ifndef ATTN_MODEL_BUNDLED_H
#define ATTN_MODEL_BUNDLED_H

#include <stddef.h>

#include "base/folder.h"

/* All of them, the default first; a model's name is its `path`. */
extern const struct folder bundled_models[]; /* [bundled_count] */
extern const size_t bundled_count;

/* The name of the model that is used when none is asked for. */
extern const char bundled_default[];

/* The model of that exact name, alive as long as the program; NULL when there is none. */
const struct folder *bundled_find(const char *name);

#endif
