/* result_files.h: the names of the files of a batch that belong to no single item.
 *
 *     struct result_file file;
 *     for (size_t i = 0; result_files_next(&file, &plan, measures, &i);)
 *         use(file.name);
 */
#ifndef ATTN_CMD_RESULT_FILES_H
#define ATTN_CMD_RESULT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "draw/measured_form.h"
#include "store_plan.h"

struct result_file {
    char name[64];
    unsigned measures;                /* that are in it … */
    const struct measured_form *form; /* … and how; NULL: lines, or sums as they are kept */
};

/* The next of those that a plan makes, from `*at` = 0 on; false at the end. */
bool result_files_next(struct result_file *file, const struct store_plan *plan, unsigned measures,
                       size_t *at);

/* Whether any plan makes a file of that name. */
bool result_files_have(const char *name);

#endif
