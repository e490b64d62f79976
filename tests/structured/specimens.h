/* specimens.h: folders of valid files in memory, which inputs begin with.
 *
 *     static struct folder life;
 *     if (specimens_read(&life, "models/life", "m", err)) ...       (in memory for good)
 *     made_copy(made, life.files, life.file_count);
 *
 *     static const char *const lines[] = {"batch items.jsonl -q -o out.jsonl", NULL};
 *     if (specimens_run(&done, scratch, &made, lines, err)) ...   (what the commands leave)
 */
#ifndef ATTN_TESTS_SPECIMENS_H
#define ATTN_TESTS_SPECIMENS_H

#include "base/err.h"
#include "made.h"

/* Read the files of a folder, and of folders in it; their names begin with `as`, unless it is
 * "". Documents and programs (.md, .py) are left out. */
int specimens_read(struct folder *folder, const char *path, const char *as, struct err *err);

/* Write an input's files into the empty folder `scratch`, run command lines there, in a process of
 * their own, read all that is there then, and empty it again. */
int specimens_run(struct folder *folder, const char *scratch, const struct made *made,
                  const char *const *lines, struct err *err);

#endif
