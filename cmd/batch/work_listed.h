/* work_listed.h: whether the files that a record lists are as it says.
 *
 *     bool missing = false;
 *     if (work_listed_check(&missing, &folder, folder.journal, files, err)) ...
 */
#ifndef ATTN_CMD_WORK_LISTED_H
#define ATTN_CMD_WORK_LISTED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "format/json.h"
#include "work_folder.h"

/* The name that an entry {"file": …, "bytes": …, "sha256": …} has; NULL: none that a batch makes.
 */
const char *work_listed_name(const struct json *entry);

/* "bytes" of an entry, or of a line's piece; 0 where it says nothing. */
size_t work_listed_bytes(const struct json *entry);

/* "sha256", "" where it says nothing. */
const char *work_listed_hash(const struct json *entry);

/* `*missing` becomes true where one is not there; refused is one that is something else by now.
 * `files` may be NULL. */
int work_listed_check(bool *missing, const struct work_folder *folder, const char *record,
                      const struct json *files, struct err *err);

#endif
