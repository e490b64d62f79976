/* batch_folder.h: what a batch leaves on disk, changed in one place, whatever its files look like.
 *
 * The files are lines with JSON in them, or other text; where one that has its hash in another is
 * changed, that hash is made anew, so that it is not this that is noticed.
 */
#ifndef ATTN_TESTS_BATCH_FOLDER_H
#define ATTN_TESTS_BATCH_FOLDER_H

#include "made.h"

/* Change the file of that name, or nothing where there is none. */
void batch_folder_change(struct made *made, const char *name);

/* Change a line in all of these files in the same way: what several shards must have in common. */
void batch_folder_change_all(struct made *made, const char *const *names, size_t count);

/* Change any of the files whose name begins like that, but for the one named `but`; hashes follow.
 */
void batch_folder_change_any(struct made *made, const char *beginning, const char *but);

#endif
